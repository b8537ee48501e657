//! Whether 5,000 tickets in flight take no longer than the provider takes for each of them.

use super::Scenario;
use super::databases::{Database, Databases};
use super::measure::{Setup, TicketRun, client, measure};
use super::services::Service;
use crate::bench::client::ClientArgs;
use crate::bench::measure::{alternate, figures, middle, noise_note};
use crate::bench::processes::Programs;
use crate::bench::table::{Table, grouped, spread};

pub(super) const SCENARIO: Scenario = Scenario { name: "hold", run };

const TICKETS: usize = 5_000;
/// The p95 of tickets may be above the provider's own by this share.
const TARGET: f64 = 0.05;
const HEADER: [&str; 12] = [
    "database",
    "in flight",
    "provider's `--speed`",
    "tickets/s",
    "p50 / p95 s",
    "provider's own p50 / p95 s",
    "p95 above it",
    "failed",
    "most calls at once",
    "service CPU",
    "other core: provider, database, client",
    "memory MiB",
];

/// How long the provider's answers take; with slower ones there is less work a second for as many
/// tickets in flight.
struct Pace {
    speed: &'static str,
    options: &'static [&'static str],
    /// Over how long the first tickets are spread, which is about how long one takes.
    spread_seconds: f64,
    in_flight: usize,
}

const PACES: [Pace; 2] = [
    Pace { speed: "1", options: &[], spread_seconds: 2.0, in_flight: TICKETS },
    Pace { speed: "0.5", options: &["--speed", "0.5"], spread_seconds: 4.0, in_flight: TICKETS },
];

fn run(programs: &Programs, passes: u32) -> anyhow::Result<Vec<Table>> {
    let databases = Databases::start()?;
    let title = format!("{} tickets in flight in `async`", grouped(TICKETS as f64, 0));
    let mut table = Table::new(title, &HEADER);
    let mut all = Vec::new();
    for pace in &PACES {
        let client = ClientArgs {
            spread_seconds: pace.spread_seconds,
            warm_up_seconds: 2.0 * pace.spread_seconds + 2.0,
            seconds: 15.0,
            patience_seconds: 60.0,
            ..client()
        };
        let setups = Database::BOTH.map(|database| Setup {
            service: Service::Ours,
            mode: "async",
            database,
            provider: pace.options,
            users: pace.in_flight,
        });
        let runs =
            alternate(passes, &setups, |setup| measure(programs, &databases, setup, &client))?;
        for (setup, runs) in setups.iter().zip(&runs) {
            table.row(row(setup, pace, runs));
            let above = middle(runs, above);
            let target = format!(
                "p95 within {:.0} % of the provider's own, {}, `--speed {}`",
                TARGET * 100.0,
                setup.database.name(),
                pace.speed
            );
            table.target(&target, above < TARGET && runs.iter().all(|run| run.failed() == 0.0));
        }
        all.extend(runs.into_iter().flatten());
    }
    table.note(noise_note(all.iter().map(|run| &run.run)));
    Ok(vec![table])
}

/// By which share the p95 is above the provider's own.
fn above(run: &TicketRun) -> f64 {
    run.run.seen.times.whole.p95_ms / run.planned.p95_ms - 1.0
}

fn row(setup: &Setup, pace: &Pace, runs: &[TicketRun]) -> [String; HEADER.len()] {
    let seconds = |ms: fn(&TicketRun) -> f64| grouped(middle(runs, ms) / 1_000.0, 2);
    let percent = |share: fn(&TicketRun) -> f64| format!("{:.0} %", middle(runs, share) * 100.0);
    let p50 = seconds(|run| run.run.seen.times.whole.p50_ms);
    let p95 = seconds(|run| run.run.seen.times.whole.p95_ms);
    let (planned_p50, planned_p95) =
        (seconds(|run| run.planned.p50_ms), seconds(|run| run.planned.p95_ms));
    [
        setup.database.name().to_owned(),
        grouped(setup.users as f64, 0),
        pace.speed.to_owned(),
        spread(&figures(runs, |run| run.run.seen.rate_per_second), 0),
        format!("{p50} / {p95}"),
        format!("{planned_p50} / {planned_p95}"),
        format!("{} %", spread(&figures(runs, |run| above(run) * 100.0), 1)),
        grouped(middle(runs, TicketRun::failed), 0),
        grouped(middle(runs, |run| run.most_calls), 0),
        percent(|run| run.run.cpu_share()),
        percent(TicketRun::other_core_share),
        grouped(middle(runs, |run| run.run.peak_mib), 0),
    ]
}
