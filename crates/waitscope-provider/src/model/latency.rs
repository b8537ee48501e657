//! How long a call takes.

use std::time::Duration;

use waitscope_stats::distribution::{lognormal_quantile, quantile_in_table};

use super::{Task, recorded};
use crate::config::{Latency, MAX_WAIT, Mode};

/// How much longer everything takes in [`Mode::Slow`].
const SLOWDOWN: u32 = 8;

/// The time to the full answer of a call with the uniform draw `probability`, in this mode.
pub fn planned(latency: Latency, mode: Mode, task: Task, probability: f64) -> Duration {
    let drawn = match latency {
        Latency::Recorded => {
            let ms = quantile_in_table(recorded::quantiles_ms(task), probability);
            from_seconds(ms / 1_000.0)
        }
        Latency::Fixed(duration) => duration,
        Latency::LogNormal { median, sigma } => {
            from_seconds(lognormal_quantile(median.as_secs_f64(), sigma, probability))
        }
    };
    in_mode(drawn, mode)
}

/// What becomes of a wait in this mode; never more than [`MAX_WAIT`].
pub fn in_mode(wait: Duration, mode: Mode) -> Duration {
    let factor = if mode == Mode::Slow { SLOWDOWN } else { 1 };
    wait.saturating_mul(factor).min(MAX_WAIT)
}

/// What is left of a wait at this speed: nothing at speed 0 (or a senseless one).
pub fn at_speed(wait: Duration, speed: f64) -> Duration {
    if speed > 0.0 { from_seconds(wait.as_secs_f64() / speed) } else { Duration::ZERO }
}

fn from_seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(MAX_WAIT).min(MAX_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(latency: &str, mode: Mode, task: Task, probability: f64, expected_ms: f64) {
        let latency = latency.parse().unwrap();
        let ms = planned(latency, mode, task, probability).as_secs_f64() * 1_000.0;
        assert!((ms - expected_ms).abs() < 0.01, "{latency}: {ms} ms is not {expected_ms} ms");
    }

    #[test]
    fn latencies_follow_their_model() {
        check("recorded", Mode::Normal, Task::Classify, 0.5, 912.8);
        check("recorded", Mode::Normal, Task::Classify, 0.525, 921.92);
        check("recorded", Mode::Normal, Task::DraftReply, 0.0, 761.7);
        check("recorded", Mode::Slow, Task::Embed, 1.0, 340.8 * 8.0);
        check("recorded", Mode::Quota, Task::Embed, 1.0, 340.8);
        check("fixed:500ms", Mode::Normal, Task::Embed, 0.9, 500.0);
        check("fixed:1h", Mode::Slow, Task::Embed, 0.9, 3_600_000.0);
        check("lognormal:500ms,0.4", Mode::Normal, Task::Embed, 0.5, 500.0);
        check("lognormal:500ms,0.4", Mode::Normal, Task::Embed, 0.975, 500.0 * 2.190_184_08);
        check("lognormal:1h,5", Mode::Normal, Task::Embed, 0.999, 3_600_000.0);
    }

    #[test]
    fn speed_divides_waits() {
        let second = Duration::from_secs(1);
        for (speed, expected_ms) in
            [(1.0, 1_000), (4.0, 250), (0.5, 2_000), (0.0, 0), (f64::NAN, 0), (1e-300, 3_600_000)]
        {
            assert_eq!(at_speed(second, speed), Duration::from_millis(expected_ms), "{speed}");
        }
    }
}
