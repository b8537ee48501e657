//! Clients that leave free their place at once and are counted.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use waitscope_provider::Config;

use crate::fixture::{Provider, chat};

/// Calls take ten minutes here, so that a place that is freed was freed by the leaving client.
fn endless() -> Config {
    Config { latency: "fixed:10m".parse().unwrap(), ..Config::default() }
}

async fn open(provider: &Provider, head: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(provider.address()).await.unwrap();
    let request =
        format!("{head} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

fn is_left(stats: &Value, task: &str) -> bool {
    stats["in_flight"] == 0 && stats["calls"][task]["499"] == 1
}

#[tokio::test]
async fn while_waiting_for_a_whole_answer() {
    let provider = Provider::start(endless());
    let body = chat(&json!({})).to_string();
    let stream = open(&provider, "POST /v1/chat/completions", &body).await;
    provider.until("/admin/stats", |stats| stats["in_flight"] == 1).await;
    drop(stream);
    provider.until("/admin/stats", |stats| is_left(stats, "draft_reply")).await;
}

#[tokio::test]
async fn before_and_within_a_stream() {
    let provider = Provider::start(endless());
    let body = chat(&json!({"stream": true})).to_string();
    let before = open(&provider, "POST /v1/chat/completions", &body).await;
    provider.until("/admin/stats", |stats| stats["in_flight"] == 1).await;
    drop(before);
    provider.until("/admin/stats", |stats| is_left(stats, "draft_reply")).await;

    let path = "GET /v1/stream?ttft=0&tokens=1000&tok_ms=100";
    let mut within = open(&provider, path, "").await;
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains("token") {
        assert_ne!(within.read_buf(&mut seen).await.unwrap(), 0);
    }
    drop(within);
    provider.until("/admin/stats", |stats| is_left(stats, "stream")).await;
}

#[tokio::test]
async fn a_plain_request_is_logged_as_left() {
    let provider = Provider::start(endless());
    let stream = open(&provider, "GET /get?delay=600000&name=gone", "").await;
    provider.until("/stats", |stats| stats["in_flight"] == 1).await;
    drop(stream);
    let stats = provider.until("/stats", |stats| stats["in_flight"] == 0).await;
    assert_eq!(
        (&stats["log"][0]["status"], &stats["log"][0]["name"]),
        (&json!(499), &json!("gone"))
    );
}

#[tokio::test]
async fn who_stays_is_answered() {
    let provider = Provider::start(Config { speed: 1_000.0, ..endless() });
    assert_eq!(provider.chat(&json!({})).await.status, 200);
    assert_eq!(provider.stats().await["calls"], json!({"draft_reply": {"200": 1}}));
}
