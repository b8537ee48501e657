//! How the rate of an open loop changes over time.

use std::time::Duration;

/// One stage: the rate climbs or falls in a straight line from that of the stage before to its own.
/// The first stage has its rate from its start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stage {
    /// Requests per second at its end.
    pub rate_per_s: f64,
    /// How long it lasts.
    pub lasts: Duration,
}

/// Why there is no profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// No stage at all.
    #[error("at least one stage is needed")]
    Empty,
    /// A rate that is negative, not finite, or too high.
    #[error("a rate must be from 0 to 10,000,000 per second")]
    Rate,
    /// A stage of no time.
    #[error("a stage must last longer than no time")]
    NoTime,
    /// All rates are zero.
    #[error("at least one rate must be above zero")]
    AllZero,
}

/// The most requests per second that can be asked for.
const MAX_RATE: f64 = 1e7;

/// A rate over time, in straight lines.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    lines: Vec<Line>,
}

/// A part of the time in which the rate follows one line.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Line {
    /// Seconds since the start of the run, and requests due by then.
    start_s: f64,
    due: f64,
    /// Requests per second at its start, and how much they grow per second.
    rate: f64,
    slope: f64,
    lasts_s: f64,
}

impl Profile {
    /// The same rate without end.
    ///
    /// # Errors
    /// When the rate is not above zero or too high.
    pub fn constant(rate_per_s: f64) -> Result<Self, ProfileError> {
        check_rate(rate_per_s)?;
        if rate_per_s <= 0.0 {
            return Err(ProfileError::AllZero);
        }
        let (start_s, due, slope) = (0.0, 0.0, 0.0);
        let line = Line { start_s, due, rate: rate_per_s, slope, lasts_s: f64::INFINITY };
        Ok(Self { lines: vec![line] })
    }

    /// One stage after another.
    ///
    /// # Errors
    /// When a stage is not usable, or there is none.
    pub fn stages(stages: &[Stage]) -> Result<Self, ProfileError> {
        let mut lines: Vec<Line> = Vec::new();
        let mut rate = stages.first().ok_or(ProfileError::Empty)?.rate_per_s;
        for stage in stages {
            check_rate(stage.rate_per_s)?;
            let lasts_s = stage.lasts.as_secs_f64();
            if lasts_s <= 0.0 {
                return Err(ProfileError::NoTime);
            }
            let (start_s, due) = lines.last().map_or((0.0, 0.0), Line::end);
            let slope = (stage.rate_per_s - rate) / lasts_s;
            lines.push(Line { start_s, due, rate, slope, lasts_s });
            rate = stage.rate_per_s;
        }
        if stages.iter().all(|stage| stage.rate_per_s <= 0.0) {
            return Err(ProfileError::AllZero);
        }
        Ok(Self { lines })
    }

    /// How long it lasts; `None` when it has no end.
    pub fn lasts(&self) -> Option<Duration> {
        let (end_s, _) = self.lines.last().map_or((0.0, 0.0), Line::end);
        end_s.is_finite().then(|| Duration::from_secs_f64(end_s))
    }

    /// When the request number `number` is due, counted from 0 and not necessarily whole: the time
    /// at which the integral of the rate reaches it. `None` after the end.
    pub fn time_of(&self, number: f64) -> Option<Duration> {
        // The one before the first line whose start has more requests due.
        let index = self.lines.partition_point(|line| line.due <= number);
        let line = self.lines.get(index.checked_sub(1)?)?;
        let after_s = line.seconds_to(number - line.due)?;
        Duration::try_from_secs_f64(line.start_s + after_s).ok()
    }
}

impl Line {
    /// When it ends, and how many requests are due by then.
    fn end(&self) -> (f64, f64) {
        let due = self.rate * self.lasts_s + self.slope * self.lasts_s * self.lasts_s / 2.0;
        (self.start_s + self.lasts_s, self.due + due)
    }

    /// The seconds after its start in which `count` requests come due: the root of
    /// `slope/2 t^2 + rate t = count`, in the form that does not cancel (Numerical Recipes, 5.6).
    fn seconds_to(&self, count: f64) -> Option<f64> {
        let root = (self.rate * self.rate + 2.0 * self.slope * count).max(0.0).sqrt();
        let seconds = if count <= 0.0 { 0.0 } else { 2.0 * count / (self.rate + root) };
        (seconds < self.lasts_s).then_some(seconds)
    }
}

fn check_rate(rate_per_s: f64) -> Result<(), ProfileError> {
    if (0.0..=MAX_RATE).contains(&rate_per_s) { Ok(()) } else { Err(ProfileError::Rate) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stages(of: &[(f64, f64)]) -> Result<Profile, ProfileError> {
        let stage = |&(rate_per_s, seconds): &(f64, f64)| Stage {
            rate_per_s,
            lasts: Duration::from_secs_f64(seconds),
        };
        Profile::stages(&of.iter().map(stage).collect::<Vec<_>>())
    }

    fn seconds(profile: &Profile, number: f64) -> Option<f64> {
        profile.time_of(number).map(|time| (time.as_secs_f64() * 1e6).round() / 1e6)
    }

    #[test]
    fn a_constant_rate_has_no_end() {
        let profile = Profile::constant(4.0).unwrap();
        assert_eq!(seconds(&profile, 0.0), Some(0.0));
        assert_eq!(seconds(&profile, 1.0), Some(0.25));
        assert_eq!(seconds(&profile, 4e6), Some(1e6));
        assert_eq!(profile.lasts(), None);
    }

    #[test]
    fn stages_climb_and_fall_in_straight_lines() {
        // 10/s for 2 s: 20 requests; up to 30/s in 2 s: 40; down to 0 in 3 s: 45.
        let profile = stages(&[(10.0, 2.0), (30.0, 2.0), (0.0, 3.0)]).unwrap();
        let cases = [
            (0.0, Some(0.0)),
            (10.0, Some(1.0)),
            (20.0, Some(2.0)),
            // 10 t + 5 t^2 = 15
            (35.0, Some(3.0)),
            (60.0, Some(4.0)),
            // 30 t - 5 t^2 = 40
            (100.0, Some(6.0)),
            (105.1, None),
        ];
        for (number, expected) in cases {
            assert_eq!(seconds(&profile, number), expected, "{number}");
        }
        assert_eq!(profile.lasts(), Some(Duration::from_secs(7)));
        let quiet_first = stages(&[(0.0, 5.0), (10.0, 1.0)]).unwrap();
        assert_eq!(seconds(&quiet_first, 5.0 - 1e-9), Some(6.0));
    }

    #[test]
    fn what_is_no_profile_says_why() {
        let cases = [
            (stages(&[]), ProfileError::Empty),
            (stages(&[(-1.0, 1.0)]), ProfileError::Rate),
            (stages(&[(1e9, 1.0)]), ProfileError::Rate),
            (stages(&[(1.0, 0.0)]), ProfileError::NoTime),
            (stages(&[(0.0, 1.0)]), ProfileError::AllZero),
            (Profile::constant(0.0), ProfileError::AllZero),
            (Profile::constant(f64::NAN), ProfileError::Rate),
        ];
        for (profile, error) in cases {
            assert_eq!(profile, Err(error));
        }
    }

    proptest! {
        /// Later requests are never due earlier, and the last one is due within the profile.
        #[test]
        fn times_are_in_order(of in prop::collection::vec((0.0_f64..500.0, 0.1_f64..5.0), 1..5)) {
            prop_assume!(of.iter().any(|(rate, _)| *rate > 1.0));
            let profile = stages(&of).unwrap();
            let times: Vec<Duration> =
                (0..5000).map_while(|i| profile.time_of(f64::from(i))).collect();
            prop_assert!(times.is_sorted());
            prop_assert!(times.iter().all(|time| *time <= profile.lasts().unwrap()));
        }
    }
}
