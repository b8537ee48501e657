//! From the samples of a run to its record. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use waitscope_record::{Body, Cell, MAX_ROWS, Part, Record, Series, StallInputs, StallSummary};
use waitscope_stats::latencies::nearest_rank;

use super::{Config, Meaning, Measurement, Outcome, RequestSample, findings, verdict};

/// The record of a run and what it means. `started_at` is RFC 3339 in UTC.
pub fn record(
    config: &Config,
    measured: &Measurement,
    tool: &str,
    started_at: String,
) -> (Record, Meaning) {
    let summary = summary(config, measured);
    let inputs = inputs(config, measured.limit);
    let probes = (measured.probes.slow, measured.probes.sent());
    let (meaning, verdict) = verdict::judge(&inputs, &summary, probes);
    let findings = findings::all(&summary, measured);
    let body = Body::Stall { inputs, summary: Box::new(summary) };
    let mut record = Record::new(body, tool, started_at);
    record.interrupted = measured.interrupted;
    record.series = vec![request_series(&measured.requests), measured.probes.series()];
    record.findings = findings;
    record.verdict = Some(verdict);
    (record, meaning)
}

fn inputs(config: &Config, limit: Duration) -> StallInputs {
    StallInputs {
        url: config.request.target.display(),
        method: config.request.method.to_string(),
        requests: config.requests,
        concurrency: config.concurrency,
        health: config.health.target.display(),
        every_ms: ms(config.every),
        probe: config.probe.to_string(),
        max_health_ms: ms(limit),
        timeout_ms: ms(config.timeout),
    }
}

fn summary(config: &Config, measured: &Measurement) -> StallSummary {
    let probes = &measured.probes;
    let mut statuses: BTreeMap<String, u64> = BTreeMap::new();
    let (mut errors, mut unfinished) = (0, 0);
    for request in &measured.requests {
        match &request.outcome {
            Outcome::Answered { status, .. } => {
                *statuses.entry(status.to_string()).or_default() += 1;
            }
            Outcome::Failed(_) => errors += 1,
            Outcome::Unfinished => unfinished += 1,
        }
    }
    let wall_s = round(measured.wall.as_secs_f64());
    // CPU time comes in ticks of 10 ms: of a short run it gives no share.
    let long_enough = measured.wall >= Duration::from_millis(500);
    let percent = |seconds: f64| round(seconds / measured.wall.as_secs_f64() * 100.0);
    let processes = measured.listening_processes as u64;
    StallSummary {
        requests: measured.requests.len() as u64,
        concurrency: config.concurrency.min(config.requests),
        wall_s,
        statuses,
        errors,
        unfinished,
        service_median_ms: median(answered(&measured.requests).map(service_ms).collect()),
        health_count: probes.answered,
        health_median_ms: probes.latencies.median().map(ms),
        health_slowest_ms: probes.latencies.slowest().map(ms),
        health_calm_median_ms: measured.calm.median().map(ms),
        health_failed: probes.failed,
        health_unfinished: probes.unfinished,
        health_censored: probes.censored,
        server_processes: (processes > 0).then_some(processes),
        server_cpu_seconds: measured.server_cpu_seconds.map(round),
        server_cpu_percent: measured.server_cpu_seconds.filter(|_| long_enough).map(percent),
        client_cpu_seconds: round(measured.client_cpu_seconds),
        client_lag_p99_ms: probes.lag.quantile(0.99).map_or(0.0, ms),
        client_lag_max_ms: probes.lag.slowest().map_or(0.0, ms),
        parts: parts(&measured.requests),
    }
}

/// Where the time of the answers went: each metric of `Server-Timing`, then what none explains.
fn parts(requests: &[RequestSample]) -> Vec<Part> {
    let names = part_names(requests);
    if names.is_empty() {
        return Vec::new();
    }
    let with_parts: Vec<&RequestSample> =
        answered(requests).filter(|request| !request.parts.is_empty()).collect();
    let total_ms: f64 = with_parts.iter().map(|request| service_ms(request)).sum();
    let part = |name: &str, times: Vec<f64>| Part {
        name: name.to_owned(),
        share_percent: round(times.iter().sum::<f64>() / total_ms.max(1e-9) * 100.0),
        median_ms: median(times).unwrap_or(0.0),
    };
    let mut parts: Vec<Part> = names
        .iter()
        .map(|name| part(name, with_parts.iter().filter_map(|r| part_ms(r, name)).collect()))
        .collect();
    parts.push(part("other", with_parts.iter().map(|request| other_ms(request)).collect()));
    parts
}

/// The names of all metrics, in the order in which they were first seen.
fn part_names(requests: &[RequestSample]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for metric in answered(requests).flat_map(|request| &request.parts) {
        if !names.contains(&metric.name) && names.len() < MOST_PARTS {
            names.push(metric.name.clone());
        }
    }
    names
}

/// The most metrics that are told apart in one run.
const MOST_PARTS: usize = 16;

/// The time of one metric; a name that stands twice in an answer counts with its sum.
fn part_ms(request: &RequestSample, name: &str) -> Option<f64> {
    let mut times = request.parts.iter().filter(|metric| metric.name == name).peekable();
    times.peek()?;
    Some(times.map(|metric| metric.duration.as_secs_f64() * 1e3).sum())
}

fn other_ms(request: &RequestSample) -> f64 {
    let explained: f64 = request.parts.iter().map(|m| m.duration.as_secs_f64() * 1e3).sum();
    (service_ms(request) - explained).max(0.0)
}

fn answered(requests: &[RequestSample]) -> impl Iterator<Item = &RequestSample> {
    requests.iter().filter(|request| matches!(request.outcome, Outcome::Answered { .. }))
}

fn service_ms(request: &RequestSample) -> f64 {
    ms(request.end.saturating_sub(request.start))
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    nearest_rank(&values, 0.5).map(round)
}

fn request_series(requests: &[RequestSample]) -> Series {
    let names = part_names(requests);
    let mut columns: Vec<String> =
        ["start_ms", "end_ms", "status", "error"].map(str::to_owned).into();
    columns.extend(names.iter().map(|name| format!("part.{name}_ms")));
    let row = |request: &RequestSample| {
        let (end, status, error) = match &request.outcome {
            Outcome::Answered { status, .. } => {
                (Some(ms(request.end)), Some(f64::from(*status)), Cell::Missing(()))
            }
            Outcome::Failed(error) => {
                (Some(ms(request.end)), None, Cell::Text(error.class.name().into()))
            }
            Outcome::Unfinished => (None, None, Cell::Missing(())),
        };
        let mut row = vec![Cell::Number(ms(request.start)), Cell::maybe(end), Cell::maybe(status)];
        row.push(error);
        row.extend(names.iter().map(|name| Cell::maybe(part_ms(request, name).map(round))));
        row
    };
    let rows = requests.iter().take(MAX_ROWS).map(row).collect();
    Series { name: "requests".into(), unit: None, columns, rows }
}

fn ms(duration: Duration) -> f64 {
    round(duration.as_secs_f64() * 1e3)
}

/// To 1/1000: finer digits are below what is measured here.
fn round(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server_timing::Metric;

    fn request(start_ms: u64, end_ms: u64, parts: &[(&str, u64)]) -> RequestSample {
        let at = Duration::from_millis;
        let parts =
            parts.iter().map(|(name, ms)| Metric { name: (*name).into(), duration: at(*ms) });
        RequestSample {
            start: at(start_ms),
            end: at(end_ms),
            outcome: Outcome::Answered { status: 200, detail: String::new() },
            parts: parts.collect(),
        }
    }

    #[test]
    fn parts_and_what_they_leave_unexplained() {
        let requests = [
            request(0, 100, &[("db", 10), ("ai", 80)]),
            request(0, 300, &[("db", 20), ("ai", 80), ("ai", 100)]),
            request(0, 5000, &[]),
        ];
        let parts = parts(&requests);
        let got: Vec<(&str, f64, f64)> =
            parts.iter().map(|p| (p.name.as_str(), p.median_ms, p.share_percent)).collect();
        assert_eq!(got, [("db", 10.0, 7.5), ("ai", 80.0, 65.0), ("other", 10.0, 27.5)]);
    }

    #[test]
    fn parts_that_overlap_leave_nothing_unexplained() {
        let parts = parts(&[request(0, 100, &[("a", 90), ("b", 90)])]);
        assert_eq!(parts[2].name, "other");
        assert!(parts[2].median_ms.abs() < f64::EPSILON);
    }

    #[test]
    fn without_the_header_there_are_no_parts() {
        assert!(parts(&[request(0, 100, &[])]).is_empty());
        assert!(parts(&[]).is_empty());
    }

    #[test]
    fn a_request_without_an_answer_has_no_status_and_no_end() {
        let mut open = request(5, 9, &[]);
        open.outcome = Outcome::Unfinished;
        let series = request_series(&[request(0, 7, &[("db", 1)]), open]);
        assert_eq!(series.columns[4], "part.db_ms");
        assert_eq!(series.number(0, "end_ms"), Some(7.0));
        assert_eq!(series.number(0, "part.db_ms"), Some(1.0));
        assert_eq!(series.number(1, "start_ms"), Some(5.0));
        assert_eq!(series.number(1, "end_ms"), None);
    }
}
