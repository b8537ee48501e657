//! A `PostgreSQL` server that neither answers nor goes away.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use waitscope_scratch_postgres::Server;
use waitscope_tickets::{Config, IntakeMode};

use super::load::{DATABASE_ERRORS, Load};
use crate::fixture::{Database, FakeProvider, Service, settings};

const LATENCY: Duration = Duration::from_millis(10);

/// The processes of a server while they stand still.
struct Frozen(Vec<Pid>);

impl Frozen {
    /// Stops the server's first process, which could start others, and then those of the service.
    async fn new(database: &Database) -> Self {
        let first = "SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::bigint";
        let others = "SELECT pid::bigint FROM pg_stat_activity
            WHERE datname = current_database() AND application_name = 'waitscope tickets'";
        let mut connection = database.connect_postgres().await;
        let mut frozen = Self(Vec::new());
        for sql in [first, others] {
            let pids: Vec<i64> = sqlx::query_scalar(sql).fetch_all(&mut connection).await.unwrap();
            for pid in pids {
                let pid = Pid::from_raw(pid.try_into().unwrap()).unwrap();
                kill_process(pid, Signal::STOP).unwrap();
                frozen.0.push(pid);
            }
        }
        assert!(frozen.0.len() > 1, "the service has no connection");
        frozen
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        for pid in &self.0 {
            // It may have been ended meanwhile.
            let _ = kill_process(*pid, Signal::CONT);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_hangs_is_given_up_in_time() {
    let server = Server::start().unwrap();
    for mode in IntakeMode::ALL {
        let (database, provider) = (Database::on(&server), FakeProvider::start(LATENCY));
        let service = Arc::new(Service::start(Config {
            db_pool_timeout: Duration::from_millis(500),
            ..settings(mode, &database, &provider)
        }));
        let load = Load::start(&service, mode);
        for _ in 0..2 {
            load.accepts(12).await;
            let frozen = Frozen::new(&database).await;
            let asked = Instant::now();
            load.refuses(8).await;
            assert!(asked.elapsed() < Duration::from_secs(10), "{mode}: {:?}", asked.elapsed());
            drop(frozen);
            load.accepts(24).await;
        }
        // What was given up may have been saved when the server went on.
        load.end().await.balance(&database, &service, DATABASE_ERRORS).await;
    }
}
