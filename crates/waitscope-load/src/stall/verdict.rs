//! What the figures of a run mean. Pure: figures in, words out.

use waitscope_record::{StallInputs, StallSummary, Verdict};

use super::advice;

/// What the figures of a run mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// Health answered in time, all the while.
    Responsive,
    /// Health waited while requests were in flight.
    Stalled,
    /// Health failed while requests were in flight.
    HealthFailed,
    /// No request was answered with a status that shows the work was done.
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

/// What a stalled server does meanwhile, as far as its CPU share tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    Waiting,
    Computing,
    Unknown,
}

impl Doing {
    fn of(summary: &StallSummary) -> Self {
        match summary.server_cpu_percent {
            Some(percent) if percent < WAITING_PERCENT => Self::Waiting,
            Some(percent) if percent > WORKING_PERCENT => Self::Computing,
            _ => Self::Unknown,
        }
    }
}

/// Judges a run. `slow` is the number of probes that took longer than the limit, of `sent`.
pub(super) fn judge(
    inputs: &StallInputs,
    summary: &StallSummary,
    (slow, sent): (u64, u64),
) -> (Meaning, Verdict) {
    let meaning = meaning(inputs, summary);
    let verdict = Verdict {
        name: meaning.name().into(),
        sentence: sentence(meaning, inputs, summary),
        evidence: evidence(inputs, summary, (slow, sent)),
        next: advice::next(meaning, Doing::of(summary), inputs, summary),
    };
    (meaning, verdict)
}

fn meaning(inputs: &StallInputs, summary: &StallSummary) -> Meaning {
    let limit_ms = inputs.max_health_ms;
    let slowest_ms = summary.health_slowest_ms.unwrap_or(0.0);
    let worked = summary.statuses.keys().any(|status| status.starts_with('2'));
    // A late start makes a probe late, and so does a late look at its answer.
    let own_delay_ms = 2.0 * summary.client_lag_max_ms;
    if slowest_ms > limit_ms && slowest_ms - own_delay_ms <= limit_ms {
        Meaning::CannotTell
    } else if slowest_ms > limit_ms {
        Meaning::Stalled
    } else if summary.health_failed > 0 {
        Meaning::HealthFailed
    } else if !worked {
        Meaning::NotMeasured
    } else {
        Meaning::Responsive
    }
}

fn sentence(meaning: Meaning, inputs: &StallInputs, summary: &StallSummary) -> String {
    let health = path(&inputs.health);
    match meaning {
        Meaning::Responsive => format!(
            "{health} stayed under {} with {} in flight",
            seconds(inputs.max_health_ms),
            counted(summary.concurrency, "request")
        ),
        Meaning::Stalled => stalled(health, summary),
        Meaning::HealthFailed => format!(
            "{} of {health} failed while requests were in flight",
            counted(summary.health_failed, "probe")
        ),
        Meaning::NotMeasured => {
            let statuses: Vec<&str> = summary.statuses.keys().map(String::as_str).collect();
            match statuses.as_slice() {
                [] => "no request was answered".into(),
                _ => format!("no request was answered with 2xx (only {})", statuses.join(", ")),
            }
        }
        Meaning::CannotTell => format!(
            "waitscope itself was up to {} late on this machine",
            seconds(summary.client_lag_max_ms)
        ),
    }
}

fn stalled(health: &str, summary: &StallSummary) -> String {
    let took = format!("{health} took up to {}", seconds(summary.health_slowest_ms.unwrap_or(0.0)));
    let percent = summary.server_cpu_percent.unwrap_or(0.0);
    match Doing::of(summary) {
        Doing::Waiting => format!("it waits ({percent:.1} % CPU) instead of serving; {took}"),
        Doing::Computing => format!("it computes ({percent:.0} % CPU) instead of serving; {took}"),
        Doing::Unknown => format!("{took} while requests were in flight"),
    }
}

fn evidence(inputs: &StallInputs, summary: &StallSummary, (slow, sent): (u64, u64)) -> Vec<String> {
    let mut evidence = Vec::new();
    if sent > 0 {
        let limit = seconds(inputs.max_health_ms);
        evidence
            .push(format!("{slow} of {} took longer than {limit}", counted(sent, "health probe")));
    }
    if let Some(processes) = summary.server_processes {
        let who =
            if processes == 1 { "the process that listens" } else { "the processes that listen" };
        evidence.push(match summary.server_cpu_percent {
            Some(cpu) => format!(
                "{who}, with what it started, used {cpu:.1} % of a core (a server behind a proxy \
                 is not seen)"
            ),
            None => format!("{who} used too little CPU, or ran too briefly, to tell a share"),
        });
    }
    if let Some(other) = summary.parts.last() {
        evidence.push(format!(
            "{:.0} % of the answers' time is in no part that the server names",
            other.share_percent
        ));
    }
    evidence
}

/// The path of a URL, which says enough on its own screen.
fn path(url: &str) -> &str {
    let after_scheme = url.find("://").map_or(0, |at| at + 3);
    url[after_scheme..].find('/').map_or(url, |at| &url[after_scheme + at..])
}

/// `1 request`, `4 requests`.
pub(super) fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Milliseconds for a reader.
fn seconds(ms: f64) -> String {
    if ms < 1000.0 { format!("{ms:.0} ms") } else { format!("{:.1} s", ms / 1000.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn inputs() -> StallInputs {
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

    pub(super) fn healthy() -> StallSummary {
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

    /// A change to the healthy figures, what they then mean, and words of the sentence.
    type Case = (fn(&mut StallSummary), Meaning, &'static str);

    fn cases() -> [Case; 14] {
        use Meaning::{CannotTell, HealthFailed, NotMeasured, Responsive, Stalled};
        [
            (|_| {}, Responsive, "/health stayed under 250 ms with 4 requests in flight"),
            (|s| s.concurrency = 1, Responsive, "with 1 request in flight"),
            (|s| s.health_slowest_ms = Some(9800.0), Stalled, "waits (1.0 % CPU)"),
            (
                |s| (s.health_slowest_ms, s.server_cpu_percent) = (Some(9800.0), Some(99.0)),
                Stalled,
                "computes (99 % CPU) instead of serving; /health took up to 9.8 s",
            ),
            (
                |s| (s.health_slowest_ms, s.server_cpu_percent) = (Some(9800.0), None),
                Stalled,
                "/health took up to 9.8 s while",
            ),
            (|s| s.health_failed = 3, HealthFailed, "3 probes of /health failed"),
            (|s| s.statuses = [("422".into(), 8)].into(), NotMeasured, "only 422"),
            (|s| s.statuses.clear(), NotMeasured, "no request was answered"),
            // Overloaded, and stalled all the same.
            (
                |s| {
                    s.statuses = [("503".into(), 8)].into();
                    s.health_slowest_ms = Some(9800.0);
                },
                Stalled,
                "waits",
            ),
            // No request came back in time, and health hardly did.
            (
                |s| {
                    s.statuses.clear();
                    s.health_slowest_ms = Some(3000.0);
                },
                Stalled,
                "waits",
            ),
            // Nothing at all came back, though the health check did before: the worst stall.
            (
                |s| {
                    s.statuses.clear();
                    (s.health_count, s.health_failed) = (0, 61);
                    s.health_slowest_ms = Some(3000.0);
                },
                Stalled,
                "up to 3.0 s",
            ),
            // The server is gone.
            (
                |s| {
                    s.statuses.clear();
                    (s.health_count, s.health_failed, s.health_slowest_ms) = (0, 2, None);
                },
                HealthFailed,
                "2 probes",
            ),
            (
                |s| (s.health_slowest_ms, s.client_lag_max_ms) = (Some(400.0), 300.0),
                CannotTell,
                "300 ms late",
            ),
            // A lag that cannot explain what was seen is no excuse.
            (
                |s| (s.health_slowest_ms, s.client_lag_max_ms) = (Some(7000.0), 500.0),
                Stalled,
                "7.0 s",
            ),
        ]
    }

    #[test]
    fn figures_have_a_meaning() {
        for (change, expected, words) in cases() {
            let mut summary = healthy();
            change(&mut summary);
            let (meaning, verdict) = judge(&inputs(), &summary, (0, 50));
            assert_eq!(meaning, expected, "{summary:?}");
            assert!(verdict.sentence.contains(words), "{}", verdict.sentence);
            assert_eq!(verdict.name, expected.name());
            assert!(!verdict.next.is_empty());
            // With its name in front it fits a terminal of 80 columns.
            assert!(verdict.name.len() + 2 + verdict.sentence.len() <= 80, "{}", verdict.sentence);
        }
    }

    #[test]
    fn the_path_of_a_url_is_shown() {
        for (url, expected) in
            [("http://h:1/health", "/health"), ("https://h/a/b?c", "/a/b?c"), ("h", "h")]
        {
            assert_eq!(path(url), expected);
        }
    }
}
