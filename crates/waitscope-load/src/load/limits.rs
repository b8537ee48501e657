//! Lines that a run must not cross. Pure.

use waitscope_record::{LatencyFigures, LoadHealth, LoadInputs, LoadSummary};

use super::latency;

/// A line: the run fails when what it says holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// As it was written, such as `p95>500ms`.
    pub text: String,
    /// What is looked at.
    pub metric: Metric,
}

/// What a line looks at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Metric {
    /// A latency in ms.
    Latency {
        /// Which times.
        times: Times,
        /// Which figure of them.
        figure: Figure,
        /// What is not to hold.
        comparison: Comparison,
        /// With what it is compared.
        ms: f64,
    },
    /// Requests of a kind: their number.
    Count {
        /// Which ones.
        counted: Counted,
        /// What is not to hold.
        comparison: Comparison,
        /// With what it is compared.
        count: f64,
    },
    /// Requests of a kind: their share of all.
    Share {
        /// Which ones.
        counted: Counted,
        /// What is not to hold.
        comparison: Comparison,
        /// With what it is compared.
        percent: f64,
    },
    /// Answers per second.
    Rate {
        /// What is not to hold.
        comparison: Comparison,
        /// With what it is compared.
        per_s: f64,
    },
    /// The load generator was the limit.
    ClientLimited,
}

/// The times of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    /// The response time of an open loop, the service time of any other.
    Latency,
    /// From the intended start to the end.
    Response,
    /// From the actual start to the end.
    Service,
    /// From the intended to the actual start.
    Lag,
    /// From the actual start to the first byte of the answer.
    FirstByte,
    /// From the actual start until the connection was open.
    Connect,
    /// The answers of the health probes, from their intended start.
    Health,
}

/// A figure of many times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// The fastest.
    Min,
    /// The arithmetic mean.
    Mean,
    /// The median.
    P50,
    /// The 90th percentile.
    P90,
    /// The 95th percentile.
    P95,
    /// The 99th percentile.
    P99,
    /// The 99.9th percentile.
    P999,
    /// The slowest.
    Max,
}

/// Requests of a kind, by their names in the summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Without a complete answer, or with a status of 400 or above.
    Errors,
    /// Without a complete answer.
    Failed,
    /// With a status of 400 or above.
    BadStatuses,
    /// That ran into the timeout.
    Timeouts,
    /// Still out at the end.
    Unfinished,
    /// Never started.
    Unsent,
    /// That waited since too many were in flight.
    HeldBack,
    /// Health probes that failed or took longer than `--max-health`; of all probes.
    Unhealthy,
}

/// How two numbers are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `>`
    Above,
    /// `>=`
    AtLeast,
    /// `<`
    Below,
    /// `<=`
    AtMost,
}

/// What became of a line, with a sentence that says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Checked {
    Kept,
    Crossed(String),
    /// What was measured does not tell.
    Unknown(String),
}

impl Limit {
    /// Whether it looks at the health probes, which only some runs have.
    pub fn is_about_health(&self) -> bool {
        match self.metric {
            Metric::Latency { times, .. } => times == Times::Health,
            Metric::Count { counted, .. } | Metric::Share { counted, .. } => {
                counted == Counted::Unhealthy
            }
            Metric::Rate { .. } | Metric::ClientLimited => false,
        }
    }

    /// Compares it with what was measured.
    pub(super) fn check(&self, inputs: &LoadInputs, summary: &LoadSummary) -> Checked {
        match self.metric {
            Metric::Latency { times, figure, comparison, ms } => {
                let Some(figures) = times.of(inputs, summary) else {
                    return Checked::Unknown(format!("{}: there is no such time", self.text));
                };
                let (got_ms, is_bound) = figure.of(figures);
                self.compare(got_ms, is_bound, comparison, ms, &format!("{got_ms:.2} ms"))
            }
            Metric::Count { counted, comparison, count } => {
                let got = counted.of(summary) as f64;
                self.compare(got, false, comparison, count, &format!("{got}"))
            }
            Metric::Share { counted, comparison, percent } => {
                let (got, all) = (counted.of(summary), counted.all(summary));
                if all == 0 {
                    return Checked::Unknown(format!("{}: there was none at all", self.text));
                }
                let share = got as f64 / all as f64 * 100.0;
                let shown = format!("{got} of {all} ({share:.1} %)");
                self.compare(share, false, comparison, percent, &shown)
            }
            Metric::Rate { comparison, per_s } => {
                let got = summary.rate_per_s;
                self.compare(got, false, comparison, per_s, &format!("{got:.1}/s"))
            }
            Metric::ClientLimited => match &summary.client_limited_reason {
                Some(reason) => Checked::Crossed(format!("{}: {reason}", self.text)),
                None => Checked::Kept,
            },
        }
    }

    /// `is_bound`: what was measured is a lower bound of what it would have been.
    fn compare(
        &self,
        got: f64,
        is_bound: bool,
        comparison: Comparison,
        limit: f64,
        shown: &str,
    ) -> Checked {
        let holds = comparison.holds(got, limit);
        let is_upward = matches!(comparison, Comparison::Above | Comparison::AtLeast);
        // A true value that is higher can cross an upward line, and can keep clear of a downward one.
        if is_bound && holds != is_upward {
            let text = &self.text;
            return Checked::Unknown(format!(
                "{text}: it was at least {shown}, since some requests did not end"
            ));
        }
        let at_least = if is_bound { "at least " } else { "" };
        if holds {
            Checked::Crossed(format!("{}: it was {at_least}{shown}", self.text))
        } else {
            Checked::Kept
        }
    }
}

impl Times {
    fn of<'a>(self, inputs: &LoadInputs, summary: &'a LoadSummary) -> Option<&'a LatencyFigures> {
        match self {
            Self::Latency => latency(inputs, summary),
            Self::Response => summary.response.as_ref(),
            Self::Service => summary.service.as_ref(),
            Self::Lag => summary.lag.as_ref(),
            Self::FirstByte => summary.first_byte.as_ref(),
            Self::Connect => summary.connect.as_ref(),
            Self::Health => summary.health.as_ref()?.latency.as_ref(),
        }
    }
}

impl Figure {
    /// In ms, and whether it is a lower bound.
    fn of(self, figures: &LatencyFigures) -> (f64, bool) {
        let (name, ms) = match self {
            Self::Min => ("min", figures.min_ms),
            Self::Mean => ("mean", figures.mean_ms),
            Self::P50 => ("p50", figures.p50_ms),
            Self::P90 => ("p90", figures.p90_ms),
            Self::P95 => ("p95", figures.p95_ms),
            Self::P99 => ("p99", figures.p99_ms),
            Self::P999 => ("p99.9", figures.p999_ms),
            Self::Max => ("max", figures.max_ms),
        };
        (ms, figures.lower_bounds.iter().any(|bound| bound == name))
    }
}

impl Counted {
    /// Of how many.
    fn all(self, summary: &LoadSummary) -> u64 {
        match self {
            Self::Unhealthy => summary.health.as_ref().map_or(0, |health| health.sent),
            _ => summary.requests,
        }
    }

    fn of(self, summary: &LoadSummary) -> u64 {
        let health = |of: fn(&LoadHealth) -> u64| summary.health.as_ref().map_or(0, of);
        match self {
            Self::Errors => summary.errors,
            Self::Failed => summary.failed,
            Self::BadStatuses => summary.bad_statuses,
            Self::Timeouts => summary.timeouts,
            Self::Unfinished => summary.unfinished,
            Self::Unsent => summary.unsent,
            Self::HeldBack => summary.held_back,
            Self::Unhealthy => health(|health| health.failed + health.slow),
        }
    }
}

impl Comparison {
    fn holds(self, got: f64, limit: f64) -> bool {
        match self {
            Self::Above => got > limit,
            Self::AtLeast => got >= limit,
            Self::Below => got < limit,
            Self::AtMost => got <= limit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary() -> LoadSummary {
        let service = |p50_ms, p95_ms, max_ms| LatencyFigures {
            count: 100,
            mean_ms: p50_ms,
            p50_ms,
            p95_ms,
            max_ms,
            lower_bounds: vec!["mean".into(), "max".into()],
            ..LatencyFigures::default()
        };
        LoadSummary {
            requests: 200,
            errors: 3,
            rate_per_s: 50.0,
            service: Some(service(100.0, 300.0, 900.0)),
            response: Some(service(150.0, 700.0, 950.0)),
            ..LoadSummary::default()
        }
    }

    fn check(metric: Metric, schedule: &str) -> Checked {
        let inputs = LoadInputs { schedule: schedule.into(), ..LoadInputs::default() };
        Limit { text: "line".into(), metric }.check(&inputs, &summary())
    }

    #[test]
    fn a_line_is_crossed_kept_or_not_to_be_told() {
        use Comparison::{Above, AtLeast, AtMost, Below};
        let latency = |figure, comparison, ms| Metric::Latency {
            times: Times::Latency,
            figure,
            comparison,
            ms,
        };
        let errors = Counted::Errors;
        let cases = [
            (latency(Figure::P95, Above, 500.0), "closed", "kept"),
            (latency(Figure::P95, Above, 500.0), "open", "crossed"),
            (latency(Figure::P95, AtLeast, 300.0), "burst", "crossed"),
            (latency(Figure::P95, Above, 300.0), "burst", "kept"),
            (latency(Figure::P50, Below, 200.0), "closed", "crossed"),
            // 900 ms and the mean are lower bounds.
            (latency(Figure::Max, Above, 850.0), "closed", "crossed"),
            (latency(Figure::Max, Above, 1000.0), "closed", "unknown"),
            (latency(Figure::Max, Below, 1000.0), "closed", "unknown"),
            (latency(Figure::Max, Below, 850.0), "closed", "kept"),
            (latency(Figure::Mean, Above, 500.0), "closed", "unknown"),
            (Metric::Share { counted: errors, comparison: Above, percent: 1.0 }, "open", "crossed"),
            (Metric::Share { counted: errors, comparison: Above, percent: 1.5 }, "open", "kept"),
            (Metric::Count { counted: errors, comparison: AtMost, count: 3.0 }, "open", "crossed"),
            (Metric::Rate { comparison: Below, per_s: 100.0 }, "open", "crossed"),
            (Metric::Rate { comparison: Below, per_s: 50.0 }, "open", "kept"),
            (Metric::ClientLimited, "open", "kept"),
        ];
        for (metric, schedule, expected) in cases {
            let got = match check(metric, schedule) {
                Checked::Kept => "kept",
                Checked::Crossed(sentence) => {
                    assert!(sentence.starts_with("line: "), "{sentence}");
                    "crossed"
                }
                Checked::Unknown(_) => "unknown",
            };
            assert_eq!(got, expected, "{metric:?} {schedule}");
        }
    }

    #[test]
    fn times_that_were_not_measured_do_not_tell() {
        let metric = Metric::Latency {
            times: Times::Connect,
            figure: Figure::P50,
            comparison: Comparison::Above,
            ms: 1.0,
        };
        assert!(matches!(check(metric, "closed"), Checked::Unknown(_)));
        let share =
            Metric::Share { counted: Counted::Errors, comparison: Comparison::Above, percent: 1.0 };
        let limit = Limit { text: "errors>1%".into(), metric: share };
        let nothing = limit.check(&LoadInputs::default(), &LoadSummary::default());
        assert!(matches!(nothing, Checked::Unknown(_)));
    }
}
