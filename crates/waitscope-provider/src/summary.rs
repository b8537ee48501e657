//! What a provider did, in a few words.

use std::fmt;
use std::time::Duration;

use waitscope_serve::CLIENT_LEFT;
use waitscope_stats::latencies::Latencies;

use crate::answer::NO_ANSWER;
use crate::counts::Counts;

/// How much later than planned bytes were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lateness {
    /// The median.
    pub p50: Duration,
    /// The 99th percentile.
    pub p99: Duration,
    /// The worst.
    pub max: Duration,
}

/// What a provider did since its start or the last reset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Ended calls.
    pub calls: u64,
    /// Those among them that were answered with an error.
    pub errors: u64,
    /// Those whose client left.
    pub left: u64,
    /// Those that a fault left without an answer.
    pub unanswered: u64,
    /// The most calls in flight at once.
    pub max_in_flight: u64,
    /// How much later than planned bytes were written; `None` when none were.
    pub lateness: Option<Lateness>,
    /// Lines of the truth log that were lost because the disk was too slow.
    pub truth_lines_lost: u64,
}

impl Lateness {
    /// `None` when nothing was counted.
    pub(crate) fn of(latencies: &Latencies) -> Option<Self> {
        Some(Self {
            p50: latencies.median()?,
            p99: latencies.quantile(0.99)?,
            max: latencies.slowest()?,
        })
    }
}

impl Summary {
    pub(crate) fn new(counts: &Counts, lateness: &Latencies, truth_lines_lost: u64) -> Self {
        let of = |counted: &dyn Fn(u16) -> bool| {
            let statuses = counts.calls.values().flatten();
            statuses.filter(|(status, _)| counted(**status)).map(|(_, count)| count).sum()
        };
        Self {
            calls: of(&|_| true),
            errors: of(&|status| status >= 400 && status != CLIENT_LEFT),
            left: of(&|status| status == CLIENT_LEFT),
            unanswered: of(&|status| status == NO_ANSWER),
            max_in_flight: counts.max_in_flight,
            lateness: Lateness::of(lateness),
            truth_lines_lost,
        }
    }
}

impl fmt::Display for Summary {
    /// One or two sentences for people.
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let Self { calls, errors, left, unanswered, max_in_flight, .. } = self;
        write!(
            formatter,
            "{calls} calls, {errors} answered with an error, {left} left by their client"
        )?;
        if *unanswered > 0 {
            write!(formatter, ", {unanswered} left unanswered by a fault")?;
        }
        write!(formatter, "; at most {max_in_flight} in flight")?;
        if let Some(Lateness { p50, p99, max }) = self.lateness {
            let [p50, p99, max] = [p50, p99, max].map(|late| late.as_secs_f64() * 1_000.0);
            write!(
                formatter,
                "; written later than planned by {p50:.2} ms (p50), {p99:.2} ms (p99), \
                 {max:.2} ms (max)"
            )?;
        }
        if self.truth_lines_lost > 0 {
            let lost = self.truth_lines_lost;
            write!(formatter, "; {lost} lines of the log were lost: the disk was too slow")?;
        }
        Ok(())
    }
}
