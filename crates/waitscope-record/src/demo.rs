//! What a `demo` run asked for and found.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a `demo` run was asked to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DemoInputs {
    /// Tickets per mode.
    pub requests: u64,
    /// Tickets in flight at once.
    pub concurrency: u64,
    /// `scheduled` or `sequential`, as in `stall`.
    pub probe: String,
    /// The seed of the simulated provider's latencies.
    pub seed: u64,
}

/// What a `demo` run found.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct DemoSummary {
    /// One row per intake mode that was measured.
    pub modes: Vec<ModeRow>,
    /// Whether every figure has the shape that was expected.
    pub as_expected: bool,
    /// What differs from the expectation, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub surprises: Vec<String>,
}

/// One intake mode's figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModeRow {
    /// The intake mode: `async`, `thread` or `blocking`.
    pub mode: String,
    /// From the first ticket to the end of the last.
    pub wall_s: f64,
    /// Median health answer.
    pub health_median_ms: Option<f64>,
    /// Slowest health answer.
    pub health_slowest_ms: Option<f64>,
    /// Tickets finished per second.
    pub tickets_per_s: f64,
    /// The most calls that the provider saw in flight at once.
    pub provider_max_in_flight: u64,
    /// The steady run, when one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<SteadyRow>,
}

/// Users who send one ticket after the other for some time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SteadyRow {
    /// How many.
    pub users: u64,
    /// For how long.
    pub lasts_s: f64,
    /// Tickets that were created in that time.
    pub created: u64,
    /// Tickets that were on their way when it was over.
    pub unfinished: u64,
    /// Tickets that were refused or lost.
    pub failed: u64,
    /// Created tickets per second.
    pub tickets_per_s: f64,
    /// The median of a ticket's time; unfinished ones count with their age.
    pub ticket_p50_ms: Option<f64>,
}
