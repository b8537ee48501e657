//! One worker: the loop that starts requests, waits for sockets, and ends requests.

mod ending;
mod exchange;
mod starting;

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use slab::Slab;

use super::cancel::Level;
use super::connection::Connection;
use super::order::Order;
use super::sample::Sample;
use super::socket::{self, Bell, Poll, Ready};
use super::{Gauge, Shared, Tally};
use crate::pacer::Pacer;

/// Bytes that are read at once.
const BUFFER: usize = 64 * 1024;

/// The token of the bell; places are smaller.
const BELL: u64 = u64::MAX;

/// A thread's part of a run.
pub(super) struct Worker<'a> {
    shared: &'a Shared<'a>,
    gauge: &'a Gauge,
    samples: SyncSender<Vec<Sample>>,
    batch: Vec<Sample>,
    number: u64,
    of: u64,
    poll: Poll,
    bell: Arc<Bell>,
    connections: Slab<Connection>,
    generation: u32,
    /// Connections that may have more to read than one turn reads.
    unread: Vec<Ready>,
    /// Connections without a request, by target; the last one was used last.
    idle: Vec<Vec<u32>>,
    /// By target: the address that answered last, and the sources to connect from.
    preferred: Vec<usize>,
    sources: Vec<Vec<Option<IpAddr>>>,
    order: Order,
    pacer: Pacer,
    /// Requests that are yet to be started, when their number is bounded.
    left: Option<u64>,
    most: Option<u64>,
    /// When the most requests were in flight last.
    full_until: Option<Duration>,
    /// Since when nothing is started any more because somebody said so.
    cancelled_at: Option<Duration>,
    turn: u64,
    in_flight: u64,
    /// Those of them that belong to the start-up.
    warming_up: u64,
    in_flight_since: Duration,
    tally: Tally,
    buffer: Box<[u8]>,
}

impl<'a> Worker<'a> {
    /// Worker `number` of `of`.
    pub(super) fn new(
        shared: &'a Shared<'a>,
        number: u32,
        of: u32,
        gauge: &'a Gauge,
        samples: SyncSender<Vec<Sample>>,
    ) -> io::Result<Self> {
        let config = shared.config;
        let poll = Poll::new()?;
        let bell = shared.cancel.bell()?;
        poll.add(bell.socket(), BELL)?;
        let connections = config.connections();
        // Another one for each run.
        let salt = RandomState::new().hash_one(number);
        let sources = config.endpoints.iter().map(|endpoint| {
            let first = endpoint.addresses.first();
            first.map_or_else(Vec::new, |first| socket::sources(first, connections, salt))
        });
        Ok(Self {
            shared,
            gauge,
            samples,
            batch: Vec::new(),
            number: number.into(),
            of: of.into(),
            poll,
            bell,
            connections: Slab::new(),
            generation: 0,
            unread: Vec::new(),
            idle: vec![Vec::new(); config.endpoints.len()],
            preferred: vec![0; config.endpoints.len()],
            sources: sources.collect(),
            order: Order::default(),
            pacer: config.pacer(number, of),
            left: config.requests(number, of),
            most: config.max_in_flight(number, of),
            full_until: None,
            cancelled_at: None,
            turn: 0,
            in_flight: 0,
            warming_up: 0,
            in_flight_since: Duration::ZERO,
            tally: Tally::default(),
            buffer: vec![0; BUFFER].into(),
        })
    }

    /// Runs to the end and gives what was counted.
    pub(super) fn run(mut self) -> io::Result<Tally> {
        // A wait for the next start must not be rounded up to the 50 us of ordinary threads.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        loop {
            let now = self.now();
            self.expire(now);
            if self.is_over(now) {
                break;
            }
            self.start_due(now);
            self.hand_over();
            self.wait()?;
        }
        self.give_up();
        self.hand_over();
        Ok(self.tally)
    }

    fn now(&self) -> Duration {
        self.shared.begin.elapsed()
    }

    /// Waits for sockets or for the next start, and does what the sockets are ready for.
    fn wait(&mut self) -> io::Result<()> {
        let waiting = Instant::now();
        let wait = if self.unread.is_empty() {
            self.wait_until().map(|until| until.saturating_sub(self.now()))
        } else {
            Some(Duration::ZERO)
        };
        let count = self.poll.wait(wait)?;
        self.tally.idle_seconds += waiting.elapsed().as_secs_f64();
        for ready in std::mem::take(&mut self.unread) {
            self.on_ready(ready);
        }
        for index in 0..count {
            let ready = self.poll.ready(index);
            if ready.token == BELL {
                self.bell.silence();
            } else {
                self.on_ready(ready);
            }
        }
        Ok(())
    }

    /// Whether no more requests start.
    fn starts_are_over(&mut self, now: Duration) -> bool {
        if self.shared.cancel.level() > Level::GoOn {
            self.cancelled_at.get_or_insert(now);
        }
        self.left == Some(0)
            || self.cancelled_at.is_some()
            || self.shared.config.stop.after.is_some_and(|after| now >= after)
            || matches!(&self.pacer, Pacer::Open(_)) && self.pacer.next_due().is_none()
    }

    fn is_over(&mut self, now: Duration) -> bool {
        let stop = self.shared.config.stop;
        let over = self.starts_are_over(now);
        self.shared.cancel.level() == Level::Stop
            || stop.after.is_some_and(|after| now >= after.saturating_add(stop.drain))
            || self.in_flight == 0 && over
    }

    /// When something is due whether or not a socket is ready.
    fn wait_until(&mut self) -> Option<Duration> {
        let stop = self.shared.config.stop;
        let now = self.now();
        // The last ones may have failed as they were started.
        if self.is_over(now) {
            return Some(now);
        }
        let over = self.starts_are_over(now);
        let start = if over || self.is_full() { None } else { self.pacer.next_due() };
        let end = stop.after.map(|at| if over { at.saturating_add(stop.drain) } else { at });
        let timeout = self.order.first().map(|place| self.deadline(place));
        [start, end, timeout].into_iter().flatten().min()
    }

    fn is_full(&self) -> bool {
        self.most.is_some_and(|most| self.in_flight >= most)
    }

    fn deadline(&self, place: u32) -> Duration {
        let request = self.connections.get(place as usize).and_then(|c| c.request.as_ref());
        request.map_or(Duration::MAX, |r| r.start.saturating_add(self.shared.config.timeout))
    }
}
