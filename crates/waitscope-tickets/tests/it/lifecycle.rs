//! Starting, stopping, and clients that do not wait.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use waitscope_serve::Drained;
use waitscope_tickets::{Config, IntakeMode};

use crate::fixture::{Behaviour, Database, FakeProvider, Service, at_once, settings, ticket};

const LATENCY: Duration = Duration::from_millis(200);

#[tokio::test(flavor = "multi_thread")]
async fn stopping_lets_requests_in_flight_finish() {
    for mode in IntakeMode::ALL {
        for database in Database::each() {
            let provider = FakeProvider::start(LATENCY);
            let service = Service::start(Config {
                drain: Duration::from_secs(30),
                ..settings(mode, &database, &provider)
            });
            let tickets = at_once(&service, 4);
            let stopping = async {
                // In blocking mode these are all of the first ticket: the others have been sent
                // by then, and nobody has read or even accepted them.
                provider.calls(if mode == IntakeMode::Blocking { 3 } else { 4 }).await;
                service.tell_to_stop();
            };
            let ((replies, _), ()) = tokio::join!(tickets, stopping);
            assert!(replies.iter().all(|reply| reply.status == 201), "{mode}: {replies:?}");
            let address = service.address();
            assert_eq!(service.ended().0, Drained::Clean, "{mode}");
            assert!(TcpStream::connect(address).is_err(), "{mode}: nobody listens any more");
            assert_eq!(database.new_tickets().await, 4, "{mode}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stopping_does_not_wait_longer_than_the_drain_time() {
    for mode in IntakeMode::ALL {
        for database in Database::each() {
            let provider = FakeProvider::start(LATENCY);
            provider.behave("classify", Behaviour::Hang);
            let service = Service::start(Config {
                drain: Duration::from_millis(500),
                ..settings(mode, &database, &provider)
            });
            let post = service.request("POST", "/v1/tickets").json(&ticket());
            let waiting = tokio::spawn(post.send());
            provider.calls(1).await;
            service.tell_to_stop();
            let (drained, took) = service.ended();
            assert_eq!(drained, Drained::Cut, "{mode}");
            let expected = Duration::from_millis(450)..Duration::from_secs(5);
            assert!(expected.contains(&took), "{mode}: {took:?}");
            waiting.abort();
            assert_eq!(database.new_tickets().await, 0, "{mode}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_service_stops_at_once() {
    for mode in IntakeMode::ALL {
        for database in Database::each() {
            let provider = FakeProvider::start(LATENCY);
            let service = Service::start(settings(mode, &database, &provider));
            // A kept-alive connection without a request does not count as work.
            let idle = TcpStream::connect(service.address()).unwrap();
            service.tell_to_stop();
            let (drained, took) = service.ended();
            assert_eq!(drained, Drained::Clean, "{mode}");
            assert!(took < Duration::from_secs(4), "{mode}: {took:?}");
            drop(idle);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_early_leaves_nothing_half_saved() {
    for mode in IntakeMode::ALL {
        for database in Database::each() {
            for calls in 1..=3 {
                let provider = FakeProvider::start(LATENCY);
                let service = Service::start(settings(mode, &database, &provider));
                let before = database.new_tickets().await;
                let client = post_and_do_not_wait(&service);
                provider.calls(calls).await;
                drop(client);
                service.tell_to_stop();
                assert_eq!(service.ended().0, Drained::Clean, "{mode}");

                assert_eq!(database.half_saved().await, 0, "{mode} after call {calls}");
                let saved = database.new_tickets().await - before;
                match mode {
                    IntakeMode::Async => {
                        assert_eq!(saved, 0, "after call {calls}");
                        assert_eq!(provider.seen().tasks.len(), calls, "no call for nobody");
                    }
                    // A thread finishes what it has begun.
                    IntakeMode::Thread => assert_eq!(saved, 1, "after call {calls}"),
                    IntakeMode::Blocking => assert!(saved <= 1, "after call {calls}"),
                }
            }
        }
    }
}

fn post_and_do_not_wait(service: &Service) -> TcpStream {
    let body = ticket().to_string();
    let mut client = TcpStream::connect(service.address()).unwrap();
    write!(
        client,
        "POST /v1/tickets HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    client
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_request_costs_nobody_anything() {
    for database in Database::each() {
        let provider = FakeProvider::start(Duration::ZERO);
        let service = Service::start(settings(IntakeMode::Async, &database, &provider));
        let mut clients = Vec::new();
        for text in
            ["POST /v1/tick", "POST /v1/tickets HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{"]
        {
            let mut client = TcpStream::connect(service.address()).unwrap();
            client.write_all(text.as_bytes()).unwrap();
            clients.push(client);
        }
        assert_eq!(service.post(&ticket()).await.status, 201);
        drop(clients);
        service.tell_to_stop();
        assert_eq!(service.ended().0, Drained::Clean);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn several_event_loops_are_one_service() {
    for mode in IntakeMode::ALL {
        for database in Database::each() {
            let provider = FakeProvider::start(Duration::from_millis(20));
            let config = settings(mode, &database, &provider);
            let service = Service::with_event_loops(3, config);
            let (replies, _) = at_once(&service, 12).await;
            let mut ids: Vec<&str> =
                replies.iter().map(|reply| reply.body["ticket_id"].as_str().unwrap()).collect();
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(ids.len(), 12, "{mode}");
            let metrics = service.get("/metrics").await.body.to_string();
            let line = r#"route=\"/v1/tickets\",status=\"201\"} 12"#;
            assert!(metrics.contains(line), "{mode}: one set of counters: {metrics}");
            service.tell_to_stop();
            assert_eq!(service.ended().0, Drained::Clean, "{mode}");
        }
    }
}
