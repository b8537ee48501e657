//! The engine: HTTP/1.1 load with exact times, on threads of its own.
//!
//! One loop serves every kind of load: a [`Pacer`] says when requests start, a [`Stop`] when no
//! more do, and an epoll loop on each worker does the rest. Workers share nothing while they run.

mod cancel;
mod connection;
mod order;
mod reach;
mod sample;
mod socket;
mod tally;
mod timeline;
mod tls;
mod worker;

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::error::RequestError;
use crate::pacer::{Arrivals, Closed, Open, Pace, Pacer};
use crate::target::Target;
use crate::template::Template;
use worker::Worker;

pub use cancel::Cancel;
pub use sample::{Details, Outcome, Sample};
pub use socket::Address;
pub use tally::Tally;
pub use timeline::{Step, Timeline};
pub use tls::Tls;

/// What to run.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where the requests go.
    pub endpoints: Vec<Endpoint>,
    /// What is sent; not empty.
    pub templates: Vec<Template>,
    /// In which order.
    pub turns: Turns,
    /// When requests start.
    pub schedule: Schedule,
    /// When no more do.
    pub stop: Stop,
    /// How long one request may take, its connection included.
    pub timeout: Duration,
    /// Whether connections are used again.
    pub keep_alive: bool,
    /// The most requests in flight at once; more are held back until one has ended.
    pub max_in_flight: Option<u64>,
    /// What belongs to the start-up and is not counted.
    pub warmup: Warmup,
    /// Threads, at least one.
    pub threads: u32,
    /// Where the randomness comes from.
    pub seed: u64,
    /// Whether samples carry [`Details`].
    pub details: bool,
}

/// A server that requests go to.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Its addresses, in the order in which they are tried; not empty.
    pub addresses: Vec<Address>,
    /// How it is encrypted, if it is.
    pub tls: Option<Tls>,
}

impl Endpoint {
    /// Looks a target up.
    ///
    /// # Errors
    /// When its name is not known or the system's certificates cannot be used.
    pub fn of(target: &Target) -> Result<Self, RequestError> {
        let addresses = target.addresses().map_err(|error| RequestError::lookup(&error))?;
        let tls = target.is_tls().then(|| Tls::new(&target.host())).transpose()?;
        Ok(Self { addresses: addresses.into_iter().map(Address::Tcp).collect(), tls })
    }
}

/// Which request is sent next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turns {
    /// One after the other.
    InOrder,
    /// Any of them; the same ones for the same seed.
    Shuffled,
}

/// When requests start.
#[derive(Debug, Clone)]
pub enum Schedule {
    /// So many users, each with one request at a time.
    Closed {
        /// At least one.
        users: u32,
        /// When a user asks again.
        pace: Pace,
    },
    /// Whether or not the ones before were answered.
    Open(Arrivals),
}

/// When no more requests start.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stop {
    /// After so many.
    pub requests: Option<u64>,
    /// After so long.
    pub after: Option<Duration>,
    /// How long the rest is waited for after that time; after the last one of `requests` the rest is
    /// waited for in any case.
    pub drain: Duration,
}

/// What belongs to the start-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warmup {
    /// Nothing.
    Off,
    /// What starts before this time.
    Until(Duration),
    /// The first request of each user of a closed loop: they all come at once, each on a connection
    /// that is yet to be opened.
    FirstOfEachUser,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Time since its start.
    pub elapsed: Duration,
    /// Requests that were started.
    pub started: u64,
    /// Requests that have ended, failed ones included.
    pub ended: u64,
    /// Requests that have failed.
    pub failed: u64,
}

/// Is told what happens during a run, on the thread that called [`run`].
pub trait Sink {
    /// Whether it wants every sample; without, only counts are kept.
    fn wants_samples(&self) -> bool {
        false
    }

    /// A request has ended.
    fn sample(&mut self, _sample: &Sample) {}

    /// Some time has passed.
    fn tick(&mut self, _progress: Progress) {}
}

/// Nobody listens.
impl Sink for () {}

/// What a run measured.
#[derive(Debug)]
pub struct Measured {
    /// The counts of all workers.
    pub tally: Tally,
    /// How long the run took.
    pub elapsed: Duration,
    /// How many threads it had.
    pub threads: u32,
    /// Whether it was stopped before its end.
    pub stopped: bool,
}

/// Batches of samples that may wait for their sink; then the workers wait.
const BATCHES: usize = 1024;

/// Connections of a run whose number is not known before.
const MANY: u64 = 50_000;

/// Time between two ticks.
const TICK: Duration = Duration::from_millis(100);

/// What the workers share.
#[derive(Debug)]
struct Shared<'a> {
    config: &'a Config,
    cancel: &'a Cancel,
    begin: Instant,
    wants_samples: bool,
}

/// What a worker says of itself while it runs; apart from what others say, so that no two of them
/// write to one cache line.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Gauge {
    started: AtomicU64,
    ended: AtomicU64,
    failed: AtomicU64,
}

/// Runs until the configured end or `cancel`, and blocks meanwhile.
///
/// # Errors
/// When the system gives no thread or no epoll instance. What goes wrong with requests is part of
/// the measurement.
pub fn run(config: &Config, sink: &mut dyn Sink, cancel: &Cancel) -> io::Result<Measured> {
    run_since(Instant::now(), config, sink, cancel)
}

/// The same, with all times counted from `begin`, so that the times of two runs beside each other
/// can be compared.
///
/// # Errors
/// As [`run`].
pub fn run_since(
    begin: Instant,
    config: &Config,
    sink: &mut dyn Sink,
    cancel: &Cancel,
) -> io::Result<Measured> {
    let threads = threads(config);
    let shared = Shared { config, cancel, begin, wants_samples: sink.wants_samples() };
    let gauges: Vec<Gauge> = (0..threads).map(|_| Gauge::default()).collect();
    let (send, receive) = mpsc::sync_channel(BATCHES);
    let tallies = std::thread::scope(|scope| -> io::Result<Vec<Tally>> {
        let mut workers = Vec::new();
        for (number, gauge) in (0..threads).zip(&gauges) {
            let name = format!("load-{number}");
            let spawned =
                Worker::new(&shared, number, threads, gauge, send.clone()).and_then(|w| {
                    std::thread::Builder::new().name(name).spawn_scoped(scope, move || w.run())
                });
            if spawned.is_err() {
                // The others would run on without an end.
                cancel.stop();
            }
            workers.push(spawned?);
        }
        drop(send);
        listen(&receive, &gauges, shared.begin, sink);
        let ended = workers.into_iter().map(std::thread::ScopedJoinHandle::join);
        ended.map(|tally| tally.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })?;
    let mut tally = Tally::default();
    for part in tallies {
        tally.merge(part);
    }
    let elapsed = shared.begin.elapsed();
    Ok(Measured { tally, elapsed, threads, stopped: cancel.is_stopped() })
}

/// A thread at most for each user, and for each request that may be in flight.
fn threads(config: &Config) -> u32 {
    let users = match config.schedule {
        Schedule::Closed { users, .. } => users,
        Schedule::Open(_) => u32::MAX,
    };
    let most =
        config.max_in_flight.map_or(u32::MAX, |most| u32::try_from(most).unwrap_or(u32::MAX));
    config.threads.clamp(1, users.min(most).max(1))
}

/// Passes on what the workers say, until all have ended.
fn listen(
    receive: &mpsc::Receiver<Vec<Sample>>,
    gauges: &[Gauge],
    begin: Instant,
    sink: &mut dyn Sink,
) {
    let mut next_tick = begin + TICK;
    loop {
        let wait = next_tick.saturating_duration_since(Instant::now());
        // Many samples must not keep a tick from its time: it may be what ends the run.
        if wait.is_zero() {
            sink.tick(progress(gauges, begin.elapsed()));
            next_tick = Instant::now() + TICK;
        }
        match receive.recv_timeout(wait) {
            Ok(samples) => samples.iter().for_each(|sample| sink.sample(sample)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    sink.tick(progress(gauges, begin.elapsed()));
}

fn progress(gauges: &[Gauge], elapsed: Duration) -> Progress {
    let sum = |of: fn(&Gauge) -> &AtomicU64| {
        gauges.iter().map(|gauge| of(gauge).load(Ordering::Relaxed)).sum()
    };
    Progress {
        elapsed,
        started: sum(|gauge| &gauge.started),
        ended: sum(|gauge| &gauge.ended),
        failed: sum(|gauge| &gauge.failed),
    }
}

impl Config {
    /// The share of one worker.
    fn pacer(&self, worker: u32, of: u32) -> Pacer {
        match &self.schedule {
            Schedule::Closed { users, pace } => {
                Pacer::Closed(Closed::new(share(*users, worker, of), *pace))
            }
            Schedule::Open(arrivals) => Pacer::Open(Open::new(arrivals.clone(), worker, of)),
        }
    }

    /// How many requests one worker sends, when their number is bounded.
    fn requests(&self, worker: u32, of: u32) -> Option<u64> {
        let (worker, of) = (u64::from(worker), u64::from(of));
        self.stop.requests.map(|all| all / of + u64::from(worker < all % of))
    }

    /// How many requests one worker may have in flight.
    fn max_in_flight(&self, worker: u32, of: u32) -> Option<u64> {
        let (worker, of) = (u64::from(worker), u64::from(of));
        self.max_in_flight.map(|all| (all / of + u64::from(worker < all % of)).max(1))
    }

    /// The most connections that can be open at once, as far as that is known; without keep-alive,
    /// those that have ended take ports for a while as well.
    fn connections(&self) -> u64 {
        let users = match self.schedule {
            Schedule::Closed { users, .. } => Some(u64::from(users)),
            Schedule::Open(_) => None,
        };
        let at_once = [users, self.max_in_flight, self.stop.requests]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(MANY);
        if self.keep_alive { at_once } else { self.stop.requests.unwrap_or(MANY) }
    }
}

fn share(all: u32, worker: u32, of: u32) -> u32 {
    all / of + u32::from(worker < all % of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up() {
        for (all, of) in [(0, 1), (7, 1), (7, 2), (7, 3), (2, 4)] {
            let sum: u32 = (0..of).map(|worker| share(all, worker, of)).sum();
            assert_eq!(sum, all, "{all} over {of}");
        }
    }
}
