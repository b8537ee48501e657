use serde_json::{Value, json};

use crate::fixture::{Provider, instant};

#[tokio::test]
async fn a_whole_answer_looks_like_the_real_one() {
    let provider = Provider::start(instant());
    let answer = provider.chat(&json!({})).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert!(answer.header("openai-processing-ms").unwrap().parse::<u64>().unwrap() > 500);
    let body = answer.json();
    assert!(body["id"].as_str().unwrap().starts_with("chatcmpl-"));
    assert_eq!(body["object"], "chat.completion");
    assert!(body["created"].as_u64().unwrap() > 1_700_000_000);
    assert_eq!(body["model"], "chat-small");
    let choice = &body["choices"][0];
    assert_eq!((&choice["index"], &choice["finish_reason"]), (&json!(0), &json!("stop")));
    assert_eq!(choice.get("logprobs"), Some(&Value::Null));
    assert_eq!(choice["message"]["role"], "assistant");
    assert!(choice["message"]["content"].as_str().unwrap().contains("billing team"));
    let usage = &body["usage"];
    let sum =
        usage["prompt_tokens"].as_u64().unwrap() + usage["completion_tokens"].as_u64().unwrap();
    assert_eq!(usage["total_tokens"], sum);
}

#[tokio::test]
async fn a_classification_is_json() {
    let provider = Provider::start(instant());
    let answer = provider.chat(&json!({"response_format": {"type": "json_object"}})).await.json();
    let content = answer["choices"][0]["message"]["content"].as_str().unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(content).unwrap(),
        json!({"team": "billing", "priority": 2})
    );
    assert_eq!(answer["usage"]["completion_tokens"], 15);
}

#[tokio::test]
async fn a_stream_says_the_same_in_chunks() {
    let provider = Provider::start(instant());
    let whole = provider.chat(&json!({})).await.json();
    let options = json!({"stream": true, "stream_options": {"include_usage": true}});
    let stream = provider.chat(&options).await;
    assert_eq!(stream.status, 200);
    assert_eq!(stream.header("content-type"), Some("text/event-stream; charset=utf-8"));
    let mut events = stream.events();
    assert_eq!(events.pop().unwrap().data, "[DONE]");
    let chunks: Vec<Value> =
        events.iter().map(|event| serde_json::from_str(&event.data).unwrap()).collect();
    let (usage, chunks) = chunks.split_last().unwrap();
    assert_eq!(usage["usage"], whole["usage"]);
    assert_eq!(usage["choices"], json!([]));
    assert!(chunks.iter().all(|chunk| chunk.get("usage") == Some(&Value::Null)));
    let delta = |chunk: &Value| chunk["choices"][0]["delta"]["content"].as_str().map(str::to_owned);
    let content: String = chunks.iter().filter_map(delta).collect();
    assert_eq!(json!(content), whole["choices"][0]["message"]["content"]);

    let plain = provider.chat(&json!({"stream": true})).await;
    assert!(!plain.text.contains("usage"), "only when asked for");
}

#[tokio::test]
async fn models_are_listed_and_others_are_taken() {
    let provider = Provider::start(instant());
    let list = provider.get("/v1/models").await.json();
    assert_eq!(list["object"], "list");
    let ids: Vec<&str> =
        list["data"].as_array().unwrap().iter().map(|m| m["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["chat-small", "embed-small"]);
    let model = provider.get("/v1/models/chat-small").await.json();
    assert_eq!(model, list["data"][0]);
    assert_eq!(model["object"], "model");
    let unknown = provider.get("/v1/models/gpt-0").await;
    assert_eq!(
        (unknown.status, &unknown.json()["error"]["code"]),
        (404, &json!("model_not_found"))
    );
    let other = provider.chat(&json!({"model": "some/other-model"})).await;
    assert_eq!((other.status, &other.json()["model"]), (200, &json!("some/other-model")));
}
