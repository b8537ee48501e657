//! Does the server still answer while it waits? Requests in a closed loop, and beside them a
//! health probe on its intended times.

mod advice;
mod figures;
mod findings;
mod requests;
mod verdict;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use waitscope_process::{CpuMeter, listeners, own_cpu_seconds, with_descendants};
use waitscope_stats::latencies::Latencies;

use crate::engine::{self, Cancel, Endpoint};
use crate::error::{ErrorClass, RequestError};
use crate::probe::{self, Beside, HealthError, Probes};
use crate::request::RequestSpec;
use crate::server_timing::Metric;
use crate::target::Target;
use crate::template::TemplateError;

pub use crate::probe::{MIN_EVERY, MaxHealth, ProbeMode, ProbeSample};
pub use figures::record;
pub use verdict::Meaning;

/// The most requests of one run: each one is kept, since each one is a bar of the timeline.
pub const MAX_REQUESTS: u64 = 10_000;

/// What to measure.
#[derive(Debug, Clone)]
pub struct Config {
    /// What to send.
    pub request: RequestSpec,
    /// Where the health probes go, with which headers.
    pub health: RequestSpec,
    /// How many requests in all, at most [`MAX_REQUESTS`].
    pub requests: u64,
    /// How many of them in flight at once.
    pub concurrency: u64,
    /// The time between the intended starts of two probes, at least [`MIN_EVERY`].
    pub every: Duration,
    /// How probes are paced.
    pub probe: ProbeMode,
    /// The slowest health answer that counts as healthy.
    pub max_health: MaxHealth,
    /// How long a request or a probe may take.
    pub timeout: Duration,
    /// How long to wait for a server that takes no connections yet.
    pub wait: Duration,
}

/// Why nothing could be measured. The message says how to mend it.
#[derive(Debug, thiserror::Error)]
pub enum StallError {
    /// No connection to the server.
    #[error("cannot reach {url}: {error}; {hint}")]
    Unreachable {
        /// The server.
        url: String,
        /// What went wrong.
        error: RequestError,
        /// What to try.
        hint: &'static str,
    },
    /// There is no calm baseline to compare with.
    #[error(transparent)]
    Health(#[from] HealthError),
    /// More connections could be open at once than this process may hold.
    #[error(
        "up to {needed} connections could be open at once ({probes} probes within the timeout), \
         but this process may hold only {limit} files: use a longer --every, a shorter --timeout, \
         or raise `ulimit -n`"
    )]
    TooFewFiles {
        /// Connections that could be open.
        needed: u64,
        /// How many of them are probes.
        probes: u64,
        /// What the process may hold.
        limit: u64,
    },
    /// The request cannot be written.
    #[error("the request makes no valid HTTP: {0}")]
    Request(#[from] TemplateError),
    /// The system refuses a thread or a timer.
    #[error("cannot start measuring: {0}")]
    System(#[from] std::io::Error),
    /// Stopped before the first request was sent.
    #[error("interrupted before the first request was sent")]
    Interrupted,
}

/// What happens during a run, for a progress display. Called from several threads.
#[derive(Debug)]
pub enum Event<'a> {
    /// The calm baseline is known: its median.
    Calm(Duration),
    /// A request ended.
    Request(&'a RequestSample),
    /// A probe ended.
    Probe(&'a ProbeSample),
}

/// How one request or probe ended.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// With a complete answer.
    Answered {
        /// Its status.
        status: u16,
        /// For another status than 2xx: what it says, in one short line.
        detail: String,
    },
    /// Without one.
    Failed(RequestError),
    /// It was still out when the run was interrupted.
    Unfinished,
}

/// One request; times since the start of the run.
#[derive(Debug, Clone)]
pub struct RequestSample {
    /// When it was begun.
    pub start: Duration,
    /// When its answer was complete, or when it was given up.
    pub end: Duration,
    /// How it ended.
    pub outcome: Outcome,
    /// What its `Server-Timing` headers say.
    pub parts: Vec<Metric>,
}

/// All that one run measured.
#[derive(Debug)]
pub struct Measurement {
    /// Health probes before the first request.
    pub calm: Latencies,
    /// Whether the health answer is a page.
    pub health_is_page: bool,
    /// The slowest health answer that counts as healthy.
    pub limit: Duration,
    /// The requests, by start.
    pub requests: Vec<RequestSample>,
    /// The health probes.
    pub probes: Probes,
    /// From the first request to the end of the last.
    pub wall: Duration,
    /// Processes that listen where the requests go, as far as they can be seen.
    pub listening_processes: usize,
    /// CPU seconds of these and of what they started, during that time.
    pub server_cpu_seconds: Option<f64>,
    /// CPU seconds of this process during that time and the wait for late probes.
    pub client_cpu_seconds: f64,
    /// Whether the run was stopped.
    pub interrupted: bool,
}

/// Runs the whole measurement: calm baseline, requests with probes beside them, and the wait for
/// probes that are still out. Blocks until it is done or stopped.
///
/// # Errors
/// When nothing can be measured. Once the first request is sent, everything that goes wrong is
/// part of the measurement.
pub fn run(
    config: &Config,
    on_event: &OnEvent,
    stop: &CancellationToken,
) -> Result<Measurement, StallError> {
    enough_files(config)?;
    let Ready { requests, probes, calm, health_is_page } = prepare_until(config, stop)?;
    let calm_median = calm.median().unwrap_or_default();
    on_event(Event::Calm(calm_median));

    let limit = config.max_health.limit(calm_median);
    let addresses = requests.endpoints.iter().flat_map(|endpoint| &endpoint.addresses);
    let listening: BTreeSet<i32> = addresses
        .filter_map(|address| match address {
            engine::Address::Tcp(address) => Some(listeners(*address)),
            engine::Address::Unix(_) => None,
        })
        .flatten()
        .collect();
    let listening: Vec<i32> = listening.into_iter().collect();
    let meter = CpuMeter::start(&with_descendants(&listening));
    let client_cpu_before = own_cpu_seconds();
    let (begin, requests_done) = (Instant::now(), Cancel::new());
    let (requests, probes, server_cpu_seconds) = std::thread::scope(|scope| {
        let probing = {
            let (on_event, requests_done, stop) = (on_event.clone(), &requests_done, stop.clone());
            let on_probe = move |probe: &ProbeSample| on_event(Event::Probe(probe));
            let sink = Beside::new(limit, on_probe, move || stop.is_cancelled());
            let probes = &probes;
            let work = move || probe::beside(probes, begin, sink, requests_done);
            std::thread::Builder::new().name("probe".into()).spawn_scoped(scope, work)?
        };
        let requests = requests::run(&requests, begin, on_event, stop);
        let server_cpu_seconds = meter.and_then(|meter| meter.seconds());
        requests_done.finish();
        let probes = probing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok::<_, std::io::Error>((requests?, probes?, server_cpu_seconds))
    })?;
    Ok(Measurement {
        calm,
        health_is_page,
        limit,
        wall: wall(&requests),
        requests,
        probes,
        listening_processes: listening.len(),
        server_cpu_seconds,
        client_cpu_seconds: own_cpu_seconds() - client_cpu_before,
        interrupted: stop.is_cancelled(),
    })
}

/// Hears what happens.
pub type OnEvent = Arc<dyn Fn(Event<'_>) + Send + Sync>;

/// What a run needs beside its settings.
struct Ready {
    requests: engine::Config,
    probes: engine::Config,
    calm: Latencies,
    health_is_page: bool,
}

/// Prepares on a thread of its own: a name look-up that hangs is not waited for.
fn prepare_until(config: &Config, stop: &CancellationToken) -> Result<Ready, StallError> {
    let (send, receive) = mpsc::channel();
    let config = config.clone();
    std::thread::Builder::new().name("prepare".into()).spawn(move || {
        // Nobody is there any more when the run was stopped.
        let _ = send.send(prepare(&config));
    })?;
    loop {
        match receive.recv_timeout(Duration::from_millis(20)) {
            Ok(ready) => return ready,
            Err(_) if stop.is_cancelled() => return Err(StallError::Interrupted),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(std::io::Error::other("the preparation ended early").into());
            }
        }
    }
}

/// Looks both targets up, connects once, and takes the calm baseline.
fn prepare(config: &Config) -> Result<Ready, StallError> {
    let requests = config.request.templates(0, false)?;
    let health = config.health.templates(0, false)?;
    let endpoint = reach(&config.request.target, config.wait)?;
    let requests = requests::engine_config(config, &endpoint, requests);
    let endpoint = reach(&config.health.target, config.wait)?;
    let pacing = (config.probe, config.every);
    let probes = probe::engine_config(pacing, config.timeout, endpoint, health);
    let (calm, health_is_page) = probe::calm(config.health.target.display(), &probes)?;
    Ok(Ready { requests, probes, calm, health_is_page })
}

/// How long the first connection to a target may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Looks the target up and connects once; tries again for `wait` while nobody listens there.
#[expect(clippy::disallowed_methods, reason = "a plain thread, which may wait")]
fn reach(target: &Target, wait: Duration) -> Result<Endpoint, StallError> {
    let since = Instant::now();
    loop {
        let reached = Endpoint::of(target).and_then(|endpoint| {
            endpoint.reach(CONNECT_TIMEOUT)?;
            Ok(endpoint)
        });
        match reached {
            Ok(endpoint) => return Ok(endpoint),
            Err(RequestError { class: ErrorClass::Refused, .. }) if since.elapsed() < wait => {
                std::thread::sleep(Duration::from_millis(50));
            }
            Err(error) => {
                let (url, hint) = (target.display(), error.class.hint());
                return Err(StallError::Unreachable { url, hint, error });
            }
        }
    }
}

/// Files that this process needs for itself.
const SPARE_FILES: u64 = 64;

fn enough_files(config: &Config) -> Result<(), StallError> {
    let probes = match config.probe {
        ProbeMode::Scheduled => config.timeout.as_millis() / config.every.as_millis().max(1) + 1,
        ProbeMode::Sequential => 1,
    };
    let probes = u64::try_from(probes).unwrap_or(u64::MAX);
    let needed = probes.saturating_add(config.concurrency.min(config.requests));
    match waitscope_process::open_files_limit() {
        Some(limit) if needed.saturating_add(SPARE_FILES) > limit => {
            Err(StallError::TooFewFiles { needed, probes, limit })
        }
        _ => Ok(()),
    }
}

/// From the first start to the last end.
fn wall(requests: &[RequestSample]) -> Duration {
    let first = requests.iter().map(|request| request.start).min().unwrap_or_default();
    let last = requests.iter().map(|request| request.end).max().unwrap_or_default();
    last.saturating_sub(first)
}
