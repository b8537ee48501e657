//! A measurement of one service: provider, database, service and client, all of them fresh.

use std::collections::BTreeMap;

use anyhow::Context;

use super::databases::{Database, Databases, postgres_cpu_seconds};
use super::planned::Planned;
use super::services::{Service, provider};
use crate::bench::client::ClientArgs;
use crate::bench::measure::{Run, observe};
use crate::bench::processes::Programs;

/// A new ticket of a usual size.
const TICKET: &str = r#"{"customer_id":"C-0001","subject":"Charged twice","body":"My card was charged twice for order 4711. Please pay one of them back.","channel":"email"}"#;

/// What is measured.
#[derive(Debug, Clone)]
pub(super) struct Setup {
    pub(super) service: Service,
    pub(super) mode: &'static str,
    pub(super) database: Database,
    /// Options of the provider.
    pub(super) provider: &'static [&'static str],
    pub(super) users: usize,
}

/// What one measurement gave.
#[derive(Debug, Clone)]
pub(super) struct TicketRun {
    pub(super) run: Run,
    /// The most calls that the provider had at once.
    pub(super) most_calls: f64,
    pub(super) planned: Planned,
}

impl TicketRun {
    pub(super) fn tickets(&self) -> f64 {
        self.run.seen.complete as f64
    }

    pub(super) fn provider_cpu_seconds(&self) -> f64 {
        self.run.needs_cpu_seconds[0]
    }

    pub(super) fn database_cpu_seconds(&self) -> f64 {
        self.run.needs_cpu_seconds[1]
    }

    /// The share of the core that provider, database and client had.
    pub(super) fn other_core_share(&self) -> f64 {
        let needs: f64 = self.run.needs_cpu_seconds.iter().sum();
        (needs + self.run.seen.cpu_seconds) / self.run.seen.seconds
    }

    /// Tickets that were not made, as errors or without any answer.
    pub(super) fn failed(&self) -> f64 {
        let refused: u64 = self.run.seen.refused.values().sum();
        (refused + self.run.seen.incomplete) as f64
    }
}

/// A client that files tickets; the figures to set are how long and how many.
pub(super) fn client() -> ClientArgs {
    ClientArgs {
        request: "POST /v1/tickets".to_owned(),
        body: TICKET.to_owned(),
        sleeps: true,
        ..ClientArgs::default()
    }
}

pub(super) fn measure(
    programs: &Programs,
    databases: &Databases,
    setup: &Setup,
    client: &ClientArgs,
) -> anyhow::Result<TicketRun> {
    let folder = tempfile::tempdir().context("cannot make a folder for a measurement")?;
    let log = folder.path().join("truth.jsonl");
    let mut options = vec!["--log".to_owned(), log.display().to_string()];
    options.extend(setup.provider.iter().map(|option| (*option).to_owned()));
    let provider = provider(programs, &options)?;
    let database_url = databases.fresh(setup.database, folder.path())?;
    let server = setup.service.start(programs, setup.mode, &database_url, &provider)?;
    let needs = || Ok(vec![provider.cpu_seconds()?, postgres_cpu_seconds()?]);
    let client = ClientArgs { connections: setup.users, ..client.clone() };
    let run = observe(programs, &server, needs, &client)?;
    let stats: BTreeMap<String, serde_json::Value> =
        serde_json::from_str(&provider.get("/admin/stats")?)?;
    let most_calls = stats.get("max_in_flight").and_then(serde_json::Value::as_f64);
    drop(server);
    // The log is whole once the provider has ended.
    provider.end()?;
    let planned = Planned::read(&std::fs::read_to_string(log)?)?;
    let most_calls = most_calls.context("the provider does not say how many calls it had")?;
    let run = TicketRun { run, most_calls, planned };
    eprintln!("{}", brief(setup, &run));
    Ok(run)
}

/// A line that tells how it goes.
fn brief(setup: &Setup, run: &TicketRun) -> String {
    let seen = &run.run.seen;
    format!(
        "{}, {}, {}, {} users: {} tickets, {} cut short, refused {:?}, {:.1} a second, p50 {:.0} \
         ms, p95 {:.0} ms (planned {:.0}, {:.0}); most calls {}; CPU seconds: service {:.2}, \
         provider {:.2}, database {:.2}, client {:.2}, others {:.2} cores; {:.0} to {:.0} MiB",
        setup.service.name(),
        setup.mode,
        setup.database.name(),
        setup.users,
        seen.complete,
        seen.incomplete,
        seen.refused,
        seen.rate_per_second,
        seen.times.whole.p50_ms,
        seen.times.whole.p95_ms,
        run.planned.p50_ms,
        run.planned.p95_ms,
        run.most_calls,
        run.run.cpu_seconds,
        run.provider_cpu_seconds(),
        run.database_cpu_seconds(),
        seen.cpu_seconds,
        run.run.other_cores,
        run.run.idle_mib,
        run.run.peak_mib,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::seen::Seen;

    #[test]
    fn what_shares_a_core_is_added_up_and_so_is_what_failed() {
        let refused = [(503, 3), (502, 1)].into();
        let cpu_seconds = 1.0;
        let seen = Seen { incomplete: 2, refused, seconds: 10.0, cpu_seconds, ..Seen::default() };
        let run = Run {
            seen,
            cpu_seconds: 8.0,
            needs_cpu_seconds: vec![2.0, 3.0],
            idle_mib: 10.0,
            peak_mib: 20.0,
            other_cores: 0.0,
        };
        let run = TicketRun { run, most_calls: 7.0, planned: Planned::default() };
        assert!((run.other_core_share() - 0.6).abs() < 1e-9);
        assert!((run.failed() - 6.0).abs() < 1e-9);
    }
}
