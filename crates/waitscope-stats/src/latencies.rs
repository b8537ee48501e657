//! Latencies of a run: counted in a histogram whose size does not grow with their number.

use std::time::Duration;

use hdrhistogram::Histogram;

/// The longest latency that is told apart from longer ones: a day.
const LONGEST: Duration = Duration::from_hours(24);

/// Significant decimal digits that are kept.
const DIGITS: u8 = 3;

/// Latencies with a resolution of 1 us and 3 significant digits, up to a day (`HdrHistogram`,
/// Gil Tene, hdrhistogram.org). Quantiles are by nearest rank.
#[derive(Debug, Clone)]
pub struct Latencies {
    histogram: Histogram<u64>,
    slowest: Duration,
}

impl Default for Latencies {
    fn default() -> Self {
        Self::new()
    }
}

impl Latencies {
    /// Nothing counted yet.
    ///
    /// # Panics
    /// Never: the bounds are constants that the histogram accepts, as every test shows.
    pub fn new() -> Self {
        #[expect(clippy::expect_used, reason = "constant bounds, covered by every test")]
        let histogram = Histogram::new_with_max(micros(LONGEST), DIGITS).expect("constant bounds");
        Self { histogram, slowest: Duration::ZERO }
    }

    /// Counts one latency. A longer one than a day counts as a day.
    pub fn record(&mut self, latency: Duration) {
        self.histogram.saturating_record(micros(latency));
        self.slowest = self.slowest.max(latency);
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The slowest, exactly; `None` when nothing was counted.
    pub fn slowest(&self) -> Option<Duration> {
        (self.count() > 0).then_some(self.slowest)
    }

    /// The latency at `quantile` (0 to 1) by nearest rank; `None` when nothing was counted.
    pub fn quantile(&self, quantile: f64) -> Option<Duration> {
        if self.count() == 0 {
            return None;
        }
        let value = Duration::from_micros(self.histogram.value_at_quantile(quantile));
        // A bucket reports its upper end, which may lie above what was ever seen.
        Some(value.min(self.slowest))
    }

    /// The median by nearest rank.
    pub fn median(&self) -> Option<Duration> {
        self.quantile(0.5)
    }
}

/// Whole microseconds, at least one: the histogram counts from one on.
fn micros(latency: Duration) -> u64 {
    u64::try_from(latency.as_micros()).unwrap_or(u64::MAX).max(1)
}

/// The value at `quantile` (0 to 1) of values in ascending order, by nearest rank; `None` when
/// there is none.
pub fn nearest_rank(sorted: &[f64], quantile: f64) -> Option<f64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rank lies between 0 and the length"
    )]
    let rank = (quantile.clamp(0.0, 1.0) * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(millis: &[u64]) -> Latencies {
        let mut latencies = Latencies::new();
        for value in millis {
            latencies.record(Duration::from_millis(*value));
        }
        latencies
    }

    #[test]
    fn a_constant_latency_is_its_own_median() {
        let latencies = of(&[500; 1000]);
        assert_eq!(latencies.median(), Some(Duration::from_millis(500)));
        assert_eq!(latencies.slowest(), Some(Duration::from_millis(500)));
    }

    #[test]
    fn nothing_counted_has_no_figures() {
        assert_eq!(Latencies::new().median(), None);
        assert_eq!(Latencies::new().slowest(), None);
        assert_eq!(nearest_rank(&[], 0.5), None);
    }

    #[test]
    fn nearest_rank_takes_a_value_that_was_seen() {
        let cases: [(&[f64], f64, f64); 5] = [
            (&[1.0, 2.0, 3.0, 4.0], 0.5, 2.0),
            (&[1.0, 2.0, 3.0], 0.5, 2.0),
            (&[1.0, 2.0, 3.0, 4.0], 0.0, 1.0),
            (&[1.0, 2.0, 3.0, 4.0], 1.0, 4.0),
            (&[7.0], 0.99, 7.0),
        ];
        for (sorted, quantile, expected) in cases {
            assert_eq!(nearest_rank(sorted, quantile), Some(expected), "{sorted:?} {quantile}");
        }
    }

    proptest! {
        /// Quantiles agree with the exact ones within the histogram's 3 digits and 1 us.
        #[test]
        fn quantiles_are_right(mut values in prop::collection::vec(1_u64..10_000_000_000, 1..200),
                               quantile in 0.01_f64..1.0) {
            let mut latencies = Latencies::new();
            for value in &values {
                latencies.record(Duration::from_micros(*value));
            }
            values.sort_unstable();
            let exact: Vec<f64> = values.iter().map(|v| *v as f64).collect();
            let exact = nearest_rank(&exact, quantile).unwrap();
            let got = latencies.quantile(quantile).unwrap().as_micros() as f64;
            prop_assert!((got - exact).abs() <= exact * 0.001 + 1.0, "{got} {exact}");
        }
    }
}
