//! A ticket service that is killed in the middle of its work and started again.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sqlx::Connection;
use tempfile::TempDir;
use waitscope_process::ServerChild;
use waitscope_scratch_postgres as scratch;

use super::fixture::{Waitscope, provider};

/// Clients, each of whom waits for an answer before the next ticket.
const CLIENTS: usize = 8;

/// How long the next answers may take on a busy machine, once the service runs again.
const RECOVERY: Duration = Duration::from_secs(30);

#[test]
fn a_service_that_is_killed_loses_no_accepted_ticket() {
    let provider = provider("fixed:20ms");
    let file = || Database::Sqlite(tempfile::tempdir().unwrap());
    let server = || Database::Postgres(scratch::Database::create().unwrap());
    for (mode, database) in [
        ("async", file()),
        ("thread", file()),
        ("blocking", file()),
        ("async", server()),
        ("thread", server()),
    ] {
        let start = || {
            Waitscope::new("tickets")
                .args(["--port", "0", "--intake-mode", mode, "--provider-url", provider.url()])
                .args(["--database-url", &database.url()])
                .serve()
        };
        let mut service = start();
        let load = &Load::new(&service);
        let sent: Vec<Sent> = thread::scope(|scope| {
            let clients: Vec<_> =
                (0..CLIENTS).map(|number| scope.spawn(move || load.client(number))).collect();
            for _ in 0..2 {
                load.accepts(12);
                service.kill();
                service = start();
                load.goes_on_at(&service);
            }
            load.accepts(12);
            load.stop.store(true, Ordering::Relaxed);
            clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
        });
        balance(&sent, &database, &service);
    }
}

/// What was accepted is there, once and whole. What got no answer is there or not, and once it is
/// repeated under its key, it is there once.
fn balance(sent: &[Sent], database: &Database, service: &ServerChild) {
    let before = database.opened();
    for sent in sent {
        let number = before.get(&sent.key).copied();
        assert!(sent.accepted.is_none() || sent.accepted == number, "{sent:?}: {number:?}");
    }
    assert!(before.keys().all(|key| sent.iter().any(|sent| sent.key == *key)), "{before:?}");
    for lost in sent.iter().filter(|sent| sent.accepted.is_none()) {
        let again = post(&agent(), service.url(), &lost.key).unwrap();
        let number = before.get(&lost.key).copied();
        assert!(number.is_none() || number == Some(again), "{lost:?}: {number:?}, {again}");
    }
    assert_eq!(database.opened().len(), sent.len());
}

/// A request, its key (which is its subject as well), and the number of its ticket.
#[derive(Debug)]
struct Sent {
    key: String,
    accepted: Option<i64>,
}

/// Clients at work.
struct Load {
    url: RwLock<String>,
    accepted: AtomicUsize,
    stop: AtomicBool,
}

impl Load {
    fn new(service: &ServerChild) -> Self {
        let url = RwLock::new(service.url().to_owned());
        Self { url, accepted: AtomicUsize::new(0), stop: AtomicBool::new(false) }
    }

    fn goes_on_at(&self, service: &ServerChild) {
        service.url().clone_into(&mut self.url.write().unwrap_or_else(PoisonError::into_inner));
    }

    fn client(&self, number: usize) -> Vec<Sent> {
        let agent = agent();
        let mut sent = Vec::new();
        while !self.stop.load(Ordering::Relaxed) {
            let key = format!("client {number} ticket {}", sent.len());
            let url = self.url.read().unwrap_or_else(PoisonError::into_inner).clone();
            let accepted = post(&agent, &url, &key);
            if accepted.is_some() {
                self.accepted.fetch_add(1, Ordering::Relaxed);
            } else {
                thread::sleep(Duration::from_millis(50));
            }
            sent.push(Sent { key, accepted });
        }
        sent
    }

    /// Waits until so many more tickets are accepted.
    fn accepts(&self, more: usize) {
        let before = self.accepted.load(Ordering::Relaxed);
        let give_up = Instant::now() + RECOVERY;
        while self.accepted.load(Ordering::Relaxed) < before + more {
            assert!(Instant::now() < give_up, "the service does not recover");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

fn agent() -> ureq::Agent {
    ureq::Agent::config_builder().proxy(None).http_status_as_error(false).build().into()
}

/// Sends a ticket under its key: its number, if there was an answer. Every answer is 201: whoever
/// is killed answers nobody.
fn post(agent: &ureq::Agent, url: &str, key: &str) -> Option<i64> {
    let ticket = json!({"customer_id": "C-0001", "subject": key, "body": "", "channel": "email"})
        .to_string();
    let request = agent.post(format!("{url}/v1/tickets")).header("Idempotency-Key", key);
    let mut answer = request.send(&ticket).ok()?;
    let text = answer.body_mut().read_to_string().ok()?;
    assert_eq!(answer.status(), 201, "{text}");
    let ticket: Value = serde_json::from_str(&text).unwrap();
    Some(ticket["ticket_id"].as_str()?.strip_prefix("T-")?.parse().unwrap())
}

/// A database that outlives the service.
enum Database {
    /// One file in a folder.
    Sqlite(TempDir),
    /// One on a server.
    Postgres(scratch::Database),
}

impl Database {
    fn url(&self) -> String {
        match self {
            Self::Sqlite(folder) => format!("sqlite:{}/tickets.db", folder.path().display()),
            Self::Postgres(database) => database.url().to_owned(),
        }
    }

    /// The numbers of all new tickets by their subjects, after a look whether each is there once
    /// and whole.
    fn opened(&self) -> HashMap<String, i64> {
        const SQL: &str = "SELECT subject, id, draft_reply IS NOT NULL AND embedding IS NOT NULL
                AND (SELECT count(*) FROM ai_runs WHERE ticket_id = id) = 3
            FROM tickets WHERE id > 500000";
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let rows: Vec<(String, i64, bool)> = runtime.block_on(async {
            match self {
                Self::Sqlite(_) => {
                    let mut file = sqlx::SqliteConnection::connect(&self.url()).await.unwrap();
                    sqlx::query_as(SQL).fetch_all(&mut file).await.unwrap()
                }
                Self::Postgres(_) => {
                    let mut server = sqlx::PgConnection::connect(&self.url()).await.unwrap();
                    sqlx::query_as(SQL).fetch_all(&mut server).await.unwrap()
                }
            }
        });
        assert!(rows.iter().all(|(.., whole)| *whole), "{rows:?}");
        let count = rows.len();
        let opened: HashMap<String, i64> = rows.into_iter().map(|(key, id, _)| (key, id)).collect();
        assert_eq!(opened.len(), count, "one of them is there twice");
        opened
    }
}
