//! `--latency`, `--gaps` and their like as text, and the recording that such a text names.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader};
use std::str::FromStr;
use std::sync::Arc;

use waitscope_stats::mixture::{LogNormal, Mixture};

use crate::config::{ConfigError, parse_wait};
use crate::model::latency::Latency;
use crate::model::recording::{Recording, RecordingError};

/// Why a text is no [`Latency`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LatencyError {
    /// No model of this form.
    #[error(
        "unknown latency `{0}`: use recorded, fixed:DURATION (such as fixed:500ms), \
         lognormal:MEDIAN,SIGMA (such as lognormal:500ms,0.4), \
         mixture:MEDIAN,SIGMA,TAIL_SHARE,TAIL_MEDIAN,TAIL_SIGMA (such as \
         mixture:500ms,0.4,1%,80s,0.2) or file:RECORDING.jsonl"
    )]
    Unknown(String),
    /// No duration.
    #[error(transparent)]
    Wait(#[from] ConfigError),
    /// No number from 0 to 5.
    #[error("`{0}` is no sigma: use a number from 0 to 5, such as 0.4")]
    Sigma(String),
    /// No share.
    #[error("`{0}` is no share: use a percentage such as 1%, or a number from 0 to 1")]
    Share(String),
    /// A recording that cannot be replayed.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// No slowdown.
    #[error("`{0}` is no slowdown: use a number from 0 to 10 such as 0.0077, or 0.77%")]
    Slowdown(String),
}

impl fmt::Display for Latency {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Recorded => formatter.write_str("recorded"),
            Self::Fixed(duration) => {
                write!(formatter, "fixed:{}ms", duration.as_secs_f64() * 1_000.0)
            }
            Self::LogNormal(bell) => write!(formatter, "lognormal:{}", Bell(*bell)),
            Self::Mixture(Mixture { body, tail_share, tail }) => {
                let (body, tail) = (Bell(*body), Bell(*tail));
                write!(formatter, "mixture:{body},{tail_share},{tail}")
            }
            Self::File(recording) => write!(formatter, "file:{}", recording.name()),
        }
    }
}

/// A log-normal distribution in seconds, as `MEDIAN,SIGMA`.
struct Bell(LogNormal);

impl fmt::Display for Bell {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        // Whole nanoseconds: 0.3 s shall not be 300.00000000000006 ms.
        let ms = (self.0.median * 1e9).round() / 1e6;
        write!(formatter, "{ms}ms,{}", self.0.sigma)
    }
}

/// Reads the file as well when the text names one.
impl FromStr for Latency {
    type Err = LatencyError;

    fn from_str(text: &str) -> Result<Self, LatencyError> {
        let unknown = || LatencyError::Unknown(text.to_owned());
        if text == "recorded" {
            return Ok(Self::Recorded);
        }
        let (model, parameters) = text.split_once(':').ok_or_else(unknown)?;
        if model == "file" {
            return Ok(Self::File(Arc::new(open_recording(parameters)?)));
        }
        let parts: Vec<&str> = parameters.split(',').collect();
        match (model, parts.as_slice()) {
            ("fixed", [duration]) => Ok(Self::Fixed(parse_wait(duration)?)),
            ("lognormal", [median, sigma]) => Ok(Self::LogNormal(bell(median, sigma)?)),
            ("mixture", [median, sigma, share, tail_median, tail_sigma]) => {
                Ok(Self::Mixture(Mixture {
                    body: bell(median, sigma)?,
                    tail_share: parse_share(share)?,
                    tail: bell(tail_median, tail_sigma)?,
                }))
            }
            _ => Err(unknown()),
        }
    }
}

/// Reads a recording from a file.
///
/// # Errors
/// When there is no such file, or [`Recording::read`] refuses it.
pub fn open_recording(path: &str) -> Result<Recording, RecordingError> {
    let useless = |problem: String| RecordingError::File { file: path.to_owned(), problem };
    if path.is_empty() {
        let problem = "`file:` names no file: write file:RECORDING.jsonl".into();
        return Err(RecordingError::File { file: String::new(), problem });
    }
    match File::open(path) {
        Ok(file) => Recording::read(path, BufReader::new(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(useless(
            "does not exist: `waitscope provider record` writes such a recording".into(),
        )),
        Err(error) => Err(useless(format!("cannot be opened: {error}"))),
    }
}

/// Reads how much longer a call takes for each other call in flight, as a share of itself.
///
/// # Errors
/// When it is neither a number from 0 to 10 nor a percentage of that size.
pub fn parse_slowdown(text: &str) -> Result<f64, LatencyError> {
    let share = number_or_percent(text);
    share
        .filter(|share| (0.0..=10.0).contains(share))
        .ok_or_else(|| LatencyError::Slowdown(text.to_owned()))
}

fn parse_share(text: &str) -> Result<f64, LatencyError> {
    let share = number_or_percent(text);
    share
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| LatencyError::Share(text.to_owned()))
}

fn number_or_percent(text: &str) -> Option<f64> {
    match text.strip_suffix('%') {
        Some(percent) => percent.parse().ok().map(|percent: f64| percent / 100.0),
        None => text.parse().ok(),
    }
}

fn bell(median: &str, sigma: &str) -> Result<LogNormal, LatencyError> {
    let median = parse_wait(median)?.as_secs_f64();
    let number: Option<f64> = sigma.parse().ok();
    let sigma = number
        .filter(|sigma| (0.0..=5.0).contains(sigma))
        .ok_or_else(|| LatencyError::Sigma(sigma.to_owned()))?;
    Ok(LogNormal { median, sigma })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::config::MAX_WAIT;

    #[test]
    fn latencies_are_read_and_written() {
        let half = Duration::from_millis(500);
        let body = LogNormal { median: 0.5, sigma: 0.4 };
        let tail = LogNormal { median: 80.0, sigma: 0.2 };
        let mixture = Latency::Mixture(Mixture { body, tail_share: 0.01, tail });
        for (text, expected) in [
            ("recorded", Latency::Recorded),
            ("fixed:500ms", Latency::Fixed(half)),
            ("fixed:0.5s", Latency::Fixed(half)),
            ("fixed:0ms", Latency::Fixed(Duration::ZERO)),
            ("fixed:1h", Latency::Fixed(MAX_WAIT)),
            ("lognormal:500ms,0.4", Latency::LogNormal(body)),
            ("mixture:500ms,0.4,1%,80s,0.2", mixture.clone()),
            ("mixture:0.5s,0.4,0.01,80s,0.2", mixture),
        ] {
            let written = expected.to_string();
            assert_eq!(text.parse(), Ok(expected.clone()));
            assert_eq!(written.parse(), Ok(expected), "its own text is read back");
        }
        assert_eq!("lognormal:0.3s,1".parse::<Latency>().unwrap().to_string(), "lognormal:300ms,1");
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "no event loop runs")]
    fn a_recording_is_read_once_and_named() {
        let path = std::env::temp_dir().join(format!("waitscope-{}.jsonl", std::process::id()));
        std::fs::write(&path, "{\"latency_ms\": 250}\n").unwrap();
        let text = format!("file:{}", path.display());
        let latency: Latency = text.parse().unwrap();
        assert_eq!(latency.to_string(), text);
        std::fs::remove_file(&path).unwrap();
        let Latency::File(recording) = &latency else { panic!("{latency:?}") };
        assert_eq!(recording.latency(0), Duration::from_millis(250));
        let gone = text.parse::<Latency>().unwrap_err().to_string();
        assert!(gone.contains("does not exist") && gone.contains("record"), "{gone}");
    }

    #[test]
    fn senseless_latencies_are_refused_with_the_known_ones() {
        for (texts, hint) in [
            (
                vec!["", "fixed", "random", "normal:1s,2", "lognormal:500ms", "fixed:1s,2"],
                "lognormal:MEDIAN,SIGMA",
            ),
            (vec!["mixture:1s,0.4,1%,80s", "mixture:1s,0.4"], "mixture:500ms,0.4,1%,80s,0.2"),
            (vec!["fixed:", "fixed:5", "fixed:5min", "lognormal:2h,1"], "us, ms, s, m or h"),
            (vec!["lognormal:1s,", "lognormal:1s,-1", "lognormal:1s,6"], "from 0 to 5"),
            (vec!["lognormal:1s,NaN", "mixture:1s,0.4,1%,80s,6"], "from 0 to 5"),
            (vec!["mixture:1s,0.4,101%,80s,1", "mixture:1s,0.4,-1%,80s,1"], "no share"),
            (vec!["mixture:1s,0.4,NaN,80s,1", "mixture:1s,0.4,2,80s,1"], "1%"),
            (vec!["file:"], "names no file"),
            (vec!["file:/no/such/file.jsonl"], "does not exist"),
            (vec!["file:/"], "cannot be read"),
        ] {
            for text in texts {
                let error = text.parse::<Latency>().unwrap_err().to_string();
                assert!(error.contains(hint), "{text}: {error}");
            }
        }
    }

    #[test]
    fn slowdowns_are_numbers_or_percentages() {
        for (text, expected) in [
            ("0", Some(0.0)),
            ("0.0077", Some(0.0077)),
            ("0.75%", Some(0.0075)),
            ("10", Some(10.0)),
        ] {
            assert_eq!(parse_slowdown(text).ok(), expected, "{text}");
        }
        for text in ["", "-1", "11", "1001%", "NaN", "%", "inf"] {
            let error = parse_slowdown(text).unwrap_err().to_string();
            assert!(error.contains("0.77%"), "{error}");
        }
    }
}
