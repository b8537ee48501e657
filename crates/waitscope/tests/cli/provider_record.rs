//! `provider record`, `provider fit` and `provider --latency file:` together.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use waitscope_process::ServerChild;

use super::fixture::{Waitscope, provider};

const CHAT: &str = "/v1/chat/completions";
const KEY: &str = "sk-very/s3cret+key";

/// A recorder before an upstream, and its file.
struct Recorder {
    server: ServerChild,
    file: PathBuf,
    _directory: tempfile::TempDir,
}

impl Recorder {
    fn start(upstream: &str, args: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("calls.jsonl");
        let server = Waitscope::new("provider")
            .args(["record", "--port", "0", "--upstream", upstream])
            .args(["--output", file.to_str().unwrap()])
            .args(args)
            .serve();
        Self { server, file, _directory: directory }
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server.url())
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.server.pid()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// The lines, once there are so many: a call is noted right after its client has the answer.
    fn lines(&self, count: usize) -> Vec<Value> {
        let text = until(|| {
            let text = std::fs::read_to_string(&self.file).unwrap();
            (text.lines().count() >= count && text.ends_with('\n')).then_some(text)
        });
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Waits for something that must come soon.
fn until<T>(mut come: impl FnMut() -> Option<T>) -> T {
    let asked = Instant::now();
    loop {
        if let Some(come) = come() {
            return come;
        }
        assert!(asked.elapsed() < Duration::from_secs(20), "it did not come");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn agent() -> ureq::Agent {
    ureq::Agent::config_builder()
        .proxy(None)
        .http_status_as_error(false)
        .max_redirects(0)
        .build()
        .into()
}

/// Posts a chat call; the status and the text.
fn chat(url: &str, body: &Value) -> (u16, String) {
    let request = agent().post(url).content_type("application/json");
    let mut answer = request.send(&body.to_string()).unwrap();
    (answer.status().as_u16(), answer.body_mut().read_to_string().unwrap())
}

fn asks(stream: bool) -> Value {
    json!({"model": "chat-small", "stream": stream, "max_tokens": 9,
        "messages": [{"role": "user", "content": "My invoice is wrong."}]})
}

/// An upstream that answers each connection by `answer`, which gets the request's text.
fn upstream(answer: impl Fn(&mut TcpStream, &str) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = std::sync::Arc::new(answer);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let answer = std::sync::Arc::clone(&answer);
            std::thread::spawn(move || {
                let request = read_request(&mut stream);
                answer(&mut stream, &request);
            });
        }
    });
    url
}

fn read_request(stream: &mut TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head += &line;
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    head + &String::from_utf8(body).unwrap()
}

fn number(line: &Value, field: &str) -> f64 {
    line[field].as_f64().unwrap_or_else(|| panic!("{field} of {line}"))
}

#[test]
fn calls_are_passed_on_and_noted_with_their_times() {
    let provider = provider("fixed:400ms");
    let recorder = Recorder::start(provider.url(), &[]);
    let (status, text) = chat(&recorder.url(CHAT), &asks(false));
    assert!(status == 200 && text.contains("Hello"), "{text}");
    let (status, text) = chat(&recorder.url(CHAT), &asks(true));
    assert!(status == 200 && text.ends_with("data: [DONE]\n\n"), "{text}");
    let embed = json!({"model": "embed-small", "input": "x", "dimensions": 2});
    assert_eq!(chat(&recorder.url("/v1/embeddings"), &embed).0, 200);
    assert_eq!(chat(&recorder.url("/no/such/path"), &json!({})).0, 404);
    let lines = recorder.lines(4);
    for (line, path, model, stream, status) in [
        (&lines[0], CHAT, json!("chat-small"), false, 200),
        (&lines[1], CHAT, json!("chat-small"), true, 200),
        (&lines[2], "/v1/embeddings", json!("embed-small"), false, 200),
        (&lines[3], "/no/such/path", Value::Null, false, 404),
    ] {
        assert_eq!(line["path"], path);
        assert_eq!(line["method"], "POST");
        assert_eq!(line["model"], model);
        assert_eq!(line["stream"], stream);
        assert_eq!(line["status"], status);
        assert_eq!(line["error"], Value::Null);
        assert!(number(line, "request_bytes") > 1.0 && number(line, "response_bytes") > 1.0);
        assert!(line["headers"]["x-request-id"].is_string(), "{line}");
        assert!(line.get("request_body").is_none() && line.get("response_body").is_none());
        assert!(line["started_at"].as_str().unwrap().ends_with('Z'));
        assert!(status == 404 || (399.0..5_000.0).contains(&number(line, "latency_ms")), "{line}");
    }
    assert_eq!(lines[0]["ttft_ms"], Value::Null);
    let (first, total) = (number(&lines[1], "ttft_ms"), number(&lines[1], "latency_ms"));
    let gaps = lines[1]["gaps_ms"].as_array().unwrap();
    let sum: f64 = gaps.iter().filter_map(Value::as_f64).sum();
    // Due at 200 ms and at 400 ms, with nine tokens.
    assert!(first >= 199.0 && first + sum >= 399.0 && first + sum <= total + 0.01, "{lines:?}");
    assert_eq!(gaps.len(), 8);
    assert!(number(&lines[1], "coalesced_events") <= 8.0);
}

#[test]
fn answers_are_not_held_back() {
    let provider = provider("fixed:4s");
    let recorder = Recorder::start(provider.url(), &[]);
    let body = asks(true);
    let request = agent().post(&recorder.url(CHAT)).content_type("application/json");
    let asked = Instant::now();
    let answer = request.send(&body.to_string()).unwrap();
    let mut lines = BufReader::new(answer.into_body().into_reader()).lines();
    lines.find(|line| line.as_ref().unwrap().contains("\"content\":\"H")).unwrap().unwrap();
    assert!(asked.elapsed() < Duration::from_millis(3_800), "the first token is due at 2 s");
    assert!(lines.map_while(Result::ok).any(|line| line == "data: [DONE]"));
    assert!(asked.elapsed() >= Duration::from_millis(3_990));
}

/// The upstream repeats all that it was sent, in a header and in its text.
#[test]
fn no_key_is_ever_written() {
    let echo = upstream(|stream, request| {
        let first = request.lines().find(|line| line.contains("s3cret")).unwrap_or_default();
        let _ = write!(
            stream,
            "HTTP/1.1 200 OK\r\nx-echo: {first}\r\nset-cookie: session={KEY}\r\n\
             content-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{request}",
            request.len()
        );
    });
    let encoded = "sk-very%2Fs3cret%2Bkey";
    for bodies in [false, true] {
        let args: &[&str] = if bodies { &["--bodies"] } else { &[] };
        let recorder = Recorder::start(&echo, args);
        let queries = ["api-key", "key", "api_key", "access_token"];
        let urls = queries.map(|name| recorder.url(&format!("{CHAT}?{name}={encoded}&a=b")));
        let plain = recorder.url(CHAT);
        let bearer = format!("Bearer {KEY}");
        let calls = [
            (plain.as_str(), "authorization", bearer.as_str()),
            (&plain, "api-key", KEY),
            (&plain, "x-api-key", KEY),
            (&plain, "x-goog-api-key", KEY),
        ]
        .into_iter()
        .chain(urls.iter().map(|url| (url.as_str(), "accept", "*/*")));
        let mut count = 0;
        for (url, header, value) in calls {
            let request = agent().post(url).header(header, value);
            let body = json!({"model": KEY, "user": KEY}).to_string();
            let mut answer = request.send(&body).unwrap();
            let text = answer.body_mut().read_to_string().unwrap();
            // The upstream has seen it, and the client too.
            assert!(text.contains(KEY) && (text.contains(value) || text.contains(encoded)));
            assert!(answer.headers().contains_key("set-cookie"));
            count += 1;
        }
        let lines = recorder.lines(count);
        assert_eq!(lines[0].get("request_body").is_some(), bodies);
        assert_eq!(lines[0].get("response_body").is_some(), bodies);
        let written = std::fs::read_to_string(&recorder.file).unwrap();
        let said = recorder.server.said();
        for text in [&written, &said] {
            for part in ["s3cret", "set-cookie", "session="] {
                let found = text.find(part).map(|at| &text[at.saturating_sub(80)..at + 10]);
                assert_eq!(found, None, "with bodies: {bodies}");
            }
        }
        assert!(!bodies || written.contains("[redacted]"));
    }
}

#[test]
fn an_upstream_that_is_not_there_is_a_502() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let recorder = Recorder::start(&format!("http://{closed}"), &[]);
    let (status, text) = chat(&recorder.url(&format!("{CHAT}?key={KEY}")), &asks(false));
    let error: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((status, &error["error"]["code"]), (502, &json!("upstream_unavailable")));
    assert!(error["error"]["message"].as_str().unwrap().contains("cannot be reached"), "{text}");
    assert_eq!(error["error"]["param"], Value::Null);
    let line = &recorder.lines(1)[0];
    assert_eq!(line["status"], Value::Null);
    assert!(line["error"].as_str().unwrap().contains("cannot be reached"), "{line}");
    assert!(!line.to_string().contains("s3cret"));
}

#[test]
fn an_upstream_that_breaks_off_breaks_off_for_the_client_too() {
    let event = |text: &str| {
        format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
    };
    let breaking = upstream(move |stream, _request| {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                    transfer-encoding: chunked\r\n\r\n";
        let piece = event("a");
        let _ = write!(stream, "{head}{:x}\r\n{piece}\r\n", piece.len());
        std::thread::sleep(Duration::from_millis(100));
        let _ = write!(stream, "{:x}\r\n{piece}\r\n", piece.len());
        std::thread::sleep(Duration::from_millis(100));
    });
    let recorder = Recorder::start(&breaking, &[]);
    let request = agent().post(&recorder.url(CHAT)).content_type("application/json");
    let mut answer = request.send(&asks(true).to_string()).unwrap();
    let mut text = Vec::new();
    let ended = answer.body_mut().as_reader().read_to_end(&mut text);
    assert!(ended.is_err(), "no clean end");
    assert_eq!(String::from_utf8(text).unwrap().matches("data:").count(), 2);
    let line = &recorder.lines(1)[0];
    assert_eq!(line["status"], 200);
    assert!(line["error"].as_str().unwrap().contains("broke off"), "{line}");
    assert_eq!(line["gaps_ms"].as_array().unwrap().len(), 1, "{line}");
}

#[test]
fn a_client_that_leaves_is_noted_and_its_call_ended() {
    let provider = provider("fixed:10m");
    let recorder = Recorder::start(provider.url(), &[]);
    let body = asks(true).to_string();
    let address = recorder.server.url().strip_prefix("http://").unwrap().to_owned();
    let mut client = TcpStream::connect(address).unwrap();
    let length = body.len();
    write!(client, "POST {CHAT} HTTP/1.1\r\nhost: h\r\ncontent-length: {length}\r\n\r\n{body}")
        .unwrap();
    let stats = || -> Value {
        let mut answer = agent().get(&format!("{}/admin/stats", provider.url())).call().unwrap();
        serde_json::from_str(&answer.body_mut().read_to_string().unwrap()).unwrap()
    };
    until(|| (stats()["in_flight"] == 1).then_some(()));
    drop(client);
    until(|| (stats()["in_flight"] == 0).then_some(()));
    let line = &recorder.lines(1)[0];
    assert_eq!(line["error"], "the client left");
    assert!(number(line, "latency_ms") < 60_000.0);
}

#[test]
fn a_full_disk_is_told_once_and_stops_no_call() {
    let provider = provider("fixed:1ms");
    let mut recorder = Waitscope::new("provider")
        .args(["record", "--port", "0", "--upstream", provider.url(), "--output", "/dev/full"])
        .serve();
    let url = format!("{}{CHAT}", recorder.url());
    for _ in 0..3 {
        assert_eq!(chat(&url, &asks(false)).0, 200);
    }
    assert_eq!(recorder.stop().unwrap().code(), Some(0));
    let said = until(|| Some(recorder.said()).filter(|said| said.contains("could not be noted")));
    assert_eq!(said.matches("cannot write /dev/full").count(), 1, "{said}");
    assert!(said.contains("3 calls could not be noted"), "{said}");
}

#[test]
fn calls_in_flight_are_finished_and_noted_when_it_is_told_to_stop() {
    let provider = provider("fixed:1500ms");
    let mut recorder = Recorder::start(provider.url(), &[]);
    assert_eq!(chat(&recorder.url(CHAT), &asks(false)).0, 200);
    let url = recorder.url(CHAT);
    let call = std::thread::spawn(move || chat(&url, &asks(true)));
    std::thread::sleep(Duration::from_millis(600));
    recorder.signal(Signal::INT);
    let (status, text) = call.join().unwrap();
    assert!(status == 200 && text.ends_with("data: [DONE]\n\n"), "{text}");
    // First the lines: a second signal would end it at once.
    let lines = recorder.lines(2);
    assert!(lines.iter().all(|line| line["status"] == 200 && line["error"].is_null()), "{lines:?}");
    assert_eq!(recorder.server.stop().unwrap().code(), Some(0));
}

/// It takes the time that calls in flight are given: 10 s.
#[test]
fn calls_that_do_not_end_are_noted_as_cut() {
    let provider = provider("fixed:10m");
    let mut recorder = Recorder::start(provider.url(), &[]);
    let url = recorder.url(CHAT);
    let call = std::thread::spawn(move || {
        let _cut = agent().post(&url).send(&asks(false).to_string());
    });
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(recorder.server.stop().unwrap().code(), Some(0));
    call.join().unwrap();
    let lines = recorder.lines(1);
    assert!(lines[0]["error"].as_str().unwrap().starts_with("cut"), "{lines:?}");
}

#[test]
fn redirects_are_the_clients_business() {
    let redirecting = upstream(|stream, _request| {
        let _ = write!(
            stream,
            "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:1/?sig=s3cret\r\n\
             content-length: 0\r\nconnection: close\r\n\r\n"
        );
    });
    let recorder = Recorder::start(&redirecting, &[]);
    let answer = agent().get(&recorder.url("/v1/models")).call().unwrap();
    assert_eq!(answer.status().as_u16(), 307);
    assert!(answer.headers().contains_key("location"));
    let line = &recorder.lines(1)[0];
    assert_eq!((&line["status"], &line["model"]), (&json!(307), &Value::Null));
    assert!(!line.to_string().contains("s3cret"), "{line}");
}

#[test]
fn an_upstream_behind_tls_is_reached() {
    let (url, pem) = super::tls::tls_server();
    let directory = tempfile::tempdir().unwrap();
    let authority = directory.path().join("ca.pem");
    std::fs::write(&authority, pem).unwrap();
    let file = directory.path().join("r.jsonl");
    let recorder = |trusted: bool| {
        let recorder = Waitscope::new("provider")
            .args(["record", "--port", "0", "--upstream", &url])
            .args(["--output", file.to_str().unwrap()]);
        if trusted { recorder.env("SSL_CERT_FILE", &authority).serve() } else { recorder.serve() }
    };
    let trusting = recorder(true);
    assert_eq!(chat(&format!("{}{CHAT}", trusting.url()), &json!({})), (200, "ok".into()));
    let strict = recorder(false);
    let (status, text) = chat(&format!("{}{CHAT}", strict.url()), &json!({}));
    assert!(status == 502 && text.contains("certificate"), "{text}");
}

#[test]
fn a_recording_is_fitted_and_replayed() {
    let provider = provider("lognormal:120ms,0.3");
    let mut recorder = Recorder::start(provider.url(), &[]);
    for call in 0..40 {
        let mut body = asks(call % 2 == 0);
        body["user"] = json!(call.to_string());
        assert_eq!(chat(&recorder.url(CHAT), &body).0, 200);
    }
    assert_eq!(chat(&recorder.url("/no/such/path"), &json!({})).0, 404);
    recorder.server.stop().unwrap();
    let lines = recorder.lines(41);
    let file = recorder.file.to_str().unwrap();
    let text = Waitscope::new("provider").args(["fit", file]).run().exits(0);
    for expected in ["40 calls; 1 more", "lognormal:", "mixture:", "fits best", "file:", "--gaps"] {
        assert!(text.stdout.contains(expected), "{expected}: {text:#?}");
    }
    let json = Waitscope::new("provider").args(["fit", file, "--json"]).run().exits(0).record();
    assert_eq!((&json["calls"], &json["failed"]), (&json!(40), &json!(1)));
    let group = &json["groups"][0];
    assert_eq!(group["endpoint"], "text");
    assert_eq!(group["ttft"]["calls"], 20);
    let median = number(&group["latency"]["measured"], "p50_ms");
    assert!((90.0..1_000.0).contains(&median), "{json}");

    let replay = super::fixture::provider(&format!("file:{file}"));
    let said = replay.said();
    assert!(said.contains("replaying 40 calls") && said.contains("the 1 that ended"), "{said}");
    let took_ms: Vec<f64> = lines.iter().map(|line| number(line, "latency_ms")).collect();
    for call in 0..10 {
        let mut body = asks(false);
        body["user"] = json!(call.to_string());
        let request = agent().post(&format!("{}{CHAT}", replay.url()));
        let answer = request.content_type("application/json").send(&body.to_string()).unwrap();
        let planned = answer.headers()["openai-processing-ms"].to_str().unwrap();
        let planned: f64 = planned.parse().unwrap();
        // A stream ends with its last token, a little before its last byte; whole milliseconds.
        let near = |ms: &&f64| (planned - 1.0..planned + 100.0).contains(*ms);
        assert!(took_ms.iter().any(|ms| near(&ms)), "{planned} is none of {took_ms:?}");
    }
}

#[test]
fn a_second_run_adds_to_the_file() {
    let provider = provider("fixed:1ms");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("r.jsonl");
    // What an older run was cut in the middle of.
    std::fs::write(&file, "{\"latency_ms\": 5}").unwrap();
    for _ in 0..2 {
        let mut recorder = Waitscope::new("provider")
            .args(["record", "--port", "0", "--upstream", provider.url()])
            .args(["--output", file.to_str().unwrap()])
            .serve();
        assert_eq!(chat(&format!("{}{CHAT}", recorder.url()), &asks(false)).0, 200);
        recorder.stop().unwrap();
    }
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 3, "{text}");
    let ran = Waitscope::new("provider").args(["fit", file.to_str().unwrap()]).run().exits(0);
    assert!(ran.stdout.contains("3 calls"), "{ran:#?}");
}

#[test]
fn bad_input_is_answered_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let broken = write("broken.jsonl", "{\"latency_ms\": 1}\n{\"latency_ms\": -1}\n");
    let empty = write("empty.jsonl", "");
    let latency = format!("file:{broken}");
    let cases: [(&[&str], &[&str]); 11] = [
        (&["fit"], &["FILE", "provider"]),
        (&["fit", "/no/such/file.jsonl"], &["/no/such/file.jsonl", "does not exist", "record"]),
        (&["fit", &broken], &["broken.jsonl, line 2", "latency_ms is -1", "0 to 3600000"]),
        (&["fit", &empty], &["is empty", "latency_ms"]),
        (&["--latency", &latency], &["line 2", "0 to 3600000"]),
        (&["--latency", "file:"], &["names no file"]),
        (&["record"], &["--upstream"]),
        (&["record", "--upstream", "api.openai.com"], &["http:// or https://"]),
        (&["record", "--upstream", "https://me:s3cret@h"], &["password"]),
        (&["record", "--upstream", "http://h", "--output", "/no/such/x"], &["cannot write"]),
        (&["--seed", "1", "fit", &broken], &["fit"]),
    ];
    for (args, words) in cases {
        let ran = Waitscope::new("provider").args(args).run().exits(2);
        assert!(!ran.stderr.contains("s3cret"), "{ran:#?}");
        ran.complains(words);
    }
    assert!(!Path::new("recording.jsonl").exists());
}
