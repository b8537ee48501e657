//! What the tokens of a stream say about time, as their reader sees them. No clock is read here.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// When the tokens of each stream are due, counted from its start.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub(super) first: Duration,
    pub(super) gap: Duration,
}

/// One stream, as far as it was read. Times are counted from any moment, the same for all.
#[derive(Debug)]
pub(super) struct Stream {
    start: Duration,
    /// When the latest tokens were read, and how many there have been.
    last: Option<Duration>,
    pub(super) tokens: u32,
}

/// The times of all streams.
#[derive(Debug)]
pub(super) struct Times {
    firsts: Histogram<u64>,
    gaps: Histogram<u64>,
    late: Histogram<u64>,
    whole: Histogram<u64>,
    coalesced: u64,
}

/// Quantiles.
#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_field_names, reason = "a number's name ends in its unit")]
pub(super) struct Quantiles {
    pub(super) p50_ms: f64,
    pub(super) p95_ms: f64,
    pub(super) p99_ms: f64,
    pub(super) max_ms: f64,
}

/// What came of the times.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct TimesSeen {
    /// From the start of a stream to its first token.
    pub(super) first: Quantiles,
    /// From one read that brought tokens to the next one of that stream.
    pub(super) gap: Quantiles,
    /// From when a token was due to when it was read.
    pub(super) late: Quantiles,
    /// From a request to the end of its answer.
    pub(super) whole: Quantiles,
    /// Tokens that came in one read with the one before. They have no gap: counted as gaps of 0,
    /// they would make a server look better that sends late tokens together.
    pub(super) coalesced: u64,
}

impl Stream {
    pub(super) fn started(at: Duration) -> Self {
        Self { start: at, last: None, tokens: 0 }
    }

    /// Accounts for the tokens of one read.
    pub(super) fn read(&mut self, tokens: u32, at: Duration, plan: Plan, times: &mut Times) {
        if tokens == 0 {
            return;
        }
        match self.last {
            None => times.firsts.saturating_record(micros(at.saturating_sub(self.start))),
            Some(last) => times.gaps.saturating_record(micros(at.saturating_sub(last))),
        }
        for token in self.tokens..self.tokens + tokens {
            let due = self.start + plan.first + plan.gap * token;
            times.late.saturating_record(micros(at.saturating_sub(due)));
        }
        times.coalesced += u64::from(tokens - 1);
        self.last = Some(at);
        self.tokens += tokens;
    }

    /// Accounts for an answer that is complete, unless it was asked for before `since`.
    pub(super) fn ended(&self, at: Duration, since: Duration, times: &mut Times) {
        if self.start >= since {
            times.whole.saturating_record(micros(at.saturating_sub(self.start)));
        }
    }
}

impl Times {
    pub(super) fn new() -> anyhow::Result<Self> {
        // 10 minutes in microseconds.
        let histogram = || Histogram::new_with_max(600_000_000, 3);
        Ok(Self {
            firsts: histogram()?,
            gaps: histogram()?,
            late: histogram()?,
            whole: histogram()?,
            coalesced: 0,
        })
    }

    pub(super) fn seen(&self) -> TimesSeen {
        TimesSeen {
            first: quantiles(&self.firsts),
            gap: quantiles(&self.gaps),
            late: quantiles(&self.late),
            whole: quantiles(&self.whole),
            coalesced: self.coalesced,
        }
    }
}

fn quantiles(histogram: &Histogram<u64>) -> Quantiles {
    let ms = |quantile| histogram.value_at_quantile(quantile) as f64 / 1_000.0;
    Quantiles { p50_ms: ms(0.5), p95_ms: ms(0.95), p99_ms: ms(0.99), max_ms: ms(1.0) }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(reads: &[(u32, u64)], expected: [f64; 3], coalesced: u64) {
        let ms = Duration::from_millis;
        let plan = Plan { first: ms(100), gap: ms(40) };
        let mut times = Times::new().unwrap();
        let mut stream = Stream::started(ms(1_000));
        for (tokens, at) in reads {
            stream.read(*tokens, ms(*at), plan, &mut times);
        }
        let seen = times.seen();
        let maxima = [seen.first.max_ms, seen.gap.max_ms, seen.late.max_ms];
        for (actual, expected) in maxima.into_iter().zip(expected) {
            // The histogram keeps three digits.
            assert!((actual - expected).abs() <= expected / 500.0, "{reads:?}: {maxima:?}");
        }
        assert_eq!(seen.coalesced, coalesced, "{reads:?}");
        assert_eq!(stream.tokens, reads.iter().map(|(tokens, _)| tokens).sum::<u32>());
    }

    #[test]
    fn answers_asked_for_before_the_warm_up_ended_do_not_count() {
        let ms = Duration::from_millis;
        let mut times = Times::new().unwrap();
        for (start, at) in [(0, 900), (100, 400), (999, 5_000), (1_000, 1_300)] {
            Stream::started(ms(start)).ended(ms(at), ms(1_000), &mut times);
        }
        assert_eq!(times.whole.len(), 1);
        assert!((times.seen().whole.max_ms - 300.0).abs() < 1.0);
    }

    #[test]
    fn first_tokens_gaps_and_lateness_are_told_apart() {
        // On time; an empty read changes nothing.
        check(&[(1, 1_100), (0, 1_120), (1, 1_140), (1, 1_180)], [100.0, 40.0, 0.0], 0);
        // A late start, then on time again.
        check(&[(1, 1_130), (1, 1_140), (1, 1_180)], [130.0, 40.0, 30.0], 0);
        // Late tokens together: one gap, but each of them is late.
        check(&[(1, 1_100), (2, 1_200)], [100.0, 100.0, 60.0], 1);
        check(&[], [0.0, 0.0, 0.0], 0);
    }
}
