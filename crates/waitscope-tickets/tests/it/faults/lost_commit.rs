//! A connection that breaks at the end of a transaction: the service cannot know whether the ticket
//! is there. Its client can find out, with the key.

use std::time::Duration;

use waitscope_tickets::{Config, IntakeMode};

use crate::fixture::{Cut, Database, FakeProvider, Proxy, Service, settings, ticket};

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_commit_is_found_again_under_its_key() {
    for mode in IntakeMode::ALL {
        // In thread mode the transaction ends with a statement of its own, otherwise with the one
        // that writes the ticket.
        let at = if mode == IntakeMode::Thread { "COMMIT\0" } else { "Charged twice" };
        // Before it reached the server, and after the server had done it.
        for arrives in [false, true] {
            let (database, provider) = (Database::postgres(), FakeProvider::start(Duration::ZERO));
            let proxy = Proxy::start(&database).await;
            let service = Service::start(Config {
                database_url: proxy.url().parse().unwrap(),
                ..settings(mode, &database, &provider)
            });
            proxy.cut(Cut { at, arrives });
            let reply = service.post_under("key", &ticket()).await;
            let got = (reply.status, reply.code());
            assert_eq!(got, (503, "database_unavailable"), "{mode}");
            let message = reply.body["error"]["message"].as_str().unwrap();
            assert!(message.contains("Idempotency-Key"), "{mode}: {message}");
            assert!(!message.contains("nothing was saved"), "{mode}: who knows? {message}");
            assert_eq!(database.new_tickets().await, i64::from(arrives), "{mode}");

            let calls = provider.seen().tasks.len();
            let reply = service.post_under("key", &ticket()).await;
            assert_eq!(reply.status, 201, "{mode}: {reply:?}");
            let more_calls = provider.seen().tasks.len() - calls;
            assert_eq!(more_calls, if arrives { 0 } else { 3 }, "{mode}");
            assert_eq!(database.new_tickets().await, 1, "{mode}");
            assert_eq!(database.half_saved().await, 0, "{mode}");
        }
    }
}
