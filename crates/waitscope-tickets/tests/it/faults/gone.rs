//! A database that is not there for a while.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::block_in_place;
use waitscope_scratch_postgres::Server;
use waitscope_tickets::{Config, IntakeMode};

use super::load::Load;
use crate::fixture::{Database, FakeProvider, Service, settings, ticket};

const LATENCY: Duration = Duration::from_millis(5);

async fn is_unavailable(service: &Service, mode: IntakeMode) {
    for reply in [
        service.post(&ticket()).await,
        service.get("/ready").await,
        service.get("/v1/tickets/T-400001").await,
        service.get("/v1/tickets").await,
    ] {
        assert_eq!((reply.status, reply.code()), (503, "database_unavailable"), "{mode}");
    }
    assert_eq!(service.get("/health").await.status, 200, "{mode}");
}

async fn is_well(service: &Service, mode: IntakeMode) {
    assert_eq!(service.get("/ready").await.status, 200, "{mode}");
    assert_eq!(service.get("/v1/tickets/T-400001").await.status, 200, "{mode}");
    assert_eq!(service.post(&ticket()).await.body["ticket_id"], "T-500001", "{mode}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_gone_is_unavailable_until_it_is_back() {
    for mode in IntakeMode::ALL {
        let (provider, database) = (FakeProvider::start(LATENCY), Database::sqlite());
        let service = Service::start(settings(mode, &database, &provider));
        let away = database.path().with_extension("away");
        std::fs::rename(database.path(), &away).unwrap();
        is_unavailable(&service, mode).await;
        assert!(!database.path().exists(), "{mode}: no empty database is made in its place");
        std::fs::rename(&away, database.path()).unwrap();
        is_well(&service, mode).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_gone_for_a_while_loses_no_ticket() {
    for mode in IntakeMode::ALL {
        let (provider, database) = (FakeProvider::start(LATENCY), Database::sqlite());
        let service = Arc::new(Service::start(settings(mode, &database, &provider)));
        let away = database.path().with_extension("away");
        let load = Load::start(&service, mode);
        for _ in 0..3 {
            load.accepts(12).await;
            std::fs::rename(database.path(), &away).unwrap();
            load.refuses(8).await;
            std::fs::rename(&away, database.path()).unwrap();
        }
        load.accepts(12).await;
        let errors = [(503, "database_unavailable")];
        let lost_answers = load.end().await.balance(&database, &service, &errors).await;
        assert_eq!(lost_answers, 0, "{mode}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_gone_is_unavailable_until_it_is_back() {
    let mut server = Server::start().unwrap();
    for (mode, db_pool) in [
        (IntakeMode::Async, true),
        (IntakeMode::Async, false),
        (IntakeMode::Thread, true),
        (IntakeMode::Blocking, true),
    ] {
        let (provider, database) = (FakeProvider::start(LATENCY), Database::on(&server));
        let service = Service::start(Config {
            db_pool,
            db_pool_size: 3.try_into().unwrap(),
            db_pool_timeout: Duration::from_millis(500),
            ..settings(mode, &database, &provider)
        });
        block_in_place(|| server.stop()).unwrap();
        is_unavailable(&service, mode).await;
        block_in_place(|| server.start_again()).unwrap();
        is_well(&service, mode).await;
    }
}
