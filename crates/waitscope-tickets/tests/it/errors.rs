//! Every way to get no ticket.

use std::time::Duration;

use axum::body::Bytes;
use http_body_util::{BodyExt, Full};
use serde_json::json;
use waitscope_tickets::{Config, IntakeMode};

use crate::fixture::{Behaviour, Database, FakeProvider, Service, send, settings, ticket};

const LATENCY: Duration = Duration::from_millis(5);

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_is_not_found() {
    for mode in IntakeMode::ALL {
        for database in Database::each() {
            let provider = FakeProvider::start(LATENCY);
            let service = Service::start(settings(mode, &database, &provider));
            let paths = [
                "/nowhere",
                "/v1/tickets/",
                "/v1/tickets/T-500001",
                "/v1/tickets/500001",
                "/v1/tickets/T-9999999999999999999999",
                "/v1/tickets/%FF",
                "/v1/tickets/T-400001/x",
            ];
            for path in paths {
                let reply = service.get(path).await;
                assert_eq!((reply.status, reply.code()), (404, "not_found"), "{mode} {path}");
            }
            let mut stranger = ticket();
            stranger["customer_id"] = json!("C-99999");
            let reply = service.post(&stranger).await;
            assert_eq!((reply.status, reply.code()), (404, "not_found"), "{mode}");
            assert_eq!(provider.seen().tasks.len(), 0, "{mode}: nobody asks for a stranger");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_method_is_told_the_right_ones() {
    for database in Database::each() {
        let provider = FakeProvider::start(LATENCY);
        let service = Service::start(settings(IntakeMode::Async, &database, &provider));
        for (method, path, allowed) in [
            ("DELETE", "/v1/tickets", "POST,GET,HEAD"),
            ("PUT", "/v1/tickets/T-400001", "GET,HEAD"),
            ("POST", "/health", "GET,HEAD"),
            ("BREW", "/ready", "GET,HEAD"),
        ] {
            let reply = send(service.request(method, path)).await;
            assert_eq!(
                (reply.status, reply.code()),
                (405, "method_not_allowed"),
                "{method} {path}"
            );
            assert_eq!(reply.header("allow"), Some(allowed));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_request_is_told_its_fields() {
    for database in Database::each() {
        let provider = FakeProvider::start(LATENCY);
        let service = Service::start(settings(IntakeMode::Async, &database, &provider));
        let cases = [
            ("", vec!["body"]),
            ("{", vec!["body"]),
            ("[]", vec!["body"]),
            ("{}", vec!["customer_id", "subject", "body", "channel"]),
            (
                r#"{"customer_id": "C-1", "subject": "", "body": "", "channel": "fax", "x": 1}"#,
                vec!["x", "customer_id", "subject", "channel"],
            ),
        ];
        for (body, fields) in cases {
            let post = service.request("POST", "/v1/tickets").body(body);
            let reply = send(post.header("content-type", "application/json")).await;
            assert_eq!((reply.status, reply.code()), (422, "invalid_request"), "{body}");
            let found: Vec<&String> =
                reply.body["error"]["fields"].as_object().unwrap().keys().collect();
            assert_eq!(found, fields, "{body}");
        }
        assert_eq!(provider.seen().tasks.len(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_says_it_is_something_else_is_refused() {
    for database in Database::each() {
        let provider = FakeProvider::start(LATENCY);
        let service = Service::start(settings(IntakeMode::Async, &database, &provider));
        for (name, value) in [("content-type", "text/plain"), ("content-encoding", "gzip")] {
            let post = service.request("POST", "/v1/tickets").body(ticket().to_string());
            let reply = send(post.header(name, value)).await;
            assert_eq!((reply.status, reply.code()), (415, "unsupported_media_type"), "{name}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_may_have_64_kib() {
    for database in Database::each() {
        let provider = FakeProvider::start(LATENCY);
        let service = Service::start(settings(IntakeMode::Async, &database, &provider));
        let kib = 1024;
        for (bytes, status) in
            [(64 * kib, 201), (64 * kib + 1, 413), (1024 * kib, 413), (8 * 1024 * kib, 413)]
        {
            for chunked in [false, true] {
                let mut body = ticket().to_string();
                body.extend(std::iter::repeat_n(' ', bytes - body.len()));
                let body = if chunked { streamed(body) } else { body.into() };
                let post = service.request("POST", "/v1/tickets").body(body);
                // A client that sends without end may lose its connection before it has its answer.
                let Ok(response) = post.send().await else {
                    assert!(bytes > 1024 * kib, "{bytes} bytes, chunked: {chunked}");
                    continue;
                };
                assert_eq!(response.status(), status, "{bytes} bytes, chunked: {chunked}");
                let body: serde_json::Value =
                    serde_json::from_slice(&response.bytes().await.unwrap()).unwrap();
                let code = body["error"]["code"].as_str();
                assert_eq!(code, (status == 413).then_some("body_too_large"));
            }
        }
        assert_eq!(service.get("/health").await.status, 200);
    }
}

/// A body that is sent in chunks: a mapped body does not tell its length.
fn streamed(text: String) -> reqwest::Body {
    reqwest::Body::wrap(Full::new(Bytes::from(text)).map_frame(|frame| frame))
}

#[tokio::test(flavor = "multi_thread")]
async fn each_failure_of_the_provider_has_its_answer_and_saves_nothing() {
    let busy = Behaviour::Status(429, &[("retry-after", "30")]);
    let busy_for_a_moment =
        Behaviour::Status(429, &[("retry-after", "30"), ("retry-after-ms", "1200")]);
    let unauthorized = Behaviour::Status(401, &[]);
    let out = Behaviour::Status(503, &[]);
    let garbage = Behaviour::Body("<html>".into());
    let empty = Behaviour::Body(r#"{"choices": [], "data": []}"#.into());
    let endless = Behaviour::Body("[".repeat(5 * 1024 * 1024));
    let unknown_team = Behaviour::Content(r#"{"team": "kitchen", "priority": 1}"#);
    let cases = [
        ("classify", busy, 503, "ai_busy", Some("30")),
        ("draft_reply", busy_for_a_moment, 503, "ai_busy", Some("2")),
        ("embed", out.clone(), 503, "ai_unavailable", None),
        ("classify", out, 503, "ai_unavailable", None),
        ("draft_reply", unauthorized, 502, "ai_bad_answer", None),
        ("embed", garbage.clone(), 502, "ai_bad_answer", None),
        ("classify", garbage, 502, "ai_bad_answer", None),
        ("embed", empty.clone(), 502, "ai_bad_answer", None),
        ("draft_reply", empty, 502, "ai_bad_answer", None),
        ("classify", endless, 502, "ai_bad_answer", None),
        ("classify", unknown_team, 502, "ai_bad_answer", None),
    ];
    for mode in IntakeMode::ALL {
        for database in Database::each() {
            let provider = FakeProvider::start(LATENCY);
            let service = Service::start(settings(mode, &database, &provider));
            for (task, behaviour, status, code, retry_after) in &cases {
                provider.behave(task, behaviour.clone());
                let reply = service.post(&ticket()).await;
                let got = (reply.status, reply.code(), reply.header("retry-after"));
                assert_eq!(got, (*status, *code, *retry_after), "{mode} {task}");
                assert!(!reply.body.to_string().contains("s3cret"), "{reply:?}");
                let parts = reply.timing().len();
                assert!(parts > 1, "{mode} {task}: the calls so far are in Server-Timing");
                provider.behave(task, Behaviour::Good);
            }
            assert_eq!(database.new_tickets().await, 0, "{mode}");
            assert_eq!(service.post(&ticket()).await.status, 201, "{mode}: it recovers");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_does_not_answer_in_time_is_unavailable() {
    for mode in IntakeMode::ALL {
        for database in Database::each() {
            let provider = FakeProvider::start(LATENCY);
            provider.behave("draft_reply", Behaviour::Hang);
            let service = Service::start(Config {
                provider_timeout: Duration::from_millis(300),
                ..settings(mode, &database, &provider)
            });
            let reply = service.post(&ticket()).await;
            assert_eq!((reply.status, reply.code()), (503, "ai_unavailable"), "{mode}");
            let waited_ms = reply.timing()[2].1;
            assert!((295.0..3000.0).contains(&waited_ms), "{mode}: {waited_ms} ms");
            assert_eq!(database.new_tickets().await, 0, "{mode}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_is_not_there_is_unavailable() {
    for mode in IntakeMode::ALL {
        for database in Database::each() {
            let provider = FakeProvider::start(LATENCY);
            let service = Service::start(settings(mode, &database, &provider));
            drop(provider);
            let reply = service.post(&ticket()).await;
            assert_eq!((reply.status, reply.code()), (503, "ai_unavailable"), "{mode}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_between_two_statements_saves_nothing() {
    for mode in IntakeMode::ALL {
        for database in Database::each() {
            let provider = FakeProvider::start(LATENCY);
            let service = Service::start(settings(mode, &database, &provider));
            database.execute("ALTER TABLE ai_runs RENAME TO gone").await;
            let reply = service.post(&ticket()).await;
            assert_eq!((reply.status, reply.code()), (500, "internal_error"), "{mode}");
            assert!(!reply.body.to_string().contains("ai_runs"), "{mode}: {reply:?}");
            database.execute("ALTER TABLE gone RENAME TO ai_runs").await;
            assert_eq!(database.new_tickets().await, 0, "{mode}");
            assert_eq!(service.post(&ticket()).await.status, 201, "{mode}: it recovers");
        }
    }
}
