use std::time::{Duration, Instant};

use serde_json::json;
use waitscope_provider::{Config, Mode};

use crate::fixture::{Provider, embeddings, instant};

#[tokio::test]
async fn calls_are_counted_by_task_and_status() {
    let provider = Provider::start(instant());
    let draft = provider.chat(&json!({})).await.json();
    provider.chat(&json!({"stream": true})).await;
    let classify = json!({"response_format": {"type": "json_object"}});
    let classified = provider.chat(&classify).await.json();
    let embedded = provider.post("/v1/embeddings", &embeddings(&json!({}))).await.json();
    provider.post_text("/v1/chat/completions", "{").await;
    provider.get("/v1/complete?tokens=3").await;
    provider.get("/v1/stream?tokens=4").await;
    let stats = provider.stats().await;
    assert_eq!(
        stats["calls"],
        json!({
            "chat": {"400": 1}, "classify": {"200": 1}, "complete": {"200": 1},
            "draft_reply": {"200": 2}, "embed": {"200": 1}, "stream": {"200": 1},
        })
    );
    let total = |answer: &serde_json::Value| answer["usage"]["total_tokens"].as_u64().unwrap();
    let tokens = 2 * total(&draft) + total(&classified) + total(&embedded) + 7;
    assert_eq!(stats["tokens"], tokens);
    assert_eq!((&stats["mode"], &stats["in_flight"]), (&json!("normal"), &json!(0)));
    assert_eq!(stats["max_in_flight"], 1);
    let metrics = provider.get("/metrics").await;
    assert!(metrics.header("content-type").unwrap().starts_with("application/openmetrics-text"));
    for line in [
        "# TYPE waitscope_provider_calls counter",
        "waitscope_provider_calls_total{task=\"draft_reply\",status=\"200\"} 2",
        "waitscope_provider_in_flight 0",
        "waitscope_provider_max_in_flight 1",
        "# EOF",
    ] {
        assert!(metrics.text.lines().any(|found| found == line), "{line} in {}", metrics.text);
    }
    assert!(!metrics.text.contains("quota"), "the quota is off");
}

#[tokio::test]
async fn overlapping_calls_are_in_flight_together() {
    let latency = "fixed:300ms".parse().unwrap();
    let provider = Provider::start(Config { latency, quota: false, ..Config::default() });
    let start = Instant::now();
    let none = json!({});
    tokio::join!(
        provider.chat(&none),
        provider.chat(&none),
        provider.chat(&none),
        provider.until("/admin/stats", |stats| stats["in_flight"] == 3),
    );
    assert!(start.elapsed() >= Duration::from_millis(300));
    let stats = provider.stats().await;
    assert_eq!((&stats["in_flight"], &stats["max_in_flight"]), (&json!(0), &json!(3)));
}

#[tokio::test]
async fn modes_change_at_once_and_a_reset_undoes_everything() {
    let provider = Provider::start(Config { speed: 0.0, ..Config::default() });
    let set = async |mode: &str| provider.post("/admin/mode", &json!({"mode": mode})).await;
    let planned_ms = async || {
        let answer = provider.chat(&json!({"response_format": {"type": "json_object"}})).await;
        answer.header("openai-processing-ms").map_or(0, |ms| ms.parse::<u64>().unwrap())
    };
    let usual = planned_ms().await;
    assert_eq!(set("slow").await.json(), json!({"mode": "slow"}));
    // The slowest recorded call takes 2.1 s, eight of the quickest 5.1 s.
    assert!((600..2_200).contains(&usual) && planned_ms().await > 5_000);
    set("outage").await;
    let outage = provider.chat(&json!({})).await;
    assert_eq!(
        (outage.status, &outage.json()["error"]["code"]),
        (503, &json!("service_unavailable"))
    );
    assert_eq!(provider.get("/v1/complete").await.status, 503);
    assert_eq!(provider.get("/health").await.status, 200);
    set("quota").await;
    let limit = |answer: crate::fixture::Answer| {
        answer.header("x-ratelimit-limit-tokens").map(str::to_owned)
    };
    assert_eq!(limit(provider.chat(&json!({})).await).as_deref(), Some("10000"));
    for unknown in [json!({"mode": "fast"}), json!({"mode": 5}), json!({})] {
        let refused = provider.post("/admin/mode", &unknown).await;
        assert_eq!((refused.status, &refused.json()["error"]["param"]), (400, &json!("mode")));
    }
    assert!(set("fast").await.text.contains("normal, slow, outage or quota"));

    let after = provider.post("/admin/reset", &json!({})).await.json();
    assert_eq!(
        after,
        json!({"mode": "normal", "in_flight": 0, "max_in_flight": 0, "calls": {}, "tokens": 0})
    );
    assert_eq!(planned_ms().await, usual, "the attempts are forgotten");
    let answer = provider.chat(&json!({})).await;
    assert_eq!(answer.header("x-ratelimit-remaining-requests"), Some("98"), "the quota was full");
}

#[tokio::test]
async fn an_outage_is_told_after_30_ms_whatever_the_latency() {
    let latency = "fixed:1h".parse().unwrap();
    let provider = Provider::start(Config { mode: Mode::Outage, latency, ..Config::default() });
    let answer = provider.chat(&json!({})).await;
    assert_eq!(answer.status, 503);
    assert!(answer.took >= Duration::from_millis(30));
}

#[tokio::test]
async fn dropping_it_frees_the_port_even_with_calls_in_flight() {
    let running = waitscope_provider::start(Config::default()).unwrap();
    let address = running.url().strip_prefix("http://").unwrap().to_owned();
    let mut open = tokio::net::TcpStream::connect(&address).await.unwrap();
    let request = b"GET /get?delay=600000 HTTP/1.1\r\nHost: x\r\n\r\n";
    tokio::io::AsyncWriteExt::write_all(&mut open, request).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    drop(running);
    assert!(tokio::net::TcpStream::connect(&address).await.is_err());
}
