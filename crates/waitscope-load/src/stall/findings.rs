//! Single things that a reader of the figures should know. Pure.

use std::collections::BTreeMap;

use waitscope_record::{Finding, Severity, StallSummary};

use super::verdict::counted;
use super::{Measurement, Outcome};

/// Fewer probes than this tell little.
const FEW_PROBES: u64 = 5;

/// A median health answer this many times the calm one, and this slow, is worth a word even when
/// it is within the limit.
const MUCH_SLOWER: f64 = 10.0;
const NOTABLE_MS: f64 = 20.0;

/// A calm median above this is not calm.
const NOT_CALM_MS: f64 = 250.0;

/// All that was noticed, failures first.
pub(super) fn all(summary: &StallSummary, measured: &Measurement) -> Vec<Finding> {
    let mut findings = failures(measured);
    let sent = measured.probes.sent();
    if sent < FEW_PROBES && !measured.interrupted {
        findings.push(warning(
            "short-run",
            format!(
                "only {} fell into the {:.0} ms of the run, which tells little: name an endpoint \
                 that waits, or send more with -n",
                counted(sent, "health probe"),
                summary.wall_s * 1e3
            ),
        ));
    }
    findings.extend(slower(summary));
    if let Some(processes) = summary.server_processes.filter(|processes| *processes > 1) {
        findings.push(warning(
            "many-processes",
            format!(
                "{processes} processes share this port: probes may land on one that is free while \
                 another one is held; use -c {} or more, or measure a single process",
                processes * 4
            ),
        ));
    }
    let explained: f64 = summary.parts.iter().map(|part| part.share_percent).sum();
    if explained > 105.0 {
        findings.push(note(
            "parts-overlap",
            format!(
                "the parts of Server-Timing add up to {explained:.0} % of the time: they overlap \
                 or contain each other"
            ),
        ));
    }
    if measured.health_is_page {
        findings.push(note(
            "html-health",
            "the health answer is an HTML page: is it the health endpoint, or a page that answers \
             every path?"
                .to_owned(),
        ));
    }
    findings
}

/// Health that is slow when calm, or much slower than calm but within the limit.
fn slower(summary: &StallSummary) -> Option<Finding> {
    let (calm, median) = (summary.health_calm_median_ms?, summary.health_median_ms?);
    if calm > NOT_CALM_MS {
        let message = format!(
            "the health check took {calm:.0} ms before any request was sent, so the limit that \
             follows from it is high: set --max-health"
        );
        return Some(warning("not-calm", message));
    }
    let is_notable = median > NOTABLE_MS && median > calm * MUCH_SLOWER;
    let times = median / calm;
    is_notable.then(|| {
        let message =
            format!("the median health answer of {median:.0} ms is {times:.0} times the calm one");
        note("slower-than-calm", message)
    })
}

/// What failed: each kind with its count and its first example.
fn failures(measured: &Measurement) -> Vec<Finding> {
    let mut seen: BTreeMap<(&str, String), (u64, String)> = BTreeMap::new();
    for request in &measured.requests {
        let (name, class, example) = match &request.outcome {
            Outcome::Answered { status: 200..300, .. } | Outcome::Unfinished => continue,
            Outcome::Answered { status, detail } => {
                ("request-status", status.to_string(), format!("{status}: {detail}"))
            }
            Outcome::Failed(error) => {
                ("request-failed", error.class.name().to_owned(), error.to_string())
            }
        };
        seen.entry((name, class)).or_insert((0, example)).0 += 1;
    }
    for (class, (count, example)) in &measured.probes.failures {
        seen.insert(("health-failed", class.clone()), (*count, example.clone()));
    }
    let finding = |((name, _class), (count, example)): ((&str, String), (u64, String))| {
        let what = if name == "health-failed" { "health probe" } else { "request" };
        let example = example.trim_end_matches([':', ' ']);
        let message = format!("{} ended with {example}", counted(count, what));
        Finding { name: name.into(), severity: Severity::Warning, message, count }
    };
    seen.into_iter().map(finding).collect()
}

fn warning(name: &str, message: String) -> Finding {
    Finding { name: name.into(), severity: Severity::Warning, message, count: 1 }
}

fn note(name: &str, message: String) -> Finding {
    Finding { name: name.into(), severity: Severity::Note, message, count: 1 }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use waitscope_record::Part;
    use waitscope_stats::latencies::Latencies;

    use super::*;
    use crate::stall::{ProbeSample, Probes};

    /// A run without anything to remark: ten probes, one process.
    fn quiet() -> (StallSummary, Measurement) {
        let mut probes = Probes::new(Duration::from_millis(250));
        for _ in 0..10 {
            let at = Duration::ZERO;
            let end = Duration::from_millis(1);
            probes.add(ProbeSample {
                intended: at,
                start: at,
                end,
                status: Some(200),
                error: None,
            });
        }
        let measured = Measurement {
            calm: Latencies::new(),
            health_is_page: false,
            limit: Duration::from_millis(250),
            requests: Vec::new(),
            probes,
            wall: Duration::from_secs(1),
            listening_processes: 1,
            server_cpu_seconds: None,
            client_cpu_seconds: 0.0,
            interrupted: false,
        };
        let summary = StallSummary {
            wall_s: 1.0,
            health_median_ms: Some(1.0),
            health_calm_median_ms: Some(1.0),
            server_processes: Some(1),
            ..StallSummary::default()
        };
        (summary, measured)
    }

    fn part(share_percent: f64) -> Part {
        Part { name: "p".into(), median_ms: 1.0, share_percent }
    }

    /// A change to the quiet run, and the name of the finding that it makes.
    type Case = (fn(&mut StallSummary, &mut Measurement), Option<&'static str>);

    #[test]
    fn each_finding_has_its_cause_and_a_quiet_run_has_none() {
        let cases: [Case; 9] = [
            (|_, _| {}, None),
            (|_, m| m.probes = Probes::new(Duration::ZERO), Some("short-run")),
            (|s, _| s.server_processes = Some(4), Some("many-processes")),
            (|s, _| s.health_median_ms = Some(117.0), Some("slower-than-calm")),
            (|s, _| s.health_median_ms = Some(15.0), None),
            (
                |s, _| (s.health_median_ms, s.health_calm_median_ms) = (Some(877.0), Some(877.0)),
                Some("not-calm"),
            ),
            (|_, m| m.health_is_page = true, Some("html-health")),
            (|s, _| s.parts = [99.0, 33.0, 0.0].map(part).into(), Some("parts-overlap")),
            (|s, _| s.parts = [60.0, 40.0].map(part).into(), None),
        ];
        for (change, expected) in cases {
            let (mut summary, mut measured) = quiet();
            change(&mut summary, &mut measured);
            let names: Vec<String> = all(&summary, &measured).into_iter().map(|f| f.name).collect();
            assert_eq!(names, expected.map(str::to_owned).into_iter().collect::<Vec<_>>());
        }
    }
}
