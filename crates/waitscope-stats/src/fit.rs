//! Fitting latency models to measured values, and how well they fit.

use std::f64::consts::PI;

use crate::latencies::nearest_rank;
use crate::mixture::{LogNormal, Mixture};

/// Positive values in ascending order: what every fit starts from.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample(Vec<f64>);

/// The smallest spread of a part: a part may not shrink onto a single value, whose likelihood has
/// no bound.
const SIGMA_FLOOR: f64 = 0.01;

/// Steps of the expectation-maximization at most; it ends sooner when a step gains next to nothing.
const MAX_STEPS: usize = 500;

/// The gain per value below which a step changes nothing that matters.
const LEAST_GAIN: f64 = 1e-8;

/// A mixture is fitted to so many values at most, evenly chosen among the sorted ones: each start
/// walks over them hundreds of times.
const MOST_FITTED: usize = 20_000;

/// Shares of the highest values that a mixture's tail starts from.
const STARTS: [f64; 5] = [0.005, 0.02, 0.1, 0.3, 0.6];

impl Sample {
    /// Takes values; those that are no number are left out. Zero counts as `smallest`, which must
    /// be positive: a logarithm has to exist.
    pub fn new(mut values: Vec<f64>, smallest: f64) -> Self {
        values.retain(|value| value.is_finite());
        for value in &mut values {
            *value = value.max(smallest);
        }
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The value at `quantile` by nearest rank; `None` when there is none.
    pub fn quantile(&self, quantile: f64) -> Option<f64> {
        nearest_rank(&self.0, quantile)
    }

    fn logs(&self) -> Vec<f64> {
        self.0.iter().map(|value| value.ln()).collect()
    }

    /// The log-normal distribution of maximum likelihood; `None` when there is no value.
    pub fn lognormal(&self) -> Option<LogNormal> {
        let (first, last) = (self.0.first()?, self.0.last()?);
        if first >= last {
            // The logarithm of a single value would not lead back to it exactly.
            return Some(LogNormal { median: *first, sigma: 0.0 });
        }
        let part = Part::of(&self.logs(), |_| 1.0);
        Some(LogNormal { median: part.mean.exp(), sigma: part.sigma })
    }

    /// The mixture of two log-normal distributions of maximum likelihood, by
    /// expectation-maximization on the logarithms from several fixed starts; the tail is the part
    /// with the higher median. `None` when there are fewer than four values or all are alike.
    ///
    /// Source: A. P. Dempster, N. M. Laird and D. B. Rubin, "Maximum likelihood from incomplete
    /// data via the EM algorithm", Journal of the Royal Statistical Society B 39 (1977), 1-38.
    pub fn mixture(&self) -> Option<Mixture> {
        let logs = thinned(self.logs(), MOST_FITTED);
        if logs.len() < 4 || logs.first() == logs.last() {
            return None;
        }
        let fits = STARTS.iter().map(|share| maximize(&logs, *share));
        let (_, parts) = fits.max_by(|a, b| a.0.total_cmp(&b.0))?;
        let bell = |part: &Part| LogNormal { median: part.mean.exp(), sigma: part.sigma };
        let (low, high) = if parts[0].mean <= parts[1].mean {
            (&parts[0], &parts[1])
        } else {
            (&parts[1], &parts[0])
        };
        Some(Mixture { body: bell(low), tail_share: high.weight, tail: bell(high) })
    }

    /// The Kolmogorov-Smirnov distance: the largest difference between the share of values at or
    /// below a value and what a model's `cdf` says; 0 to 1, and 0 without values.
    ///
    /// `cdf` gives the share at or below a value. A model with a single value jumps there: its
    /// share right below is asked for just under the value.
    pub fn distance(&self, cdf: impl Fn(f64) -> f64) -> f64 {
        let count = self.0.len() as f64;
        let mut farthest = 0.0_f64;
        let mut below = 0;
        // They ascend: what is not above the one before equals it.
        for same in self.0.chunk_by(|a, b| a >= b) {
            let value = same[0];
            let up_to = below + same.len();
            let before = (cdf(value.next_down()) - below as f64 / count).abs();
            let at = (cdf(value) - up_to as f64 / count).abs();
            farthest = farthest.max(before).max(at);
            below = up_to;
        }
        farthest
    }

    /// The Bayesian information criterion of a log-normal distribution; lower is better.
    ///
    /// Source: G. Schwarz, "Estimating the dimension of a model", Annals of Statistics 6 (1978),
    /// 461-464. Densities are those of the logarithms, with spreads not below 0.01.
    pub fn lognormal_bic(&self, model: &LogNormal) -> f64 {
        let part = Part { weight: 1.0, mean: model.median.ln(), sigma: model.sigma };
        let likelihood: f64 = self.logs().iter().map(|log| part.log_density(*log)).sum();
        self.bic(2.0, likelihood)
    }

    /// The Bayesian information criterion of a mixture; see [`lognormal_bic`](Self::lognormal_bic).
    pub fn mixture_bic(&self, model: &Mixture) -> f64 {
        let part =
            |weight, bell: LogNormal| Part { weight, mean: bell.median.ln(), sigma: bell.sigma };
        let parts = [part(1.0 - model.tail_share, model.body), part(model.tail_share, model.tail)];
        let likelihood: f64 = self.logs().iter().map(|log| responsibility(&parts, *log).1).sum();
        self.bic(5.0, likelihood)
    }

    fn bic(&self, parameters: f64, log_likelihood: f64) -> f64 {
        parameters * (self.0.len() as f64).ln() - 2.0 * log_likelihood
    }
}

/// A part of a mixture, on the log scale.
#[derive(Debug, Clone, Copy)]
struct Part {
    weight: f64,
    mean: f64,
    sigma: f64,
}

impl Part {
    /// The part of maximum likelihood when each value belongs to it by so much.
    fn of(logs: &[f64], belongs: impl Fn(usize) -> f64) -> Self {
        let weighted = |f: &dyn Fn(f64) -> f64| -> f64 {
            logs.iter().enumerate().map(|(at, log)| belongs(at) * f(*log)).sum()
        };
        let weight = weighted(&|_| 1.0).max(f64::MIN_POSITIVE);
        let mean = weighted(&|log| log) / weight;
        let variance = weighted(&|log| (log - mean).powi(2)) / weight;
        Self { weight: weight / logs.len() as f64, mean, sigma: variance.sqrt() }
    }

    /// The logarithm of weight times density.
    fn log_density(&self, log: f64) -> f64 {
        let sigma = self.sigma.max(SIGMA_FLOOR);
        let distance = (log - self.mean) / sigma;
        (self.weight / (sigma * (2.0 * PI).sqrt())).ln() - 0.5 * distance * distance
    }
}

/// How much a value belongs to the second part, and the logarithm of its density in the mixture.
fn responsibility(parts: &[Part; 2], log: f64) -> (f64, f64) {
    let [first, second] = parts.map(|part| part.log_density(log));
    let highest = first.max(second);
    let density = highest + ((first - highest).exp() + (second - highest).exp()).ln();
    ((second - density).exp(), density)
}

/// Expectation-maximization from a tail that is the highest `share` of the values, which ascend;
/// the log-likelihood and the parts.
fn maximize(logs: &[f64], share: f64) -> (f64, [Part; 2]) {
    let count = logs.len();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to count")]
    let tail = ((share * count as f64).ceil() as usize).clamp(1, count - 1);
    let mut belongs: Vec<f64> =
        (0..count).map(|at| if at < count - tail { 0.0 } else { 1.0 }).collect();
    let mut last = f64::NEG_INFINITY;
    let mut steps = 0;
    loop {
        let mut parts = [Part::of(logs, |at| 1.0 - belongs[at]), Part::of(logs, |at| belongs[at])];
        for part in &mut parts {
            part.sigma = part.sigma.max(SIGMA_FLOOR);
        }
        let mut likelihood = 0.0;
        for (belongs, log) in belongs.iter_mut().zip(logs) {
            let (second, density) = responsibility(&parts, *log);
            *belongs = second;
            likelihood += density;
        }
        steps += 1;
        if steps == MAX_STEPS || likelihood - last < LEAST_GAIN * count as f64 {
            return (likelihood, parts);
        }
        last = likelihood;
    }
}

/// At most `most` of the values, at even distances.
fn thinned(values: Vec<f64>, most: usize) -> Vec<f64> {
    if values.len() <= most {
        return values;
    }
    (0..most).map(|at| values[(2 * at + 1) * values.len() / (2 * most)]).collect()
}

/// The spread and the correlation of the gaps inside streams.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GapSpread {
    /// The standard deviation of a gap's logarithm around its stream's mean.
    pub sigma: f64,
    /// The correlation between the logarithms of two neighbours, 0 to 0.999; `None` when no stream
    /// has three gaps.
    pub rho: Option<f64>,
}

/// Fits an autoregressive process of order 1 to the logarithms of gaps, stream by stream, each
/// around its own mean: a slow stream is not a varied one. Gaps of 0 are left out. `None` when no
/// stream has two gaps.
pub fn gap_spread<'a>(streams: impl IntoIterator<Item = &'a [f64]>) -> Option<GapSpread> {
    // What rounding leaves of equal gaps.
    const EXACT: f64 = 1e-20;
    let (mut squares, mut freedom) = (0.0, 0.0);
    let (mut products, mut pairs) = (0.0, 0.0);
    for gaps in streams {
        let logs: Vec<f64> = gaps.iter().filter(|gap| **gap > 0.0).map(|gap| gap.ln()).collect();
        if logs.len() < 2 {
            continue;
        }
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        squares += logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>();
        freedom += logs.len() as f64 - 1.0;
        if logs.len() > 2 {
            products += logs.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum::<f64>();
            pairs += logs.len() as f64 - 1.0;
        }
    }
    let variance = (freedom > 0.0).then(|| squares / freedom)?;
    let rho =
        (pairs > 0.0 && variance > EXACT).then(|| (products / pairs / variance).clamp(0.0, 0.999));
    Some(GapSpread { sigma: variance.sqrt(), rho })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::draw::Draws;

    fn sample(count: usize, seed: u64, quantile: impl Fn(f64) -> f64) -> Sample {
        let mut draws = Draws::new(seed);
        Sample::new((0..count).map(|_| quantile(draws.uniform())).collect(), 1e-3)
    }

    #[track_caller]
    fn near(actual: f64, expected: f64, tolerance: f64) {
        let off = (actual - expected).abs();
        assert!(off <= tolerance * expected.abs(), "{actual} is not near {expected}");
    }

    const HOSTED: Mixture = Mixture {
        body: LogNormal { median: 500.0, sigma: 0.4 },
        tail_share: 0.02,
        tail: LogNormal { median: 80_000.0, sigma: 0.2 },
    };

    #[test]
    fn a_planted_lognormal_is_found() {
        for (median, sigma) in [(500.0, 0.4), (1.0, 1.5), (80_000.0, 0.05)] {
            let planted = LogNormal { median, sigma };
            let sample = sample(5_000, 1, |draw| planted.quantile(draw));
            let found = sample.lognormal().unwrap();
            // The standard errors are sigma / 71 of the logarithm, and 1 % of sigma.
            near(found.median, median, 0.04 * sigma.max(0.5));
            near(found.sigma, sigma, 0.04);
            assert!(sample.distance(|value| found.cdf(value)) < 0.02);
        }
    }

    #[test]
    fn a_planted_mixture_is_found_and_its_tail_is_missed_by_one_bell_curve() {
        let sample = sample(5_000, 2, |draw| HOSTED.sample(draw));
        let found = sample.mixture().unwrap();
        near(found.body.median, 500.0, 0.03);
        near(found.body.sigma, 0.4, 0.05);
        near(found.tail_share, 0.02, 0.25);
        near(found.tail.median, 80_000.0, 0.1);
        near(found.tail.sigma, 0.2, 0.3);
        let measured = sample.quantile(0.995).unwrap();
        near(found.quantile(0.995), measured, 0.1);
        let bell = sample.lognormal().unwrap();
        assert!(bell.quantile(0.995) < measured / 5.0, "one bell curve misses the tail");
        assert!(sample.mixture_bic(&found) < sample.lognormal_bic(&bell) - 1_000.0);
        let distance = |cdf: &dyn Fn(f64) -> f64| sample.distance(cdf);
        assert!(distance(&|v| found.cdf(v)) < 0.02 && distance(&|v| bell.cdf(v)) > 0.05);
    }

    #[test]
    fn other_mixtures_are_found_too() {
        let bell = |median, sigma| LogNormal { median, sigma };
        for planted in [
            Mixture { body: bell(50.0, 0.2), tail_share: 0.9, tail: bell(900.0, 0.3) },
            Mixture { body: bell(200.0, 0.3), tail_share: 0.5, tail: bell(1_000.0, 0.3) },
            Mixture { body: bell(500.0, 0.0), tail_share: 0.01, tail: bell(9_000.0, 0.0) },
        ] {
            let sample = sample(3_000, 3, |draw| planted.sample(draw));
            let found = sample.mixture().unwrap();
            near(found.body.median, planted.body.median, 0.1);
            near(found.tail.median, planted.tail.median, 0.1);
            near(found.tail_share, planted.tail_share, 0.4);
        }
    }

    #[test]
    fn one_bell_curve_is_preferred_where_there_is_one() {
        for seed in 0..2 {
            let planted = LogNormal { median: 500.0, sigma: 0.4 };
            let sample = sample(1_000, seed, |draw| planted.quantile(draw));
            let (bell, mixture) = (sample.lognormal().unwrap(), sample.mixture().unwrap());
            assert!(sample.lognormal_bic(&bell) < sample.mixture_bic(&mixture), "seed {seed}");
        }
    }

    #[test]
    fn many_values_are_thinned_evenly() {
        let values: Vec<f64> = (0..9_u32).map(f64::from).collect();
        assert_eq!(thinned(values.clone(), 3), [1.0, 4.0, 7.0]);
        assert_eq!(thinned(values.clone(), 9), values);
        let sample = sample(100_000, 4, |draw| HOSTED.sample(draw));
        let found = sample.mixture().unwrap();
        near(found.tail_share, 0.02, 0.1);
        near(found.tail.median, 80_000.0, 0.05);
    }

    #[test]
    fn few_and_like_values_have_no_mixture() {
        assert_eq!(Sample::new(vec![], 1e-3).lognormal(), None);
        assert_eq!(Sample::new(vec![1.0, 2.0, 3.0], 1e-3).mixture(), None);
        assert_eq!(Sample::new(vec![5.0; 40], 1e-3).mixture(), None);
        let one = Sample::new(vec![5.0; 40], 1e-3).lognormal().unwrap();
        assert_eq!(one, LogNormal { median: 5.0, sigma: 0.0 });
        let odd = Sample::new(vec![f64::NAN, 0.0, f64::INFINITY, 2.0], 0.5);
        assert_eq!((odd.count(), odd.quantile(0.0), odd.quantile(1.0)), (2, Some(0.5), Some(2.0)));
    }

    /// By hand: half of the values lie below 2.5; a single value at 2 leaves half on one side.
    #[test]
    fn distances_are_the_largest_difference() {
        let sample = Sample::new(vec![1.0, 2.0, 2.0, 4.0], 1e-3);
        let step = |at: f64| move |value: f64| if value < at { 0.0 } else { 1.0 };
        near(sample.distance(step(2.0)), 0.25, 1e-12);
        near(sample.distance(step(4.0)), 0.75, 1e-12);
        near(sample.distance(|value| value / 4.0), 0.25, 1e-12);
        near(sample.distance(|_| 0.0), 1.0, 1e-12);
        assert!(Sample::new(vec![], 1e-3).distance(|_| 0.5).abs() < 1e-12);
    }

    /// A stationary process with these parameters, as gaps of 40 ms.
    fn stream(sigma: f64, rho: f64, count: usize, seed: u64) -> Vec<f64> {
        let mut draws = Draws::new(seed);
        let mut normal = move || crate::distribution::normal_quantile(draws.uniform());
        let mut log = normal();
        let mut gap = || {
            log = rho * log + (1.0 - rho * rho).sqrt() * normal();
            40.0 * (sigma * log).exp()
        };
        (0..count).map(|_| gap()).collect()
    }

    #[test]
    fn planted_gaps_are_found() {
        for (sigma, rho) in [(0.5, 0.9), (0.3, 0.0), (1.0, 0.5)] {
            let streams: Vec<Vec<f64>> =
                (0..40).map(|seed| stream(sigma, rho, 500, seed)).collect();
            let found = gap_spread(streams.iter().map(Vec::as_slice)).unwrap();
            near(found.sigma, sigma, 0.08);
            assert!((found.rho.unwrap() - rho).abs() < 0.04, "{found:?}");
        }
    }

    #[test]
    fn slow_streams_are_not_varied_ones() {
        let streams = [vec![10.0; 50], vec![400.0; 50], vec![0.0; 50]];
        let found = gap_spread(streams.iter().map(Vec::as_slice)).unwrap();
        assert!(found.sigma < 1e-12 && found.rho.is_none(), "{found:?}");
        assert_eq!(gap_spread([[40.0].as_slice(), &[]]), None);
    }

    proptest! {
        #[test]
        fn any_sample_can_be_fitted(values in prop::collection::vec(0.0..3.6e6_f64, 4..60)) {
            let sample = Sample::new(values, 1e-3);
            let bell = sample.lognormal().unwrap();
            prop_assert!(bell.median.is_finite() && bell.sigma.is_finite());
            if let Some(mixture) = sample.mixture() {
                prop_assert!((0.0..=1.0).contains(&mixture.tail_share));
                prop_assert!(mixture.body.median <= mixture.tail.median);
                let distance = sample.distance(|value| mixture.cdf(value));
                prop_assert!((0.0..=1.0).contains(&distance));
                prop_assert!(mixture.quantile(0.99).is_finite());
            }
        }
    }
}
