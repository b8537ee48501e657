//! `--health`: the health probe of `stall`, beside a load.

use std::io;
use std::time::{Duration, Instant};

use http::{HeaderName, HeaderValue};
use waitscope_load::engine::{self, Cancel, Endpoint, Measured};
use waitscope_load::load::{Health, Limit};
use waitscope_load::probe::{self, Beside, MaxHealth, ProbeMode};
use waitscope_load::{RequestSpec, Target};
use waitscope_stats::latencies::Latencies;

use crate::commands::request::header;
use crate::commands::stall::{every, max_health};
use crate::exit::Failure;
use crate::stop::Stop;

/// A health probe beside the load.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Health probe beside the load")]
pub(super) struct HealthArgs {
    /// The health endpoint: a path on the first URL's server, or a URL
    #[arg(long, value_name = "PATH|URL")]
    health: Option<String>,
    /// A header for the health endpoint, which gets none of the others; repeatable
    #[arg(long, value_name = "NAME:VALUE", value_parser = header, requires = "health")]
    health_header: Vec<(HeaderName, HeaderValue)>,
    /// Time between the intended starts of two health probes
    #[arg(long, value_name = "DURATION", default_value = "100ms", value_parser = every,
          requires = "health", allow_hyphen_values = true)]
    every: Duration,
    /// The slowest health answer that is fine; auto is the larger of 250ms and ten times calm
    #[arg(long, value_name = "auto|DURATION", default_value = "auto", value_parser = max_health,
          requires = "health", allow_hyphen_values = true)]
    max_health: MaxHealth,
}

/// What is probed.
#[derive(Debug)]
pub(super) struct Plan {
    url: String,
    every: Duration,
    max_health: MaxHealth,
    config: engine::Config,
}

impl HealthArgs {
    /// That no line looks at probes which nobody sends.
    pub(super) fn check(&self, lines: &[Limit]) -> Result<(), Failure> {
        let line = lines.iter().find(|line| self.health.is_none() && line.is_about_health());
        line.map_or(Ok(()), |line| {
            let text = &line.text;
            Err(Failure::usage(format!(
                "--fail-if '{text}' is about health probes: say which endpoint with --health PATH"
            )))
        })
    }

    /// The probe that the flags describe, if they do; `lookup` finds a target's server.
    pub(super) fn plan(
        &self,
        first: &Target,
        timeout: Duration,
        lookup: impl Fn(&Target) -> Result<Endpoint, Failure>,
    ) -> Result<Option<Plan>, Failure> {
        let Some(health) = &self.health else { return Ok(None) };
        let target =
            first.join(health).map_err(|error| Failure::usage(format!("--health: {error}")))?;
        let mut spec = RequestSpec::get(target.clone());
        spec.headers.extend(self.health_header.iter().cloned());
        let templates = spec.templates(0, false).map_err(Failure::usage)?;
        let pacing = (ProbeMode::Scheduled, self.every);
        let config = probe::engine_config(pacing, timeout, lookup(&target)?, templates);
        let (every, max_health) = (self.every, self.max_health);
        Ok(Some(Plan { url: target.display(), every, max_health, config }))
    }
}

/// A probe whose calm baseline is known.
#[derive(Debug)]
pub(super) struct Ready<'a> {
    plan: &'a Plan,
    calm: Latencies,
}

/// Takes the calm baseline, which needs health to be good before the load.
pub(super) fn calm(plan: &Plan) -> Result<Ready<'_>, Failure> {
    let calm = probe::calm(plan.url.clone(), &plan.config).map_err(Failure::cannot_measure)?;
    Ok(Ready { plan, calm: calm.0 })
}

impl Ready<'_> {
    /// Probes for as long as the load takes. When that had an end of its own, the probes that are
    /// still out then are given up as its requests are.
    pub(super) fn beside(
        self,
        stop: &Stop,
        load: impl FnOnce(Instant) -> io::Result<Measured>,
    ) -> io::Result<(Measured, Option<Health>)> {
        let limit = self.plan.max_health.limit(self.calm.median().unwrap_or_default());
        let (begin, load_done, token) = (Instant::now(), Cancel::new(), stop.token.clone());
        let sink = Beside::new(limit, |_| (), move || token.is_cancelled());
        let (measured, probes) = std::thread::scope(|scope| {
            let work = || probe::beside(&self.plan.config, begin, sink, &load_done);
            let probing = std::thread::Builder::new().name("probe".into());
            let probing = probing.spawn_scoped(scope, work)?;
            let measured = load(begin);
            let all_ended = measured.as_ref().is_ok_and(|measured| measured.tally.unfinished == 0);
            if all_ended {
                load_done.finish();
            } else {
                load_done.stop();
            }
            let probes = probing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok::<_, io::Error>((measured?, probes?))
        })?;
        let (url, every) = (self.plan.url.clone(), self.plan.every);
        Ok((measured, Some(Health { url, every, limit, calm: self.calm, probes })))
    }
}
