//! Large, deep and half-sent requests cost the provider nothing.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use waitscope_serve::Patience;

use crate::fixture::{Provider, chat, instant};

const MIB: usize = 1024 * 1024;

#[tokio::test]
async fn a_body_of_32_mib_is_refused_and_one_of_15_is_read() {
    let provider = Provider::start(instant());
    for path in ["/v1/chat/completions", "/v1/embeddings", "/add", "/admin/mode"] {
        let refused = provider.post_text(path, vec![b' '; 32 * MIB]).await;
        assert_eq!(refused.status, 413, "{path}");
        assert_eq!(refused.json()["error"]["code"], "body_too_large");
    }
    let read = provider.post_text("/add", vec![b' '; 15 * MIB]).await.json();
    assert_eq!(read["body_bytes"], 15 * MIB);
    assert_eq!(provider.chat(&json!({})).await.status, 200);
}

#[tokio::test]
async fn who_asks_before_sending_is_refused_before_sending() {
    let provider = Provider::start(instant());
    let mut stream = TcpStream::connect(provider.address()).await.unwrap();
    let head = "POST /add HTTP/1.1\r\nHost: x\r\nContent-Length: 33554432\r\n\
                Expect: 100-continue\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = vec![0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(answer, b"HTTP/1.1 413");
}

#[tokio::test]
async fn deep_nesting_is_refused_or_ignored() {
    let provider = Provider::start(instant());
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let objects = format!("{}1{}", "{\"a\":".repeat(200_000), "}".repeat(200_000));
    let body = |field: &str, value: &str| {
        let mut body = chat(&json!({})).to_string();
        body.truncate(body.len() - 1);
        format!("{body}, \"{field}\": {value}}}")
    };
    let schema = format!("{{\"type\": \"json_schema\", \"json_schema\": {deep}}}");
    for (text, status) in [
        (deep.clone(), 400),
        (objects.clone(), 400),
        (format!("{{\"model\": \"m\", \"messages\": {deep}}}"), 400),
        (format!("{{\"model\": \"m\", \"messages\": [{objects}]}}"), 400),
        (body("response_format", &schema), 400),
        // A field that is not read may hold anything.
        (body("metadata", &deep), 200),
        (body("metadata", "[[1]]"), 200),
    ] {
        let answer = provider.post_text("/v1/chat/completions", text).await;
        assert_eq!(answer.status, status, "{}", answer.text);
    }
}

/// A provider with short patience, on this test's runtime.
fn impatient() -> (String, CancellationToken) {
    let listener = waitscope_serve::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let stop = CancellationToken::new();
    let patience = Patience {
        head: Duration::from_millis(300),
        body: Duration::from_millis(300),
        ..Patience::default()
    };
    let provider = waitscope_provider::Provider::new(instant()).unwrap();
    tokio::spawn(provider.serve(listener, stop.clone(), patience));
    (address, stop)
}

#[tokio::test]
async fn half_sent_requests_are_let_go() {
    let (address, stop) = impatient();
    let whole = chat(&json!({})).to_string();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n",
        whole.len()
    );
    for (sent, expected) in [
        (head.clone(), ""),
        (format!("{head}\r\n{}", &whole[..20]), "HTTP/1.1 408"),
        (format!("{head}Connection: close\r\n\r\n{whole}"), "HTTP/1.1 200"),
    ] {
        let start = Instant::now();
        let mut stream = TcpStream::connect(&address).await.unwrap();
        stream.write_all(sent.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with(expected), "{answer}");
        assert!(start.elapsed() < Duration::from_secs(10), "the connection was kept");
        if expected.ends_with("408") {
            let body = answer.split("\r\n\r\n").nth(1).unwrap();
            let error: Value = serde_json::from_str(body).unwrap();
            assert_eq!(error["error"]["code"], "body_timeout");
        }
    }
    stop.cancel();
}

#[tokio::test]
async fn hundreds_of_half_sent_requests_do_not_slow_the_others() {
    let provider = Provider::start(instant());
    let mut half = Vec::new();
    for _ in 0..500 {
        let mut stream = TcpStream::connect(provider.address()).await.unwrap();
        let head = "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{";
        stream.write_all(head.as_bytes()).await.unwrap();
        half.push(stream);
    }
    let answer = provider.chat(&json!({})).await;
    assert_eq!(answer.status, 200);
    assert!(answer.took < Duration::from_secs(2), "{:?}", answer.took);
    assert_eq!(provider.stats().await["in_flight"], 0, "a half-sent request is no call yet");
}
