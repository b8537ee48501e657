//! What a run counts. Its size does not grow with the number of requests.

use std::collections::BTreeMap;
use std::time::Duration;

use waitscope_stats::latencies::Latencies;

use super::sample::{Outcome, Sample};
use super::timeline::Timeline;
use crate::error::ErrorClass;

/// The most metrics of `Server-Timing` that are told apart, and the most kinds of failures.
const MOST_PARTS: usize = 16;

/// Counts of one worker, or of all of them together.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// From the intended start to the end; requests that were given up count with their age.
    pub response: Latencies,
    /// From the actual start to the end, likewise; requests that never started are not in it.
    pub service: Latencies,
    /// From the intended to the actual start.
    pub lag: Latencies,
    /// From the actual start to the first byte of the answer.
    pub first_byte: Latencies,
    /// From the actual start until the connection was open, of those that opened one.
    pub connect: Latencies,
    /// Complete answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Requests without an answer: how many, and what the first one met.
    pub errors: BTreeMap<ErrorClass, (u64, String)>,
    /// Other statuses than 2xx: what the first answer said.
    pub complaints: BTreeMap<u16, String>,
    /// Requests still out at the end; they are in the latencies with their age.
    pub unfinished: u64,
    /// Requests that were due and never started; they are in `response` with their age.
    pub unsent: u64,
    /// Requests that ran into the timeout; they are in the latencies with their age, and in
    /// `errors`.
    pub timeouts: u64,
    /// Requests of the start-up, which no other figure counts.
    pub warmup: u64,
    /// Requests that were sent again, since a kept connection was closed before the server saw them.
    pub resent: u64,
    /// Requests on a connection that had served one before.
    pub reused: u64,
    /// Requests that waited since too many were in flight.
    pub held_back: u64,
    /// Connections that were opened, or tried.
    pub connections: u64,
    /// Bytes received.
    pub bytes: u64,
    /// Answers in a content coding such as gzip, which are counted and not unpacked.
    pub encoded: u64,
    /// `Server-Timing` by metric.
    pub parts: BTreeMap<String, Latencies>,
    /// The integral of the requests in flight over time, in seconds, without the start-up.
    pub in_flight_seconds: f64,
    /// The most requests in flight at once.
    pub max_in_flight: u64,
    /// Seconds that workers waited for sockets or for the next start.
    pub idle_seconds: f64,
    /// What started and ended when, the start-up included.
    pub timeline: Timeline,
    /// Those of `response` that count with their age: they would have taken longer.
    pub censored_response: Option<Latencies>,
    /// Those of `service` that do.
    pub censored_service: Option<Latencies>,
    /// The first start of a request that is counted.
    pub first_start: Option<Duration>,
    /// The last end.
    pub last_end: Duration,
}

impl Tally {
    /// Counts one request.
    pub(super) fn add(&mut self, sample: &Sample) {
        self.timeline.add(sample);
        if sample.is_left_out() {
            self.warmup += 1;
            return;
        }
        self.resent += u64::from(sample.resent);
        self.bytes += sample.bytes;
        if sample.outcome == Outcome::Unsent {
            self.unsent += 1;
            self.response.record(sample.response());
            self.censored_response.get_or_insert_default().record(sample.response());
            return;
        }
        if sample.warmup {
            // It is counted after all, and its worker did not expect that.
            self.in_flight_seconds += sample.service().as_secs_f64();
        }
        self.reused += u64::from(sample.reused);
        earliest(&mut self.first_start, Some(sample.start));
        self.last_end = self.last_end.max(sample.end);
        self.lag.record(sample.lag());
        if let Some(connect) = sample.connect {
            self.connect.record(connect.saturating_sub(sample.start));
        }
        if let Some(first_byte) = sample.first_byte {
            self.first_byte.record(first_byte.saturating_sub(sample.start));
        }
        let has_latency = match &sample.outcome {
            Outcome::Answered(status) => {
                *self.statuses.entry(*status).or_default() += 1;
                true
            }
            Outcome::Failed(error) => {
                let example = || (0, error.to_string());
                self.errors.entry(error.class).or_insert_with(example).0 += 1;
                // A fast failure is no fast answer; a timeout would have taken longer still.
                let timed_out = error.class == ErrorClass::Timeout;
                self.timeouts += u64::from(timed_out);
                timed_out
            }
            Outcome::Unfinished => {
                self.unfinished += 1;
                true
            }
            Outcome::Unsent => false,
        };
        if has_latency {
            self.response.record(sample.response());
            self.service.record(sample.service());
        }
        if has_latency && !matches!(sample.outcome, Outcome::Answered(_)) {
            self.censored_response.get_or_insert_default().record(sample.response());
            self.censored_service.get_or_insert_default().record(sample.service());
        }
        self.add_details(sample);
    }

    fn add_details(&mut self, sample: &Sample) {
        let (Some(details), Outcome::Answered(status)) = (&sample.details, &sample.outcome) else {
            return;
        };
        if !details.complaint.is_empty() {
            self.complaints.entry(*status).or_insert_with(|| details.complaint.clone());
        }
        for part in &details.parts {
            if self.parts.len() < MOST_PARTS || self.parts.contains_key(&part.name) {
                self.parts.entry(part.name.clone()).or_default().record(part.duration);
            }
        }
    }

    /// Adds what another worker counted.
    pub(super) fn merge(&mut self, other: Self) {
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.lag.merge(&other.lag);
        self.first_byte.merge(&other.first_byte);
        self.connect.merge(&other.connect);
        for (status, count) in other.statuses {
            *self.statuses.entry(status).or_default() += count;
        }
        for (class, (count, example)) in other.errors {
            self.errors.entry(class).or_insert((0, example)).0 += count;
        }
        for (status, complaint) in other.complaints {
            self.complaints.entry(status).or_insert(complaint);
        }
        for (name, latencies) in other.parts {
            self.parts.entry(name).or_default().merge(&latencies);
        }
        self.unfinished += other.unfinished;
        self.unsent += other.unsent;
        self.timeouts += other.timeouts;
        self.warmup += other.warmup;
        self.resent += other.resent;
        self.reused += other.reused;
        self.held_back += other.held_back;
        self.connections += other.connections;
        self.bytes += other.bytes;
        self.encoded += other.encoded;
        self.in_flight_seconds += other.in_flight_seconds;
        // An upper bound: the workers' peaks need not fall together.
        self.max_in_flight += other.max_in_flight;
        self.idle_seconds += other.idle_seconds;
        self.timeline.merge(other.timeline);
        if let Some(censored) = other.censored_response {
            self.censored_response.get_or_insert_default().merge(&censored);
        }
        if let Some(censored) = other.censored_service {
            self.censored_service.get_or_insert_default().merge(&censored);
        }
        earliest(&mut self.first_start, other.first_start);
        self.last_end = self.last_end.max(other.last_end);
    }

    /// Complete answers.
    pub fn answered(&self) -> u64 {
        self.statuses.values().sum()
    }

    /// Requests without an answer because something went wrong, timeouts included.
    pub fn failed(&self) -> u64 {
        self.errors.values().map(|(count, _)| count).sum()
    }

    /// All requests that a figure counts.
    pub fn requests(&self) -> u64 {
        self.answered() + self.failed() + self.unfinished + self.unsent
    }

    /// From the first start to the last end.
    pub fn wall(&self) -> Duration {
        self.last_end.saturating_sub(self.first_start.unwrap_or_default())
    }
}

/// Keeps the smaller one of those that are there.
fn earliest(kept: &mut Option<Duration>, other: Option<Duration>) {
    *kept = match (*kept, other) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
}
