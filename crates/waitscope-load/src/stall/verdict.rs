//! What the figures of a run mean. Pure: figures in, words out.

use waitscope_record::{StallInputs, StallSummary, Verdict};

/// What the figures of a run mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// Health answered in time, all the while.
    Responsive,
    /// Health waited while requests were in flight.
    Stalled,
    /// Health failed while requests were in flight.
    HealthFailed,
    /// No request was answered, or none with a status that shows the work was done.
    NotMeasured,
    /// waitscope itself was too late to tell.
    CannotTell,
}

impl Meaning {
    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Responsive => "responsive",
            Self::Stalled => "stalled",
            Self::HealthFailed => "health-failed",
            Self::NotMeasured => "not-measured",
            Self::CannotTell => "cannot-tell",
        }
    }
}

/// Below this share of a core a stalled server waits; above [`WORKING_PERCENT`] it computes.
const WAITING_PERCENT: f64 = 20.0;
const WORKING_PERCENT: f64 = 70.0;

/// Judges a run. `slow` is the number of probes that took longer than the limit.
pub fn judge(inputs: &StallInputs, summary: &StallSummary, slow: u64) -> (Meaning, Verdict) {
    let meaning = meaning(inputs, summary);
    let sentence = match meaning {
        Meaning::Responsive => responsive(summary),
        Meaning::Stalled => stalled(summary),
        Meaning::HealthFailed => health_failed(summary),
        Meaning::NotMeasured => not_measured(summary),
        Meaning::CannotTell => format!(
            "waitscope itself started its probes up to {:.0} ms late, so slow answers may be its \
             own doing",
            summary.client_lag_p99_ms
        ),
    };
    let verdict = Verdict {
        name: meaning.name().into(),
        sentence,
        evidence: evidence(inputs, summary, slow),
        next: next(meaning, inputs, summary),
    };
    (meaning, verdict)
}

fn meaning(inputs: &StallInputs, summary: &StallSummary) -> Meaning {
    let answers: u64 = summary.statuses.values().sum();
    let useful = summary.statuses.keys().any(|status| status.starts_with('2'));
    let too_slow = summary.health_slowest_ms.is_some_and(|ms| ms > inputs.max_health_ms);
    if answers == 0 {
        Meaning::NotMeasured
    } else if too_slow && summary.client_lag_p99_ms > inputs.max_health_ms / 2.0 {
        Meaning::CannotTell
    } else if too_slow {
        Meaning::Stalled
    } else if summary.health_failed > 0 {
        Meaning::HealthFailed
    } else if !useful || summary.health_count == 0 {
        Meaning::NotMeasured
    } else {
        Meaning::Responsive
    }
}

fn responsive(summary: &StallSummary) -> String {
    format!(
        "the server answers its health check while {} requests are in flight, so their waits do \
         not hold it",
        summary.concurrency
    )
}

fn stalled(summary: &StallSummary) -> String {
    let how = match summary.server_cpu_percent {
        Some(percent) if percent < WAITING_PERCENT => {
            format!("waits ({percent:.1} % of a core) instead of serving")
        }
        Some(percent) if percent > WORKING_PERCENT => {
            format!("computes ({percent:.0} % of a core) instead of serving")
        }
        _ => "does not serve".to_owned(),
    };
    format!("while requests are in flight the server {how}, and its health check waits with them")
}

fn health_failed(summary: &StallSummary) -> String {
    format!(
        "{} health probes failed while requests were in flight, though they all worked before",
        summary.health_failed
    )
}

fn not_measured(summary: &StallSummary) -> String {
    let statuses: Vec<&str> = summary.statuses.keys().map(String::as_str).collect();
    if statuses.is_empty() {
        return "no request was answered, so nothing can be said about waiting".into();
    }
    format!(
        "no request was answered with 2xx (only {}), so the work that would wait was not done",
        statuses.join(", ")
    )
}

fn evidence(inputs: &StallInputs, summary: &StallSummary, slow: u64) -> Vec<String> {
    let mut evidence = Vec::new();
    let probes = summary.health_count + summary.health_failed;
    if probes > 0 {
        evidence.push(format!(
            "{slow} of {probes} health probes took longer than {:.0} ms",
            inputs.max_health_ms
        ));
    }
    if let Some(cpu) = summary.server_cpu_percent {
        evidence.push(format!("the server used {cpu:.1} % of a core"));
    }
    if let Some(other) = summary.parts.iter().find(|part| part.name == "other") {
        evidence.push(format!(
            "{:.0} % of the answers' time is in no part that the server names",
            other.share_percent
        ));
    }
    evidence
}

fn next(meaning: Meaning, inputs: &StallInputs, summary: &StallSummary) -> Vec<String> {
    let steps: &[&str] = match meaning {
        Meaning::Stalled if computes(summary) => &[
            "look for long computing inside an async handler (password hashing, JSON or image \
             work) and move it to a process pool or a worker thread",
            "one synchronous worker looks the same: add workers",
        ],
        Meaning::Stalled => &[
            "look for a waiting call inside an async handler: requests.get, time.sleep, a \
             synchronous database driver, readFileSync, std::thread::sleep",
            "use its async variant, or send it to a thread: plain `def` in FastAPI, \
             asyncio.to_thread, tokio::task::spawn_blocking",
            "one synchronous worker looks the same: add workers or threads",
        ],
        Meaning::HealthFailed => &["read the server's log for the time of the failed probes"],
        Meaning::NotMeasured => {
            &["send a request that succeeds: check --method, --header and --body"]
        }
        Meaning::CannotTell => &["give this machine some idle CPU and run again"],
        Meaning::Responsive => &[],
    };
    let mut steps: Vec<String> = steps.iter().map(|step| (*step).to_owned()).collect();
    if meaning == Meaning::Responsive {
        let more = (inputs.concurrency * 10).min(200);
        steps.push(format!(
            "try more at once, since pools of 10, 40 or 100 fill up late: -c {more} -n {}",
            more * 2
        ));
    }
    if inputs.probe == "sequential" {
        steps.push(
            "these probes waited for each other, which hides most of a stall: measure with \
             --probe scheduled"
                .into(),
        );
    }
    steps
}

fn computes(summary: &StallSummary) -> bool {
    summary.server_cpu_percent.is_some_and(|percent| percent > WORKING_PERCENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs() -> StallInputs {
        StallInputs {
            url: "http://h/".into(),
            method: "GET".into(),
            requests: 8,
            concurrency: 4,
            health: "http://h/health".into(),
            every_ms: 100.0,
            probe: "scheduled".into(),
            max_health_ms: 250.0,
            timeout_ms: 120_000.0,
        }
    }

    fn healthy() -> StallSummary {
        StallSummary {
            requests: 8,
            concurrency: 4,
            wall_s: 5.0,
            statuses: [("201".into(), 8)].into(),
            health_count: 50,
            health_median_ms: Some(1.2),
            health_slowest_ms: Some(3.0),
            health_calm_median_ms: Some(1.2),
            server_cpu_percent: Some(1.0),
            ..StallSummary::default()
        }
    }

    /// A change to the healthy figures, what they then mean, and a word of the sentence.
    type Case = (fn(&mut StallSummary), Meaning, &'static str);

    #[test]
    fn figures_have_a_meaning() {
        let cases: [Case; 10] = [
            (|_| {}, Meaning::Responsive, "answers its health check"),
            (|s| s.health_slowest_ms = Some(9800.0), Meaning::Stalled, "waits (1.0 %"),
            (
                |s| {
                    s.health_slowest_ms = Some(9800.0);
                    s.server_cpu_percent = Some(99.0);
                },
                Meaning::Stalled,
                "computes (99 %",
            ),
            (
                |s| {
                    s.health_slowest_ms = Some(9800.0);
                    s.server_cpu_percent = None;
                },
                Meaning::Stalled,
                "does not serve",
            ),
            (|s| s.health_failed = 3, Meaning::HealthFailed, "3 health probes failed"),
            (|s| s.statuses = [("422".into(), 8)].into(), Meaning::NotMeasured, "only 422"),
            (|s| s.statuses.clear(), Meaning::NotMeasured, "no request was answered"),
            (
                |s| {
                    s.statuses = [("503".into(), 8)].into();
                    s.health_slowest_ms = Some(9800.0);
                },
                Meaning::Stalled,
                "waits",
            ),
            (
                |s| {
                    s.health_slowest_ms = Some(400.0);
                    s.client_lag_p99_ms = 300.0;
                },
                Meaning::CannotTell,
                "300 ms late",
            ),
            (
                // Late probes that nevertheless came back in time prove that the server answers.
                |s| s.client_lag_p99_ms = 200.0,
                Meaning::Responsive,
                "answers",
            ),
        ];
        for (change, expected, word) in cases {
            let mut summary = healthy();
            change(&mut summary);
            let (meaning, verdict) = judge(&inputs(), &summary, 0);
            assert_eq!(meaning, expected, "{summary:?}");
            assert!(verdict.sentence.contains(word), "{}", verdict.sentence);
            assert_eq!(verdict.name, expected.name());
            assert!(!verdict.next.is_empty());
        }
    }

    #[test]
    fn sequential_probes_are_warned_about() {
        let mut inputs = inputs();
        inputs.probe = "sequential".into();
        let (_, verdict) = judge(&inputs, &healthy(), 0);
        assert!(verdict.next.iter().any(|step| step.contains("--probe scheduled")));
    }
}
