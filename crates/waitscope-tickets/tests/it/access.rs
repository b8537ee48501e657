//! The key that clients must send, when there is one.

use std::time::Duration;

use waitscope_tickets::{Config, IntakeMode};

use crate::fixture::{Database, FakeProvider, Service, send, settings, ticket};

const GUARDED: [(&str, &str); 3] =
    [("POST", "/v1/tickets"), ("GET", "/v1/tickets"), ("GET", "/v1/tickets/T-400001")];

#[tokio::test(flavor = "multi_thread")]
async fn only_who_knows_the_key_is_served() {
    for mode in IntakeMode::ALL {
        for database in Database::each() {
            let provider = FakeProvider::start(Duration::ZERO);
            let service = Service::start(Config {
                api_key: Some("s3cret".parse().unwrap()),
                ..settings(mode, &database, &provider)
            });
            for (method, path) in GUARDED {
                let request = || service.request(method, path).json(&ticket());
                for key in [None, Some(""), Some("s3cre"), Some("S3cret"), Some("s3cret1")] {
                    let sent = match key {
                        Some(key) => request().header("x-api-key", key),
                        None => request(),
                    };
                    let reply = send(sent).await;
                    let got = (reply.status, reply.code());
                    assert_eq!(got, (401, "unauthorized"), "{mode} {method} {path} {key:?}");
                    assert_eq!(reply.header("www-authenticate"), Some("X-API-Key"));
                    assert!(!reply.body.to_string().contains("s3cret"), "{reply:?}");
                }
                let reply = send(request().header("x-api-key", "s3cret")).await;
                assert!((200..300).contains(&reply.status), "{mode} {method} {path}: {reply:?}");
            }
            assert_eq!(database.new_tickets().await, 1, "{mode}");
            for path in ["/health", "/ready", "/metrics", "/openapi.json"] {
                assert_eq!(service.get(path).await.status, 200, "{path}");
            }
            assert_eq!(service.get("/nowhere").await.status, 404);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_key_anybody_is_served() {
    for database in Database::each() {
        let provider = FakeProvider::start(Duration::ZERO);
        let service = Service::start(settings(IntakeMode::Async, &database, &provider));
        for (method, path) in GUARDED {
            let request = service.request(method, path).json(&ticket());
            let reply = send(request.header("x-api-key", "any")).await;
            assert!((200..300).contains(&reply.status), "{method} {path}: {reply:?}");
        }
    }
}
