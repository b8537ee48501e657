//! How many tickets a second of a service's CPU time makes, with a provider that does not wait.

use super::Scenario;
use super::databases::{Database, Databases};
use super::measure::{Setup, TicketRun, client, measure};
use super::services::Service;
use crate::bench::client::ClientArgs;
use crate::bench::measure::{alternate, figures, middle, noise_note};
use crate::bench::processes::Programs;
use crate::bench::table::{Table, grouped, median, spread};

pub(super) const SCENARIO: Scenario = Scenario { name: "cpu", run };

const USERS: usize = 50;
const HEADER: [&str; 7] = [
    "database",
    "service",
    "tickets per CPU second",
    "ratio",
    "tickets/s",
    "service CPU",
    "database's own CPU ms per ticket",
];

fn run(programs: &Programs, passes: u32) -> anyhow::Result<Vec<Table>> {
    let databases = Databases::start()?;
    let title = format!(
        "Tickets per second of the service's CPU time, `async`, {USERS} users, `--speed 0`"
    );
    let mut table = Table::new(title, &HEADER);
    let client = ClientArgs { seconds: 8.0, patience_seconds: 30.0, ..client() };
    let mut all = Vec::new();
    for database in Database::BOTH {
        let setups = Service::BOTH.map(|service| Setup {
            service,
            mode: "async",
            database,
            provider: &["--speed", "0"],
            users: USERS,
        });
        let runs =
            alternate(passes, &setups, |setup| measure(programs, &databases, setup, &client))?;
        let peers = median(&rates(&runs[1]));
        for (setup, runs) in setups.iter().zip(&runs) {
            table.row(row(setup, runs, peers));
        }
        all.extend(runs.into_iter().flatten());
    }
    table.note(noise_note(all.iter().map(|run| &run.run)));
    Ok(vec![table])
}

fn rates(runs: &[TicketRun]) -> Vec<f64> {
    figures(runs, |run| run.tickets() / run.run.cpu_seconds)
}

fn row(setup: &Setup, runs: &[TicketRun], peers: f64) -> [String; HEADER.len()] {
    let rates = rates(runs);
    let per_ticket = middle(runs, |run| run.database_cpu_seconds() * 1_000.0 / run.tickets());
    let databases_own = match setup.database {
        Database::Sqlite => "in the service".to_owned(),
        Database::Postgres => grouped(per_ticket, 2),
    };
    [
        setup.database.name().to_owned(),
        setup.service.name().to_owned(),
        spread(&rates, 0),
        format!("{:.1} x", median(&rates) / peers),
        grouped(middle(runs, |run| run.run.seen.rate_per_second), 0),
        format!("{:.0} %", middle(runs, |run| run.run.cpu_share()) * 100.0),
        databases_own,
    ]
}
