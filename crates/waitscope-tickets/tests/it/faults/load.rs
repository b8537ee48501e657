//! Users who send tickets all the while, and the books that are kept on them.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::{JoinHandle, JoinSet};
use waitscope_tickets::IntakeMode;

use crate::fixture::{Database, Reply, Service, ticket};

/// Users, each of whom waits for an answer before the next ticket.
const USERS: usize = 8;

/// How long a user waits after a refusal.
const PAUSE: Duration = Duration::from_millis(20);

/// How long the service may take to recover, on a busy machine too.
const RECOVERY: Duration = Duration::from_secs(30);

/// The errors of a database that went away in the middle of a request.
pub(super) const DATABASE_ERRORS: &[(u16, &str)] =
    &[(503, "database_unavailable"), (503, "database_busy")];

/// Users at work.
#[derive(Debug)]
pub(super) struct Load {
    mode: IntakeMode,
    counts: Arc<Counts>,
    users: JoinSet<Vec<Sent>>,
    health: JoinHandle<Vec<Duration>>,
}

#[derive(Debug, Default)]
struct Counts {
    accepted: AtomicUsize,
    refused: AtomicUsize,
    stop: AtomicBool,
}

/// A ticket, whose subject is also its key, and its answer.
#[derive(Debug)]
struct Sent {
    ticket: Value,
    reply: Reply,
    took: Duration,
}

impl Load {
    /// Starts users and somebody who asks for `/health` again and again.
    pub(super) fn start(service: &Arc<Service>, mode: IntakeMode) -> Self {
        let counts = Arc::new(Counts::default());
        let mut users = JoinSet::new();
        for number in 0..USERS {
            users.spawn(user(number, Arc::clone(service), Arc::clone(&counts)));
        }
        let health = tokio::spawn(probe(Arc::clone(service), Arc::clone(&counts)));
        Self { mode, counts, users, health }
    }

    /// Waits until so many more tickets are accepted.
    pub(super) async fn accepts(&self, count: usize) {
        reaches(&self.counts.accepted, count, self.mode).await;
    }

    /// Waits until so many more tickets are refused.
    pub(super) async fn refuses(&self, count: usize) {
        reaches(&self.counts.refused, count, self.mode).await;
    }

    /// Lets the users finish.
    pub(super) async fn end(self) -> Books {
        self.counts.stop.store(true, Ordering::Relaxed);
        let sent: Vec<Sent> = self.users.join_all().await.into_iter().flatten().collect();
        let mut probes = self.health.await.unwrap();
        probes.sort();
        let median = probes[probes.len() / 2];
        // An event loop that is held answers when it gets to it.
        let held = self.mode == IntakeMode::Blocking;
        assert!(held || median < Duration::from_millis(500), "{}: {probes:?}", self.mode);
        Books { mode: self.mode, sent }
    }
}

async fn reaches(answers: &AtomicUsize, wanted: usize, mode: IntakeMode) {
    let before = answers.load(Ordering::Relaxed);
    let give_up = Instant::now() + RECOVERY;
    loop {
        let reached = answers.load(Ordering::Relaxed) - before;
        if reached >= wanted {
            return;
        }
        assert!(Instant::now() < give_up, "{mode}: {reached} answers of this kind, not {wanted}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn user(number: usize, service: Arc<Service>, counts: Arc<Counts>) -> Vec<Sent> {
    let mut sent = Vec::new();
    while !counts.stop.load(Ordering::Relaxed) {
        let mut ticket = ticket();
        ticket["subject"] = json!(format!("user {number} ticket {}", sent.len()));
        ticket["body"] = json!(noise(number, sent.len()));
        let one = Sent::now(&service, ticket).await;
        if one.number().is_some() {
            counts.accepted.fetch_add(1, Ordering::Relaxed);
        } else {
            counts.refused.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(PAUSE).await;
        }
        sent.push(one);
    }
    sent
}

/// A long text that nobody can compress: a database that has room for it has room.
fn noise(user: usize, ticket: usize) -> String {
    let words = (0..500).map(|word| 1 + word + 1000 * (user + USERS * ticket));
    words.fold(String::new(), |mut text, word| {
        // Writing to a text does not fail.
        let _ = write!(text, "{:08x}", word.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32);
        text
    })
}

async fn probe(service: Arc<Service>, counts: Arc<Counts>) -> Vec<Duration> {
    let mut probes = Vec::new();
    while !counts.stop.load(Ordering::Relaxed) {
        let started = Instant::now();
        assert_eq!(service.get("/health").await.status, 200);
        probes.push(started.elapsed());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    probes
}

impl Sent {
    async fn now(service: &Service, ticket: Value) -> Self {
        let started = Instant::now();
        let reply = service.post_under(ticket["subject"].as_str().unwrap(), &ticket).await;
        Self { ticket, reply, took: started.elapsed() }
    }

    /// Sends until it is accepted.
    async fn at_last(service: &Service, ticket: Value) -> Self {
        let give_up = Instant::now() + RECOVERY;
        loop {
            let sent = Self::now(service, ticket.clone()).await;
            if sent.number().is_some() {
                return sent;
            }
            assert!(Instant::now() < give_up, "{:?}", sent.reply);
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn subject(&self) -> &str {
        self.ticket["subject"].as_str().unwrap()
    }

    /// The number of the ticket, if it was accepted.
    fn number(&self) -> Option<i64> {
        (self.reply.status == 201).then(|| number(&self.reply))
    }
}

fn number(reply: &Reply) -> i64 {
    reply.body["ticket_id"].as_str().unwrap().strip_prefix("T-").unwrap().parse().unwrap()
}

/// What was sent and what was answered.
#[derive(Debug)]
pub(super) struct Books {
    mode: IntakeMode,
    sent: Vec<Sent>,
}

impl Books {
    /// How many tickets were accepted, and how many refused.
    pub(super) fn totals(&self) -> (usize, usize) {
        (self.accepted().count(), self.refused().count())
    }

    /// Holds the books against the database and the documented `errors`: what was accepted is
    /// there, once and whole, and nothing is there that nobody sent. Then repeats what was refused,
    /// under its key, until it is accepted: after that each ticket is there once.
    ///
    /// Gives the number of tickets that were in the database without having been accepted: those
    /// whose answer was lost. Only a database that goes away while it commits may have any.
    pub(super) async fn balance(
        &self,
        database: &Database,
        service: &Arc<Service>,
        errors: &[(u16, &str)],
    ) -> usize {
        let slowest = self.sent.iter().map(|sent| sent.took).max().unwrap();
        assert!(slowest < RECOVERY, "{}: {slowest:?}", self.mode);
        for refused in self.refused() {
            let error = (refused.reply.status, refused.reply.code());
            assert!(errors.contains(&error), "{}: {:?}", self.mode, refused.reply);
        }
        let before = self.opened(database).await;
        for sent in self.accepted() {
            assert_eq!(before.get(sent.subject()).copied(), sent.number(), "{}", self.mode);
        }
        for again in self.repeat(service).await {
            if let Some(number) = before.get(again.subject()) {
                assert_eq!(again.number(), Some(*number), "{}: another ticket", self.mode);
            }
        }
        let after = self.opened(database).await;
        assert_eq!(after.len(), self.sent.len(), "{}: each is there", self.mode);
        before.len() - self.accepted().count()
    }

    fn accepted(&self) -> impl Iterator<Item = &Sent> {
        self.sent.iter().filter(|sent| sent.number().is_some())
    }

    fn refused(&self) -> impl Iterator<Item = &Sent> {
        self.sent.iter().filter(|sent| sent.number().is_none())
    }

    /// The new tickets of the database by their subjects: each once, whole, and sent by a user.
    async fn opened(&self, database: &Database) -> HashMap<String, i64> {
        assert_eq!(database.half_saved().await, 0, "{}", self.mode);
        let rows = database.opened().await;
        let count = rows.len();
        let opened: HashMap<String, i64> = rows.into_iter().collect();
        assert_eq!(opened.len(), count, "{}: one of them is there twice", self.mode);
        let unknown =
            opened.keys().find(|subject| !self.sent.iter().any(|s| s.subject() == *subject));
        assert_eq!(unknown, None, "{}", self.mode);
        opened
    }

    /// Sends all that was refused once more, and some of what was accepted.
    async fn repeat(&self, service: &Arc<Service>) -> Vec<Sent> {
        let mut tickets: Vec<Value> = self.refused().map(|sent| sent.ticket.clone()).collect();
        tickets.extend(self.accepted().take(5).map(|sent| sent.ticket.clone()));
        let mut users = JoinSet::new();
        for share in tickets.chunks(tickets.len().div_ceil(USERS)) {
            let (service, share) = (Arc::clone(service), share.to_vec());
            users.spawn(async move {
                let mut again = Vec::new();
                for ticket in share {
                    again.push(Sent::at_last(&service, ticket).await);
                }
                again
            });
        }
        users.join_all().await.into_iter().flatten().collect()
    }
}
