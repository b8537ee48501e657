//! A thousand bodies that are none, between good ones.

mod bodies;
mod exchange;
mod requests;

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use waitscope_tickets::IntakeMode;

use self::exchange::exchange;
use self::requests::{Expected, malformed};
use crate::fixture::{Database, FakeProvider, Service, settings, ticket};

const COUNT: usize = 1000;
const CLIENTS: usize = 8;

/// After so many bad ones, each client sends a good one.
const BAD_PER_GOOD: usize = 5;

#[tokio::test(flavor = "multi_thread")]
async fn malformed_requests_are_refused_and_good_ones_between_them_accepted() {
    for mode in IntakeMode::ALL {
        // What is wrong is found before the modes differ: all are sent to one of them.
        let step = if mode == IntakeMode::Async { 1 } else { 4 };
        for database in Database::each() {
            let provider = FakeProvider::start(Duration::ZERO);
            let service = Arc::new(Service::start(settings(mode, &database, &provider)));
            let mut clients = JoinSet::new();
            for client in 0..CLIENTS {
                let numbers: Vec<usize> =
                    (0..COUNT).step_by(step).filter(|n| n / step % CLIENTS == client).collect();
                clients.spawn(send(Arc::clone(&service), numbers));
            }
            let good: usize = clients.join_all().await.into_iter().sum();
            assert!(good >= COUNT / step / BAD_PER_GOOD - CLIENTS, "{good}");
            let new: usize = database.new_tickets().await.try_into().unwrap();
            assert_eq!(new, good, "{mode} {}", database.kind());
            assert_eq!(database.half_saved().await, 0, "{mode} {}", database.kind());
            assert_eq!(provider.seen().tasks.len(), 3 * good, "{mode}: for good ones only");
        }
    }
}

/// Sends the bad requests of these numbers; the number of good ones between them.
async fn send(service: Arc<Service>, numbers: Vec<usize>) -> usize {
    let mut good = 0;
    for (sent, number) in numbers.into_iter().enumerate() {
        let bad = malformed(number);
        let reply = exchange(service.address(), &bad.bytes, bad.ends).await;
        let what = || format!("request {number}, {}: {reply:?}", bad.name);
        match (&bad.expected, &reply) {
            (Expected::Refused(status, code), Some(reply)) => {
                assert_eq!((reply.status, reply.code()), (*status, *code), "{}", what());
            }
            (Expected::Refused(..), None) => panic!("no answer to {}", what()),
            // Who breaks HTTP itself may be left without an answer, or without a body in it.
            (Expected::RefusedOrCut, None) => {}
            (Expected::RefusedOrCut, Some(reply)) => {
                assert!((400..500).contains(&reply.status), "{}", what());
                assert!(reply.body == "" || !reply.code().is_empty(), "{}", what());
            }
        }
        if sent % BAD_PER_GOOD == 0 {
            let reply = service.post(&ticket()).await;
            assert_eq!(reply.status, 201, "after {}: {reply:?}", what());
            good += 1;
        }
    }
    good
}
