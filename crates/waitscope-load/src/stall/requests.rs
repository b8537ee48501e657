//! The requests: a closed loop of users, each of whom sends its next request when it has the answer
//! to the last one.

use std::sync::Arc;
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use super::{Config, Event, OnEvent, Outcome, RequestSample};
use crate::engine::{
    self, Cancel, Endpoint, Progress, Sample, Schedule, Sink, Stop, Turns, Warmup,
};
use crate::pacer::Pace;
use crate::server_timing::Metric;
use crate::template::Template;

/// What the engine runs for a [`Config`].
pub(super) fn engine_config(
    config: &Config,
    endpoint: &Endpoint,
    templates: Vec<Template>,
) -> engine::Config {
    let users = config.concurrency.min(config.requests);
    engine::Config {
        endpoints: vec![endpoint.clone()],
        templates,
        turns: Turns::InOrder,
        schedule: Schedule::Closed {
            users: u32::try_from(users).unwrap_or(u32::MAX),
            pace: Pace::AtOnce,
        },
        stop: Stop { requests: Some(config.requests), ..Stop::default() },
        timeout: config.timeout,
        keep_alive: false,
        max_in_flight: None,
        warmup: Warmup::Off,
        threads: 1,
        seed: 0,
        details: true,
    }
}

/// Sends all requests and returns them by start. Ends early when the run is stopped.
///
/// # Errors
/// When the system gives no thread.
pub(super) fn run(
    config: &engine::Config,
    begin: Instant,
    on_event: &OnEvent,
    stop: &CancellationToken,
) -> std::io::Result<Vec<RequestSample>> {
    let cancel = Cancel::new();
    let (on_event, samples) = (Arc::clone(on_event), Vec::new());
    let mut sink = Requests { on_event, samples, stop: stop.clone(), cancel: cancel.clone() };
    engine::run_since(begin, config, &mut sink, &cancel)?;
    sink.samples.sort_by_key(|sample| sample.start);
    Ok(sink.samples)
}

struct Requests {
    on_event: OnEvent,
    samples: Vec<RequestSample>,
    stop: CancellationToken,
    cancel: Cancel,
}

impl Sink for Requests {
    fn wants_samples(&self) -> bool {
        true
    }

    fn sample(&mut self, sample: &Sample) {
        let sample = request_sample(sample);
        (self.on_event)(Event::Request(&sample));
        self.samples.push(sample);
    }

    fn tick(&mut self, _progress: Progress) {
        if self.stop.is_cancelled() {
            self.cancel.stop();
        }
    }
}

/// Keeps of a request what the figures need.
fn request_sample(sample: &Sample) -> RequestSample {
    let details = sample.details.as_deref();
    let outcome = match &sample.outcome {
        engine::Outcome::Answered(status) => Outcome::Answered {
            status: *status,
            detail: details.map_or_else(String::new, |details| details.complaint.clone()),
        },
        engine::Outcome::Failed(error) => Outcome::Failed(error.clone()),
        engine::Outcome::Unfinished | engine::Outcome::Unsent => Outcome::Unfinished,
    };
    let parts = details.map_or_else(Vec::new, |details| details.parts.clone());
    let parts = without_total(parts).into_iter().map(not_our_name).collect();
    RequestSample { start: sample.start, end: sample.end, outcome, parts }
}

/// `other` is our name for what no metric explains.
fn not_our_name(mut metric: Metric) -> Metric {
    if metric.name == "other" {
        metric.name = "other (server)".into();
    }
    metric
}

/// A metric called `total` beside others is their sum: it would count the same time twice.
fn without_total(mut metrics: Vec<Metric>) -> Vec<Metric> {
    if metrics.len() > 1 {
        metrics.retain(|metric| !metric.name.eq_ignore_ascii_case("total"));
    }
    metrics
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server_timing;

    #[test]
    fn a_total_counts_only_when_it_is_alone() {
        let cases: [(&str, &[&str]); 3] = [
            ("total;dur=9", &["total"]),
            ("db;dur=1, Total;dur=9", &["db"]),
            ("db;dur=1, ai;dur=2", &["db", "ai"]),
        ];
        for (value, expected) in cases {
            let metrics = without_total(server_timing::parse_all([value]));
            let names: Vec<&str> = metrics.iter().map(|metric| metric.name.as_str()).collect();
            assert_eq!(names, expected, "{value}");
        }
    }
}
