//! `waitscope demo`: the main job on servers of our own, once per intake mode.

mod expect;
mod servers;
mod steady;

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};
use waitscope_load::stall::{Config, MaxHealth, Meaning, ProbeMode};
use waitscope_load::{RequestSpec, Target};
use waitscope_record::{Body, DemoInputs, DemoSummary, ModeRow, Record, StallSummary};

use self::servers::{Provider, Tickets};
use super::stall;
use crate::args::OutputArgs;
use crate::console;
use crate::exit::{Exit, Failure};
use crate::output::{self, Output};
use crate::progress::Progress;
use crate::stop::Stop;

/// The intake modes, in the order in which they are shown: the mistake comes last.
const MODES: [&str; 3] = ["async", "thread", "blocking"];

/// Eight made-up tickets, sent four at a time.
const TICKETS: &str = include_str!("tickets.jsonl");
const CONCURRENCY: u64 = 4;

/// See what one waiting call does to a service, in half a minute
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Starts a simulated AI provider and a ticket service on free ports of this \
    machine, sends 8 tickets 4 at a time in each of three modes, and asks /health all the while.\n\
    \nExamples:\n  waitscope demo\n  waitscope demo --json --output demo.json\n\n\
    Exit codes: 0 the shapes are as expected, 1 they are not, 2 usage, 3 could not measure, 130 \
    interrupted."
)]
pub(crate) struct Args {
    /// scheduled sends each probe on its time; sequential waits for the one before, which hides
    /// most of a stall
    #[arg(long, value_name = "scheduled|sequential", default_value = "scheduled")]
    probe: ProbeMode,
    /// Seed of the simulated provider's latencies
    #[arg(long, default_value_t = 21)]
    seed: u64,
    /// Adds 8 users who ask again and again for 40 s in each mode: two minutes more
    #[arg(long)]
    steady: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// What was measured so far.
#[derive(Default)]
struct SoFar {
    modes: Vec<ModeRow>,
    runs: Vec<Record>,
}

/// Measures the three modes, prints each as soon as it is known, and closes with a table. Whatever
/// goes wrong on the way, the modes that were measured are shown and written.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let output = Output::open(&args.output)?;
    let stop = Stop::on_signals(130).map_err(Failure::cannot_measure)?;
    let started_at = output::now();
    let provider = Provider::start(args.seed)?;
    let mut so_far = SoFar::default();
    let failed = MODES.iter().find_map(|mode| {
        if stop.token.is_cancelled() {
            return Some(Failure::Interrupted);
        }
        one_mode(args, mode, &provider, &stop, &output, &mut so_far).err()
    });
    match failed {
        Some(failure) if so_far.runs.is_empty() => return Err(failure),
        _ => {}
    }
    let record = record(args, started_at, so_far, &stop);
    let text = waitscope_report::demo_closing_text(&record, output::style());
    output.deliver_as(&record, Some(&text))?;
    match failed {
        Some(Failure::Interrupted) | None => Ok(exit(&record, args.output.exit_zero)),
        Some(failure) => Err(failure),
    }
}

fn one_mode(
    args: &Args,
    mode: &str,
    provider: &Provider,
    stop: &Stop,
    output: &Output,
    so_far: &mut SoFar,
) -> Result<(), Failure> {
    provider.reset()?;
    let tickets = Tickets::start(mode, provider.url())?;
    let config = config(args, tickets.url())?;
    let progress = Progress::requests(args.output.quiet, mode, config.requests);
    let measured = stall::measure(&config, &progress, stop);
    progress.finish();
    let (mut record, meaning) = measured?;
    if meaning == Meaning::NotMeasured && !record.interrupted {
        return Err(Failure::cannot_measure(format!(
            "the ticket service accepted no ticket in {mode} mode; it said: {}",
            tickets.said()
        )));
    }
    record.machine = None;
    record.name = Some(mode.to_owned());
    if output.is_text() {
        // The closing text meets the same trouble, and there it is reported.
        let _ = console::print(&waitscope_report::demo_run_text(&record, output::style()));
    }
    let cut = record.interrupted;
    if let Body::Stall { summary, .. } = &record.body {
        so_far.modes.push(row(mode, summary, provider.max_in_flight()?));
        so_far.runs.push(record);
    }
    if args.steady && !cut {
        let progress = Progress::seconds(args.output.quiet, mode, steady::seconds());
        let steady = steady::measure(&config, &progress, stop);
        progress.finish();
        if let Some(row) = so_far.modes.last_mut() {
            row.steady = Some(steady?);
        }
    }
    Ok(())
}

fn config(args: &Args, url: &str) -> Result<Config, Failure> {
    let target = Target::parse(&format!("{url}/v1/tickets")).map_err(Failure::cannot_measure)?;
    let health = target.join("/health").map_err(Failure::cannot_measure)?;
    let bodies: Vec<Bytes> =
        TICKETS.lines().map(|line| Bytes::from_static(line.as_bytes())).collect();
    Ok(Config {
        health: RequestSpec::get(health),
        requests: bodies.len() as u64,
        request: RequestSpec { target, method: Method::POST, headers: HeaderMap::new(), bodies },
        concurrency: CONCURRENCY,
        every: Duration::from_millis(100),
        probe: args.probe,
        max_health: MaxHealth::Auto,
        // Longer than the slowest ticket, and few enough probes for a limit of 1,024 files.
        timeout: Duration::from_mins(1),
        wait: Duration::ZERO,
    })
}

fn row(mode: &str, summary: &StallSummary, provider_max_in_flight: u64) -> ModeRow {
    let created = summary.statuses.get("201").copied().unwrap_or(0);
    ModeRow {
        mode: mode.to_owned(),
        wall_s: summary.wall_s,
        health_median_ms: summary.health_median_ms,
        health_slowest_ms: summary.health_slowest_ms,
        tickets_per_s: (created as f64 / summary.wall_s.max(1e-9) * 1e3).round() / 1e3,
        provider_max_in_flight,
        steady: None,
    }
}

fn record(args: &Args, started_at: String, so_far: SoFar, stop: &Stop) -> Record {
    let SoFar { modes, runs } = so_far;
    let inputs = DemoInputs {
        requests: TICKETS.lines().count() as u64,
        concurrency: CONCURRENCY,
        probe: args.probe.to_string(),
        seed: args.seed,
    };
    let surprises = expect::surprises(args.probe, &modes, &runs);
    let as_expected = surprises.is_empty() && modes.len() == MODES.len();
    let summary = DemoSummary { modes, as_expected, surprises };
    let tool = env!("CARGO_PKG_VERSION");
    let mut record = Record::new(Body::Demo { inputs, summary }, tool, started_at);
    record.machine = Some(output::machine());
    record.interrupted = stop.token.is_cancelled();
    record.runs = runs;
    record
}

fn exit(record: &Record, exit_zero: bool) -> Exit {
    match &record.body {
        _ if record.interrupted => Exit::Interrupted,
        _ if record.runs.iter().any(cannot_tell) => Exit::CannotMeasure,
        Body::Demo { summary, .. } if !summary.as_expected && !exit_zero => Exit::Found,
        _ => Exit::Clean,
    }
}

fn cannot_tell(run: &Record) -> bool {
    run.verdict.as_ref().is_some_and(|verdict| verdict.name == Meaning::CannotTell.name())
}
