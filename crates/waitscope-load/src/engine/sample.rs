//! What is known of one request.

use std::time::Duration;

use crate::error::RequestError;
use crate::server_timing::Metric;

/// One request; all times count from the start of the run, on the monotonic clock.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Its number in the run, counted from 0 over all workers.
    pub seq: u64,
    /// When it should have started.
    pub intended: Duration,
    /// When it did: before its connection was opened, or before its first byte was sent.
    pub start: Duration,
    /// When its connection was open; `None` on one that was open already.
    pub connect: Option<Duration>,
    /// When the first byte of an answer was there.
    pub first_byte: Option<Duration>,
    /// When the answer was complete, or when it was given up.
    pub end: Duration,
    /// Bytes that were received for it, heads and framing included.
    pub bytes: u64,
    /// Whether its connection had served a request before.
    pub reused: bool,
    /// Whether it was sent again, since its connection was closed before the server saw it.
    pub resent: bool,
    /// Whether it belongs to the start-up of the run.
    pub warmup: bool,
    /// How it ended.
    pub outcome: Outcome,
    /// More of its answer, when the run asks for it.
    pub details: Option<Box<Details>>,
}

/// How a request ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// With a complete answer of this status.
    Answered(u16),
    /// Without one.
    Failed(RequestError),
    /// It was still out when the run ended: it would have taken at least until then.
    Unfinished,
    /// It was due and never started, since the run ended or too many were in flight.
    Unsent,
}

/// What else an answer said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Details {
    /// Its `Server-Timing`.
    pub parts: Vec<Metric>,
    /// For another status than 2xx: what it says, in one short line.
    pub complaint: String,
    /// Whether it is a page: HTML by its type, and by the look of it.
    pub is_page: bool,
}

impl Sample {
    /// From the intended start to the end: what somebody who comes by at that time waits.
    pub fn response(&self) -> Duration {
        self.end.saturating_sub(self.intended)
    }

    /// From the actual start to the end.
    pub fn service(&self) -> Duration {
        self.end.saturating_sub(self.start)
    }

    /// Whether no figure counts it: a good answer of the start-up. What went wrong at the start, or
    /// was not over at the end, is never left out.
    pub fn is_left_out(&self) -> bool {
        self.warmup && matches!(self.outcome, Outcome::Answered(100..400))
    }

    /// How late it started.
    pub fn lag(&self) -> Duration {
        self.start.saturating_sub(self.intended)
    }
}
