//! Requests that are sent twice under one key.

use std::time::Duration;

use serde_json::json;
use waitscope_tickets::IntakeMode;

use crate::fixture::{Database, FakeProvider, Reply, Service, send, settings, ticket};

const LATENCY: Duration = Duration::from_millis(50);

async fn post(service: &Service, key: &str, ticket: &serde_json::Value) -> Reply {
    let request = service.request("POST", "/v1/tickets").json(ticket);
    send(request.header("idempotency-key", key)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_request_gets_the_first_answer() {
    for mode in IntakeMode::ALL {
        for database in Database::each() {
            let provider = FakeProvider::start(LATENCY);
            let service = Service::start(settings(mode, &database, &provider));
            let first = post(&service, "key-1", &ticket()).await;
            assert_eq!(first.status, 201, "{mode}: {first:?}");
            // The same in other words is the same: what counts is what the fields hold.
            let request = service.request("POST", "/v1/tickets").header("idempotency-key", "key-1");
            let spaced = format!(" {} ", ticket());
            for again in
                [post(&service, "key-1", &ticket()).await, send(request.body(spaced)).await]
            {
                assert_eq!(again.status, 201, "{mode}: {again:?}");
                assert_eq!(again.body, first.body, "{mode}");
                assert_eq!(again.header("location"), first.header("location"), "{mode}");
            }
            assert_eq!(provider.seen().tasks.len(), 3, "{mode}: nothing is asked twice");
            assert_eq!(database.new_tickets().await, 1, "{mode}");

            let other = post(&service, "key-2", &ticket()).await;
            assert_ne!(other.body["ticket_id"], first.body["ticket_id"], "{mode}");
            let (without, too) = (service.post(&ticket()).await, service.post(&ticket()).await);
            assert_ne!(without.body["ticket_id"], too.body["ticket_id"], "{mode}");
            assert_eq!(database.new_tickets().await, 4, "{mode}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_good_for_one_ticket() {
    for mode in IntakeMode::ALL {
        for database in Database::each() {
            let provider = FakeProvider::start(LATENCY);
            let service = Service::start(settings(mode, &database, &provider));
            assert_eq!(post(&service, "key-1", &ticket()).await.status, 201, "{mode}");
            for (field, value) in [
                ("customer_id", "C-0002"),
                ("subject", "Charged Twice"),
                ("body", ""),
                ("channel", "chat"),
            ] {
                let mut other = ticket();
                other[field] = json!(value);
                let reply = post(&service, "key-1", &other).await;
                let got = (reply.status, reply.code());
                assert_eq!(got, (422, "idempotency_key_reused"), "{mode} {field}");
            }
            assert_eq!(provider.seen().tasks.len(), 3, "{mode}");
            assert_eq!(database.new_tickets().await, 1, "{mode}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_under_one_key_at_the_same_time_open_one_ticket() {
    for mode in IntakeMode::ALL {
        for database in Database::each() {
            let provider = FakeProvider::start(LATENCY);
            let service = Service::start(settings(mode, &database, &provider));
            let (ticket, mut other) = (ticket(), ticket());
            other["subject"] = json!("Something else");
            let (a, b, c, d) = tokio::join!(
                post(&service, "key-1", &ticket),
                post(&service, "key-1", &ticket),
                post(&service, "key-1", &ticket),
                post(&service, "key-1", &other),
            );
            let mut replies = [a, b, c, d];
            // Whoever is first has the key.
            replies.sort_by_key(|reply| reply.status);
            let accepted: Vec<_> = replies.iter().filter(|reply| reply.status == 201).collect();
            let refused = replies.iter().filter(|reply| reply.status == 422).count();
            assert!([1, 3].contains(&accepted.len()), "{mode}: {replies:?}");
            assert_eq!(accepted.len() + refused, 4, "{mode}: {replies:?}");
            assert!(accepted.iter().all(|reply| reply.body == accepted[0].body), "{replies:?}");
            assert_eq!(database.new_tickets().await, 1, "{mode}");
            assert_eq!(database.half_saved().await, 0, "{mode}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_request_may_be_tried_again_under_its_key() {
    for mode in IntakeMode::ALL {
        for database in Database::each() {
            let provider = FakeProvider::start(LATENCY);
            let service = Service::start(settings(mode, &database, &provider));
            provider.behave("embed", crate::fixture::Behaviour::Status(503, &[]));
            assert_eq!(post(&service, "key-1", &ticket()).await.code(), "ai_unavailable");
            provider.behave("embed", crate::fixture::Behaviour::Good);
            let mut other = ticket();
            other["subject"] = json!("Nothing was saved, so the key is free");
            assert_eq!(post(&service, "key-1", &other).await.status, 201, "{mode}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_none_is_told_so() {
    for database in Database::each() {
        let provider = FakeProvider::start(LATENCY);
        let service = Service::start(settings(IntakeMode::Async, &database, &provider));
        for key in ["", "a\tb", &"x".repeat(256)] {
            let reply = post(&service, key, &ticket()).await;
            assert_eq!((reply.status, reply.code()), (422, "invalid_request"), "{key:?}");
            assert!(reply.body["error"]["fields"]["Idempotency-Key"].is_string(), "{reply:?}");
        }
        let request = service.request("POST", "/v1/tickets").json(&ticket());
        let twice = request.header("idempotency-key", "a").header("idempotency-key", "b");
        assert_eq!(send(twice).await.code(), "invalid_request");
        assert_eq!(database.new_tickets().await, 0);
    }
}
