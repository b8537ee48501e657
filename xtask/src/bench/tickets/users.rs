//! How many tickets a second each mode of both services takes, with the provider's recorded
//! latencies.

use super::Scenario;
use super::databases::{Database, Databases};
use super::measure::{Setup, TicketRun, client, measure};
use super::services::Service;
use crate::bench::client::ClientArgs;
use crate::bench::measure::noise_note;
use crate::bench::processes::Programs;
use crate::bench::table::{Table, grouped};

pub(super) const SCENARIO: Scenario = Scenario { name: "users", run };

const MODES: [&str; 2] = ["async", "thread"];
const USERS: [usize; 3] = [40, 100, 200];
/// In `async`, beyond what both are compared with.
const MORE: [(Service, usize); 2] = [(Service::PeerUnbounded, 200), (Service::Ours, 1_000)];
const HEADER: [&str; 9] = [
    "mode",
    "users",
    "service",
    "tickets/s",
    "p50 s",
    "p95 s",
    "failed",
    "most calls at once",
    "service CPU",
];

/// Once, whatever the passes: what decides is waits, not work.
fn run(programs: &Programs, _passes: u32) -> anyhow::Result<Vec<Table>> {
    let databases = Databases::start()?;
    let client = ClientArgs {
        warm_up_seconds: 8.0,
        seconds: 20.0,
        spread_seconds: 2.0,
        patience_seconds: 60.0,
        ..client()
    };
    let title = "Tickets a second by users in a closed loop, with recorded latencies, on SQLite";
    let mut table = Table::new(title, &HEADER);
    let mut all = Vec::new();
    for mode in MODES {
        for users in USERS {
            let [ours, peers] = Service::BOTH.map(|service| {
                measure(programs, &databases, &setup(service, mode, users), &client)
            });
            let (ours, peers) = (ours?, peers?);
            table.row(row(mode, users, Service::Ours.name(), &ours));
            table.row(row(mode, users, Service::Peer.name(), &peers));
            table.row(ratio(mode, users, &ours, &peers));
            all.extend([ours, peers]);
        }
    }
    for (service, users) in MORE {
        let run = measure(programs, &databases, &setup(service, MODES[0], users), &client)?;
        table.row(row(MODES[0], users, service.name(), &run));
        all.push(run);
    }
    table.note(noise_note(all.iter().map(|run| &run.run)));
    Ok(vec![table])
}

fn setup(service: Service, mode: &'static str, users: usize) -> Setup {
    Setup { service, mode, database: Database::Sqlite, provider: &[], users }
}

fn row(mode: &str, users: usize, name: &str, run: &TicketRun) -> [String; HEADER.len()] {
    let seen = &run.run.seen;
    [
        mode.to_owned(),
        grouped(users as f64, 0),
        name.to_owned(),
        grouped(seen.rate_per_second, 1),
        grouped(seen.times.whole.p50_ms / 1_000.0, 2),
        grouped(seen.times.whole.p95_ms / 1_000.0, 2),
        grouped(run.failed(), 0),
        grouped(run.most_calls, 0),
        format!("{:.0} %", run.run.cpu_share() * 100.0),
    ]
}

/// How many times the peer's figures ours are, and the other way round where less is better.
fn ratio(mode: &str, users: usize, ours: &TicketRun, peers: &TicketRun) -> [String; HEADER.len()] {
    let (our, their) = (&ours.run.seen, &peers.run.seen);
    [
        mode.to_owned(),
        grouped(users as f64, 0),
        "waitscope : FastAPI".to_owned(),
        format!("{:.1} x", our.rate_per_second / their.rate_per_second),
        format!("{:.1} x", our.times.whole.p50_ms / their.times.whole.p50_ms),
        format!("{:.1} x", our.times.whole.p95_ms / their.times.whole.p95_ms),
        String::new(),
        String::new(),
        format!("{:.2} x", ours.run.cpu_share() / peers.run.cpu_share()),
    ]
}
