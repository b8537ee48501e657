//! Log-normal distributions, and a mixture of two: a body and a rare far tail.

use crate::distribution::{lognormal_quantile, normal_cdf};

/// A log-normal distribution: the logarithm is normal around `median.ln()`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogNormal {
    /// Half of the values lie above; every result has its unit.
    pub median: f64,
    /// The standard deviation of the logarithm, not below 0.
    pub sigma: f64,
}

impl LogNormal {
    /// The value below which the share `probability` lies.
    pub fn quantile(&self, probability: f64) -> f64 {
        // At 0 and 1 the normal quantile is infinite, and 0 times that is no number.
        if self.sigma == 0.0 {
            return self.median;
        }
        lognormal_quantile(self.median, self.sigma, probability)
    }

    /// The share at or below `value`.
    pub fn cdf(&self, value: f64) -> f64 {
        if self.sigma == 0.0 {
            return if value < self.median { 0.0 } else { 1.0 };
        }
        normal_cdf((value / self.median).ln() / self.sigma)
    }
}

/// Two log-normal distributions: most values come from the body, the rest from a tail.
///
/// One bell curve cannot describe endpoints whose calls take half a second but for one in some
/// hundreds that takes a minute.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mixture {
    /// Where most values come from.
    pub body: LogNormal,
    /// The share of values from the tail, 0 to 1.
    pub tail_share: f64,
    /// Where the others come from.
    pub tail: LogNormal,
}

impl Mixture {
    /// A sample from one uniform draw: the highest `tail_share` of the draws choose the tail, and
    /// where a draw lies among its like is the draw from that part.
    ///
    /// Cheaper than [`quantile`](Self::quantile), with the same distribution, but it does not rise
    /// with the draw where the parts overlap.
    pub fn sample(&self, draw: f64) -> f64 {
        let body_share = 1.0 - self.tail_share;
        if draw < body_share {
            self.body.quantile(inside(draw / body_share))
        } else {
            self.tail.quantile(inside(1.0 - (1.0 - draw) / self.tail_share))
        }
    }

    /// The share at or below `value`.
    pub fn cdf(&self, value: f64) -> f64 {
        (1.0 - self.tail_share) * self.body.cdf(value) + self.tail_share * self.tail.cdf(value)
    }

    /// The value below which the share `probability` lies, by bisection of [`cdf`](Self::cdf)
    /// between the quantiles of the two parts, where it must lie.
    pub fn quantile(&self, probability: f64) -> f64 {
        let ends = [self.body.quantile(probability), self.tail.quantile(probability)];
        let (mut low, mut high) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
        // Halving a double's distance on the log scale 100 times leaves nothing to halve.
        for _ in 0..100 {
            let middle = (low * high).sqrt();
            if self.cdf(middle) < probability { low = middle } else { high = middle }
        }
        high
    }
}

/// Rounding must not make a draw of a part 0 or 1, where its quantile is 0 or infinite.
fn inside(draw: f64) -> f64 {
    const EDGE: f64 = f64::EPSILON / 2.0;
    draw.clamp(EDGE, 1.0 - EDGE)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::draw::Draws;

    const HOSTED: Mixture = Mixture {
        body: LogNormal { median: 0.5, sigma: 0.4 },
        tail_share: 0.01,
        tail: LogNormal { median: 80.0, sigma: 0.1 },
    };

    #[test]
    fn samples_have_the_planted_shares() {
        let mut draws = Draws::new(21);
        let samples: Vec<f64> = (0..20_000).map(|_| HOSTED.sample(draws.uniform())).collect();
        let share = |from: f64, to: f64| {
            let inside = samples.iter().filter(|sample| (from..to).contains(*sample));
            inside.count() as f64 / samples.len() as f64
        };
        // 20,000 draws: the standard deviations are 0.0035 and 0.0007.
        assert!((share(0.0, 0.5) - 0.495).abs() < 0.015);
        assert!((share(40.0, 160.0) - 0.01).abs() < 0.003);
        assert!(share(10.0, 40.0) < 1e-3, "nothing lies between");
    }

    #[test]
    fn a_mixture_without_one_part_is_the_other() {
        for (tail_share, expected) in [(0.0, HOSTED.body), (1.0, HOSTED.tail)] {
            let mixture = Mixture { tail_share, ..HOSTED };
            for probability in [0.001, 0.3, 0.5, 0.999] {
                let wanted = expected.quantile(probability);
                assert!((mixture.sample(probability) / wanted - 1.0).abs() < 1e-9);
                assert!((mixture.quantile(probability) / wanted - 1.0).abs() < 1e-9);
                assert!((mixture.cdf(wanted) - probability).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn a_part_without_spread_is_one_value() {
        let one = LogNormal { median: 0.5, sigma: 0.0 };
        let near = |actual: f64, expected: f64| assert!((actual - expected).abs() < 1e-12);
        for probability in [0.0, 0.7, 1.0] {
            near(one.quantile(probability), 0.5);
        }
        for (value, share) in [(0.49, 0.0), (0.5, 1.0), (9.0, 1.0)] {
            near(one.cdf(value), share);
        }
    }

    proptest! {
        #[test]
        fn quantiles_invert_shares(
            share in 0.001..0.999_f64,
            sigma in 0.01..2.0_f64,
            probability in 0.001..0.999_f64,
        ) {
            let tail = LogNormal { sigma, ..HOSTED.tail };
            let mixture = Mixture { tail_share: share, tail, ..HOSTED };
            let value = mixture.quantile(probability);
            prop_assert!((mixture.cdf(value) - probability).abs() < 1e-9);
        }

        #[test]
        fn samples_are_finite_and_positive(draw in 0.0..=1.0_f64, share in 0.0..=1.0_f64) {
            let sample = Mixture { tail_share: share, ..HOSTED }.sample(draw);
            prop_assert!(sample.is_finite() && sample > 0.0);
        }
    }
}
