//! The requests: a closed loop of lanes, each of which sends its next request when it has the
//! answer to the last one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use tokio::task::JoinSet;

use super::{Event, Outcome, RequestSample, Run};
use crate::client::{Answer, RequestError};
use crate::server_timing::{self, Metric};

/// Sends all requests and returns them by start. Ends early when the run is stopped.
pub(super) async fn run(run: &Arc<Run>) -> Vec<RequestSample> {
    let next = Arc::new(AtomicU64::new(0));
    let mut lanes = JoinSet::new();
    for _ in 0..run.config.concurrency.min(run.config.requests) {
        lanes.spawn(lane(Arc::clone(run), Arc::clone(&next)));
    }
    let mut samples: Vec<RequestSample> = lanes.join_all().await.into_iter().flatten().collect();
    samples.sort_by_key(|sample| sample.start);
    samples
}

async fn lane(run: Arc<Run>, next: Arc<AtomicU64>) -> Vec<RequestSample> {
    let mut samples = Vec::new();
    while !run.stop.is_cancelled() {
        let index = next.fetch_add(1, Ordering::Relaxed);
        if index >= run.config.requests {
            break;
        }
        // The same request was built once before the run, with another body from the same list.
        let Ok(request) = run.config.request.build(index) else { break };
        let start = Instant::now();
        let (end, outcome, parts) = tokio::select! {
            exchange = run.client.send(request, run.config.timeout) => {
                let (outcome, parts) = what_came(exchange.answer);
                (exchange.end, outcome, parts)
            }
            () = run.stop.cancelled() => (Instant::now(), Outcome::Unfinished, Vec::new()),
        };
        let since_begin = |moment: Instant| moment.saturating_duration_since(run.begin);
        let sample =
            RequestSample { start: since_begin(start), end: since_begin(end), outcome, parts };
        (run.on_event)(Event::Request(&sample));
        samples.push(sample);
    }
    samples
}

/// Keeps of an answer what the figures need.
fn what_came(answer: Result<Answer, RequestError>) -> (Outcome, Vec<Metric>) {
    match answer {
        Ok(answer) => {
            let (status, detail) = (answer.status, answer.complaint());
            (Outcome::Answered { status, detail }, parts(&answer))
        }
        Err(error) => (Outcome::Failed(error), Vec::new()),
    }
}

fn parts(answer: &Answer) -> Vec<Metric> {
    let values = answer.headers.get_all("server-timing");
    let values = values.iter().filter_map(|value| value.to_str().ok());
    without_total(server_timing::parse_all(values)).into_iter().map(not_our_name).collect()
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
