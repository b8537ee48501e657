//! What one request did and how long each part took: for its `Server-Timing` header and its line
//! in the log.

use std::fmt::{self, Write};
use std::future::Future;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::domain::{Named, TaskName};
use crate::stopwatch;

/// The notes of one request. The handler and a worker thread may both write to it.
#[derive(Debug)]
pub(crate) struct Trail {
    pub(crate) id: RequestId,
    pub(crate) started: Instant,
    statements: AtomicU32,
    parts: Mutex<Parts>,
}

#[derive(Debug, Default)]
struct Parts {
    database: Duration,
    calls: Vec<(TaskName, Duration)>,
}

impl Trail {
    /// A request that begins now.
    pub(crate) fn begin(id: RequestId) -> Self {
        Self {
            id,
            started: Instant::now(),
            statements: AtomicU32::new(0),
            parts: Mutex::new(Parts::default()),
        }
    }

    /// Counts one trip to the database and its time.
    pub(crate) async fn statement<T>(&self, statement: impl Future<Output = T>) -> T {
        self.statements.fetch_add(1, Ordering::Relaxed);
        self.database(statement).await
    }

    /// Counts time for the database: a statement, or the wait for a connection. The time until the
    /// event loop gets to the answer is not in it.
    pub(crate) async fn database<T>(&self, work: impl Future<Output = T>) -> T {
        let (outcome, took) = stopwatch::time(work).await;
        self.parts(|parts| parts.database += took);
        outcome
    }

    /// Notes one call to the provider.
    pub(crate) fn call(&self, task: TaskName, took: Duration) {
        self.parts(|parts| parts.calls.push((task, took)));
    }

    /// Trips to the database so far.
    pub(crate) fn statements(&self) -> u32 {
        self.statements.load(Ordering::Relaxed)
    }

    /// The value of `Server-Timing` (W3C Server Timing), durations in milliseconds.
    pub(crate) fn server_timing(&self) -> String {
        self.parts(|parts| {
            let mut text = format!("db;dur={:.1}", milliseconds(parts.database));
            for (task, took) in &parts.calls {
                // Writing to a String does not fail.
                let _ = write!(text, ", {};dur={:.1}", task.name(), milliseconds(*took));
            }
            text
        })
    }

    /// Notes stay whole when a thread panics between them, so a poisoned lock is taken.
    fn parts<T>(&self, work: impl FnOnce(&mut Parts) -> T) -> T {
        work(&mut self.parts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A duration as the API shows it: milliseconds.
pub(crate) fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// What ties an answer to its lines in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestId(String);

impl RequestId {
    /// The longest id that is taken over from a client.
    const MAX_LEN: usize = 64;

    /// The id that the client sent, if it is short and harmless in a log.
    pub(crate) fn from_client(text: &[u8]) -> Option<Self> {
        let harmless = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
        let usable = (1..=Self::MAX_LEN).contains(&text.len()) && text.iter().all(harmless);
        usable.then(|| Self(String::from_utf8_lossy(text).into_owned()))
    }

    /// 12 hexadecimal digits from the low 48 bits of a random number.
    pub(crate) fn from_random(number: u64) -> Self {
        Self(format!("{:012x}", number & 0xffff_ffff_ffff))
    }

    /// The text of the id.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Makes numbers that do not repeat and cannot be guessed: a keyed hash (`SipHash` with the
/// process's random key) of a counter.
#[derive(Debug, Default)]
pub(crate) struct IdSource {
    key: std::hash::RandomState,
    count: AtomicU64,
}

impl IdSource {
    /// The next number.
    pub(crate) fn next(&self) -> u64 {
        use std::hash::BuildHasher;
        self.key.hash_one(self.count.fetch_add(1, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_short_harmless_ids_are_taken_over() {
        let long = "a".repeat(65);
        let cases = [
            ("c5b2dd1547ab", true),
            ("Trace_1.2-3", true),
            ("", false),
            (long.as_str(), false),
            ("a b", false),
            ("a\nPOST /v1/tickets 201", false),
            ("ü", false),
        ];
        for (text, taken) in cases {
            assert_eq!(RequestId::from_client(text.as_bytes()).is_some(), taken, "{text:?}");
        }
    }

    #[test]
    fn new_ids_are_12_hexadecimal_digits_and_differ() {
        assert_eq!(RequestId::from_random(0xc5b2_dd15_47ab).as_str(), "c5b2dd1547ab");
        assert_eq!(RequestId::from_random(u64::MAX).as_str(), "ffffffffffff");
        assert_eq!(RequestId::from_random(1).as_str(), "000000000001");
        let source = IdSource::default();
        assert_ne!(source.next(), source.next());
    }

    #[test]
    fn server_timing_names_every_part_in_order() {
        let trail = Trail::begin(RequestId::from_random(1));
        assert_eq!(trail.server_timing(), "db;dur=0.0");
        trail.call(TaskName::Classify, Duration::from_micros(912_340));
        trail.call(TaskName::DraftReply, Duration::from_millis(1100));
        trail.call(TaskName::Embed, Duration::from_millis(200));
        assert_eq!(
            trail.server_timing(),
            "db;dur=0.0, classify;dur=912.3, draft_reply;dur=1100.0, embed;dur=200.0"
        );
    }
}
