//! Faults and modes by time: `at 30s for 20s: outage`.

use std::str::FromStr;
use std::time::Duration;

use super::FaultError;
use super::rule::Rule;
use crate::config::{Mode, parse_wait};

/// One entry of a timeline. Times count from the provider's start and are not sped up.
#[derive(Debug, Clone, PartialEq)]
pub struct Phase {
    from: Duration,
    until: Duration,
    /// What holds meanwhile.
    pub effect: Effect,
}

/// What holds in a [`Phase`].
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// This mode, whatever else is set.
    Mode(Mode),
    /// These faults too.
    Faults(Rule),
}

impl Effect {
    /// The mode, if it is one.
    pub fn mode(&self) -> Option<Mode> {
        match self {
            Self::Mode(mode) => Some(*mode),
            Self::Faults(_) => None,
        }
    }

    /// The faults, if it is some.
    pub fn faults(&self) -> Option<&Rule> {
        match self {
            Self::Mode(_) => None,
            Self::Faults(rule) => Some(rule),
        }
    }
}

impl Phase {
    /// Whether it holds at `now`.
    pub fn holds(&self, now: Duration) -> bool {
        (self.from..self.until).contains(&now)
    }
}

impl FromStr for Phase {
    type Err = FaultError;

    /// Reads `at TIME [for DURATION]: EFFECT`; without a duration it holds to the end.
    fn from_str(text: &str) -> Result<Self, FaultError> {
        let wrong = || FaultError::Timeline(text.to_owned());
        let (time, effect) = text.split_once(':').ok_or_else(wrong)?;
        let words: Vec<&str> = time.split_whitespace().collect();
        let (from, length) = match words.as_slice() {
            ["at", from] => (from, None),
            ["at", from, "for", length] => (from, Some(length)),
            _ => return Err(wrong()),
        };
        let from = parse_wait(from).map_err(|_| wrong())?;
        let until = match length {
            Some(length) => from + parse_wait(length).map_err(|_| wrong())?,
            None => Duration::MAX,
        };
        let effect = effect.trim();
        let effect = match effect.parse() {
            Ok(mode) => Effect::Mode(mode),
            Err(_) => Effect::Faults(effect.parse()?),
        };
        Ok(Self { from, until, effect })
    }
}
