//! Quantile functions: from a probability to the value below which that share lies.
//!
//! Fed with a uniform draw, a quantile function gives a sample of its distribution
//! (inverse transform sampling).

use std::f64::consts::PI;

/// Reads a quantile table at `probability`.
///
/// `table` holds the values at equally spaced probabilities from 0 to 1, lowest first; between two
/// of them the value is interpolated linearly. Probabilities outside 0 to 1 are read at the nearest
/// end. An empty table gives NaN, and so does a NaN probability.
pub fn quantile_in_table(table: &[f64], probability: f64) -> f64 {
    let Some(last) = table.len().checked_sub(1) else { return f64::NAN };
    let position = probability.clamp(0.0, 1.0) * last as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to last")]
    let below = position as usize;
    let above = (below + 1).min(last);
    let share = position - below as f64;
    table[below] + (table[above] - table[below]) * share
}

/// The log-normal quantile at `probability`: `median * exp(sigma * z)` with the normal quantile
/// `z`. `sigma` is the standard deviation of the logarithm; the result has the unit of `median`.
pub fn lognormal_quantile(median: f64, sigma: f64, probability: f64) -> f64 {
    median * (sigma * normal_quantile(probability)).exp()
}

/// The standard normal quantile at `probability`; minus and plus infinity at 0 and 1, NaN outside.
///
/// Source: M. J. Wichura, "Algorithm AS 241: The Percentage Points of the Normal Distribution",
/// Applied Statistics 37 (1988), 477-484, routine PPND16: a relative error of about 1e-16.
pub fn normal_quantile(probability: f64) -> f64 {
    if probability <= 0.0 || probability >= 1.0 || probability.is_nan() {
        return match probability {
            0.0 => f64::NEG_INFINITY,
            1.0 => f64::INFINITY,
            _ => f64::NAN,
        };
    }
    let from_middle = probability - 0.5;
    if from_middle.abs() <= 0.425 {
        let r = 0.180_625 - from_middle * from_middle;
        return from_middle * ratio(&MIDDLE, r);
    }
    let tail = if from_middle < 0.0 { probability } else { 1.0 - probability };
    let r = (-tail.ln()).sqrt();
    let size = if r <= 5.0 { ratio(&TAIL, r - 1.6) } else { ratio(&FAR_TAIL, r - 5.0) };
    size.copysign(from_middle)
}

/// The share of the standard normal distribution below `x`: within 1e-15; 0 and 1 beyond 9.
///
/// Source: G. Marsaglia, "Evaluating the Normal Distribution", Journal of Statistical Software 11
/// (2004), issue 4: the series x + x^3/3 + x^5/(3*5) + ... times the density.
pub fn normal_cdf(x: f64) -> f64 {
    const SURELY: f64 = 9.0;
    if x.abs() > SURELY {
        return if x < 0.0 { 0.0 } else { 1.0 };
    }
    let (mut sum, mut term, mut odd) = (x, x, 1.0);
    // Grows until `odd` passes x squared, then shrinks fast; a NaN ends it at once.
    while term.abs() > sum.abs() * f64::EPSILON {
        odd += 2.0;
        term *= x * x / odd;
        sum += term;
    }
    (0.5 + sum * normal_density(x)).clamp(0.0, 1.0)
}

fn normal_density(x: f64) -> f64 {
    (-0.5 * x * x).exp() / (2.0 * PI).sqrt()
}

/// The coefficients of a rational function, constant term first.
struct Rational {
    numerator: [f64; 8],
    denominator: [f64; 8],
}

fn ratio(rational: &Rational, x: f64) -> f64 {
    let polynomial =
        |coefficients: &[f64; 8]| coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c);
    polynomial(&rational.numerator) / polynomial(&rational.denominator)
}

const MIDDLE: Rational = Rational {
    numerator: [
        3.387_132_872_796_366_5,
        133.141_667_891_784_38,
        1_971.590_950_306_551_3,
        13_731.693_765_509_46,
        45_921.953_931_549_87,
        67_265.770_927_008_7,
        33_430.575_583_588_13,
        2_509.080_928_730_122_7,
    ],
    denominator: [
        1.0,
        42.313_330_701_600_91,
        687.187_007_492_057_9,
        5_394.196_021_424_751,
        21_213.794_301_586_597,
        39_307.895_800_092_71,
        28_729.085_735_721_943,
        5_226.495_278_852_854,
    ],
};

const TAIL: Rational = Rational {
    numerator: [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        0.241_780_725_177_450_6,
        0.022_723_844_989_269_184,
        0.000_774_545_014_278_341_4,
    ],
    denominator: [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        0.689_767_334_985_1,
        0.148_103_976_427_480_08,
        0.015_198_666_563_616_457,
        0.000_547_593_808_499_534_5,
        1.050_750_071_644_416_9e-09,
    ],
};

const FAR_TAIL: Rational = Rational {
    numerator: [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        0.296_560_571_828_504_87,
        0.026_532_189_526_576_124,
        0.001_242_660_947_388_078_4,
        2.711_555_568_743_487_6e-05,
        2.010_334_399_292_288_1e-07,
    ],
    denominator: [
        1.0,
        0.599_832_206_555_888,
        0.136_929_880_922_735_8,
        0.014_875_361_290_850_615,
        0.000_786_869_131_145_613_3,
        1.846_318_317_510_054_8e-05,
        1.421_511_758_316_446e-07,
        2.044_263_103_389_939_7e-15,
    ],
};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(actual: f64, expected: f64) {
        let tolerance = expected.abs().max(1.0) * 1e-14;
        assert!((actual - expected).abs() <= tolerance, "{actual} is not {expected}");
    }

    #[test]
    fn tables_are_interpolated_linearly() {
        let table = [1.0, 3.0, 4.0];
        for (probability, expected) in
            [(0.0, 1.0), (0.25, 2.0), (0.5, 3.0), (0.9, 3.8), (1.0, 4.0), (-1.0, 1.0), (7.0, 4.0)]
        {
            check(quantile_in_table(&table, probability), expected);
        }
        check(quantile_in_table(&[5.0], 0.7), 5.0);
        assert!(quantile_in_table(&[], 0.5).is_nan());
        assert!(quantile_in_table(&table, f64::NAN).is_nan());
    }

    /// Reference values: Python 3.11 `statistics.NormalDist().inv_cdf`, and AS 241's own test
    /// values (0.25, 0.001, 1e-20).
    #[test]
    fn normal_quantiles_match_published_values() {
        for (probability, expected) in [
            (0.5, 0.0),
            (0.25, -0.674_489_750_196_081_7),
            (0.001, -3.090_232_306_167_813_5),
            (1e-20, -9.262_340_089_798_408),
            (0.8, 0.841_621_233_572_914_4),
            (0.975, 1.959_963_984_540_053_6),
            (1e-10, -6.361_340_902_404_056),
        ] {
            check(normal_quantile(probability), expected);
        }
        assert!(normal_quantile(0.0) < f64::MIN);
        assert!(normal_quantile(1.0) > f64::MAX);
        assert!(normal_quantile(1.5).is_nan());
    }

    /// Reference values: Python 3.11 `statistics.NormalDist().cdf`.
    #[test]
    fn normal_shares_match_published_values() {
        for (x, expected) in [
            (0.0, 0.5),
            (1.0, 0.841_344_746_068_542_9),
            (-1.959_963_984_540_054, 0.025),
            (3.5, 0.999_767_370_920_964_5),
            (-8.0, 0.0),
            (40.0, 1.0),
            (f64::NEG_INFINITY, 0.0),
        ] {
            check(normal_cdf(x), expected);
        }
        assert!(normal_cdf(f64::NAN).is_nan());
    }

    #[test]
    fn lognormal_quantiles_turn_on_the_median() {
        check(lognormal_quantile(500.0, 0.4, 0.5), 500.0);
        check(lognormal_quantile(500.0, 0.0, 0.99), 500.0);
        let product =
            lognormal_quantile(500.0, 0.4, 0.1) * lognormal_quantile(500.0, 0.4, 0.9) / 500.0;
        check(product, 500.0);
    }

    proptest! {
        #[test]
        fn the_share_below_a_quantile_is_its_probability(p in 1e-9..1.0_f64) {
            prop_assert!((normal_cdf(normal_quantile(p)) - p).abs() < 1e-14);
        }

        #[test]
        fn quantiles_never_fall(a in 1e-9..1.0_f64, b in 1e-9..1.0_f64) {
            let (low, high) = (a.min(b), a.max(b));
            prop_assert!(normal_quantile(low) <= normal_quantile(high) + 1e-15);
            let table = [1.0, 2.0, 2.0, 9.0];
            prop_assert!(quantile_in_table(&table, low) <= quantile_in_table(&table, high));
        }
    }
}
