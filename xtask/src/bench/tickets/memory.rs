//! What a ticket in flight takes of a service's memory, while it waits for the provider.

use super::Scenario;
use super::databases::{Database, Databases};
use super::measure::{Setup, TicketRun, client, measure};
use super::services::Service;
use crate::bench::client::ClientArgs;
use crate::bench::measure::{alternate, figures, middle, noise_note};
use crate::bench::processes::Programs;
use crate::bench::table::{Table, grouped, median, spread};

pub(super) const SCENARIO: Scenario = Scenario { name: "memory", run };

/// How many tickets each service is given. Of the example as it is, 100 are at the provider and the
/// others wait for a connection.
const TICKETS: [(Service, usize); 3] =
    [(Service::Ours, 5_000), (Service::PeerUnbounded, 1_000), (Service::Peer, 1_000)];
const HEADER: [&str; 7] = [
    "database",
    "service",
    "tickets in flight",
    "calls at the provider",
    "idle MiB",
    "most MiB",
    "KiB per ticket in flight",
];

fn run(programs: &Programs, passes: u32) -> anyhow::Result<Vec<Table>> {
    let databases = Databases::start()?;
    let title = "Memory of tickets in flight, each waiting for its first answer, `async`";
    let mut table = Table::new(title, &HEADER);
    // The client leaves before the first answer comes.
    let client = ClientArgs { spread_seconds: 4.0, patience_seconds: 10.0, ..client() };
    let mut all = Vec::new();
    for database in Database::BOTH {
        let setups = TICKETS.map(|(service, users)| Setup {
            service,
            mode: "async",
            database,
            provider: &["--latency", "fixed:20s"],
            users,
        });
        let runs =
            alternate(passes, &setups, |setup| measure(programs, &databases, setup, &client))?;
        for (setup, runs) in setups.iter().zip(&runs) {
            table.row(row(setup, runs));
        }
        let [ours, peers] = [0, 1].map(|side| median(&per_ticket(&setups[side], &runs[side])));
        table.note(format!(
            "{}: per call at the provider FastAPI takes {:.1} times as much as waitscope tickets.",
            database.name(),
            peers / ours
        ));
        all.extend(runs.into_iter().flatten());
    }
    table.note(noise_note(all.iter().map(|run| &run.run)));
    Ok(vec![table])
}

fn per_ticket(setup: &Setup, runs: &[TicketRun]) -> Vec<f64> {
    figures(runs, |run| (run.run.peak_mib - run.run.idle_mib) * 1_024.0 / setup.users as f64)
}

fn row(setup: &Setup, runs: &[TicketRun]) -> [String; HEADER.len()] {
    [
        setup.database.name().to_owned(),
        setup.service.name().to_owned(),
        grouped(setup.users as f64, 0),
        grouped(middle(runs, |run| run.most_calls), 0),
        grouped(middle(runs, |run| run.run.idle_mib), 0),
        spread(&figures(runs, |run| run.run.peak_mib), 0),
        spread(&per_ticket(setup, runs), 1),
    ]
}
