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
    fastest: Duration,
    total: Duration,
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
        Self { histogram, slowest: Duration::ZERO, fastest: Duration::MAX, total: Duration::ZERO }
    }

    /// Counts one latency. A longer one than a day counts as a day.
    pub fn record(&mut self, latency: Duration) {
        self.histogram.saturating_record(micros(latency));
        self.slowest = self.slowest.max(latency);
        self.fastest = self.fastest.min(latency);
        self.total = self.total.saturating_add(latency);
    }

    /// Counts all that another one has counted.
    pub fn merge(&mut self, other: &Self) {
        // Both have the same bounds, so that nothing can be out of them.
        let _ = self.histogram.add(&other.histogram);
        self.slowest = self.slowest.max(other.slowest);
        self.fastest = self.fastest.min(other.fastest);
        self.total = self.total.saturating_add(other.total);
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The slowest, exactly; `None` when nothing was counted.
    pub fn slowest(&self) -> Option<Duration> {
        (self.count() > 0).then_some(self.slowest)
    }

    /// The fastest, exactly; `None` when nothing was counted.
    pub fn fastest(&self) -> Option<Duration> {
        (self.count() > 0).then_some(self.fastest)
    }

    /// All of them together, exactly.
    pub fn total(&self) -> Duration {
        self.total
    }

    /// The arithmetic mean, exactly; `None` when nothing was counted.
    pub fn mean(&self) -> Option<Duration> {
        let count = self.count();
        (count > 0).then(|| self.total.div_f64(count as f64))
    }

    /// How many lie in each of the bins between neighbouring `edges`, which ascend: the lower edge
    /// belongs to a bin and the upper one to the next, but for the last bin, which has both. What
    /// lies outside is left out. Right to the histogram's 3 digits.
    pub fn counts_between(&self, edges: &[Duration]) -> Vec<u64> {
        let mut counts = vec![0; edges.len().saturating_sub(1)];
        let (Some(first), Some(last)) = (edges.first(), edges.last()) else { return counts };
        for value in self.histogram.iter_recorded() {
            let latency = Duration::from_micros(value.value_iterated_to());
            let latency = latency.clamp(self.fastest, self.slowest);
            if (*first..=*last).contains(&latency) {
                let above = edges.partition_point(|edge| *edge <= latency);
                let bin = above.saturating_sub(1).min(counts.len().saturating_sub(1));
                if let Some(count) = counts.get_mut(bin) {
                    *count += value.count_since_last_iteration();
                }
            }
        }
        counts
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

    /// The highest that the latency at `quantile` can be when those of `censored`, which are among
    /// these, may be longer than they were counted; `None` when there is no bound.
    pub fn quantile_at_most(&self, quantile: f64, censored: &Self) -> Option<Duration> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a rank lies between 0 and the count"
        )]
        let rank = ((quantile.clamp(0.0, 1.0) * self.count() as f64).ceil() as u64).max(1);
        let mut exact = 0;
        for value in self.histogram.iter_recorded() {
            let longer = censored.histogram.count_at(value.value_iterated_to());
            exact += value.count_since_last_iteration().saturating_sub(longer);
            if exact >= rank {
                return Some(Duration::from_micros(value.value_iterated_to()));
            }
        }
        None
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
    fn the_mean_and_the_extremes_are_exact() {
        let mut latencies = of(&[100, 200, 600]);
        assert_eq!(latencies.mean(), Some(Duration::from_millis(300)));
        let mut other = Latencies::new();
        assert_eq!((other.mean(), other.fastest()), (None, None));
        other.record(Duration::from_nanos(7_100_300));
        latencies.merge(&other);
        assert_eq!(latencies.fastest(), Some(Duration::from_nanos(7_100_300)));
        assert_eq!(latencies.total(), Duration::from_nanos(907_100_300));
    }

    #[test]
    fn censored_latencies_leave_some_quantiles_bounded() {
        // 90 that ended, and 10 that were given up at 5 ms.
        let all = of(&[vec![5; 10], vec![10; 60], vec![20; 30]].concat());
        let censored = of(&[5; 10]);
        let at_most =
            |quantile| all.quantile_at_most(quantile, &censored).map(|bound| bound.as_millis());
        let cases = [
            (0.0, Some(10)),
            (0.5, Some(10)),
            (0.6, Some(10)),
            (0.61, Some(20)),
            (0.9, Some(20)),
            (0.91, None),
            (1.0, None),
        ];
        for (quantile, expected) in cases {
            assert_eq!(at_most(quantile), expected, "{quantile}");
        }
        assert_eq!(Latencies::new().quantile_at_most(0.5, &censored), None);
    }

    #[test]
    fn bins_hold_what_lies_between_their_edges() {
        let latencies = of(&[10, 10, 20, 25, 30, 99]);
        let edges = |ms: &[u64]| ms.iter().map(|ms| Duration::from_millis(*ms)).collect::<Vec<_>>();
        let cases: [(&[u64], &[u64]); 5] = [
            (&[5, 15, 22, 40, 99], &[2, 1, 2, 1]),
            (&[10, 99], &[6]),
            (&[0, 5, 24], &[0, 3]),
            (&[10], &[]),
            (&[], &[]),
        ];
        for (of, expected) in cases {
            assert_eq!(latencies.counts_between(&edges(of)), expected, "{of:?}");
        }
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
