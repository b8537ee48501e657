//! How long a call takes.

use std::sync::Arc;
use std::time::Duration;

use waitscope_stats::distribution::quantile_in_table;
use waitscope_stats::draw::Draws;
use waitscope_stats::mixture::{LogNormal, Mixture};

use super::gaps::Gaps;
use super::recording::Recording;
use super::schedule::Timing;
use super::{Task, recorded};
use crate::config::{MAX_WAIT, Mode};

/// How much longer everything takes in [`Mode::Slow`].
const SLOWDOWN: f64 = 8.0;

/// Where the latencies of chat and embeddings calls come from.
#[derive(Debug, Clone, PartialEq)]
pub enum Latency {
    /// Real, recorded calls that come with the provider; see [`crate::model::recorded`].
    Recorded,
    /// Always the same.
    Fixed(Duration),
    /// A log-normal distribution, its median in seconds.
    LogNormal(LogNormal),
    /// A body and a rare far tail, their medians in seconds.
    Mixture(Mixture),
    /// A user's own recording: each call replays one of its calls.
    File(Arc<Recording>),
}

/// All that decides when a call's tokens are due.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyModel {
    /// Where the time to the full answer comes from.
    pub latency: Latency,
    /// How a stream's tokens are spread over it.
    pub gaps: Gaps,
    /// By which share of itself a call takes longer for each other call in flight, 0 to 10.
    pub slowdown_per_in_flight: f64,
}

/// What a call meets when it arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conditions {
    /// What the provider simulates.
    pub mode: Mode,
    /// The calls in flight, this one among them.
    pub in_flight: u32,
}

impl Conditions {
    /// By how much everything takes longer: `1 + per_in_flight * (in_flight - 1)`, and
    /// 8 times that in [`Mode::Slow`].
    fn factor(self, slowdown_per_in_flight: f64) -> f64 {
        let others = f64::from(self.in_flight.saturating_sub(1));
        mode_factor(self.mode) * (1.0 + slowdown_per_in_flight * others)
    }
}

/// Plans the call of a task whose answer has so many tokens (0 when it has none to stream).
///
/// The next uniform draw decides the time to the full answer. Draws for gaps are derived from the
/// draws without taking one, so that [`Gaps`] change nothing else about a call.
pub fn plan(
    model: &LatencyModel,
    conditions: Conditions,
    task: Task,
    tokens: u32,
    draws: &mut Draws,
) -> Timing {
    let factor = conditions.factor(model.slowdown_per_in_flight);
    let gap_draws = Gaps::draws(draws);
    let probability = draws.uniform();
    if let Latency::File(recording) = &model.latency {
        let call = recording.pick(task, probability);
        if tokens > 0 && recording.has_gaps(call) {
            return Timing::replayed(Arc::clone(recording), call, tokens, factor);
        }
        let total = scaled(recording.latency(call), factor);
        let first = recording.first(call).map(|first| scaled(first, factor));
        return Timing::spread(total, first, tokens, model.gaps, gap_draws);
    }
    let total = scaled(drawn(&model.latency, task, probability), factor);
    Timing::spread(total, None, tokens, model.gaps, gap_draws)
}

/// The time to the full answer of a call with the uniform draw `probability`.
fn drawn(latency: &Latency, task: Task, probability: f64) -> Duration {
    match latency {
        Latency::Recorded => {
            let ms = quantile_in_table(recorded::quantiles_ms(task), probability);
            from_seconds(ms / 1_000.0)
        }
        Latency::Fixed(duration) => *duration,
        Latency::LogNormal(model) => from_seconds(model.quantile(probability)),
        Latency::Mixture(model) => from_seconds(model.sample(probability)),
        Latency::File(recording) => recording.latency(recording.pick(task, probability)),
    }
}

/// What becomes of a wait in this mode; never more than [`MAX_WAIT`].
pub fn in_mode(wait: Duration, mode: Mode) -> Duration {
    scaled(wait, mode_factor(mode))
}

fn mode_factor(mode: Mode) -> f64 {
    if mode == Mode::Slow { SLOWDOWN } else { 1.0 }
}

/// A wait that takes `factor` times as long, never more than [`MAX_WAIT`].
pub(super) fn scaled(wait: Duration, factor: f64) -> Duration {
    // A double tells the nanoseconds of an hour apart: a whole factor gives an exact result.
    from_seconds(wait.as_secs_f64() * factor)
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
    use proptest::prelude::*;

    use super::*;

    fn model(latency: &str) -> LatencyModel {
        let latency = latency.parse().unwrap();
        LatencyModel { latency, gaps: Gaps::Equal, slowdown_per_in_flight: 0.0 }
    }

    const ALONE: Conditions = Conditions { mode: Mode::Normal, in_flight: 1 };

    fn ms(duration: Duration) -> f64 {
        duration.as_secs_f64() * 1_000.0
    }

    #[track_caller]
    fn check(latency: &str, mode: Mode, task: Task, probability: f64, expected_ms: f64) {
        let latency: Latency = latency.parse().unwrap();
        let ms = ms(in_mode(drawn(&latency, task, probability), mode));
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
        check("mixture:500ms,0.4,1%,80s,0.2", Mode::Normal, Task::Embed, 0.495, 500.0);
        check("mixture:500ms,0.4,1%,80s,0.2", Mode::Normal, Task::Embed, 0.995, 80_000.0);
        check("mixture:500ms,0.4,0%,80s,0.2", Mode::Normal, Task::Embed, 0.5, 500.0);
        check("mixture:500ms,0,50%,2s,0", Mode::Slow, Task::Embed, 0.7, 16_000.0);
    }

    /// The first uniform draw decides, whatever the gaps and the number of tokens are.
    #[test]
    fn the_plan_takes_one_draw_and_keeps_its_total() {
        for latency in
            ["recorded", "fixed:500ms", "lognormal:500ms,0.4", "mixture:500ms,0.4,1%,80s,0.2"]
        {
            for gaps in [Gaps::Equal, "varied:0.5".parse().unwrap()] {
                for tokens in [0, 1, 2, 77] {
                    let mut draws = Draws::new(7);
                    let model = LatencyModel { gaps, ..model(latency) };
                    let timing = plan(&model, ALONE, Task::DraftReply, tokens, &mut draws);
                    let mut same = Draws::new(7);
                    let probability = same.uniform();
                    let total = drawn(&model.latency, Task::DraftReply, probability);
                    assert_eq!(timing.total, total, "{latency} {gaps} {tokens}");
                    assert_eq!(draws, same, "one draw is taken");
                }
            }
        }
    }

    #[test]
    fn calls_in_flight_slow_each_other_down() {
        for (per_in_flight, in_flight, mode, expected_ms) in [
            (0.0, 40, Mode::Normal, 500.0),
            (0.0077, 1, Mode::Normal, 500.0),
            (0.0077, 0, Mode::Normal, 500.0),
            (0.0077, 40, Mode::Normal, 650.15),
            (0.5, 3, Mode::Normal, 1_000.0),
            (0.5, 3, Mode::Slow, 8_000.0),
            (10.0, u32::MAX, Mode::Slow, 3_600_000.0),
        ] {
            let model =
                LatencyModel { slowdown_per_in_flight: per_in_flight, ..model("fixed:500ms") };
            let conditions = Conditions { mode, in_flight };
            let timing = plan(&model, conditions, Task::DraftReply, 3, &mut Draws::new(7));
            assert!((ms(timing.total) - expected_ms).abs() < 1e-3, "{:?}", timing.total);
            assert_eq!(timing.due(2), timing.total);
            assert_eq!(timing.due(0), timing.total / 2);
        }
    }

    fn recording(lines: &str) -> Latency {
        Latency::File(Arc::new(Recording::read("r.jsonl", lines.as_bytes()).unwrap()))
    }

    fn replay(lines: &str, conditions: Conditions, tokens: u32) -> Vec<f64> {
        let model = LatencyModel { latency: recording(lines), ..model("recorded") };
        let timing = plan(&model, conditions, Task::DraftReply, tokens, &mut Draws::new(7));
        assert!(tokens == 0 || timing.due(tokens - 1) == timing.total);
        if tokens == 0 { vec![ms(timing.total)] } else { timing.dues().map(ms).collect() }
    }

    #[test]
    fn recorded_streams_are_replayed_token_by_token() {
        let stream = r#"{"ttft_ms": 300, "gaps_ms": [10, 0, 50], "latency_ms": 400}"#;
        let slow = Conditions { mode: Mode::Slow, ..ALONE };
        for (lines, conditions, tokens, expected_ms) in [
            (stream, ALONE, 4, vec![300.0, 310.0, 310.0, 360.0]),
            (stream, ALONE, 2, vec![300.0, 310.0]),
            (stream, ALONE, 1, vec![300.0]),
            (stream, ALONE, 6, vec![300.0, 310.0, 310.0, 360.0, 370.0, 370.0]),
            (stream, slow, 4, vec![2_400.0, 2_480.0, 2_480.0, 2_880.0]),
            (stream, ALONE, 0, vec![400.0]),
            (r#"{"ttft_ms": 300, "gaps_ms": []}"#, ALONE, 3, vec![300.0; 3]),
            (r#"{"ttft_ms": 300, "latency_ms": 400}"#, ALONE, 3, vec![300.0, 350.0, 400.0]),
            (r#"{"latency_ms": 400}"#, ALONE, 3, vec![200.0, 300.0, 400.0]),
            (r#"{"latency_ms": 0}"#, ALONE, 2, vec![0.0, 0.0]),
        ] {
            let dues = replay(lines, conditions, tokens);
            let near = dues.iter().zip(&expected_ms).all(|(a, b)| (a - b).abs() < 1e-6);
            assert!(dues.len() == expected_ms.len() && near, "{lines} {tokens}: {dues:?}");
        }
    }

    proptest! {
        #[test]
        fn whole_factors_are_exact(nanos in 0..3_600_000_000_000_u64) {
            let wait = Duration::from_nanos(nanos);
            prop_assert_eq!(in_mode(wait, Mode::Normal), wait);
            prop_assert_eq!(in_mode(wait, Mode::Slow), (wait * 8).min(MAX_WAIT));
        }
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
