//! What a provider is told, on the command line or in a file: the same names and texts in both.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use waitscope_provider::fault::{Phase, Rule};
use waitscope_provider::{Config, Gaps, Latency, Mode, parse_slowdown, parse_speed};

use crate::exit::Failure;

/// What may be told; what is not told is at its default.
#[derive(Debug, Default, clap::Args, serde::Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Options {
    /// The port to listen on; 0 takes any free one [default: 8300]
    #[arg(long)]
    pub(super) port: Option<u16>,
    /// normal; slow (8 times as long); outage (503 after 30 ms); quota (a tenth of it) [default:
    /// normal]
    #[arg(long)]
    #[serde(default, deserialize_with = "text")]
    mode: Option<Mode>,
    /// Whether calls are charged to a quota per model, with 429 when it is used up [default: on]
    #[arg(long, value_name = "on|off")]
    quota: Option<Switch>,
    /// Divides every wait, 0 takes them away; the quota is never sped up [default: 1]
    #[arg(long, value_parser = parse_speed, allow_negative_numbers = true)]
    #[serde(default, deserialize_with = "speed")]
    speed: Option<f64>,
    /// Decides all latencies, answers and faults, together with each request's content [default:
    /// 21]
    #[arg(long)]
    seed: Option<u64>,
    /// recorded, fixed:DURATION, lognormal:MEDIAN,SIGMA, a mixture of a body and a far tail
    /// (mixture:500ms,0.4,1%,80s,0.2), or a recording made by `provider record` (file: and its
    /// path) [default: recorded]
    #[arg(long)]
    #[serde(default, deserialize_with = "text")]
    latency: Option<Latency>,
    /// How a stream's tokens are spread: equal, or varied:SIGMA[,RHO] (slow stretches stay slow)
    /// [default: equal]
    #[arg(long)]
    #[serde(default, deserialize_with = "text")]
    gaps: Option<Gaps>,
    /// By how much a call takes longer for each other call in flight, such as 0.77% (makes
    /// latencies depend on the load) [default: 0]
    #[arg(long, value_name = "SHARE", value_parser = parse_slowdown, allow_negative_numbers = true)]
    #[serde(default, deserialize_with = "slowdown")]
    slowdown_per_in_flight: Option<f64>,
    /// What goes wrong: FAULT[,FAULT][@RATE], such as reset-after=5@2%; may be repeated. A request
    /// can ask by itself with the header x-waitscope-fault. See docs/provider.md for all faults
    #[arg(long)]
    #[serde(default, deserialize_with = "texts")]
    fault: Vec<Rule>,
    /// What happens when: 'at TIME for DURATION: MODE or FAULT', such as 'at 30s for 20s: outage';
    /// may be repeated
    #[arg(long, value_name = "ENTRY")]
    #[serde(default, deserialize_with = "texts")]
    timeline: Vec<Phase>,
    /// Write what each call was planned as and when its bytes were really written, as JSON lines
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum Switch {
    On,
    Off,
}

impl Options {
    /// Reads a file of options (TOML).
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        #[expect(clippy::disallowed_methods, reason = "nothing is served yet")]
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|error| {
            Failure::usage(format!("cannot read --config {}: {error}", path.display()))
        })?;
        Self::parse(&text).map_err(|(line, problem)| {
            Failure::usage(format!("{}:{line}: {problem}", path.display()))
        })
    }

    /// An error comes with the number of its line.
    fn parse(text: &str) -> Result<Self, (usize, String)> {
        toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let line = text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1;
            (line, error.message().replace('\n', " "))
        })
    }

    /// These, and what they do not say from `others`.
    pub(super) fn or(self, others: Self) -> Self {
        Self {
            port: self.port.or(others.port),
            mode: self.mode.or(others.mode),
            quota: self.quota.or(others.quota),
            speed: self.speed.or(others.speed),
            seed: self.seed.or(others.seed),
            latency: self.latency.or(others.latency),
            gaps: self.gaps.or(others.gaps),
            slowdown_per_in_flight: self.slowdown_per_in_flight.or(others.slowdown_per_in_flight),
            fault: if self.fault.is_empty() { others.fault } else { self.fault },
            timeline: if self.timeline.is_empty() { others.timeline } else { self.timeline },
            log: self.log.or(others.log),
        }
    }

    /// What they mean.
    pub(super) fn config(self) -> Config {
        let default = Config::default();
        Config {
            mode: self.mode.unwrap_or(default.mode),
            quota: self.quota.map_or(default.quota, |quota| quota == Switch::On),
            speed: self.speed.unwrap_or(default.speed),
            seed: self.seed.unwrap_or(default.seed),
            latency: self.latency.unwrap_or(default.latency),
            gaps: self.gaps.unwrap_or(default.gaps),
            slowdown_per_in_flight: self
                .slowdown_per_in_flight
                .unwrap_or(default.slowdown_per_in_flight),
            faults: self.fault,
            timeline: self.timeline,
            log: self.log,
        }
    }
}

/// Reads a text, or a number as the same text, as the command line would. The reading is done by
/// the visitor, so that an error is told on the value's own line.
struct Reader<R>(R);

impl<T, F: fmt::Display, R: FnOnce(&str) -> Result<T, F>> Visitor<'_> for Reader<R> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a text or a number")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.0)(text).map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }
}

fn read<'de, D: Deserializer<'de>, T, F: fmt::Display>(
    deserializer: D,
    read: impl FnOnce(&str) -> Result<T, F>,
) -> Result<Option<T>, D::Error> {
    deserializer.deserialize_any(Reader(read)).map(Some)
}

fn text<'de, D: Deserializer<'de>, T: FromStr<Err: fmt::Display>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    read(deserializer, str::parse)
}

fn speed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    read(deserializer, parse_speed)
}

fn slowdown<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    read(deserializer, parse_slowdown)
}

/// One item of a list, so that an error is told on the item's own line.
struct Item<T>(T);

impl<'de, T: FromStr<Err: fmt::Display>> Deserialize<'de> for Item<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader(str::parse)).map(Self)
    }
}

fn texts<'de, D: Deserializer<'de>, T: FromStr<Err: fmt::Display>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let items: Vec<Item<T>> = Vec::deserialize(deserializer)?;
    Ok(items.into_iter().map(|Item(item)| item).collect())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn flags(words: &[&str]) -> Result<Config, String> {
        let words = std::iter::once("provider").chain(words.iter().copied());
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        Ok(line.options.config())
    }

    fn file(text: &str) -> Config {
        Options::parse(text).unwrap().config()
    }

    const FLAGS: [&str; 22] = [
        "--mode",
        "slow",
        "--quota",
        "off",
        "--speed",
        "0.5",
        "--seed",
        "7",
        "--latency",
        "fixed:500ms",
        "--gaps",
        "varied:0.6",
        "--slowdown-per-in-flight",
        "1%",
        "--fault",
        "status=503@1%",
        "--fault",
        "hang",
        "--timeline",
        "at 30s for 20s: outage",
        "--log",
        "truth.jsonl",
    ];

    const FILE: &str = r#"
        mode = "slow"
        quota = "off"
        speed = 0.5
        seed = 7
        latency = "fixed:500ms"
        gaps = "varied:0.6"
        slowdown-per-in-flight = "1%"
        fault = ["status=503@1%", "hang"]
        timeline = ["at 30s for 20s: outage"]
        log = "truth.jsonl"
    "#;

    #[test]
    fn flags_and_files_say_the_same() {
        assert_eq!(flags(&[]), Ok(Config::default()));
        assert_eq!(file(""), Config::default());
        let config = flags(&FLAGS).unwrap();
        assert_eq!(config, file(FILE));
        assert_eq!((config.mode, config.quota, config.seed), (Mode::Slow, false, 7));
        assert_eq!((config.faults.len(), config.timeline.len()), (2, 1));
        assert!(config.speed < 1.0 && config.slowdown_per_in_flight > 0.0 && config.log.is_some());
        assert_eq!(file("speed = 2").speed.to_string(), "2");
    }

    #[test]
    fn flags_win_over_files() {
        let told = Options::parse("seed = 7\nfault = [\"reset\"]").unwrap();
        let config = told.or(Options::parse(FILE).unwrap()).config();
        assert_eq!((config.seed, config.faults.len(), config.mode), (7, 1, Mode::Slow));
    }

    #[test]
    fn files_with_errors_are_answered_with_the_line() {
        for (text, line, hint) in [
            ("mode = \"fast\"", 1, "normal, slow, outage or quota"),
            ("\n\nspeed = -1", 3, "0.001"),
            ("seed = 1\nseeds = 2", 2, "seed"),
            ("seed = 1\nlatency = \"fixed:5\"\n", 2, "us, ms, s, m or h"),
            ("fault = [\n \"reset\",\n \"rest\",\n]", 3, "reset-after"),
            ("seed = \"x\"", 1, "u64"),
            ("seed = 1\nport = 70000", 2, "70000"),
            ("seed = = 1", 1, ""),
            ("quota = \"maybe\"", 1, "off"),
            ("timeline = [\"now: outage\"]", 1, "at 30s for 20s: outage"),
        ] {
            let (at, error) = Options::parse(text).unwrap_err();
            assert!(at == line && error.contains(hint), "{text}: line {at}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn unknown_values_are_answered_with_the_known_ones() {
        for (flag, hint) in [
            ("--mode=fast", "normal, slow, outage or quota"),
            ("--latency=random", "lognormal:MEDIAN,SIGMA"),
            ("--latency=fixed:5", "us, ms, s, m or h"),
            ("--speed=-1", "0.001"),
            ("--speed=NaN", "0.001"),
            ("--quota=maybe", "on, off"),
            ("--port=65536", "65535"),
            ("--seed=x", "invalid digit"),
            ("--gaps=odd", "varied"),
            ("--slowdown-per-in-flight=-1", "0.77%"),
            ("--fault=crash", "reset-after"),
            ("--fault=reset-after", "reset-after=5"),
            ("--fault=reset@0%", "2%"),
            ("--timeline=outage", "at 30s for 20s: outage"),
        ] {
            let error = flags(&[flag]).unwrap_err();
            assert!(error.contains(hint), "{flag}: {error}");
        }
    }
}
