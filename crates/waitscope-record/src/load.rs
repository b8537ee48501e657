//! What a `load` run asked for and found.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a `load` run was asked to do.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LoadInputs {
    /// Where the requests went, the first ones of many.
    pub urls: Vec<String>,
    /// How many URLs there were.
    pub url_count: u64,
    /// The socket in the file system that took the place of the URLs' hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unix_socket: Option<String>,
    /// The request method.
    pub method: String,
    /// How many bodies there were to choose from.
    pub body_count: u64,
    /// `closed` (users that wait for their answers), `burst` (all requests at once) or `open`
    /// (requests come on a schedule, answered or not).
    pub schedule: String,
    /// Users of a closed loop or a burst.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u64>,
    /// The time between two intended starts of one user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace_ms: Option<f64>,
    /// How the requests of an open loop arrive: `constant`, `poisson` or `file`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<String>,
    /// Requests per second of an open loop without stages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<f64>,
    /// The stages of an open loop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<LoadStage>,
    /// How many times as fast the arrivals of a file were replayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay_speed: Option<f64>,
    /// The most requests in flight at once that an open loop was allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_in_flight: Option<u64>,
    /// How many requests in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// When no more requests were started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_s: Option<f64>,
    /// How long answers were waited for after that.
    pub drain_s: f64,
    /// How long one request may take.
    pub timeout_ms: f64,
    /// Whether connections were used again.
    pub keep_alive: bool,
    /// What was left out as the start-up: `off`, `first-of-each-user`, or seconds such as `2s`.
    pub warmup: String,
    /// Threads of the load generator.
    pub threads: u64,
    /// Where the randomness came from.
    pub seed: u64,
    /// The lines that were not to be crossed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fail_if: Vec<String>,
}

/// One stage of an open loop: the rate goes in a straight line from that of the stage before to
/// its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadStage {
    /// Requests per second at its end.
    pub rate_per_s: f64,
    /// How long it lasts.
    pub duration_s: f64,
}

/// What a `load` run found.
///
/// Every request is counted once: `requests` = `answered` + `failed` + `unfinished` + `unsent`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LoadSummary {
    /// Requests that the figures count; those of the start-up are not among them.
    pub requests: u64,
    /// Complete answers of any status.
    pub answered: u64,
    /// Answers per status code, such as `"200": 50`.
    pub statuses: BTreeMap<String, u64>,
    /// Requests that went wrong: `failed` + `bad_statuses`.
    pub errors: u64,
    /// Requests without a complete answer: connection trouble, timeouts, cut bodies.
    pub failed: u64,
    /// Answers with a status of 400 or above.
    pub bad_statuses: u64,
    /// The kinds of errors, the most frequent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub error_kinds: Vec<ErrorKind>,
    /// Requests that ran into the timeout; they are in `failed` as well.
    pub timeouts: u64,
    /// Requests that were still out at the end.
    pub unfinished: u64,
    /// Requests that were due and never started.
    pub unsent: u64,
    /// Good answers of the start-up, which no other figure counts.
    pub warmup: u64,
    /// Requests that were sent twice, since a kept connection was closed before the server saw them.
    pub resent: u64,
    /// Requests on a connection that had served one before.
    pub reused: u64,
    /// Connections that were opened, or tried.
    pub connections: u64,
    /// Requests that waited since too many were in flight.
    pub held_back: u64,
    /// Bytes received, heads and framing included.
    pub bytes: u64,
    /// Answers in a content coding such as gzip.
    pub encoded: u64,
    /// From the first start to the last end.
    pub wall_s: f64,
    /// Complete answers per second of that time.
    pub rate_per_s: f64,
    /// From the intended start to the end; for a closed loop nearly the same as `service`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<LatencyFigures>,
    /// From the actual start to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<LatencyFigures>,
    /// From the intended to the actual start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag: Option<LatencyFigures>,
    /// From the actual start to the first byte of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte: Option<LatencyFigures>,
    /// From the actual start until the connection was open, of those that opened one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect: Option<LatencyFigures>,
    /// Where the time of the answers went, by the `Server-Timing` header (W3C).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<LoadPart>,
    /// Requests in flight on average, as counted.
    pub mean_in_flight: f64,
    /// The same by Little's law: throughput times mean service time.
    pub mean_in_flight_by_little: f64,
    /// The most requests in flight at once.
    pub max_in_flight: u64,
    /// How late the load generator itself was, 99th percentile: intended to actual start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_lag_p99_ms: Option<f64>,
    /// CPU time that waitscope itself used during the run.
    pub client_cpu_seconds: f64,
    /// The same as a share of one core.
    pub client_cpu_percent: f64,
    /// The share of their time in which the load generator's threads were not waiting.
    pub client_busy_percent: f64,
    /// The most memory that waitscope itself had at once, in MB of 1,000,000 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_peak_mb: Option<f64>,
    /// Whether the load generator was the limit: the figures say more of it than of the server.
    pub client_limited: bool,
    /// What says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_limited_reason: Option<String>,
    /// The health probes beside the load, when there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<LoadHealth>,
}

/// Health probes on their intended times, beside a load.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LoadHealth {
    /// Where they went.
    pub url: String,
    /// The time between the intended starts of two probes.
    pub every_ms: f64,
    /// The slowest answer that counts as healthy.
    pub max_health_ms: f64,
    /// Median answer before the first request was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calm_median_ms: Option<f64>,
    /// Probes that were sent: answered, failed, or still out at the end.
    pub sent: u64,
    /// Probes answered with 2xx.
    pub answered: u64,
    /// Probes that failed: other statuses, errors, timeouts.
    pub failed: u64,
    /// Probes still out at the end; they count with their age.
    pub unfinished: u64,
    /// Probes that took longer than `max_health_ms`.
    pub slow: u64,
    /// From the intended start to the end of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<LatencyFigures>,
    /// What failed, each kind with its first example.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<ErrorKind>,
}

/// One kind of what went wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorKind {
    /// Its name, such as `connection refused` or `status 503`.
    pub class: String,
    /// How many requests ended like this.
    pub count: u64,
    /// What the first one met; empty when there is nothing to tell.
    pub example: String,
}

/// Latencies of a run. Percentiles are by nearest rank.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LatencyFigures {
    /// How many were counted.
    pub count: u64,
    /// The fastest.
    pub min_ms: f64,
    /// The arithmetic mean.
    pub mean_ms: f64,
    /// The median.
    pub p50_ms: f64,
    /// The 90th percentile.
    pub p90_ms: f64,
    /// The 95th percentile.
    pub p95_ms: f64,
    /// The 99th percentile.
    pub p99_ms: f64,
    /// The 99.9th percentile.
    pub p999_ms: f64,
    /// The slowest.
    pub max_ms: f64,
    /// Requests that did not end count with their age. The figures that would be higher by more than
    /// 1 % if those had taken for ever, and so are lower bounds: `min`, `mean`, `p50`, `p90`, `p95`,
    /// `p99`, `p99.9`, `max`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lower_bounds: Vec<String>,
}

/// One part of the answers' time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadPart {
    /// The metric's name.
    pub name: String,
    /// Answers that have it.
    pub count: u64,
    /// Median over those.
    pub p50_ms: f64,
    /// Their 99th percentile.
    pub p99_ms: f64,
    /// Share of the summed service time of all answers.
    pub share_percent: f64,
}
