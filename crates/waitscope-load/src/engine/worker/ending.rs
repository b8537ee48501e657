//! How requests end, and what is counted of them.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::super::connection::InFlight;
use super::super::sample::{Outcome, Sample};
use super::Worker;
use crate::error::RequestError;
use crate::pacer::Pacer;

/// How long a user waits after a request that failed at once: nobody is served by a loop of a
/// million refused connections.
const AFTER_FAILURE: Duration = Duration::from_millis(10);

/// Samples that are handed over at once, at the most.
const BATCH: usize = 1024;

impl Worker<'_> {
    /// Gives up what has run into the timeout.
    pub(super) fn expire(&mut self, now: Duration) {
        while let Some(place) = self.order.first()
            && self.deadline(place) <= now
        {
            self.fail(place, RequestError::timeout(self.shared.config.timeout));
        }
    }

    /// The end: what is in flight is unfinished, and what was due is unsent.
    pub(super) fn give_up(&mut self) {
        while let Some(place) = self.order.first() {
            if let Some(request) = self.close(place) {
                self.finish(request, Outcome::Unfinished);
            }
        }
        let now = self.now();
        let ends = [self.shared.config.stop.after, self.cancelled_at];
        // What is due right at the end belongs to the time after it.
        let before = |end: Duration| end.saturating_sub(Duration::from_nanos(1)).min(now);
        let until = ends.into_iter().flatten().min().map_or(now, before);
        while self.left != Some(0)
            && matches!(self.pacer, Pacer::Open(_))
            && let Some(planned) = self.pacer.take(until)
        {
            self.left = self.left.map(|left| left - 1);
            let seq = self.next_seq();
            self.record(Sample {
                seq,
                intended: planned.intended,
                start: now,
                connect: None,
                first_byte: None,
                end: now,
                bytes: 0,
                reused: false,
                resent: false,
                warmup: false,
                outcome: Outcome::Unsent,
                details: None,
            });
        }
    }

    pub(super) fn fail(&mut self, place: u32, error: RequestError) {
        if let Some(request) = self.close(place) {
            self.finish(request, Outcome::Failed(error));
        }
    }

    /// Closes a connection and gives the request that was on it.
    pub(super) fn close(&mut self, place: u32) -> Option<InFlight> {
        let connection = self.connections.try_remove(place as usize)?;
        if connection.request.is_some() {
            self.order.remove(place);
        } else {
            self.idle[connection.endpoint].retain(|idle| *idle != place);
        }
        connection.request
    }

    pub(super) fn finish(&mut self, request: InFlight, outcome: Outcome) {
        let now = self.now();
        self.finish_at(request, outcome, now);
    }

    /// A request has ended.
    pub(super) fn finish_at(&mut self, request: InFlight, outcome: Outcome, now: Duration) {
        self.count_in_flight(now, false, request.warmup);
        // What goes wrong at the start-up is not left out.
        let good = matches!(outcome, Outcome::Answered(200..400));
        let warmup = request.warmup && good;
        self.tally.encoded += u64::from(request.encoded && !warmup);
        let failed = matches!(outcome, Outcome::Failed(_));
        let quick = now.saturating_sub(request.start) < AFTER_FAILURE;
        let free = if failed && quick { now + AFTER_FAILURE } else { now };
        self.pacer.ended(request.planned.user, request.planned.intended, free);
        self.gauge.ended.fetch_add(1, Ordering::Relaxed);
        self.gauge.failed.fetch_add(u64::from(failed), Ordering::Relaxed);
        let details = match (request.details, &outcome) {
            (Some(gathered), Outcome::Answered(status)) => Some(Box::new(gathered.finish(*status))),
            _ => None,
        };
        self.record(Sample {
            seq: request.seq,
            intended: request.planned.intended,
            start: request.start,
            connect: request.connect,
            first_byte: request.first_byte,
            end: now,
            bytes: request.bytes,
            reused: request.reused,
            resent: request.resent,
            warmup,
            outcome,
            details,
        });
    }

    /// The number of requests in flight changes by one, which may be one of the start-up.
    pub(super) fn count_in_flight(&mut self, now: Duration, more: bool, warmup: bool) {
        if self.is_full() {
            self.full_until = Some(now);
        }
        let span = now.saturating_sub(self.in_flight_since).as_secs_f64();
        self.tally.in_flight_seconds += span * (self.in_flight - self.warming_up) as f64;
        self.in_flight_since = now;
        let change = |count: u64, by: u64| if more { count + by } else { count - by };
        self.in_flight = change(self.in_flight, 1);
        self.warming_up = change(self.warming_up, warmup.into());
        self.tally.max_in_flight = self.tally.max_in_flight.max(self.in_flight);
    }

    fn record(&mut self, sample: Sample) {
        self.tally.add(&sample);
        if self.shared.wants_samples {
            self.batch.push(sample);
            if self.batch.len() >= BATCH {
                self.hand_over();
            }
        }
    }

    /// Hands samples over to the thread that wants them. When it is slow it is waited for: memory
    /// has an end, and the lag shows it.
    pub(super) fn hand_over(&mut self) {
        if !self.batch.is_empty() {
            // Nobody listens any more only when the run has failed.
            let _ = self.samples.send(std::mem::take(&mut self.batch));
        }
    }
}
