//! How requests start: on a kept connection, or on one that is opened for them.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::time::Duration;

use waitscope_stats::draw::StableHash;

use super::super::connection::{Connection, Gathered, InFlight, Stage};
use super::super::sample::Outcome;
use super::super::{Tls, Turns, Warmup, socket};
use super::Worker;
use crate::error::{ErrorClass, RequestError};
use crate::http1::ResponseParser;
use crate::pacer::Start;
use crate::template::Filling;

/// The most requests that start before sockets are looked at again: a burst of thousands must not
/// keep the first of them waiting for the last one.
const STARTS: usize = 64;

impl Worker<'_> {
    /// Starts requests that are due.
    pub(super) fn start_due(&mut self, now: Duration) {
        for _ in 0..STARTS {
            if self.starts_are_over(now) || self.is_full() {
                return;
            }
            let Some(planned) = self.pacer.take(now) else { return };
            self.tally.held_back += u64::from(Some(planned.intended) <= self.full_until);
            if let Some(left) = &mut self.left {
                *left -= 1;
            }
            self.start(planned);
        }
    }

    fn start(&mut self, planned: Start) {
        let config = self.shared.config;
        let seq = self.next_seq();
        let count = config.templates.len() as u64;
        let pick = match config.turns {
            Turns::InOrder => seq,
            Turns::Shuffled => StableHash::new(config.seed).word(seq).finish(),
        };
        let template = usize::try_from(pick % count).unwrap_or_default();
        let differs = config.templates[template].fixed().is_none();
        let filling = Filling { seq, seed: config.seed };
        let own_bytes = differs.then(|| config.templates[template].render(filling).into());
        let start = self.now();
        let request = InFlight {
            planned,
            seq,
            template,
            own_bytes,
            warmup: match config.warmup {
                Warmup::Off => false,
                Warmup::Until(end) => planned.intended < end,
                Warmup::FirstOfEachUser => planned.first,
            },
            start,
            connect: None,
            first_byte: None,
            reused: false,
            resent: false,
            tried: 0,
            bytes: 0,
            status: 0,
            encoded: false,
            details: config.details.then(Box::<Gathered>::default),
        };
        self.gauge.started.fetch_add(1, Ordering::Relaxed);
        self.count_in_flight(start, true, request.warmup);
        let endpoint = config.templates[template].endpoint;
        match self.idle[endpoint].pop() {
            Some(place) => self.use_again(place, request),
            None => self.open(request),
        }
    }

    /// The number of the next request in the run.
    pub(super) fn next_seq(&mut self) -> u64 {
        let seq = self.turn * self.of + self.number;
        self.turn += 1;
        seq
    }

    fn use_again(&mut self, place: u32, mut request: InFlight) {
        request.reused = true;
        self.put_on(place, request);
        self.write(place);
    }

    fn put_on(&mut self, place: u32, request: InFlight) {
        // A request that was on another connection before keeps its place in the order.
        let (start, moved) = (request.start, request.resent || request.tried > 0);
        let connection = &mut self.connections[place as usize];
        connection.parser.begin(self.shared.config.templates[request.template].is_to_head());
        connection.request = Some(request);
        connection.written = 0;
        let connections = &self.connections;
        self.order.insert(place, |other| {
            let other = connections.get(other as usize).and_then(|c| c.request.as_ref());
            moved && other.is_some_and(|other| other.start > start)
        });
    }

    /// Begins to open a connection for a request, to the first of its target's addresses that does
    /// not fail at once.
    pub(super) fn open(&mut self, mut request: InFlight) {
        let index = self.shared.config.templates[request.template].endpoint;
        let count = self.shared.config.endpoints[index].addresses.len();
        loop {
            let at = (self.preferred[index] + request.tried) % count;
            match self.connect(index, at) {
                Ok(place) => return self.put_on(place, request),
                Err(error) => {
                    request.tried += 1;
                    if request.tried >= count || error.class == ErrorClass::Local {
                        return self.finish(request, Outcome::Failed(error));
                    }
                }
            }
        }
    }

    fn connect(&mut self, index: usize, at: usize) -> Result<u32, RequestError> {
        let endpoint = &self.shared.config.endpoints[index];
        let address = &endpoint.addresses[at];
        let sources = &self.sources[index];
        let turn = usize::try_from(self.tally.connections).unwrap_or_default();
        let source = sources.get(turn % sources.len().max(1)).copied().flatten();
        self.tally.connections += 1;
        let failed = |error: &io::Error| RequestError::connect(address, error);
        let socket = socket::connect(address, source).map_err(|error| failed(&error))?;
        let tls = endpoint.tls.as_ref().map(Tls::session).transpose()?;
        self.generation = self.generation.wrapping_add(1);
        let entry = self.connections.vacant_entry();
        // Open files are fewer by far.
        let place = u32::try_from(entry.key()).unwrap_or(u32::MAX);
        let token = socket::token(self.generation, place);
        self.poll.add(socket.as_fd(), token).map_err(|error| failed(&error))?;
        entry.insert(Connection {
            socket,
            tls,
            endpoint: index,
            address: at,
            generation: self.generation,
            stage: Stage::Connecting,
            parser: ResponseParser::default(),
            request: None,
            written: 0,
        });
        Ok(place)
    }
}
