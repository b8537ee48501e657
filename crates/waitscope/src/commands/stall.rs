//! `waitscope stall`: does the server still answer while it waits?

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use waitscope_load::stall::{
    self, Config, Event, MAX_REQUESTS, MIN_EVERY, MaxHealth, Meaning, ProbeMode, StallError,
};
use waitscope_load::{RequestSpec, Target};
use waitscope_record::Record;

use crate::args::OutputArgs;
use crate::commands::request::{RequestArgs, header};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::progress::Progress;
use crate::stop::Stop;
use crate::units;

/// Does a running server still answer its health check while it waits?
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = false,
    after_help = "Examples:\n  \
        waitscope stall http://127.0.0.1:8000/chat --body '{\"question\": \"hello\"}'\n  \
        waitscope stall http://127.0.0.1:8400/v1/tickets --bodies tickets.jsonl -n 8 -c 4\n  \
        waitscope stall --curl @copied.txt\n\n\
        Exit codes: 0 health answered in time, 1 it was slow or failed, 2 usage, 3 could not \
        measure, 130 interrupted.\nNo server at hand? `waitscope demo` brings its own."
)]
pub(crate) struct Args {
    /// Where the requests go, such as `http://127.0.0.1:8000/chat`
    url: Option<String>,
    /// Requests in all
    #[arg(short = 'n', long, default_value_t = 8, allow_hyphen_values = true,
          value_parser = units::count(MAX_REQUESTS))]
    requests: u64,
    /// Requests in flight at once
    #[arg(short, long, default_value_t = 4, allow_hyphen_values = true,
          value_parser = units::count(MAX_REQUESTS))]
    concurrency: u64,
    #[command(flatten)]
    request: RequestArgs,
    /// The health endpoint: a path on the same server, or a URL
    #[arg(long, value_name = "PATH|URL", default_value = "/health")]
    health: String,
    /// A header for the health endpoint, which gets none of the others; repeatable
    #[arg(long, value_name = "NAME:VALUE", value_parser = header)]
    health_header: Vec<(HeaderName, HeaderValue)>,
    /// Time between the intended starts of two health probes
    #[arg(long, value_name = "DURATION", default_value = "100ms", value_parser = every,
          allow_hyphen_values = true)]
    every: Duration,
    /// The slowest health answer that is fine; auto is the larger of 250ms and ten times calm
    #[arg(long, value_name = "auto|DURATION", default_value = "auto", value_parser = max_health,
          allow_hyphen_values = true)]
    max_health: MaxHealth,
    /// scheduled sends each probe on its time; sequential waits for the one before, which hides
    /// most of a stall
    #[arg(long, value_name = "scheduled|sequential", default_value = "scheduled")]
    probe: ProbeMode,
    /// How long one request or probe may take
    #[arg(long, value_name = "DURATION", default_value = "120s",
          allow_hyphen_values = true, value_parser = units::positive_duration)]
    timeout: Duration,
    /// How long to wait for a server that takes no connections yet
    #[arg(long, value_name = "DURATION", default_value = "0s", allow_hyphen_values = true,
          value_parser = units::duration)]
    wait: Duration,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn every(text: &str) -> Result<Duration, String> {
    let every = units::positive_duration(text)?;
    if every < MIN_EVERY { Err(format!("must be at least {MIN_EVERY:?}")) } else { Ok(every) }
}

pub(super) fn max_health(text: &str) -> Result<MaxHealth, String> {
    if text == "auto" {
        Ok(MaxHealth::Auto)
    } else {
        units::positive_duration(text).map(MaxHealth::At)
    }
}

/// Measures, prints, writes.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let config = config(args)?;
    let output = Output::open(&args.output)?;
    let stop = Stop::on_signals(130).map_err(Failure::cannot_measure)?;
    let progress = Progress::requests(args.output.quiet, "", config.requests);
    let (record, meaning) = measure(&config, &progress, &stop)?;
    progress.finish();
    output.deliver(&record)?;
    Ok(exit(record.interrupted, meaning, args.output.exit_zero))
}

/// Runs one measurement and makes its record. Shared with `demo`.
pub(super) fn measure(
    config: &Config,
    progress: &Progress,
    stop: &Stop,
) -> Result<(Record, Meaning), Failure> {
    let started_at = crate::output::now();
    let bar = progress.clone();
    let slowest_us = AtomicU64::new(0);
    let on_event = move |event: Event<'_>| match event {
        Event::Calm(median) => bar.note(&format!("health calm: {median:.1?}")),
        Event::Request(_) => bar.step(),
        Event::Probe(probe) => {
            let latency_us = u64::try_from(probe.latency().as_micros()).unwrap_or(u64::MAX);
            let before_us = slowest_us.fetch_max(latency_us, Ordering::Relaxed);
            let slowest = Duration::from_micros(latency_us.max(before_us));
            bar.note(&format!("slowest health answer {slowest:.1?}"));
        }
    };
    let on_event: stall::OnEvent = Arc::new(on_event);
    let measured = stall::run(config, &on_event, &stop.token).map_err(|error| {
        progress.finish();
        match error {
            StallError::Interrupted => Failure::Interrupted,
            StallError::Request(_) => Failure::usage(error),
            _ => Failure::cannot_measure(error),
        }
    })?;
    let tool = env!("CARGO_PKG_VERSION");
    let (mut record, meaning) = stall::record(config, &measured, tool, started_at);
    record.machine = Some(crate::output::machine());
    Ok((record, meaning))
}

fn exit(interrupted: bool, meaning: Meaning, exit_zero: bool) -> Exit {
    let found = if exit_zero { Exit::Clean } else { Exit::Found };
    let measured = match meaning {
        Meaning::Responsive => Exit::Clean,
        Meaning::Stalled | Meaning::HealthFailed => found,
        Meaning::NotMeasured | Meaning::CannotTell => Exit::CannotMeasure,
    };
    if interrupted { Exit::Interrupted } else { measured }
}

fn config(args: &Args) -> Result<Config, Failure> {
    let pasted = args.request.pasted(args.output.quiet)?;
    if pasted.unix_socket.is_some() {
        return Err(Failure::usage("--curl: --unix-socket is for `waitscope load` only"));
    }
    let urls = pasted.or_own_url(args.url.iter().cloned().collect())?;
    let [url] = urls.as_slice() else {
        return Err(Failure::usage(
            "stall needs the URL of a running server, such as http://127.0.0.1:8000/chat; with no \
             server at hand, `waitscope demo` brings its own",
        ));
    };
    let target = Target::parse(url).map_err(Failure::usage)?;
    let health =
        target.join(&args.health).map_err(|error| Failure::usage(format!("--health: {error}")))?;
    let mut health = RequestSpec::get(health);
    health.headers.extend(args.health_header.iter().cloned());
    let request: RequestSpec = args.request.spec(target, &pasted)?;
    Ok(Config {
        request,
        health,
        requests: args.requests,
        concurrency: args.concurrency,
        every: args.every,
        probe: args.probe,
        max_health: args.max_health,
        timeout: args.timeout,
        wait: args.wait,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_says_what_was_found() {
        let cases = [
            (false, Meaning::Responsive, false, Exit::Clean),
            (false, Meaning::Stalled, false, Exit::Found),
            (false, Meaning::HealthFailed, false, Exit::Found),
            (false, Meaning::Stalled, true, Exit::Clean),
            (false, Meaning::NotMeasured, true, Exit::CannotMeasure),
            (false, Meaning::CannotTell, false, Exit::CannotMeasure),
            (true, Meaning::Stalled, true, Exit::Interrupted),
        ];
        for (interrupted, meaning, exit_zero, expected) in cases {
            assert_eq!(exit(interrupted, meaning, exit_zero), expected, "{meaning:?}");
        }
    }
}
