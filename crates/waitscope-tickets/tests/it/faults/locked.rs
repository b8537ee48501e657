//! A database that somebody else holds.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use sqlx::Connection;
use tokio::task::block_in_place;
use waitscope_tickets::{Config, IntakeMode};

use super::load::Load;
use crate::fixture::{Database, FakeProvider, Service, settings, ticket};

const LATENCY: Duration = Duration::from_millis(5);

const BUSY: &[(u16, &str)] = &[(503, "database_busy")];

/// The environment variable with the file whose lock another process of this test takes.
const FILE_TO_LOCK: &str = "FILE_TO_LOCK";

fn impatient(mode: IntakeMode, database: &Database, provider: &FakeProvider) -> Config {
    Config { db_pool_timeout: Duration::from_millis(300), ..settings(mode, database, provider) }
}

async fn is_busy_for_writers(service: &Service, mode: IntakeMode) {
    let reply = service.post(&ticket()).await;
    assert_eq!((reply.status, reply.code()), (503, "database_busy"), "{mode}");
    assert_eq!(reply.header("retry-after"), Some("2"), "{mode}");
    assert_eq!(service.get("/v1/tickets/T-400001").await.status, 200, "reading goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_somebody_else_writes_to_is_busy() {
    for mode in IntakeMode::ALL {
        let (provider, database) = (FakeProvider::start(LATENCY), Database::sqlite());
        let service = Service::start(impatient(mode, &database, &provider));
        let mut other = database.connect_sqlite().await;
        let writing = other.begin_with("BEGIN IMMEDIATE").await.unwrap();
        is_busy_for_writers(&service, mode).await;
        writing.rollback().await.unwrap();
        assert_eq!(service.post(&ticket()).await.body["ticket_id"], "T-500001", "{mode}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_somebody_else_holds_is_busy() {
    for mode in IntakeMode::ALL {
        let (provider, database) = (FakeProvider::start(LATENCY), Database::postgres());
        let service = Service::start(impatient(mode, &database, &provider));
        let mut other = database.connect_postgres().await;
        let mut holding = other.begin().await.unwrap();
        sqlx::query("LOCK TABLE tickets IN EXCLUSIVE MODE").execute(&mut *holding).await.unwrap();
        is_busy_for_writers(&service, mode).await;
        holding.rollback().await.unwrap();
        assert_eq!(service.post(&ticket()).await.status, 201, "{mode}");
        assert_eq!(database.new_tickets().await, 1, "{mode}");
    }
}

/// What was given up must not go on at the server: there it would take the places of all others.
#[tokio::test(flavor = "multi_thread")]
async fn a_held_table_leaves_no_sessions_behind() {
    const POOL: u32 = 8;
    let sessions = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'waitscope tickets'";
    for mode in IntakeMode::ALL {
        let (provider, database) = (FakeProvider::start(LATENCY), Database::postgres());
        let service = Arc::new(Service::start(Config {
            db_pool_size: POOL.try_into().unwrap(),
            ..impatient(mode, &database, &provider)
        }));
        let load = Load::start(&service, mode);
        let mut other = database.connect_postgres().await;
        load.accepts(12).await;
        let mut holding = other.begin().await.unwrap();
        sqlx::query("LOCK TABLE tickets IN EXCLUSIVE MODE").execute(&mut *holding).await.unwrap();
        load.refuses(32).await;
        let left = database.number(sessions).await;
        assert!(left <= 2 * i64::from(POOL), "{mode}: {left} sessions");
        holding.rollback().await.unwrap();
        load.accepts(24).await;
        let lost_answers = load.end().await.balance(&database, &service, BUSY).await;
        assert_eq!(lost_answers, 0, "{mode}");
    }
}

/// Runs this test once more, as a process that writes to the file and never ends.
#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_is_killed_lets_go() {
    if let Some(path) = std::env::var_os(FILE_TO_LOCK) {
        return lock_for_ever(path.as_ref()).await;
    }
    for mode in IntakeMode::ALL {
        let (provider, database) = (FakeProvider::start(LATENCY), Database::sqlite());
        let service = Arc::new(Service::start(impatient(mode, &database, &provider)));
        let load = Load::start(&service, mode);
        load.accepts(12).await;
        let mut writer = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "faults::locked::a_writer_that_is_killed_lets_go", "--nocapture"])
            .env(FILE_TO_LOCK, database.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        load.refuses(8).await;
        block_in_place(|| writer.kill().and_then(|()| writer.wait())).unwrap();
        load.accepts(24).await;
        let lost_answers = load.end().await.balance(&database, &service, BUSY).await;
        assert_eq!(lost_answers, 0, "{mode}");
    }
}

/// Ends with its parent at the latest, which holds its standard input open.
async fn lock_for_ever(path: &std::path::Path) {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
    let mut connection = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
    let _writing = connection.begin_with("BEGIN IMMEDIATE").await.unwrap();
    let mut line = String::new();
    block_in_place(|| std::io::stdin().read_line(&mut line)).unwrap();
}
