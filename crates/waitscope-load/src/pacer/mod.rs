//! When the next request is due. Pure: the time comes in as an argument, and all times count from
//! the start of the run.

mod closed;
mod open;
mod profile;

use std::time::Duration;

pub use closed::{Closed, Pace};
pub use open::{Arrivals, Open};
pub use profile::{Profile, ProfileError, Stage};

/// Says when requests start. One worker asks it; a run with several workers gives each a share of
/// its own.
#[derive(Debug)]
pub enum Pacer {
    /// Users, each of whom waits for its answer before it asks again.
    Closed(Closed),
    /// Requests that come whether or not the ones before were answered.
    Open(Open),
}

/// A request that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// When it should start: not after the time that was asked for.
    pub intended: Duration,
    /// Who sends it; told back when it has ended.
    pub user: u32,
    /// Whether it is the first of its user, which the start of a run makes special.
    pub first: bool,
}

impl Pacer {
    /// Takes the next request that is due at `now`, if one is.
    pub fn take(&mut self, now: Duration) -> Option<Start> {
        match self {
            Self::Closed(closed) => closed.take(now),
            Self::Open(open) => open.take(now),
        }
    }

    /// When the next request is due, as far as that is known: a user that waits for its answer is
    /// not due at all.
    pub fn next_due(&self) -> Option<Duration> {
        match self {
            Self::Closed(closed) => closed.next_due(),
            Self::Open(open) => open.next_due(),
        }
    }

    /// A user's request, which was intended at `intended`, has ended.
    pub fn ended(&mut self, user: u32, intended: Duration, now: Duration) {
        if let Self::Closed(closed) = self {
            closed.ended(user, intended, now);
        }
    }
}
