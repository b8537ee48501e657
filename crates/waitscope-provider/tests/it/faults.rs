//! Faults as a client meets them on the socket. What each does to a stream is tested where it is
//! decided; here is what only a socket shows, and how faults are chosen.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use waitscope_provider::Config;

use crate::fixture::{Answer, Provider, chat, embeddings, instant};

/// All that comes, and how it ends: `None` is a close (FIN).
fn raw(provider: &Provider, fault: &str, stream: bool) -> (String, Option<ErrorKind>) {
    let body = chat(&json!({"stream": stream})).to_string();
    let mut socket = TcpStream::connect(provider.address()).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(400))).unwrap();
    write!(
        socket,
        "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
         x-waitscope-fault: {fault}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut read = Vec::new();
    let ended = socket.read_to_end(&mut read).err().map(|error| error.kind());
    (String::from_utf8_lossy(&read).into_owned(), ended)
}

#[tokio::test]
async fn connections_end_as_told() {
    let provider = Provider::start(instant());
    let (reset, silent) = (Some(ErrorKind::ConnectionReset), Some(ErrorKind::WouldBlock));
    for (fault, stream, ended, holds, lacks) in [
        ("none", true, None, "[DONE]", "nothing"),
        ("reset", true, reset, "", "HTTP"),
        ("reset", false, reset, "", "HTTP"),
        ("hang", false, silent, "", "HTTP"),
        ("reset-after=3", true, reset, "data: ", "\r\n0\r\n"),
        ("cut-after=3", true, None, "data: ", "\r\n0\r\n"),
        ("end-after=3", true, None, "\r\n0\r\n", "[DONE]"),
        ("no-done", true, None, "\r\n0\r\n", "[DONE]"),
        ("stay-open", true, silent, "\"stop\"", "[DONE]"),
        ("open-after-done", true, silent, "[DONE]", "\r\n0\r\n"),
        ("pause-after=3", false, None, "\"usage\"", "nothing"),
        ("reset-after=3", false, reset, "\"object\"", "\"usage\""),
        ("cut-after=3", false, None, "\"object\"", "\"usage\""),
    ] {
        let (text, error) = raw(&provider, fault, stream);
        let case = format!("{fault}, stream {stream}: {error:?}, {text}");
        assert_eq!(error, ended, "{case}");
        assert!(text.contains(holds) && !text.contains(lacks), "{case}");
        let whole_head = text.is_empty() || text.starts_with("HTTP/1.1 200 OK\r\n");
        assert!(whole_head, "{case}");
    }
    // What hung and what stayed open was left by its client, what was reset was not answered.
    let done = |stats: &Value| stats["in_flight"] == 0;
    let stats = provider.until("/admin/stats", done).await;
    let calls = &stats["calls"]["draft_reply"];
    assert_eq!((&calls["499"], &calls["0"]), (&json!(3), &json!(2)), "{stats}");
}

async fn ask(provider: &Provider, fault: &str, path: &str, body: &Value) -> Answer {
    let request = provider.request(Method::POST, path).body(body.to_string());
    provider.send(request.header("x-waitscope-fault", fault)).await
}

#[tokio::test]
async fn refusals_say_what_they_are_told() {
    let provider = Provider::start(instant());
    for (fault, status, header, expected) in [
        ("status=500", 500, "retry-after", None),
        ("status=529, retry-after=0", 529, "retry-after", Some("0")),
        ("retry-after=90", 429, "retry-after", Some("90")),
        ("retry-after=malformed", 429, "retry-after", Some("soon")),
        ("retry-after-ms=500", 429, "retry-after-ms", Some("500")),
        ("status=503,should-retry=false", 503, "x-should-retry", Some("false")),
    ] {
        for (path, body) in [
            ("/v1/chat/completions", chat(&json!({"stream": true}))),
            ("/v1/embeddings", embeddings(&json!({}))),
        ] {
            let answer = ask(&provider, fault, path, &body).await;
            assert_eq!((answer.status, answer.header(header)), (status, expected), "{fault}");
            assert!(answer.json()["error"]["message"].is_string());
        }
    }
    let body = embeddings(&json!({}));
    let dated = ask(&provider, "retry-after=date:1h", "/v1/embeddings", &body).await;
    let date = dated.header("retry-after").unwrap().to_owned();
    assert!(date.ends_with(" GMT") && date.len() == 29, "{date}");
}

#[tokio::test]
async fn odd_bytes_hold_the_same_answer() {
    let provider = Provider::start(instant());
    let content = |answer: &Answer| -> String {
        let events = answer.events();
        let parsed = events.iter().filter_map(|e| serde_json::from_str::<Value>(&e.data).ok());
        parsed
            .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str().map(str::to_owned))
            .collect()
    };
    let body = chat(&json!({"stream": true}));
    let path = "/v1/chat/completions";
    let plain = content(&ask(&provider, "none", path, &body).await);
    assert!(!plain.is_empty() && !plain.is_ascii(), "{plain}");
    for fault in ["one-byte", "split-utf8", "crlf", "no-space", "comments", "id-ping"] {
        let answer = ask(&provider, fault, path, &body).await;
        assert_eq!(content(&answer), plain, "{fault}");
    }
    for fault in ["one-byte", "split-utf8"] {
        let whole = ask(&provider, fault, path, &chat(&json!({}))).await.json();
        assert_eq!(whole["choices"][0]["message"]["content"], plain.as_str(), "{fault}");
    }
}

#[tokio::test]
async fn whole_answers_are_spoiled() {
    let provider = Provider::start(instant());
    let base64 = embeddings(&json!({"encoding_format": "base64"}));
    let path = "/v1/embeddings";
    let vector = |answer: &Answer| answer.json()["data"][0]["embedding"].clone();
    assert!(vector(&ask(&provider, "none", path, &base64).await).is_string());
    assert!(vector(&ask(&provider, "floats", path, &base64).await).is_array());
    for fault in ["bad-json-after=0", "truncated-json-after=0"] {
        let answer = ask(&provider, fault, path, &base64).await;
        assert!(serde_json::from_str::<Value>(&answer.text).is_err(), "{fault}");
    }
}

#[tokio::test]
async fn a_hang_with_a_duration_is_late() {
    let provider = Provider::start(Config { latency: "fixed:0ms".parse().unwrap(), ..instant() });
    let late = ask(&provider, "hang=1h", "/v1/embeddings", &embeddings(&json!({}))).await;
    assert_eq!(late.status, 200, "speed 0 takes that wait away too");
    let provider =
        Provider::start(Config { latency: "fixed:0ms".parse().unwrap(), ..Config::default() });
    let late = ask(&provider, "hang=300ms", "/v1/embeddings", &embeddings(&json!({}))).await;
    assert!(late.status == 200 && late.took >= Duration::from_millis(300), "{:?}", late.took);
}

#[tokio::test]
async fn an_unknown_fault_is_answered_with_the_known_ones() {
    let provider = Provider::start(instant());
    let answer = ask(&provider, "explode", "/v1/embeddings", &embeddings(&json!({}))).await;
    let error = &answer.json()["error"];
    assert_eq!((answer.status, &error["param"]), (400, &json!("x-waitscope-fault")));
    assert!(error["message"].as_str().unwrap().contains("reset-after"), "{error}");
}

/// The statuses of 200 calls that all differ.
async fn statuses(provider: &Provider) -> Vec<u16> {
    let mut statuses = Vec::new();
    for call in 0..200 {
        let body = embeddings(&json!({"input": format!("text {call}")}));
        statuses.push(provider.post("/v1/embeddings", &body).await.status);
    }
    statuses
}

#[tokio::test]
async fn rates_choose_calls_and_headers_win() {
    let faults = vec!["status=503@20%".parse().unwrap(), "status=500@10%".parse().unwrap()];
    let provider = Provider::start(Config { faults, ..instant() });
    let all = statuses(&provider).await;
    let count = |status| all.iter().filter(|seen| **seen == status).count();
    // 40 and 16 (a tenth of the rest) expected, with standard deviations of 5.7 and 3.8.
    assert!((15..=65).contains(&count(503)) && (2..=35).contains(&count(500)), "{all:?}");
    assert!(count(200) > 100);
    let hit = all.iter().position(|status| *status == 503).unwrap();
    let body = embeddings(&json!({"input": format!("text {hit}")}));
    assert_eq!(ask(&provider, "none", "/v1/embeddings", &body).await.status, 200);
}

#[tokio::test]
async fn a_timeline_comes_and_goes() {
    let timeline =
        vec!["at 0s for 1s: outage".parse().unwrap(), "at 1s: status=418".parse().unwrap()];
    let provider = Provider::start(Config { timeline, ..instant() });
    let status = || async { provider.post("/v1/embeddings", &embeddings(&json!({}))).await.status };
    let start = Instant::now();
    let mut seen = vec![status().await];
    while seen.last() != Some(&418) && start.elapsed() < Duration::from_secs(10) {
        seen.push(status().await);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    seen.dedup();
    assert_eq!(seen, [503, 418]);
}

#[tokio::test]
async fn several_headers_are_joined() {
    let provider = Provider::start(instant());
    let request = provider.request(Method::POST, "/v1/embeddings");
    let request = request.body(embeddings(&json!({})).to_string());
    let request = request.header("x-waitscope-fault", "status=503");
    let answer = provider.send(request.header("x-waitscope-fault", "retry-after=7")).await;
    assert_eq!((answer.status, answer.header("retry-after")), (503, Some("7")));
}

#[tokio::test]
async fn thousands_of_faults_are_refused() {
    let provider = Provider::start(instant());
    let many = vec!["no-done"; 5_000].join(",");
    let body = chat(&json!({"stream": true}));
    assert_eq!(ask(&provider, &many, "/v1/chat/completions", &body).await.status, 400);
    assert_eq!(ask(&provider, "none", "/v1/chat/completions", &body).await.status, 200);
}

#[tokio::test]
async fn a_late_error_is_an_error() {
    let provider = Provider::start(Config::default());
    let fault = "hang=200ms,status=503";
    let late = ask(&provider, fault, "/v1/embeddings", &embeddings(&json!({}))).await;
    assert!(late.status == 503 && late.took >= Duration::from_millis(200), "{late:?}");
}
