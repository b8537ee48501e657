//! A provider for tests, option by option.

use std::io;
use std::path::PathBuf;

use crate::config::{Config, Mode};
use crate::model::fault::Faults;
use crate::model::fault::rule::Rule;
use crate::model::fault::timeline::Phase;
use crate::model::gaps::Gaps;
use crate::model::latency::Latency;
use crate::running::{Running, start};
use crate::server::Provider;

/// Collects a [`Config`]; see [`Provider::builder`].
#[derive(Debug, Clone, Default)]
#[must_use = "it does nothing until it is started"]
pub struct Builder {
    config: Config,
}

impl Provider {
    /// A provider on a free port, for tests, with everything at its default until told otherwise.
    ///
    /// ```
    /// use waitscope_provider::Provider;
    ///
    /// let provider = Provider::builder()
    ///     .latency("lognormal:500ms,0.4".parse()?)
    ///     .speed(0.0)
    ///     .fault("status=529@10%".parse()?)
    ///     .start()?;
    /// let base_url = format!("{}/v1", provider.url());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn builder() -> Builder {
        Builder::default()
    }
}

impl Builder {
    /// What it simulates; see [`Config::mode`].
    pub fn mode(mut self, mode: Mode) -> Self {
        self.config.mode = mode;
        self
    }

    /// Whether calls are charged to a quota; see [`Config::quota`].
    pub fn quota(mut self, quota: bool) -> Self {
        self.config.quota = quota;
        self
    }

    /// What divides every wait; see [`Config::speed`].
    pub fn speed(mut self, speed: f64) -> Self {
        self.config.speed = speed;
        self
    }

    /// What decides all draws; see [`Config::seed`].
    pub fn seed(mut self, seed: u64) -> Self {
        self.config.seed = seed;
        self
    }

    /// Where the latencies come from; see [`Config::latency`].
    pub fn latency(mut self, latency: Latency) -> Self {
        self.config.latency = latency;
        self
    }

    /// How tokens are spread; see [`Config::gaps`].
    pub fn gaps(mut self, gaps: Gaps) -> Self {
        self.config.gaps = gaps;
        self
    }

    /// How calls slow one another down; see [`Config::slowdown_per_in_flight`].
    pub fn slowdown_per_in_flight(mut self, share: f64) -> Self {
        self.config.slowdown_per_in_flight = share;
        self
    }

    /// Adds what goes wrong by rate; see [`Config::faults`].
    pub fn fault(mut self, rule: Rule) -> Self {
        self.config.faults.push(rule);
        self
    }

    /// Adds what goes wrong with every call.
    pub fn always(self, faults: Faults) -> Self {
        self.fault(Rule::always(faults))
    }

    /// Adds what goes wrong by time; see [`Config::timeline`].
    pub fn at(mut self, phase: Phase) -> Self {
        self.config.timeline.push(phase);
        self
    }

    /// Where the truth log is written; see [`Config::log`].
    pub fn log(mut self, path: impl Into<PathBuf>) -> Self {
        self.config.log = Some(path.into());
        self
    }

    /// What was collected.
    pub fn config(self) -> Config {
        self.config
    }

    /// Starts it on a thread of its own and a free port.
    ///
    /// # Errors
    /// When there is no port, thread or runtime to be had, and when the truth log cannot be
    /// created.
    pub fn start(self) -> io::Result<Running> {
        start(self.config)
    }
}
