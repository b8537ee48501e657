//! Faults by rate: `reset-after=5@2%`.

use std::fmt;
use std::str::FromStr;

use super::{FaultError, Faults};

/// Faults that hit a share of the calls, together.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    faults: Faults,
    /// From 0 (excluded) to 1.
    rate: f64,
}

impl Rule {
    /// Faults that hit every call.
    pub fn always(faults: Faults) -> Self {
        Self { faults, rate: 1.0 }
    }

    /// The faults, when the uniform draw `probability` says that they hit.
    pub fn hit(&self, probability: f64) -> Option<&Faults> {
        (probability < self.rate).then_some(&self.faults)
    }
}

impl FromStr for Rule {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        let Some((faults, rate)) = text.rsplit_once('@') else {
            return text.parse().map(Self::always);
        };
        let wrong = || FaultError::Rate(rate.trim().to_owned());
        let percent = rate.trim().strip_suffix('%').ok_or_else(wrong)?;
        let rate = percent.parse::<f64>().map_err(|_| wrong())? / 100.0;
        if !(rate > 0.0 && rate <= 1.0) {
            return Err(wrong());
        }
        Ok(Self { faults: faults.parse()?, rate })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{}@{}%", self.faults, self.rate * 100.0)
    }
}
