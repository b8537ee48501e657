//! No connection is left: others of the service hold them, or the server gives no more.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sqlx::Connection;
use sqlx::postgres::PgConnection;
use tokio::task::JoinHandle;
use waitscope_scratch_postgres::Setup;
use waitscope_tickets::{Config, IntakeMode};

use super::load::{DATABASE_ERRORS, Load};
use crate::fixture::{Database, FakeProvider, Service, settings};

#[tokio::test(flavor = "multi_thread")]
async fn tickets_that_hold_all_connections_make_others_busy() {
    for mode in [IntakeMode::Async, IntakeMode::Thread] {
        for database in Database::each() {
            let provider = FakeProvider::start(Duration::from_millis(60));
            let service = Arc::new(Service::start(Config {
                db_pool_size: 2.try_into().unwrap(),
                db_pool_timeout: Duration::from_millis(300),
                ..settings(mode, &database, &provider)
            }));
            let load = Load::start(&service, mode);
            load.accepts(16).await;
            let books = load.end().await;
            let (accepted, refused) = books.totals();
            match mode {
                // A disk that somebody else keeps busy may cost a few.
                IntakeMode::Async => assert!(refused <= accepted / 4, "{refused} of {accepted}"),
                // Two at a time, for the whole time of a ticket; some of the others wait too long.
                _ => assert!(refused > accepted / 4, "{refused} of {accepted}"),
            }
            let busy = [(503, "database_busy")];
            let lost_answers = books.balance(&database, &service, &busy).await;
            assert_eq!(lost_answers, 0, "{mode}: {}", database.kind());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_a_free_connection_is_waited_for() {
    let setup = Setup { settings: vec!["max_connections=20".into()], ..Setup::default() };
    let server = setup.start().unwrap();
    for (mode, db_pool) in [
        (IntakeMode::Async, true),
        (IntakeMode::Async, false),
        (IntakeMode::Thread, false),
        (IntakeMode::Blocking, false),
    ] {
        let database = Database::on(&server);
        let provider = FakeProvider::start(Duration::from_millis(5));
        let service = Arc::new(Service::start(Config {
            db_pool,
            db_pool_size: 3.try_into().unwrap(),
            db_pool_timeout: Duration::from_millis(500),
            ..settings(mode, &database, &provider)
        }));
        let load = Load::start(&service, mode);
        load.accepts(12).await;
        let mut observer = database.connect_postgres().await;
        let others = Greedy::start(server.url("postgres"));
        if db_pool {
            others.have_all().await;
            // Those of the pool stay its own until they end.
            load.accepts(12).await;
            end_all_of_the_service(&mut observer).await;
        }
        load.refuses(16).await;
        others.leave().await;
        load.accepts(16).await;
        load.end().await.balance(&database, &service, DATABASE_ERRORS).await;
    }
}

/// Ends connections until others have taken the place of each.
async fn end_all_of_the_service(observer: &mut PgConnection) {
    let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE application_name = 'waitscope tickets'";
    let mut none_in_a_row = 0;
    while none_in_a_row < 5 {
        let ended: i64 = sqlx::query_scalar(end).fetch_one(&mut *observer).await.unwrap();
        none_in_a_row = if ended == 0 { none_in_a_row + 1 } else { 0 };
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Others who take every connection that a server has left, until they leave.
struct Greedy {
    refused: Arc<AtomicUsize>,
    taking: JoinHandle<()>,
}

impl Greedy {
    fn start(url: String) -> Self {
        let refused = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&refused);
        let taking = tokio::spawn(async move {
            let mut taken = Vec::new();
            loop {
                match PgConnection::connect(&url).await {
                    Ok(connection) => taken.push(connection),
                    Err(error) => {
                        assert!(is_too_many(&error), "{error}");
                        counter.fetch_add(1, Ordering::Relaxed);
                        tokio::time::sleep(Duration::from_millis(10)).await;
                    }
                }
            }
        });
        Self { refused, taking }
    }

    /// Waits until there was none left for them, several times.
    async fn have_all(&self) {
        while self.refused.load(Ordering::Relaxed) < 5 {
            assert!(!self.taking.is_finished(), "they are gone");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn leave(self) {
        self.taking.abort();
        let ended = self.taking.await;
        assert!(ended.unwrap_err().is_cancelled());
    }
}

fn is_too_many(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Database(error) if error.code().as_deref() == Some("53300"))
}
