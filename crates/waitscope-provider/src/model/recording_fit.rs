//! How well each latency model fits a recording.

use serde::Serialize;
use waitscope_stats::fit::{Sample, gap_spread};
use waitscope_stats::mixture::{LogNormal, Mixture};

use super::recording::{Kind, Recording};

/// Fewer calls than this tell no models apart.
const ENOUGH_CALLS: usize = 30;
/// Tails that rest on fewer calls than this are hardly known.
const ENOUGH_TAIL_CALLS: f64 = 5.0;
/// A bell curve that puts the slowest call this many times too low misses the tail.
const MISSED: f64 = 2.0;
/// A spread below this is none.
const NO_SIGMA: f64 = 0.01;
/// How much lower the Bayesian information criterion must be: "very strong" evidence by
/// R. E. Kass and A. E. Raftery, "Bayes factors", JASA 90 (1995), 773-795.
const STRONG_EVIDENCE: f64 = 10.0;
/// The shortest time that is told apart from none, in milliseconds.
const SMALLEST_MS: f64 = 0.001;

/// The models of a recording, one group for each kind of endpoint in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecordingFit {
    /// The recording's name.
    pub file: String,
    /// The calls that can be replayed.
    pub calls: usize,
    /// The calls that ended in an error and take no part.
    pub failed: usize,
    /// The kinds of endpoints that were called.
    pub groups: Vec<GroupFit>,
}

/// The calls to one kind of endpoint.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupFit {
    /// `text`, `embeddings`, `other`, or `unknown` when the lines name no path.
    pub endpoint: &'static str,
    /// The times to the full answer.
    pub latency: TimesFit,
    /// The times to the first token, of the calls that know theirs.
    pub ttft: Option<TimesFit>,
    /// The gaps between tokens, of the calls that know theirs.
    pub gaps: Option<GapsFit>,
}

/// Measured times and the models of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimesFit {
    /// How many there are.
    pub calls: usize,
    /// What was measured.
    pub measured: Quantiles,
    /// What the models say, the simplest first.
    pub models: Vec<ModelFit>,
    /// The name of the formula that fits best.
    pub best: &'static str,
    /// What to beware of.
    pub warnings: Vec<String>,
}

/// One model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelFit {
    /// `fixed`, `lognormal`, `mixture` or `file`.
    pub name: &'static str,
    /// The text for `--latency`; of first tokens, what it would be.
    pub latency: String,
    /// The largest difference between the share of calls below a time and the model's, 0 to 1
    /// (Kolmogorov-Smirnov).
    pub ks_distance: f64,
    /// What the model says.
    #[serde(flatten)]
    pub quantiles: Quantiles,
}

/// Some quantiles in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Quantiles {
    /// The median.
    pub p50_ms: f64,
    /// The 90 % quantile.
    pub p90_ms: f64,
    /// The 99 % quantile.
    pub p99_ms: f64,
    /// The largest; of a model, what the largest of as many draws exceeds half of the time.
    pub max_ms: f64,
}

/// Measured gaps between tokens.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GapsFit {
    /// The streams with at least one gap.
    pub streams: usize,
    /// Their gaps.
    pub count: usize,
    /// What was measured.
    pub measured: Quantiles,
    /// The text for `--gaps`; `None` when no stream has two gaps.
    pub gaps: Option<String>,
}

/// Fits every model to every kind of endpoint of a recording.
pub fn fit(recording: &Recording) -> RecordingFit {
    let kinds = [
        (Kind::Text, "text"),
        (Kind::Embeddings, "embeddings"),
        (Kind::Unknown, "unknown"),
        (Kind::Other, "other"),
    ];
    RecordingFit {
        file: recording.name().to_owned(),
        calls: recording.replayable(),
        failed: recording.failed(),
        groups: kinds
            .into_iter()
            .filter_map(|(kind, endpoint)| group(recording, kind, endpoint))
            .collect(),
    }
}

fn group(recording: &Recording, kind: Kind, endpoint: &'static str) -> Option<GroupFit> {
    let calls = recording.of_kind(kind);
    let ms = |wait: std::time::Duration| wait.as_secs_f64() * 1_000.0;
    let latencies = calls.iter().map(|call| ms(recording.latency(*call))).collect();
    let firsts = calls.iter().filter_map(|call| recording.first(*call).map(ms)).collect();
    let streams: Vec<Vec<f64>> = calls
        .iter()
        .map(|call| recording.gaps_ms(*call).collect::<Vec<_>>())
        .filter(|gaps| !gaps.is_empty())
        .collect();
    let replay = format!("file:{}", recording.name());
    Some(GroupFit {
        endpoint,
        latency: times(latencies, Some(replay))?,
        ttft: times(firsts, None),
        gaps: gaps(&streams),
    })
}

/// `replay` is the text for `--latency` that replays these times themselves.
fn times(values_ms: Vec<f64>, replay: Option<String>) -> Option<TimesFit> {
    let sample = Sample::new(values_ms, SMALLEST_MS);
    let measured = measured(&sample)?;
    let bell = sample.lognormal()?;
    let mixture = sample.mixture();
    let best = best(&sample, &bell, mixture.as_ref());
    let one = LogNormal { median: sample.quantile(0.5)?, sigma: 0.0 };
    let mut models = vec![
        model("fixed", format!("fixed:{}", duration(one.median)), &sample, &one),
        model("lognormal", format!("lognormal:{}", text(&bell)), &sample, &bell),
    ];
    if let Some(mixture) = &mixture {
        let share = significant(mixture.tail_share * 100.0, 3);
        let latency = format!("mixture:{},{share}%,{}", text(&mixture.body), text(&mixture.tail));
        models.push(model("mixture", latency, &sample, mixture));
    }
    let mut warnings = Vec::new();
    warnings.extend(too_few(sample.count()));
    warnings.extend(missed_tail(sample.count(), &measured, &models));
    if best == "mixture" {
        warnings.extend(mixture.and_then(|mixture| thin_tail(&sample, &mixture)));
    }
    warnings.extend(follows_badly(&sample, best, &models));
    models.extend(replay.map(|latency| ModelFit {
        name: "file",
        latency,
        ks_distance: 0.0,
        quantiles: measured,
    }));
    Some(TimesFit { calls: sample.count(), measured, models, best, warnings })
}

/// The formula that fits best, with as few parameters as do.
fn best(sample: &Sample, bell: &LogNormal, mixture: Option<&Mixture>) -> &'static str {
    if bell.sigma < NO_SIGMA {
        return "fixed";
    }
    let gain = |mixture| sample.lognormal_bic(bell) - sample.mixture_bic(mixture);
    if mixture.is_some_and(|mixture| gain(mixture) > STRONG_EVIDENCE) {
        "mixture"
    } else {
        "lognormal"
    }
}

/// What the models have in common here.
trait Distribution {
    fn quantile(&self, probability: f64) -> f64;
    fn cdf(&self, value: f64) -> f64;
}

impl Distribution for LogNormal {
    fn quantile(&self, probability: f64) -> f64 {
        Self::quantile(self, probability)
    }
    fn cdf(&self, value: f64) -> f64 {
        Self::cdf(self, value)
    }
}

impl Distribution for Mixture {
    fn quantile(&self, probability: f64) -> f64 {
        Self::quantile(self, probability)
    }
    fn cdf(&self, value: f64) -> f64 {
        Self::cdf(self, value)
    }
}

fn model(
    name: &'static str,
    latency: String,
    sample: &Sample,
    model: &impl Distribution,
) -> ModelFit {
    let of_most = 0.5_f64.powf(1.0 / sample.count() as f64);
    let quantiles = Quantiles {
        p50_ms: rounded(model.quantile(0.5)),
        p90_ms: rounded(model.quantile(0.9)),
        p99_ms: rounded(model.quantile(0.99)),
        max_ms: rounded(model.quantile(of_most)),
    };
    let ks_distance = (sample.distance(|value| model.cdf(value)) * 1e4).round() / 1e4;
    ModelFit { name, latency, ks_distance, quantiles }
}

fn measured(sample: &Sample) -> Option<Quantiles> {
    Some(Quantiles {
        p50_ms: rounded(sample.quantile(0.5)?),
        p90_ms: rounded(sample.quantile(0.9)?),
        p99_ms: rounded(sample.quantile(0.99)?),
        max_ms: rounded(sample.quantile(1.0)?),
    })
}

fn too_few(calls: usize) -> Option<String> {
    (calls < ENOUGH_CALLS).then(|| {
        format!(
            "too few calls to tell models apart ({calls}): record {ENOUGH_CALLS} at least, and \
             some hundreds to see a tail of 1 %"
        )
    })
}

fn missed_tail(calls: usize, measured: &Quantiles, models: &[ModelFit]) -> Option<String> {
    let bell = models.iter().find(|model| model.name == "lognormal")?;
    let (says, was) = (bell.quantiles.max_ms, measured.max_ms);
    (calls >= 2 && was > MISSED * says).then(|| {
        format!(
            "one bell curve (lognormal) misses the tail: it puts the slowest of {calls} calls at \
             {}, measured was {}",
            readable(says),
            readable(was)
        )
    })
}

fn thin_tail(sample: &Sample, mixture: &Mixture) -> Option<String> {
    let calls = mixture.tail_share * sample.count() as f64;
    (calls < ENOUGH_TAIL_CALLS).then(|| {
        format!(
            "the mixture's tail rests on about {:.0} of the calls: record more to know how rare \
             and how slow it is",
            calls.max(1.0)
        )
    })
}

/// The distance that a true model exceeds in 1 of 20 samples: 1.36 / sqrt(n), by N. Smirnov,
/// Annals of Mathematical Statistics 19 (1948), 279-281.
fn follows_badly(sample: &Sample, best: &str, models: &[ModelFit]) -> Option<String> {
    let distance = models.iter().find(|model| model.name == best)?.ks_distance;
    let limit = 1.36 / (sample.count() as f64).sqrt();
    (distance > limit && best != "fixed").then(|| {
        format!(
            "no formula follows the calls closely (distance {distance:.3}): replay the recording"
        )
    })
}

fn gaps(streams: &[Vec<f64>]) -> Option<GapsFit> {
    let all: Vec<f64> = streams.concat();
    let measured = measured(&Sample::new(all.clone(), 0.0))?;
    let spread = gap_spread(streams.iter().map(Vec::as_slice));
    let gaps = spread.map(|spread| {
        if spread.sigma < NO_SIGMA {
            return "equal".to_owned();
        }
        let rho = spread.rho.unwrap_or(0.0);
        format!("varied:{},{}", significant(spread.sigma.min(5.0), 3), significant(rho, 3))
    });
    Some(GapsFit { streams: streams.len(), count: all.len(), measured, gaps })
}

/// `MEDIAN,SIGMA` as `--latency` reads it.
fn text(bell: &LogNormal) -> String {
    format!("{},{}", duration(bell.median), significant(bell.sigma.min(5.0), 3))
}

/// A time for people.
fn readable(ms: f64) -> String {
    if ms < 1_000.0 { format!("{ms:.0} ms") } else { format!("{:.1} s", ms / 1_000.0) }
}

/// A time as `--latency` reads it.
fn duration(ms: f64) -> String {
    if ms < 10_000.0 {
        format!("{}ms", significant(ms, 4))
    } else {
        format!("{}s", significant(ms / 1_000.0, 4))
    }
}

fn significant(value: f64, digits: i32) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    #[expect(clippy::cast_possible_truncation, reason = "the decimal exponent of a double")]
    let exponent = value.abs().log10().floor() as i32;
    let places = digits - 1 - exponent;
    // Both ways with a power of ten that a double holds exactly.
    if places >= 0 {
        let scale = 10_f64.powi(places);
        (value * scale).round() / scale
    } else {
        let scale = 10_f64.powi(-places);
        (value / scale).round() * scale
    }
}

/// To the microsecond.
fn rounded(ms: f64) -> f64 {
    (ms * 1_000.0).round() / 1_000.0
}

#[cfg(test)]
mod tests {
    use waitscope_stats::draw::Draws;

    use super::*;
    use crate::model::latency::Latency;

    fn recording(count: u32, line: impl Fn(f64) -> String) -> Recording {
        let mut draws = Draws::new(5);
        let lines: Vec<String> = (0..count).map(|_| line(draws.uniform())).collect();
        Recording::read("r.jsonl", lines.join("\n").as_bytes()).unwrap()
    }

    const HOSTED: Mixture = Mixture {
        body: LogNormal { median: 500.0, sigma: 0.4 },
        tail_share: 0.02,
        tail: LogNormal { median: 80_000.0, sigma: 0.2 },
    };

    #[track_caller]
    fn check(recording: &Recording, best: &str, warnings: &[&str]) -> TimesFit {
        let fit = fit(recording);
        let latency = fit.groups[0].latency.clone();
        assert_eq!(latency.best, best, "{latency:#?}");
        assert_eq!(latency.warnings.len(), warnings.len(), "{latency:#?}");
        for (warning, words) in latency.warnings.iter().zip(warnings) {
            assert!(warning.contains(words), "{warning}");
        }
        for model in latency.models.iter().filter(|model| model.name != "file") {
            let parsed = model.latency.parse::<Latency>();
            assert!(parsed.is_ok(), "{}: {parsed:?}", model.latency);
        }
        latency
    }

    #[test]
    fn the_model_that_was_planted_is_named_best() {
        let bell = LogNormal { median: 500.0, sigma: 0.4 };
        let line = |ms: f64| format!("{{\"latency_ms\": {ms}}}");
        let fit = check(&recording(400, |_| line(500.0)), "fixed", &[]);
        assert_eq!(fit.models[0].latency, "fixed:500ms");
        let fit = check(&recording(400, |draw| line(bell.quantile(draw))), "lognormal", &[]);
        assert!(fit.models[1].ks_distance < 0.05 && fit.models[0].ks_distance > 0.45);
        let hosted = recording(400, |draw| line(HOSTED.sample(draw)));
        let fit = check(&hosted, "mixture", &["bell curve (lognormal) misses the tail"]);
        let names: Vec<&str> = fit.models.iter().map(|model| model.name).collect();
        assert_eq!(names, ["fixed", "lognormal", "mixture", "file"]);
        assert_eq!(fit.models[3].latency, "file:r.jsonl");
        assert_eq!(fit.models[3].quantiles, fit.measured);
        assert!(fit.models[2].quantiles.max_ms > 40_000.0, "{fit:#?}");
        assert!(fit.models[1].quantiles.max_ms < 20_000.0, "{fit:#?}");
    }

    #[test]
    fn what_cannot_be_known_is_warned_of() {
        let bell = LogNormal { median: 500.0, sigma: 0.4 };
        let line = |ms: f64| format!("{{\"latency_ms\": {ms}}}");
        check(
            &recording(29, |draw| line(bell.quantile(draw))),
            "lognormal",
            &["too few calls to tell models apart (29)"],
        );
        check(&recording(1, |_| line(7.0)), "fixed", &["(1)"]);
        let rare =
            recording(400, |draw| line(if draw < 0.995 { bell.quantile(draw) } else { 9e4 }));
        check(&rare, "mixture", &["misses the tail", "rests on about"]);
        let even = recording(2_000, |draw| line(10.0 + 990.0 * draw));
        let fit = check(&even, "mixture", &["no formula follows"]);
        assert!(fit.models[2].ks_distance > 0.03);
    }

    #[test]
    fn endpoints_are_fitted_apart() {
        let recording = recording(40, |draw| {
            if draw < 0.5 {
                r#"{"path": "/v1/embeddings", "latency_ms": 200}"#.to_owned()
            } else {
                r#"{"path": "/v1/messages", "ttft_ms": 900, "gaps_ms": [40, 40]}"#.to_owned()
            }
        });
        let fit = fit(&recording);
        let groups: Vec<(&str, u32, bool)> = fit
            .groups
            .iter()
            .map(|group| {
                let p50 = group.latency.measured.p50_ms.round();
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "small"
                )]
                let p50 = p50 as u32;
                (group.endpoint, p50, group.ttft.is_some())
            })
            .collect();
        assert_eq!(groups, [("text", 980, true), ("embeddings", 200, false)]);
        let gaps = fit.groups[0].gaps.as_ref().unwrap();
        assert_eq!(gaps.gaps.as_deref(), Some("equal"));
        assert_eq!(gaps.count, 2 * gaps.streams);
        assert_eq!(fit.groups[1].gaps, None);
    }

    #[test]
    fn numbers_are_short_and_read_back() {
        for (value, digits, expected) in [
            (512.345, 4, 512.3),
            (0.398_765, 3, 0.399),
            (80_123.4, 3, 80_100.0),
            (0.0, 3, 0.0),
            (0.001_234, 2, 0.001_2),
        ] {
            assert!((significant(value, digits) - expected).abs() < 1e-12, "{value}");
        }
        assert_eq!(duration(512.345), "512.3ms");
        assert_eq!(duration(80_123.4), "80.12s");
    }
}
