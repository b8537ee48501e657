//! What a provider is told at its start.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The longest wait of a call, drawn or asked for: an hour.
pub const MAX_WAIT: Duration = Duration::from_hours(1);

/// How the provider behaves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// What it simulates at first; `POST /admin/mode` changes it.
    pub mode: Mode,
    /// Whether calls are charged to a quota. [`Mode::Quota`] charges them in any case.
    pub quota: bool,
    /// Divides every wait; 0 takes all waits away. The quota is never sped up.
    pub speed: f64,
    /// Decides all draws, together with a call's content.
    pub seed: u64,
    /// Where the latencies come from.
    pub latency: Latency,
}

impl Default for Config {
    fn default() -> Self {
        Self { mode: Mode::Normal, quota: true, speed: 1.0, seed: 21, latency: Latency::Recorded }
    }
}

/// What the provider simulates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A good day.
    Normal,
    /// Every call takes 8 times as long, but for one that is refused.
    Slow,
    /// Every call is answered 503 after 30 ms.
    Outage,
    /// A tenth of the quota.
    Quota,
}

impl Mode {
    /// All modes.
    pub const ALL: [Self; 4] = [Self::Normal, Self::Slow, Self::Outage, Self::Quota];

    /// Its name on the command line and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Slow => "slow",
            Self::Outage => "outage",
            Self::Quota => "quota",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Mode {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let known = Self::ALL.into_iter().find(|mode| mode.name() == text);
        known.ok_or_else(|| ConfigError::Mode(text.to_owned()))
    }
}

/// Where the latencies of chat and embeddings calls come from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Latency {
    /// Real, recorded calls; see [`crate::model::recorded`].
    Recorded,
    /// Always the same.
    Fixed(Duration),
    /// A log-normal distribution: half of the calls take longer than `median`.
    LogNormal {
        /// The median.
        median: Duration,
        /// The standard deviation of the latency's logarithm.
        sigma: f64,
    },
}

impl fmt::Display for Latency {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Recorded => formatter.write_str("recorded"),
            Self::Fixed(duration) => write!(formatter, "fixed:{}ms", milliseconds(*duration)),
            Self::LogNormal { median, sigma } => {
                write!(formatter, "lognormal:{}ms,{sigma}", milliseconds(*median))
            }
        }
    }
}

impl FromStr for Latency {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let unknown = || ConfigError::Latency(text.to_owned());
        if text == "recorded" {
            return Ok(Self::Recorded);
        }
        match text.split_once(':').ok_or_else(unknown)? {
            ("fixed", duration) => Ok(Self::Fixed(parse_wait(duration)?)),
            ("lognormal", parameters) => {
                let (median, sigma) = parameters.split_once(',').ok_or_else(unknown)?;
                let median = parse_wait(median)?;
                Ok(Self::LogNormal { median, sigma: parse_sigma(sigma)? })
            }
            _ => Err(unknown()),
        }
    }
}

/// Why an option's text is no [`Config`] value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// No mode of this name.
    #[error("unknown mode `{0}`: use normal, slow, outage or quota")]
    Mode(String),
    /// No latency model of this form.
    #[error(
        "unknown latency `{0}`: use recorded, fixed:DURATION (such as fixed:500ms) or \
         lognormal:MEDIAN,SIGMA (such as lognormal:500ms,0.4)"
    )]
    Latency(String),
    /// No duration, or one beyond [`MAX_WAIT`].
    #[error("`{0}` is no wait: use a number with us, ms, s, m or h, up to 1h, such as 500ms")]
    Wait(String),
    /// No number from 0 to 5.
    #[error("`{0}` is no sigma: use a number from 0 to 5, such as 0.4")]
    Sigma(String),
    /// No speed.
    #[error("`{0}` is no speed: use 0 (no waits) or a number from 0.001 to 1000000")]
    Speed(String),
}

/// Reads [`Config::speed`].
///
/// # Errors
/// When it is neither 0 nor a number from 0.001 to 1,000,000.
pub fn parse_speed(text: &str) -> Result<f64, ConfigError> {
    let speed = text.parse::<f64>().ok();
    speed
        .filter(|speed| *speed == 0.0 || (0.001..=1e6).contains(speed))
        .ok_or_else(|| ConfigError::Speed(text.to_owned()))
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

fn parse_sigma(text: &str) -> Result<f64, ConfigError> {
    let sigma = text.parse::<f64>().ok();
    sigma
        .filter(|sigma| (0.0..=5.0).contains(sigma))
        .ok_or_else(|| ConfigError::Sigma(text.to_owned()))
}

fn parse_wait(text: &str) -> Result<Duration, ConfigError> {
    let wait = || {
        let unit_at = text.find(|c: char| c.is_ascii_alphabetic())?;
        let unit_seconds = match &text[unit_at..] {
            "us" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3_600.0,
            _ => return None,
        };
        let number: f64 = text[..unit_at].parse().ok()?;
        let wait = Duration::try_from_secs_f64(number * unit_seconds).ok()?;
        (wait <= MAX_WAIT).then_some(wait)
    };
    wait().ok_or_else(|| ConfigError::Wait(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_and_latencies_are_read() {
        for mode in Mode::ALL {
            assert_eq!(mode.name().parse(), Ok(mode));
        }
        let half = Duration::from_millis(500);
        for (text, expected) in [
            ("recorded", Latency::Recorded),
            ("fixed:500ms", Latency::Fixed(half)),
            ("fixed:0.5s", Latency::Fixed(half)),
            ("fixed:0ms", Latency::Fixed(Duration::ZERO)),
            ("fixed:1h", Latency::Fixed(MAX_WAIT)),
            ("lognormal:500ms,0.4", Latency::LogNormal { median: half, sigma: 0.4 }),
        ] {
            assert_eq!(text.parse(), Ok(expected));
            assert_eq!(expected.to_string().parse(), Ok(expected), "its own text is read back");
        }
        assert_eq!(parse_speed("0"), Ok(0.0));
        assert_eq!(parse_speed("2.5"), Ok(2.5));
    }

    #[track_caller]
    fn refused(error: &ConfigError, hint: &str) {
        let text = error.to_string();
        assert!(text.contains(hint), "{text}");
    }

    #[test]
    fn senseless_values_are_refused_with_the_known_ones() {
        for text in ["", "Normal", "fast"] {
            refused(&text.parse::<Mode>().unwrap_err(), "normal, slow, outage or quota");
        }
        for text in ["", "fixed", "random", "normal:1s,2", "lognormal:500ms"] {
            refused(&text.parse::<Latency>().unwrap_err(), "lognormal:MEDIAN,SIGMA");
        }
        for wait in [
            "",
            "5",
            "500 parsecs",
            "-1ms",
            "NaNs",
            "infs",
            "1e308s",
            "61m",
            "5min",
            "2h",
            "ms",
            "1e400s",
        ] {
            let text = format!("fixed:{wait}");
            refused(&text.parse::<Latency>().unwrap_err(), "us, ms, s, m or h");
        }
        for sigma in ["", "-1", "NaN", "6", "inf"] {
            let text = format!("lognormal:1s,{sigma}");
            refused(&text.parse::<Latency>().unwrap_err(), "from 0 to 5");
        }
        for speed in ["", "-1", "NaN", "inf", "1e308", "0.0001"] {
            refused(&parse_speed(speed).unwrap_err(), "0.001");
        }
    }
}
