//! What a provider is told at its start.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use crate::model::attempts::Attempt;
use crate::model::fault::Faults;
use crate::model::fault::rule::Rule;
use crate::model::fault::timeline::Phase;
use crate::model::gaps::Gaps;
use crate::model::latency::{Latency, LatencyModel};

/// The longest wait of a call, drawn or asked for: an hour.
pub const MAX_WAIT: Duration = Duration::from_hours(1);

/// How the provider behaves.
#[derive(Debug, Clone, PartialEq)]
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
    /// How a stream's tokens are spread over its latency.
    pub gaps: Gaps,
    /// By which share of itself a call takes longer for each other call in flight, 0 to 10.
    pub slowdown_per_in_flight: f64,
    /// What goes wrong, by rate.
    pub faults: Vec<Rule>,
    /// What goes wrong, by time.
    pub timeline: Vec<Phase>,
    /// Where each call's plan and its actual times are written, as JSON lines.
    pub log: Option<PathBuf>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mode: Mode::Normal,
            quota: true,
            speed: 1.0,
            seed: 21,
            latency: Latency::Recorded,
            gaps: Gaps::Equal,
            slowdown_per_in_flight: 0.0,
            faults: Vec::new(),
            timeline: Vec::new(),
            log: None,
        }
    }
}

impl Config {
    /// All that decides when tokens are due.
    pub(crate) fn latency_model(&self) -> LatencyModel {
        LatencyModel {
            latency: self.latency.clone(),
            gaps: self.gaps,
            slowdown_per_in_flight: self.slowdown_per_in_flight,
        }
    }

    /// What the limits are divided by in this mode, or `None` when nothing is limited.
    pub(crate) fn quota_share(&self, mode: Mode) -> Option<u64> {
        match mode {
            Mode::Quota => Some(10),
            _ => self.quota.then_some(1),
        }
    }

    /// The mode that the timeline says at `now`, counted from the start; the last entry counts.
    pub(crate) fn timeline_mode(&self, now: Duration) -> Option<Mode> {
        let mut phases = self.timeline.iter().rev().filter(|phase| phase.holds(now));
        phases.find_map(|phase| phase.effect.mode())
    }

    /// What goes wrong with an attempt that arrives at `now`.
    pub(crate) fn faults_of(&self, attempt: Attempt, now: Duration) -> Faults {
        let mut faults = Faults::default();
        let phases = self.timeline.iter().filter(|phase| phase.holds(now));
        let by_time = phases.filter_map(|phase| phase.effect.faults());
        for rule in self.faults.iter().chain(by_time) {
            // Each rule draws by its own text, so that rules do not change one another's draws.
            if let Some(hit) = rule.hit(attempt.draw_for(&rule.to_string())) {
                faults.extend(hit);
            }
        }
        faults
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

/// Why an option's text is no [`Config`] value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// No mode of this name.
    #[error("unknown mode `{0}`: use normal, slow, outage or quota")]
    Mode(String),
    /// No duration, or one beyond [`MAX_WAIT`].
    #[error("`{0}` is no wait: use a number with us, ms, s, m or h, up to 1h, such as 500ms")]
    Wait(String),
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

/// Reads a wait: a number with a unit, up to [`MAX_WAIT`].
///
/// # Errors
/// When it is anything else.
pub(crate) fn parse_wait(text: &str) -> Result<Duration, ConfigError> {
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
    fn modes_and_speeds_are_read() {
        for mode in Mode::ALL {
            assert_eq!(mode.name().parse(), Ok(mode));
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
            refused(&parse_wait(wait).unwrap_err(), "us, ms, s, m or h");
        }
        for speed in ["", "-1", "NaN", "inf", "1e308", "0.0001"] {
            refused(&parse_speed(speed).unwrap_err(), "0.001");
        }
    }
}
