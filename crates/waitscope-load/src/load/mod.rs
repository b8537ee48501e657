//! What a `load` run says: from what the engine measured to a record. Pure.

mod figures;
mod findings;
mod health;
mod limits;
mod verdict;

use std::time::Duration;

use waitscope_record::{Body, LoadInputs, LoadSummary, Record};
use waitscope_stats::latencies::Latencies;

use crate::engine::Measured;
use crate::probe::Probes;

pub use limits::{Comparison, Counted, Figure, Limit, Metric, Times};
pub use verdict::Meaning;

/// What a run measured, and what it cost.
#[derive(Debug)]
pub struct Run<'a> {
    /// What the engine measured.
    pub measured: &'a Measured,
    /// CPU time that this process used for it.
    pub client_cpu_seconds: f64,
    /// The most memory that this process had at once, where the system tells.
    pub client_peak_bytes: Option<u64>,
    /// The health probes beside it, when there were any.
    pub health: Option<&'a Health>,
}

/// What the health probes beside a load measured.
#[derive(Debug)]
pub struct Health {
    /// Where they went.
    pub url: String,
    /// The time between two intended starts.
    pub every: Duration,
    /// The slowest answer that counts as healthy.
    pub limit: Duration,
    /// Before the load.
    pub calm: Latencies,
    /// Beside it.
    pub probes: Probes,
}

/// The record of a run, and what it means for the `limits` that were set.
pub fn record(
    inputs: LoadInputs,
    run: &Run<'_>,
    limits: &[Limit],
    tool: &str,
    started_at: String,
) -> (Record, Meaning) {
    let summary = figures::summary(&inputs, run);
    let (verdict, meaning) = verdict::of(&inputs, &summary, limits);
    let findings = findings::all(&inputs, &summary);
    let mut series = figures::series(&inputs, &run.measured.tally);
    series.extend(run.health.map(|health| health.probes.series()));
    let body = Body::Load { inputs: Box::new(inputs), summary: Box::new(summary) };
    let mut record = Record::new(body, tool, started_at);
    record.interrupted = run.measured.stopped;
    record.series = series;
    record.findings = findings;
    record.verdict = verdict;
    (record, meaning)
}

/// Whether a run was an open loop: its latency is the response time, everywhere else the service
/// time.
fn is_open(inputs: &LoadInputs) -> bool {
    inputs.schedule == "open"
}

/// The latency that the run is about.
fn latency<'a>(
    inputs: &LoadInputs,
    summary: &'a LoadSummary,
) -> Option<&'a waitscope_record::LatencyFigures> {
    if is_open(inputs) { summary.response.as_ref() } else { summary.service.as_ref() }
}
