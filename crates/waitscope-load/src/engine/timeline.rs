//! What started and ended when, in steps of equal length.

use std::time::Duration;

use super::sample::{Outcome, Sample};

/// The most steps that are kept; a longer run has longer steps.
const MOST_STEPS: usize = 600;

/// Steps of a run, a second long at first. Their number is bounded: whenever there would be too
/// many, neighbours are put together and each step lasts twice as long.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Timeline {
    /// How often the steps were doubled.
    doubled: u32,
    steps: Vec<Step>,
}

/// What happened within one step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Step {
    /// Requests that were started.
    pub started: u64,
    /// Requests that ended with an answer.
    pub answered: u64,
    /// Requests that ended without one, or were not over at the end of the run.
    pub failed: u64,
    /// The longest service time of those that ended.
    pub slowest: Duration,
}

impl Timeline {
    /// How long a step lasts.
    pub fn step(&self) -> Duration {
        Duration::from_secs(1 << self.doubled)
    }

    /// The steps, from the start of the run on.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Counts one request, where it started and where it ended.
    pub(super) fn add(&mut self, sample: &Sample) {
        if sample.outcome == Outcome::Unsent {
            return;
        }
        let end = self.at(sample.end);
        if matches!(sample.outcome, Outcome::Answered(_)) {
            end.answered += 1;
        } else {
            end.failed += 1;
        }
        end.slowest = end.slowest.max(sample.service());
        self.at(sample.start).started += 1;
    }

    /// Adds what another worker counted.
    pub(super) fn merge(&mut self, mut other: Self) {
        while self.doubled < other.doubled {
            self.halve();
        }
        while other.doubled < self.doubled {
            other.halve();
        }
        if self.steps.len() < other.steps.len() {
            self.steps.resize(other.steps.len(), Step::default());
        }
        for (mine, theirs) in self.steps.iter_mut().zip(&other.steps) {
            mine.add(theirs);
        }
    }

    fn at(&mut self, time: Duration) -> &mut Step {
        while time.as_secs() >> self.doubled >= MOST_STEPS as u64 {
            self.halve();
        }
        // It is below the bound just checked.
        let index = usize::try_from(time.as_secs() >> self.doubled).unwrap_or_default();
        if self.steps.len() <= index {
            self.steps.resize(index + 1, Step::default());
        }
        &mut self.steps[index]
    }

    /// Half as many steps, each twice as long.
    fn halve(&mut self) {
        self.doubled += 1;
        let pairs = self.steps.chunks(2).map(|pair| {
            let mut sum = pair[0];
            pair[1..].iter().for_each(|step| sum.add(step));
            sum
        });
        self.steps = pairs.collect();
    }
}

impl Step {
    fn add(&mut self, other: &Self) {
        self.started += other.started;
        self.answered += other.answered;
        self.failed += other.failed;
        self.slowest = self.slowest.max(other.slowest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(start_s: u64, end_s: u64, outcome: Outcome) -> Sample {
        Sample {
            seq: 0,
            intended: Duration::from_secs(start_s),
            start: Duration::from_secs(start_s),
            connect: None,
            first_byte: None,
            end: Duration::from_secs(end_s),
            bytes: 0,
            reused: false,
            resent: false,
            warmup: false,
            outcome,
            details: None,
        }
    }

    fn timeline(of: &[(u64, u64)]) -> Timeline {
        let mut timeline = Timeline::default();
        for (start, end) in of {
            timeline.add(&sample(*start, *end, Outcome::Answered(200)));
        }
        timeline
    }

    #[test]
    fn requests_are_counted_where_they_start_and_end() {
        let mut timeline = timeline(&[(0, 2), (1, 2)]);
        timeline.add(&sample(2, 3, Outcome::Unfinished));
        timeline.add(&sample(0, 9, Outcome::Unsent));
        let step = |started, answered, failed, slowest_s| Step {
            started,
            answered,
            failed,
            slowest: Duration::from_secs(slowest_s),
        };
        let expected = [step(1, 0, 0, 0), step(1, 0, 0, 0), step(1, 2, 0, 2), step(0, 0, 1, 1)];
        assert_eq!(timeline.steps(), expected);
    }

    #[test]
    fn a_long_run_has_longer_steps_and_loses_no_count() {
        let mut long = timeline(&[(0, 1), (599, 600), (3_000, 3_001), (86_000, 86_001)]);
        assert!(long.steps().len() <= MOST_STEPS);
        assert_eq!(long.step(), Duration::from_secs(256));
        long.merge(timeline(&[(0, 1), (500, 501)]));
        let started: u64 = long.steps().iter().map(|step| step.started).sum();
        assert_eq!((started, long.steps()[0].started, long.steps()[1].started), (6, 2, 1));
        let mut short = timeline(&[(0, 1)]);
        short.merge(long.clone());
        assert_eq!(short.step(), long.step(), "the longer step wins either way");
    }
}
