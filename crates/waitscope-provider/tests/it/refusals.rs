//! Every error has the API's form, and every bad request has a good twin.

use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::{Answer, Provider, chat, embeddings, instant};

#[track_caller]
fn check(answer: &Answer, status: u16, param: Option<&str>) {
    assert_eq!(answer.status, status, "{}", answer.text);
    let error = &answer.json()["error"];
    assert_eq!(error["param"].as_str(), param, "{error}");
    assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{error}");
    assert!(error["type"].is_string() && error["code"].is_string(), "{error}");
    assert!(answer.header("x-request-id").is_some_and(|id| id.starts_with("req_")));
    assert_eq!(answer.header("content-type"), Some("application/json"));
}

#[tokio::test]
async fn bodies() {
    let provider = Provider::start(instant());
    let path = "/v1/chat/completions";
    for (body, param) in [
        ("", None),
        ("{", None),
        ("[]", None),
        ("null", None),
        ("\"x\"", None),
        ("{\"model\": \"m\", \"messages\": [{\"role\": \"user\", \"content\": \"x\"}]} x", None),
        ("\u{0}\u{1}", None),
        ("{}", Some("model")),
        ("{\"model\": 5}", Some("model")),
        ("{\"model\": \"m\"}", Some("messages")),
        ("{\"model\": \"m\", \"temperature\": NaN}", Some("temperature")),
        ("{\"model\": \"m\", \"temperature\": 1e999}", Some("temperature")),
        ("{\"model\": \"m\", \"n\": 1, \"n\": 2}", Some("n")),
    ] {
        check(&provider.post_text(path, body).await, 400, param);
    }
    let not_utf8 = provider.post_text(path, b"{\"model\": \"\xff\"}".to_vec()).await;
    check(&not_utf8, 400, Some("model"));
    assert_eq!(provider.chat(&json!({})).await.status, 200);
}

#[tokio::test]
async fn chat_fields() {
    let provider = Provider::start(instant());
    for (extra, param) in [
        (json!({"messages": "hi"}), "messages"),
        (json!({"messages": []}), "messages"),
        (json!({"messages": [5]}), "messages[0]"),
        (json!({"messages": [{}]}), "messages[0].role"),
        (json!({"messages": [{"role": "alien", "content": "x"}]}), "messages[0].role"),
        (json!({"messages": [{"role": "user", "content": 5}]}), "messages[0].content"),
        (
            json!({"messages": [{"role": "user", "content": [{"type": "smell"}]}]}),
            "messages[0].content[0].type",
        ),
        (json!({"model": ""}), "model"),
        (json!({"model": "embed-small"}), "model"),
        (json!({"stream": "yes"}), "stream"),
        (json!({"stream_options": {"include_usage": true}}), "stream_options"),
        (
            json!({"stream": true, "stream_options": {"include_usage": 1}}),
            "stream_options.include_usage",
        ),
        (json!({"response_format": {}}), "response_format.type"),
        (json!({"response_format": {"type": "yaml"}}), "response_format.type"),
        (json!({"max_tokens": -5}), "max_tokens"),
        (json!({"max_tokens": 1e9}), "max_tokens"),
        (json!({"max_tokens": 1_000_000_000}), "max_tokens"),
        (json!({"max_tokens": 1.5}), "max_tokens"),
        (json!({"max_tokens": "10"}), "max_tokens"),
        (json!({"n": 0}), "n"),
        (json!({"temperature": 1e308}), "temperature"),
        (json!({"temperature": -1}), "temperature"),
        (json!({"temperature": "hot"}), "temperature"),
        (json!({"seed": 1.5}), "seed"),
        (json!({"stop": 5}), "stop"),
    ] {
        let answer = provider.post("/v1/chat/completions", &chat(&extra)).await;
        check(&answer, 400, Some(param));
    }
    let sensible = json!({"max_tokens": 5, "n": 2, "temperature": 0.5, "stop": "x", "seed": -1});
    assert_eq!(provider.chat(&sensible).await.status, 200);
}

#[tokio::test]
async fn embeddings_fields() {
    let provider = Provider::start(instant());
    for (extra, param) in [
        (json!({"input": null}), "input"),
        (json!({"input": 5}), "input"),
        (json!({"input": ""}), "input"),
        (json!({"input": []}), "input"),
        (json!({"input": ["a", 1]}), "input"),
        (json!({"input": [1.5]}), "input[0]"),
        (json!({"input": [-1]}), "input[0]"),
        (json!({"model": "chat-small"}), "model"),
        (json!({"dimensions": 0}), "dimensions"),
        (json!({"dimensions": 1e9}), "dimensions"),
        (json!({"dimensions": -1}), "dimensions"),
        (json!({"encoding_format": "hex"}), "encoding_format"),
    ] {
        let answer = provider.post("/v1/embeddings", &embeddings(&extra)).await;
        check(&answer, 400, Some(param));
    }
    assert_eq!(provider.post("/v1/embeddings", &embeddings(&json!({}))).await.status, 200);
}

#[tokio::test]
async fn query_parameters() {
    let provider = Provider::start(instant());
    for (query, param) in [
        ("ttft=-1", Some("ttft")),
        ("ttft=NaN", Some("ttft")),
        ("ttft=inf", Some("ttft")),
        ("ttft=1e308", Some("ttft")),
        ("ttft=", Some("ttft")),
        ("ttft=0.4s", Some("ttft")),
        ("ttft=0&ttft=1", Some("ttft")),
        ("tokens=1e9", Some("tokens")),
        ("tokens=1000000000", Some("tokens")),
        ("tokens=-1", Some("tokens")),
        ("tokens=1.5", Some("tokens")),
        ("tokens=99999999999999999999", Some("tokens")),
        ("tok_ms=-0.1", Some("tok_ms")),
        ("tokens=100000&tok_ms=1000", Some("tokens")),
        ("ttft=%ff", Some("ttft")),
    ] {
        for path in ["/v1/complete", "/v1/stream"] {
            check(&provider.get(&format!("{path}?{query}")).await, 400, param);
        }
    }
    for query in ["delay=-1", "delay=NaN", "delay=1e308", "delay=x"] {
        check(&provider.get(&format!("/get?{query}")).await, 400, Some("delay"));
        check(&provider.post_text(&format!("/add?{query}"), "").await, 400, Some("delay"));
    }
    check(&provider.get(&format!("/get?name={}", "x".repeat(201))).await, 400, Some("name"));
    for path in ["/v1/complete?ttft=1&tokens=0&tok_ms=0", "/v1/stream?x=y", "/get?delay=0.5"] {
        assert_eq!(provider.get(path).await.status, 200);
    }
}

#[tokio::test]
async fn routes_and_methods() {
    let provider = Provider::start(instant());
    for path in ["/", "/v1", "/v1/models/", "/v1/nothing", "/admin", "/health/x"] {
        check(&provider.get(path).await, 404, None);
    }
    check(&provider.get("/v1/models/%ff").await, 400, None);
    for (path, allowed) in [
        ("/v1/chat/completions", "POST"),
        ("/v1/embeddings", "POST"),
        ("/v1/models", "GET,HEAD"),
        ("/v1/models/x", "GET,HEAD"),
        ("/v1/stream", "GET,HEAD"),
        ("/add", "POST"),
        ("/reset", "POST"),
        ("/health", "GET,HEAD"),
        ("/metrics", "GET,HEAD"),
        ("/admin/mode", "POST"),
    ] {
        for method in [Method::DELETE, Method::PUT, Method::OPTIONS] {
            let answer = provider.send(provider.request(method, path)).await;
            check(&answer, 405, None);
            assert_eq!(answer.header("allow"), Some(allowed), "{path}");
        }
    }
    check(&provider.get("/v1/chat/completions").await, 405, None);
    for path in ["/health", "/v1/models", "/v1/complete", "/v1/stream", "/stats", "/metrics"] {
        let answer = provider.send(provider.request(Method::HEAD, path)).await;
        assert_eq!((answer.status, answer.text.as_str()), (200, ""), "{path}");
    }
    let left = provider.stats().await["calls"]["stream"]["499"].clone();
    assert_eq!(left, Value::Null, "a HEAD is no client that left");
}

#[tokio::test]
async fn request_ids_differ() {
    let provider = Provider::start(instant());
    let mut ids = Vec::new();
    for path in ["/health", "/health", "/nothing"] {
        ids.push(provider.get(path).await.header("x-request-id").unwrap().to_owned());
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 3);
}
