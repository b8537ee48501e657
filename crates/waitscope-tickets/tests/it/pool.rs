//! Connections that are kept, and connections of one use.

use std::time::{Duration, Instant};

use waitscope_tickets::{Config, IntakeMode};

use crate::fixture::{Database, FakeProvider, Service, at_once, settings, ticket};

/// Connections of the service to its database at this moment.
async fn open_connections(database: &Database) -> i64 {
    match database {
        Database::Sqlite(_) => open_files(database),
        Database::Postgres(_) => {
            let ours = "SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND application_name = 'waitscope tickets'";
            database.number(ours).await
        }
    }
}

/// How often this process has the file open.
fn open_files(database: &Database) -> i64 {
    let path = database.path();
    let links = std::fs::read_dir("/proc/self/fd").unwrap();
    let open = links.filter_map(|link| std::fs::read_link(link.unwrap().path()).ok());
    open.filter(|target| *target == path).count().try_into().unwrap()
}

/// Waits until the service has so many connections.
async fn becomes(database: &Database, expected: i64) {
    let give_up = Instant::now() + Duration::from_secs(20);
    loop {
        let open = open_connections(database).await;
        if open == expected {
            return;
        }
        assert!(Instant::now() < give_up, "{open} connections and not {expected}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_keeps_its_connections_and_without_one_none_is_kept() {
    for mode in IntakeMode::ALL {
        for (db_pool, kept) in [(true, 3), (false, 0)] {
            for database in Database::each() {
                let provider = FakeProvider::start(Duration::from_millis(5));
                let service = Service::start(Config {
                    db_pool,
                    db_pool_size: 3.try_into().unwrap(),
                    ..settings(mode, &database, &provider)
                });
                becomes(&database, kept).await;
                let (replies, _) = at_once(&service, 8).await;
                assert!(replies.iter().all(|reply| reply.status == 201), "{mode}: {replies:?}");
                becomes(&database, kept).await;
                // Looks into the file with a connection of its own, which SQLite keeps open for as
                // long as others of this process hold a lock: it comes last.
                assert_eq!(database.new_tickets().await, 8, "{mode}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_connection_is_missed_by_nobody_without_a_pool() {
    for (db_pool, statuses) in [(true, [201, 503]), (false, [201, 201])] {
        for database in Database::each() {
            let provider = FakeProvider::start(Duration::from_millis(300));
            let service = Service::start(Config {
                db_pool,
                db_pool_size: 1.try_into().unwrap(),
                db_pool_timeout: Duration::from_millis(500),
                ..settings(IntakeMode::Thread, &database, &provider)
            });
            let (mut replies, _) = at_once(&service, 2).await;
            replies.sort_by_key(|reply| reply.status);
            let got: Vec<u16> = replies.iter().map(|reply| reply.status).collect();
            assert_eq!(got, statuses, "{}", database.kind());
            assert_eq!(service.post(&ticket()).await.status, 201, "{}", database.kind());
        }
    }
}
