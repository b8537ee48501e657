//! What a `stall` run asked for and found.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a `stall` run was asked to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StallInputs {
    /// Where the requests went.
    pub url: String,
    /// The request method.
    pub method: String,
    /// How many requests in all.
    pub requests: u64,
    /// How many of them in flight at once.
    pub concurrency: u64,
    /// Where the health probes went.
    pub health: String,
    /// The time between the intended starts of two probes.
    pub every_ms: f64,
    /// `scheduled` (each probe on its intended time) or `sequential` (each waits for the one
    /// before).
    pub probe: String,
    /// The slowest health answer that counts as healthy.
    pub max_health_ms: f64,
    /// How long a request or a probe may take.
    pub timeout_ms: f64,
}

/// What a `stall` run found.
///
/// Health times count from the intended start of a probe. A probe that ran into the timeout, or
/// was still out when the run was interrupted, counts as at least as slow as it was old; one that
/// failed faster is only counted.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct StallSummary {
    /// Requests sent.
    pub requests: u64,
    /// The most requests in flight at once.
    pub concurrency: u64,
    /// From the first request to the end of the last.
    pub wall_s: f64,
    /// Answers per status code, such as `"201": 8`.
    pub statuses: BTreeMap<String, u64>,
    /// Requests without an answer: connection trouble, timeouts, cut bodies.
    pub errors: u64,
    /// Requests still in flight when the run was interrupted.
    pub unfinished: u64,
    /// Median time from sending a request to the end of its answer; `null` without an answer.
    pub service_median_ms: Option<f64>,
    /// Health probes answered with 2xx.
    pub health_count: u64,
    /// Median health answer.
    pub health_median_ms: Option<f64>,
    /// Slowest health answer.
    pub health_slowest_ms: Option<f64>,
    /// Median health answer before any request was sent.
    pub health_calm_median_ms: Option<f64>,
    /// Health probes that failed: no 2xx, an error, or no answer in time.
    pub health_failed: u64,
    /// Health probes still out when the run was interrupted.
    #[serde(default)]
    pub health_unfinished: u64,
    /// Probes that are in the median and the slowest with their age: the unfinished ones, and
    /// those of the failed ones that ran into the timeout.
    pub health_censored: u64,
    /// Processes that listen where the requests go, when they run on this machine and can be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_processes: Option<u64>,
    /// CPU time that these and what they started used during the run, to 10 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu_seconds: Option<f64>,
    /// The same as a share of one core; left out for runs under half a second, which are too short
    /// for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu_percent: Option<f64>,
    /// CPU time that waitscope itself used during the run.
    pub client_cpu_seconds: f64,
    /// How late waitscope itself sent its probes, 99th percentile: intended to actual start.
    pub client_lag_p99_ms: f64,
    /// The same, the latest of all.
    #[serde(default)]
    pub client_lag_max_ms: f64,
    /// Where the time of the answers went, by the `Server-Timing` header (W3C), and `other`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
}

/// One part of the answers' time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// The metric's name, or `other` for what no part explains.
    pub name: String,
    /// Median over the answers.
    pub median_ms: f64,
    /// Share of the summed time of the answers.
    pub share_percent: f64,
}
