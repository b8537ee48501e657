use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use waitscope_provider::{Config, Mode};

use crate::fixture::{Answer, Provider, embeddings};

/// Without waits, with the quota (which `speed` does not touch).
fn limited() -> Config {
    Config { speed: 0.0, ..Config::default() }
}

#[tokio::test]
async fn headers_tell_the_quota() {
    let provider = Provider::start(limited());
    let answer = provider.chat(&json!({"max_tokens": 50_000})).await;
    assert_eq!(answer.header("x-ratelimit-limit-requests"), Some("100"));
    assert_eq!(answer.header("x-ratelimit-remaining-requests"), Some("99"));
    assert_eq!(answer.header("x-ratelimit-reset-requests"), Some("600ms"));
    assert_eq!(answer.header("x-ratelimit-limit-tokens"), Some("100000"));
    let left: u64 = answer.header("x-ratelimit-remaining-tokens").unwrap().parse().unwrap();
    assert!((49_900..50_000).contains(&left), "{left}: the prompt and max_tokens are charged");
    let reset = answer.header("x-ratelimit-reset-tokens").unwrap();
    assert!(reset.starts_with("30.") && reset.ends_with('s'), "{reset}");

    let bad = provider.chat(&json!({"n": 0})).await;
    assert_eq!((bad.status, bad.header("x-ratelimit-limit-requests")), (400, Some("100")));
    let stream = provider.chat(&json!({"stream": true})).await;
    assert!(stream.header("x-ratelimit-remaining-tokens").is_some());
    let embedded = provider.post("/v1/embeddings", &embeddings(&json!({}))).await;
    assert_eq!(embedded.header("x-ratelimit-limit-tokens"), Some("100000"));
    assert_eq!(embedded.header("x-ratelimit-limit-requests"), None, "no limit on these");
}

#[tokio::test]
async fn models_have_their_own_quota() {
    let provider = Provider::start(limited());
    let big = json!({"max_tokens": 99_000});
    assert_eq!(provider.chat(&big).await.status, 200);
    assert_eq!(provider.chat(&big).await.status, 429);
    for model in ["other", "another"] {
        let big = json!({"max_tokens": 99_000, "model": model});
        assert_eq!(provider.chat(&big).await.status, 200, "{model}");
        let refused = provider.chat(&big).await;
        assert_eq!(refused.status, 429, "{model}");
        let left: u64 = refused.header("x-ratelimit-remaining-tokens").unwrap().parse().unwrap();
        assert!(left < 50_000, "{model}: its own quota is told, {left}");
    }
    assert_eq!(provider.post("/v1/embeddings", &embeddings(&json!({}))).await.status, 200);
}

#[tokio::test]
async fn a_refusal_says_when_it_fits_and_then_it_fits() {
    let provider =
        Provider::start(Config { speed: 1.0, latency: "fixed:0ms".parse().unwrap(), ..limited() });
    assert_eq!(provider.chat(&json!({"max_tokens": 99_900})).await.status, 200);
    // 2,000 tokens and the prompt need about 1,900 more than are left: 1.2 s at 100,000 a minute.
    let call = json!({"max_tokens": 2_000});
    let refused = provider.chat(&call).await;
    assert_eq!(refused.status, 429);
    assert!(refused.took >= Duration::from_millis(131), "told too soon: {:?}", refused.took);
    assert_eq!(refused.header("retry-after"), Some("30"));
    let retry_after_ms: u64 = refused.header("retry-after-ms").unwrap().parse().unwrap();
    assert!((300..1_300).contains(&retry_after_ms), "{retry_after_ms}");
    assert!(refused.header("x-ratelimit-remaining-tokens").is_some());
    let error = &refused.json()["error"];
    assert_eq!((&error["code"], &error["type"]), (&json!("rate_limit_exceeded"), &json!("tokens")));
    tokio::time::sleep(Duration::from_millis(retry_after_ms)).await;
    assert_eq!(provider.chat(&call).await.status, 200);
    let calls = &provider.stats().await["calls"]["draft_reply"];
    assert_eq!(calls, &json!({"200": 2, "429": 1}));
}

#[tokio::test]
async fn the_burst_is_a_minutes_worth() {
    let provider = Provider::start(limited());
    let mut statuses = Vec::new();
    for _ in 0..115 {
        statuses.push(provider.chat(&json!({})).await.status);
    }
    let admitted = statuses.iter().filter(|status| **status == 200).count();
    // A request is refilled each 0.6 s while the test runs.
    assert!(statuses[..100].iter().all(|status| *status == 200));
    assert!((100..115).contains(&admitted), "{admitted}");
}

#[tokio::test]
async fn a_call_that_never_fits_is_not_to_be_retried() {
    let provider = Provider::start(limited());
    let refused = provider.chat(&json!({"max_tokens": 100_000})).await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.header("retry-after-ms"), Some("0"), "the bucket is full");
    assert_eq!(refused.header("x-should-retry"), Some("false"));
    let twin = provider.chat(&json!({"max_tokens": 99_000})).await;
    assert_eq!(twin.status, 200);
    assert_eq!(twin.header("x-should-retry"), None);
    let refused = provider.chat(&json!({"max_tokens": 100_000})).await;
    let until_full_ms: u64 = refused.header("retry-after-ms").unwrap().parse().unwrap();
    assert!((30_000..60_000).contains(&until_full_ms), "{until_full_ms}");
}

#[tokio::test]
async fn every_answer_under_v1_tells_a_quota() {
    let limit = |answer: &Answer| {
        let headers = ["limit", "remaining", "reset"]
            .map(|what| answer.header(&format!("x-ratelimit-{what}-requests")).is_some());
        assert!(headers == [true; 3] || headers == [false; 3], "{headers:?}");
        headers[0]
    };
    for quota in [true, false] {
        let provider = Provider::start(Config { quota, ..limited() });
        for (method, path, status) in [
            (Method::GET, "/v1/models", 200),
            (Method::GET, "/v1/models/chat-small", 200),
            (Method::GET, "/v1/models/none", 404),
            (Method::GET, "/v1/models/%ff", 400),
            (Method::GET, "/v1/complete", 200),
            (Method::GET, "/v1/complete?ttft=x", 400),
            (Method::GET, "/v1/stream", 200),
            (Method::HEAD, "/v1/stream", 200),
            (Method::GET, "/v1/nothing", 404),
            (Method::GET, "/v1", 404),
            (Method::GET, "/v1/chat/completions", 405),
            (Method::DELETE, "/v1/embeddings", 405),
            (Method::POST, "/v1/chat/completions", 400),
        ] {
            let answer = provider.send(provider.request(method, path)).await;
            assert_eq!((answer.status, limit(&answer)), (status, quota), "{path}");
        }
        for path in ["/health", "/get", "/v10"] {
            assert!(!limit(&provider.get(path).await), "{path} is no call of the API");
        }
        let outage = Provider::start(Config { mode: Mode::Outage, quota, ..limited() });
        let answer = outage.get("/v1/complete").await;
        assert_eq!((answer.status, limit(&answer)), (503, quota));
    }
}

#[tokio::test]
async fn quota_mode_has_a_tenth_and_off_has_no_limit() {
    for (mode, quota, limit) in [
        (Mode::Normal, true, Some("100")),
        (Mode::Normal, false, None),
        (Mode::Quota, true, Some("10")),
        (Mode::Quota, false, Some("10")),
    ] {
        let provider = Provider::start(Config { mode, quota, ..limited() });
        let answer = provider.chat(&json!({})).await;
        assert_eq!(answer.header("x-ratelimit-limit-requests"), limit, "{mode} {quota}");
    }
}
