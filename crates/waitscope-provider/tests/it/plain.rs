use std::time::Duration;

use serde_json::{Value, json};
use waitscope_provider::Config;

use crate::fixture::{Provider, instant};

#[tokio::test]
async fn complete_and_stream_say_the_same() {
    let provider = Provider::start(instant());
    let whole = provider.get("/v1/complete?ttft=0.4&tokens=8&tok_ms=40").await.json();
    assert_eq!((&whole["tokens"], &whole["planned_ms"]), (&json!(8), &json!(720.0)));
    let mut events = provider.get("/v1/stream?ttft=0.4&tokens=8&tok_ms=40").await.events();
    assert_eq!(events.pop().unwrap().data, "[DONE]");
    let token = |data: &str| serde_json::from_str::<Value>(data).unwrap()["token"].clone();
    let tokens: Vec<Value> = events.iter().map(|event| token(&event.data)).collect();
    assert_eq!(tokens.len(), 8);
    let text: String = tokens.iter().map(|token| token.as_str().unwrap()).collect();
    assert_eq!(whole["text"], text);
}

#[tokio::test]
async fn complete_waits_as_told() {
    let provider = Provider::start(Config::default());
    let answer = provider.get("/v1/complete?ttft=0.1&tokens=10&tok_ms=10").await;
    assert_eq!(answer.status, 200);
    assert!(answer.took >= Duration::from_millis(200), "{:?}", answer.took);
    let fast = Provider::start(Config { speed: 1_000.0, ..Config::default() });
    let answer = fast.get("/v1/complete?ttft=100&tokens=0").await;
    assert!((Duration::from_millis(100)..Duration::from_secs(50)).contains(&answer.took));
}

#[tokio::test]
async fn the_log_shows_what_overlapped() {
    let provider = Provider::start(Config::default());
    let (first, second, third) = tokio::join!(
        provider.get("/get?delay=300&name=a"),
        provider.get("/get?delay=300&name=b"),
        provider.post_text("/add?delay=300&name=c", "12345"),
    );
    assert_eq!(first.json(), json!({"name": "a", "delay_ms": 300.0, "body_bytes": 0}));
    assert_eq!((second.status, &third.json()["body_bytes"]), (200, &json!(5)));
    provider.get("/get?name=alone").await;
    let stats = provider.get("/stats").await.json();
    assert_eq!((&stats["requests"], &stats["in_flight"]), (&json!(4), &json!(0)));
    assert_eq!(stats["max_in_flight"], 3);
    let log = stats["log"].as_array().unwrap();
    let time = |entry: &Value, name: &str| entry[name].as_f64().unwrap();
    for entry in &log[..3] {
        let ms = time(entry, "finished_ms") - time(entry, "arrived_ms");
        assert!(ms >= 299.9, "{entry}");
        assert_eq!(entry["status"], 200);
    }
    assert_eq!(log[3]["name"], "alone");
    assert!(time(&log[3], "arrived_ms") >= time(&log[2], "finished_ms"));
    let after = provider.post_text("/reset", "").await.json();
    assert_eq!(after, json!({"requests": 0, "in_flight": 0, "max_in_flight": 0, "log": []}));
}
