//! The demo's servers: children of this binary, on free ports, that surely end.

use std::process::Command;
use std::time::Duration;

use serde::Deserialize;
use tempfile::TempDir;
use waitscope_process::ServerChild;

use crate::exit::Failure;

/// How long a server of ours may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// How long it may take to answer a question about itself.
const ASK_TIMEOUT: Duration = Duration::from_secs(30);

/// The simulated provider.
pub(super) struct Provider {
    child: ServerChild,
    agent: ureq::Agent,
}

impl Provider {
    pub(super) fn start(seed: u64) -> Result<Self, Failure> {
        let mut command = this_binary()?;
        command.args(["provider", "--port", "0", "--quota", "off", "--exit-with-stdin"]);
        command.args(["--seed", &seed.to_string()]);
        let child = ServerChild::start(command, START_TIMEOUT).map_err(Failure::cannot_measure)?;
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(ASK_TIMEOUT))
            .proxy(None)
            .build()
            .into();
        Ok(Self { child, agent })
    }

    pub(super) fn url(&self) -> &str {
        self.child.url()
    }

    /// Counters to zero and attempts forgotten: every mode gets the same latencies.
    pub(super) fn reset(&self) -> Result<(), Failure> {
        let url = format!("{}/admin/reset", self.child.url());
        self.agent.post(&url).send_empty().map_err(|error| self.failed(&error))?;
        Ok(())
    }

    /// The most calls in flight at once since the last reset.
    pub(super) fn max_in_flight(&self) -> Result<u64, Failure> {
        #[derive(Deserialize)]
        struct Stats {
            max_in_flight: u64,
        }
        let url = format!("{}/admin/stats", self.child.url());
        let mut answer = self.agent.get(&url).call().map_err(|error| self.failed(&error))?;
        let text = answer.body_mut().read_to_string().map_err(|error| self.failed(&error))?;
        let stats: Stats = serde_json::from_str(&text).map_err(Failure::cannot_measure)?;
        Ok(stats.max_in_flight)
    }

    fn failed(&self, error: &ureq::Error) -> Failure {
        let said = self.child.said();
        Failure::cannot_measure(format!("the simulated provider fails: {error}; it said: {said}"))
    }
}

/// The ticket service in one intake mode, on a database of its own.
pub(super) struct Tickets {
    child: ServerChild,
    /// Holds the database; dropped after the service, and removed then.
    _directory: TempDir,
}

impl Drop for Tickets {
    /// At once: in blocking mode an orderly end would wait for the tickets in flight.
    fn drop(&mut self) {
        self.child.kill();
    }
}

impl Tickets {
    pub(super) fn start(mode: &str, provider_url: &str) -> Result<Self, Failure> {
        let directory = tempfile::Builder::new()
            .prefix("waitscope-demo-")
            .tempdir()
            .map_err(|error| Failure::cannot_measure(format!("no temporary directory: {error}")))?;
        let database = format!("sqlite:{}", directory.path().join("tickets.db").display());
        let mut command = this_binary()?;
        command
            .args(["tickets", "--port", "0", "--exit-with-stdin"])
            .args(["--intake-mode", mode, "--provider-url", provider_url])
            .args(["--database-url", &database])
            // No `.env` of the user's: the demo is the same everywhere.
            .current_dir(directory.path());
        let child = ServerChild::start(command, START_TIMEOUT).map_err(Failure::cannot_measure)?;
        Ok(Self { child, _directory: directory })
    }

    pub(super) fn url(&self) -> &str {
        self.child.url()
    }

    pub(super) fn said(&self) -> String {
        self.child.said()
    }
}

/// The running executable itself, even if its file was replaced since.
fn this_binary() -> Result<Command, Failure> {
    let path = if cfg!(target_os = "linux") {
        "/proc/self/exe".into()
    } else {
        std::env::current_exe().map_err(Failure::cannot_measure)?
    };
    let mut command = Command::new(path);
    // Settings that a user has for services of their own are none of the demo's.
    command.env_clear();
    Ok(command)
}
