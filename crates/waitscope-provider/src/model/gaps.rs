//! How the gaps between a stream's tokens vary.

use std::fmt;
use std::str::FromStr;

use waitscope_stats::distribution::normal_quantile;
use waitscope_stats::draw::{Draws, StableHash};

/// How like its neighbour a gap is unless another correlation is asked for.
const USUAL_RHO: f64 = 0.9;

/// Sets the draws for gaps apart from all others.
const GAPS_SEED: u64 = 0x6761_7073;

/// How the gaps between a stream's tokens vary.
///
/// Whatever they do, the last token is due when the whole answer would have been: a stream whose
/// total was drawn slow is slow throughout.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Gaps {
    /// All gaps of a stream are equal.
    #[default]
    Equal,
    /// The logarithms of a stream's gaps follow a stationary autoregressive process of order 1:
    /// slow stretches stay slow for a while, as on a real line.
    Varied {
        /// The standard deviation of a gap's logarithm, 0 to 5.
        sigma: f64,
        /// The correlation between the logarithms of two neighbours, 0 to below 1.
        rho: f64,
    },
}

impl Gaps {
    /// Draws for a call's gaps, from the call's own draws but without taking one of them.
    pub(super) fn draws(draws: &Draws) -> Draws {
        let next = draws.clone().bits();
        Draws::new(StableHash::new(GAPS_SEED).word(next).finish())
    }

    /// How long each of `count` gaps is, as a share of them all; the shares are added up, so that
    /// the last one is 1.
    pub(super) fn shares(sigma: f64, rho: f64, count: u32, mut draws: Draws) -> Vec<f64> {
        let mut normal = || normal_quantile(draws.uniform());
        // What is new in each step keeps the spread at sigma.
        let news = (1.0 - rho * rho).sqrt();
        let (mut log, mut sum) = (normal(), 0.0);
        let mut shares: Vec<f64> = (0..count)
            .map(|_| {
                sum += (sigma * log).exp();
                log = rho * log + news * normal();
                sum
            })
            .collect();
        for share in &mut shares {
            *share /= sum;
        }
        shares
    }
}

impl fmt::Display for Gaps {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Equal => formatter.write_str("equal"),
            Self::Varied { sigma, rho } => write!(formatter, "varied:{sigma},{rho}"),
        }
    }
}

/// No [`Gaps`] of this form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown gaps `{0}`: use equal, varied:SIGMA or varied:SIGMA,RHO, with SIGMA from 0 to 5 and \
     RHO from 0 to 0.999, such as varied:0.5,0.9"
)]
pub struct GapsError(String);

impl FromStr for Gaps {
    type Err = GapsError;

    fn from_str(text: &str) -> Result<Self, GapsError> {
        if text == "equal" {
            return Ok(Self::Equal);
        }
        let varied = || {
            let parameters = text.strip_prefix("varied:")?;
            let (sigma, rho) = match parameters.split_once(',') {
                Some((sigma, rho)) => (sigma, rho.parse().ok()?),
                None => (parameters, USUAL_RHO),
            };
            let sigma: f64 = sigma.parse().ok()?;
            let known = (0.0..=5.0).contains(&sigma) && (0.0..=0.999).contains(&rho);
            known.then_some(Self::Varied { sigma, rho })
        };
        varied().ok_or_else(|| GapsError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_read_and_written() {
        for (text, expected) in [
            ("equal", Gaps::Equal),
            ("varied:0.5", Gaps::Varied { sigma: 0.5, rho: 0.9 }),
            ("varied:0,0", Gaps::Varied { sigma: 0.0, rho: 0.0 }),
            ("varied:5,0.999", Gaps::Varied { sigma: 5.0, rho: 0.999 }),
        ] {
            assert_eq!(text.parse(), Ok(expected));
            assert_eq!(expected.to_string().parse(), Ok(expected), "its own text is read back");
        }
        for text in ["", "Equal", "varied", "varied:", "varied:6", "varied:-1", "varied:NaN"]
            .into_iter()
            .chain(["varied:0.5,1", "varied:0.5,-0.1", "varied:0.5,x", "varied:0.5,0.9,1"])
        {
            let error = text.parse::<Gaps>().unwrap_err().to_string();
            assert!(error.contains("varied:SIGMA,RHO"), "{error}");
        }
    }

    /// The gaps' logarithms, around their mean.
    fn logs(sigma: f64, rho: f64, count: u32, seed: u64) -> Vec<f64> {
        let shares = Gaps::shares(sigma, rho, count, Draws::new(seed));
        let before = std::iter::once(&0.0).chain(&shares);
        let logs: Vec<f64> = shares.iter().zip(before).map(|(s, b)| (s - b).ln()).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        logs.iter().map(|log| log - mean).collect()
    }

    #[test]
    fn gaps_have_the_planted_spread_and_correlation() {
        for (sigma, rho) in [(0.5, 0.9), (0.5, 0.0), (1.0, 0.5)] {
            let logs = logs(sigma, rho, 20_000, 3);
            let variance = logs.iter().map(|log| log * log).sum::<f64>() / logs.len() as f64;
            let products = logs.iter().zip(&logs[1..]).map(|(a, b)| a * b).sum::<f64>();
            let correlation = products / (logs.len() - 1) as f64 / variance;
            // At rho 0.9 some 1,000 gaps in 20,000 are independent: 2 % is one standard deviation.
            assert!((variance.sqrt() / sigma - 1.0).abs() < 0.08, "{sigma} {rho}: {variance}");
            assert!((correlation - rho).abs() < 0.03, "{sigma} {rho}: {correlation}");
        }
    }

    #[test]
    fn shares_rise_to_one() {
        for (sigma, rho, count) in [(0.5, 0.9, 1), (0.0, 0.9, 10), (5.0, 0.999, 1_000)] {
            let shares = Gaps::shares(sigma, rho, count, Draws::new(9));
            assert_eq!(shares.len(), count as usize);
            assert!(shares.is_sorted() && shares[0] > 0.0);
            assert!((shares[count as usize - 1] - 1.0).abs() < 1e-12);
        }
        assert!(Gaps::shares(0.5, 0.9, 0, Draws::new(9)).is_empty());
        let equal = Gaps::shares(0.0, 0.9, 4, Draws::new(9));
        assert_eq!(equal, [0.25, 0.5, 0.75, 1.0]);
    }
}
