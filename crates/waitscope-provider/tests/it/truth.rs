//! The truth log holds what a client on the same machine sees.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use waitscope_provider::Config;

use crate::fixture::{Provider, chat, instant};

/// The lines of a log that nobody writes any more.
fn lines(path: &Path) -> Vec<Value> {
    #[expect(clippy::disallowed_methods, reason = "nothing else runs by then")]
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn numbers(line: &Value, field: &str) -> Vec<u64> {
    line[field].as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect()
}

/// `CLOCK_MONOTONIC` in nanoseconds.
fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    u64::try_from(Duration::try_from(now).unwrap().as_nanos()).unwrap()
}

#[tokio::test]
async fn calls_are_logged_with_their_plan_and_their_times() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("truth.jsonl");
    let latency = "fixed:200ms".parse().unwrap();
    let provider =
        Provider::start(Config { latency, log: Some(path.clone()), ..Config::default() });
    let before = monotonic_ns();
    let stream = provider.chat(&json!({"stream": true, "max_tokens": 5})).await;
    let after = monotonic_ns();
    provider.chat(&json!({})).await;
    assert_eq!(provider.post("/v1/embeddings", &json!({"model": 1})).await.status, 400);
    drop(provider);

    let lines = lines(&path);
    assert_eq!(lines.len(), 3);
    let logged = &lines[0];
    let arrived = logged["arrived_ns"].as_u64().unwrap();
    assert!((before..after).contains(&arrived), "{before} {arrived} {after}");
    let (planned, written) = (numbers(logged, "planned_us"), numbers(logged, "written_us"));
    // The role, five tokens, the finish and [DONE].
    assert_eq!(planned, [100, 100, 125, 150, 175, 200, 200, 200].map(|ms| ms * 1_000));
    assert!(written.is_sorted() && planned.iter().zip(&written).all(|(due, at)| at >= due));
    assert!(arrived + written[7] * 1_000 <= after, "{written:?}");
    let late = planned.iter().zip(&written).map(|(due, at)| at - due).max().unwrap();
    assert!(logged["max_lateness_us"].as_u64().unwrap().abs_diff(late) <= 1, "{logged}");
    assert_eq!(
        (&logged["task"], &logged["status"], &logged["client_left"], &logged["attempt"]),
        (&json!("draft_reply"), &json!(200), &json!(false), &json!(0))
    );
    assert_eq!((&logged["model"], &logged["faults"]), (&json!("chat-small"), &json!("")));
    assert_eq!(logged["bytes"].as_u64(), Some(stream.text.len() as u64));
    assert_eq!(numbers(&lines[1], "planned_us"), [200_000]);
    assert!(numbers(&lines[1], "written_us")[0] >= 200_000);
    assert_eq!(lines[2]["status"], 400);
}

#[tokio::test]
async fn long_streams_are_logged_in_parts() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("truth.jsonl");
    let provider = Provider::start(Config { log: Some(path.clone()), ..instant() });
    provider.get("/v1/stream?tokens=600").await;
    drop(provider);
    let lines = lines(&path);
    let writes: Vec<usize> = lines.iter().map(|line| numbers(line, "written_us").len()).collect();
    assert_eq!(writes, [256, 256, 89], "600 tokens and [DONE]");
    let parts: Vec<bool> = lines.iter().map(|line| line["part"] == true).collect();
    assert_eq!(parts, [true, true, false]);
    assert!(lines.iter().all(|line| line["call"] == 1));
}

#[tokio::test]
async fn clients_that_leave_and_faults_are_logged() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("truth.jsonl");
    let latency = "fixed:10m".parse().unwrap();
    let faults = vec!["reset-after=2".parse().unwrap()];
    let provider =
        Provider::start(Config { latency, faults, log: Some(path.clone()), ..Config::default() });
    let body = chat(&json!({})).to_string();
    let mut leaving = tokio::net::TcpStream::connect(provider.address()).await.unwrap();
    let head = "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n";
    let request = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    leaving.write_all(request.as_bytes()).await.unwrap();
    provider.until("/admin/stats", |stats| stats["in_flight"] == 1).await;
    drop(leaving);
    provider.until("/admin/stats", |stats| stats["in_flight"] == 0).await;
    drop(provider);
    let lines = lines(&path);
    let [line] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!((&line["status"], &line["client_left"]), (&json!(499), &json!(true)));
    assert_eq!(line["faults"], "reset-after=2");
    assert_eq!(numbers(line, "written_us"), [0_u64; 0]);
    assert!(line["ended_us"].as_u64() > Some(0), "{line}");
}

#[tokio::test]
async fn lateness_is_told_with_and_without_a_log() {
    let provider = Provider::start(instant());
    assert!(!provider.get("/metrics").await.text.contains("lateness"), "nothing written yet");
    provider.chat(&json!({})).await;
    let metrics = provider.get("/metrics").await.text;
    for quantile in ["0.5", "0.99", "1"] {
        let name = format!("waitscope_provider_lateness_seconds{{quantile=\"{quantile}\"}} ");
        assert!(metrics.contains(&name), "{metrics}");
    }
    let provider = waitscope_provider::Provider::builder().log("/nowhere/truth.jsonl").start();
    assert!(provider.is_err());
}

#[test]
fn other_files_and_pipes_are_not_written_over() {
    let directory = tempfile::tempdir().unwrap();
    let start = |path: &Path| waitscope_provider::Provider::builder().log(path).start();
    let recording = directory.path().join("recording.jsonl");
    #[expect(clippy::disallowed_methods, reason = "nothing else runs yet")]
    std::fs::write(&recording, "{\"latency_ms\": 5}\n").unwrap();
    assert!(start(&recording).unwrap_err().to_string().contains("no truth log"));
    assert_eq!(recording.metadata().unwrap().len(), 18);
    let pipe = directory.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(start(&pipe).unwrap_err().to_string().contains("pipe"));
    let log = directory.path().join("truth.jsonl");
    #[expect(clippy::disallowed_methods, reason = "nothing else runs yet")]
    std::fs::write(&log, "{\"call\":1,\"part\":true}\n").unwrap();
    assert!(start(&log).is_ok(), "a log of an earlier run is emptied");
}

/// A call that is cut when the provider stops is in the log and in the last word.
#[tokio::test]
async fn what_is_cut_at_the_end_is_logged() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("truth.jsonl");
    let config = Config { log: Some(path.clone()), ..Config::default() };
    let listener = waitscope_serve::bind((std::net::Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let address = listener.local_addr().unwrap();
    let stop = tokio_util::sync::CancellationToken::new();
    let patience = waitscope_serve::Patience {
        drain: Duration::from_millis(100),
        ..waitscope_serve::Patience::default()
    };
    let provider = waitscope_provider::Provider::new(config).unwrap();
    let serving = tokio::spawn(provider.serve(listener, stop.clone(), patience));
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let request = b"GET /v1/stream?ttft=0&tokens=3000&tok_ms=100 HTTP/1.1\r\nHost: x\r\n\r\n";
    stream.write_all(request).await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    stop.cancel();
    let (drained, summary) = serving.await.unwrap().unwrap();
    assert_eq!((drained, summary.calls), (waitscope_serve::Drained::Cut, 1));
    let lines = lines(&path);
    assert_eq!(lines.len(), 1);
    assert!(!numbers(&lines[0], "written_us").is_empty(), "{}", lines[0]);
}
