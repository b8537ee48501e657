//! `waitscope load`: how fast does a server answer under load?

mod arrivals;
mod fail_if;
mod health;
mod plan;
mod samples;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::builder::{OsStringValueParser, TypedValueParser};
use waitscope_load::engine::{self, Cancel, Progress as Position, Sample, Sink};
use waitscope_load::load::{self, Limit, Meaning, Run};

use crate::args::OutputArgs;
use crate::commands::request::RequestArgs;
use crate::exit::{Exit, Failure};
use crate::output::{Output, can_write};
use crate::progress::Progress;
use crate::stop::Stop;
use crate::units;

use arrivals::Stages;
use samples::Samples;

/// The most requests or users that can be asked for.
const MOST: u64 = 1_000_000_000;
const MOST_USERS: u64 = 1_000_000;

/// How fast does a server answer under load, and how long do requests wait?
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = false,
    after_help = "Examples:\n  \
        waitscope load http://127.0.0.1:8000/ -c 50 -n 10000\n  \
        waitscope load http://127.0.0.1:8000/chat --body @chat.json -n 100 -c 100\n  \
        waitscope load http://127.0.0.1:8000/ --rate 100/s -z 30s --fail-if 'p95>500ms'\n  \
        waitscope load --curl @copied.txt -n 200\n\n\
        Exit codes: 0 measured, 1 a --fail-if line was crossed, 2 usage, 3 could not measure, 130 \
        interrupted."
)]
pub(crate) struct Args {
    /// Where the requests go; several URLs are taken in turn
    #[arg(value_name = "URL")]
    urls: Vec<String>,
    /// Further URLs, one per line
    #[arg(long = "urls", value_name = "FILE")]
    urls_file: Option<String>,
    #[command(flatten)]
    amount: AmountArgs,
    #[command(flatten)]
    closed: ClosedArgs,
    #[command(flatten)]
    open: OpenArgs,
    #[command(flatten)]
    request: RequestArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    health: health::HealthArgs,
    /// Write one row per request to FILE, which ends in .csv or .jsonl
    #[arg(long, value_name = "FILE", help_heading = "Output",
          value_parser = OsStringValueParser::new().try_map(samples::path))]
    samples: Option<PathBuf>,
    /// Exit 1 when this holds: 'p95>500ms', 'errors>1%', 'rate<100/s', 'client-limited';
    /// repeatable
    #[arg(long, value_name = "LINE", value_parser = fail_if::parse, help_heading = "Output",
          allow_hyphen_values = true)]
    fail_if: Vec<Limit>,
    #[command(flatten)]
    output: OutputArgs,
}

/// When it ends.
#[derive(Debug, clap::Args)]
struct AmountArgs {
    /// Requests in all; the last answers are waited for [default: 200, without -z]
    #[arg(short = 'n', long, value_name = "N", allow_hyphen_values = true,
          value_parser = units::count(MOST))]
    requests: Option<u64>,
    /// How long requests are started [default for a --rate without -n: 10s]
    #[arg(short = 'z', long, value_name = "DURATION", allow_hyphen_values = true,
          value_parser = units::positive_duration)]
    duration: Option<Duration>,
    /// How long the answers that are still out after -z are waited for
    #[arg(long, value_name = "DURATION", default_value = "0s", allow_hyphen_values = true,
          value_parser = units::duration)]
    drain: Duration,
    /// What is left out as the start-up: off, the requests of the first 2s, or the first one of
    /// each user (auto: when each user sends ten or more)
    #[arg(long, value_name = "auto|DURATION|off", default_value = "off", value_parser = warmup,
          allow_hyphen_values = true)]
    warmup: Warmup,
}

/// A closed loop.
#[derive(Debug, clap::Args)]
struct ClosedArgs {
    /// Users, each with one request at a time; as many as -n sends all at once [default: 10, or
    /// -n when that is less]
    #[arg(short, long, value_name = "N", conflicts_with = "schedule", allow_hyphen_values = true,
          value_parser = units::count(MOST_USERS), help_heading = "Closed loop")]
    concurrency: Option<u64>,
    /// Each user starts one request per DURATION, or as soon as it has its answer if that is later
    #[arg(long, value_name = "DURATION", conflicts_with = "schedule", allow_hyphen_values = true,
          value_parser = units::positive_duration, help_heading = "Closed loop")]
    pace: Option<Duration>,
}

/// An open loop.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Open loop (requests come whether or not others were answered)")]
struct OpenArgs {
    /// Requests per time, such as 100/s or 6000/min
    #[arg(long, value_name = "RATE", group = "schedule", allow_hyphen_values = true,
          value_parser = arrivals::rate)]
    rate: Option<f64>,
    /// Rates over time, such as 10/s:30s,100/s:60s; each goes in a straight line to the next
    #[arg(long, value_name = "RATE:DURATION,...", group = "schedule", allow_hyphen_values = true,
          value_parser = arrivals::stages)]
    stages: Option<Stages>,
    /// Starts as they stand in FILE: one number of seconds per line, counted from the first
    #[arg(long, value_name = "FILE", group = "schedule")]
    arrivals_file: Option<String>,
    /// How many times as fast the file is replayed
    #[arg(long, value_name = "FACTOR", requires = "arrivals_file", default_value = "1",
          allow_hyphen_values = true, value_parser = arrivals::speed)]
    replay_speed: f64,
    /// At equal distances, or at random as independent visitors come
    #[arg(
        long,
        value_name = "constant|poisson",
        conflicts_with = "arrivals_file",
        requires = "schedule"
    )]
    arrivals: Option<Arrivals>,
    /// The most requests in flight; more wait, and are counted
    #[arg(long, value_name = "N", requires = "schedule", allow_hyphen_values = true,
          value_parser = units::count(MOST_USERS))]
    max_in_flight: Option<u64>,
}

/// How requests get to the server.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Connections")]
struct ConnectionArgs {
    /// Basic authentication (or `WAITSCOPE_AUTH` in the environment)
    #[arg(long, value_name = "USER:PASSWORD", conflicts_with = "bearer")]
    auth: Option<String>,
    /// Bearer authentication (or `WAITSCOPE_BEARER` in the environment)
    #[arg(long, value_name = "TOKEN")]
    bearer: Option<String>,
    /// How long one request may take, its connection included
    #[arg(long, value_name = "DURATION", default_value = "120s", allow_hyphen_values = true,
          value_parser = units::positive_duration)]
    timeout: Duration,
    /// A new connection for each request
    #[arg(long)]
    no_keepalive: bool,
    /// Connect to this socket in the file system instead of the URL's host
    #[arg(long, value_name = "PATH")]
    unix_socket: Option<PathBuf>,
    /// Threads of the load generator [default: half of the processors]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = units::count(1024))]
    threads: Option<u64>,
    /// Decides the order of bodies, random placeholders and arrivals
    #[arg(long, default_value_t = 21)]
    seed: u64,
}

/// How the requests of an open loop are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Arrivals {
    Constant,
    Poisson,
}

/// What is left out as the start-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Warmup {
    Auto,
    Until(Duration),
    Off,
}

fn warmup(text: &str) -> Result<Warmup, String> {
    match text {
        "auto" => Ok(Warmup::Auto),
        "off" => Ok(Warmup::Off),
        _ => units::positive_duration(text)
            .map(Warmup::Until)
            .map_err(|error| format!("auto, off, or a duration: {error}")),
    }
}

/// Measures, prints, writes.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let output = Output::open(&args.output)?;
    if let Some(path) = &args.samples {
        can_write(path)?;
    }
    let plan = plan::of(args)?;
    let health = plan.health.as_ref().map(health::calm).transpose()?;
    let samples = args.samples.as_deref().map(Samples::create).transpose()?;
    let stop = Stop::on_signals(130).map_err(Failure::cannot_measure)?;
    let started_at = crate::output::now();
    let mut watch = Watch {
        stop,
        cancel: Cancel::new(),
        progress: progress(&plan, args.output.quiet),
        in_seconds: plan.config.stop.requests.is_none(),
        samples,
    };
    let cancel = watch.cancel.clone();
    let cpu_before = waitscope_process::own_cpu_seconds();
    let stop = watch.stop.clone();
    let mut load = |begin| engine::run_since(begin, &plan.config, &mut watch, &cancel);
    let measured = match health {
        None => load(Instant::now()).map(|measured| (measured, None)),
        Some(health) => health.beside(&stop, load),
    };
    watch.progress.finish();
    let (measured, health) = measured.map_err(Failure::cannot_measure)?;
    let run = Run {
        measured: &measured,
        client_cpu_seconds: waitscope_process::own_cpu_seconds() - cpu_before,
        client_peak_bytes: waitscope_process::own_peak_memory_bytes(),
        health: health.as_ref(),
    };
    if measured.stopped && measured.tally.requests() == 0 {
        return Err(Failure::Interrupted);
    }
    let tool = env!("CARGO_PKG_VERSION");
    let (mut record, meaning) = load::record(plan.inputs, &run, &args.fail_if, tool, started_at);
    record.machine = Some(crate::output::machine());
    output.deliver(&record)?;
    watch.samples.map_or(Ok(()), Samples::finish)?;
    Ok(exit(record.interrupted, meaning, args.output.exit_zero))
}

fn exit(interrupted: bool, meaning: Meaning, exit_zero: bool) -> Exit {
    let found = if exit_zero { Exit::Clean } else { Exit::Found };
    let measured = match meaning {
        Meaning::Fine => Exit::Clean,
        Meaning::Crossed => found,
        Meaning::CannotTell | Meaning::NotMeasured => Exit::CannotMeasure,
    };
    if interrupted { Exit::Interrupted } else { measured }
}

/// Looks on while a run goes on.
struct Watch {
    stop: Stop,
    cancel: Cancel,
    progress: Progress,
    in_seconds: bool,
    samples: Option<Samples>,
}

fn progress(plan: &plan::Plan, quiet: bool) -> Progress {
    let stop = plan.config.stop;
    match (stop.requests, stop.after) {
        (Some(requests), _) => Progress::requests(quiet, "", requests),
        (None, after) => Progress::seconds(quiet, "", after.unwrap_or_default().as_secs()),
    }
}

impl Sink for Watch {
    fn wants_samples(&self) -> bool {
        self.samples.is_some()
    }

    fn sample(&mut self, sample: &Sample) {
        if let Some(samples) = &mut self.samples {
            samples.add(sample);
        }
    }

    fn tick(&mut self, position: Position) {
        if self.stop.token.is_cancelled() {
            self.cancel.stop();
        }
        self.progress.at(if self.in_seconds { position.elapsed.as_secs() } else { position.ended });
        let rate = position.ended as f64 / position.elapsed.as_secs_f64().max(0.001);
        let in_flight = position.started.saturating_sub(position.ended);
        let failed = position.failed;
        self.progress.note(&format!("{in_flight} in flight, {rate:.0}/s, {failed} failed"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_says_what_was_found() {
        let cases = [
            (false, Meaning::Fine, false, Exit::Clean),
            (false, Meaning::Crossed, false, Exit::Found),
            (false, Meaning::Crossed, true, Exit::Clean),
            (false, Meaning::CannotTell, true, Exit::CannotMeasure),
            (false, Meaning::NotMeasured, false, Exit::CannotMeasure),
            (true, Meaning::NotMeasured, false, Exit::Interrupted),
        ];
        for (interrupted, meaning, exit_zero, expected) in cases {
            assert_eq!(exit(interrupted, meaning, exit_zero), expected, "{meaning:?}");
        }
    }

    #[test]
    fn warmups_are_a_word_or_a_duration() {
        assert_eq!(warmup("auto"), Ok(Warmup::Auto));
        assert_eq!(warmup("off"), Ok(Warmup::Off));
        assert_eq!(warmup("2s"), Ok(Warmup::Until(Duration::from_secs(2))));
        assert!(warmup("on").unwrap_err().contains("auto, off, or a duration"));
    }
}
