//! A `PostgreSQL` server that dies and comes back. What corresponds for `SQLite`, which has no
//! server, is a service that dies: that is tested with the binary.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::block_in_place;
use waitscope_scratch_postgres::Server;
use waitscope_tickets::{Config, IntakeMode};

use super::load::{DATABASE_ERRORS, Load};
use crate::fixture::{Database, FakeProvider, Service, at_once, settings, ticket};

const LATENCY: Duration = Duration::from_millis(10);

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_loses_no_ticket() {
    let mut server = Server::start().unwrap();
    for mode in IntakeMode::ALL {
        let (database, provider) = (Database::on(&server), FakeProvider::start(LATENCY));
        let service = Arc::new(Service::start(Config {
            db_pool_timeout: Duration::from_secs(1),
            ..settings(mode, &database, &provider)
        }));
        let load = Load::start(&service, mode);
        for strike in 0..3 {
            load.accepts(12).await;
            // As in a power cut, and once as somebody does it who means well.
            if strike == 1 {
                block_in_place(|| server.stop()).unwrap();
                load.refuses(8).await;
            } else {
                block_in_place(|| server.kill()).unwrap();
            }
            block_in_place(|| server.start_again()).unwrap();
            load.accepts(16).await;
        }
        let books = load.end().await;
        // One for each user and strike at most: nobody has two requests on their way.
        let lost_answers = books.balance(&database, &service, DATABASE_ERRORS).await;
        assert!(lost_answers <= 3 * 8, "{mode}: {lost_answers}");
        let (replies, _) = at_once(&service, 20).await;
        assert!(replies.iter().all(|reply| reply.status == 201), "{mode}: {replies:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_died_while_idle_is_nobodys_error() {
    let mut server = Server::start().unwrap();
    for mode in IntakeMode::ALL {
        let (database, provider) = (Database::on(&server), FakeProvider::start(Duration::ZERO));
        let service = Service::start(settings(mode, &database, &provider));
        assert_eq!(service.post(&ticket()).await.status, 201, "{mode}");
        block_in_place(|| server.kill().and_then(|()| server.start_again())).unwrap();
        // From then on a connection is tried before it is used.
        tokio::time::sleep(Duration::from_millis(1100)).await;
        for _ in 0..2 {
            let (replies, _) = at_once(&service, 20).await;
            assert!(replies.iter().all(|reply| reply.status == 201), "{mode}: {replies:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_died_just_now_is_one_error() {
    const POOL: u32 = 4;
    let mut server = Server::start().unwrap();
    for mode in IntakeMode::ALL {
        let (database, provider) = (Database::on(&server), FakeProvider::start(Duration::ZERO));
        let service = Service::start(Config {
            db_pool_size: POOL.try_into().unwrap(),
            ..settings(mode, &database, &provider)
        });
        // All of the pool has been used just now.
        at_once(&service, 20).await;
        block_in_place(|| server.kill().and_then(|()| server.start_again())).unwrap();
        let mut errors = 0;
        for _ in 0..3 * POOL {
            let reply = service.post(&ticket()).await;
            if reply.status != 201 {
                assert_eq!((reply.status, reply.code()), (503, "database_unavailable"), "{mode}");
                errors += 1;
            }
        }
        assert!(errors <= POOL, "{mode}: {errors} errors");
        let (replies, _) = at_once(&service, 20).await;
        assert!(replies.iter().all(|reply| reply.status == 201), "{mode}: {replies:?}");
    }
}
