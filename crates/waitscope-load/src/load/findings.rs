//! Single things that a reader of the figures should know. Pure.

use waitscope_record::{Finding, LoadInputs, LoadSummary, Severity};

use super::is_open;

/// By how much two counts of the requests in flight may differ.
const LITTLE_SHARE: f64 = 0.05;

/// All that was noticed, what casts doubt on the figures first.
pub(super) fn all(inputs: &LoadInputs, summary: &LoadSummary) -> Vec<Finding> {
    let findings = [
        client_limited(summary),
        little(summary),
        censored(summary),
        held_back(inputs, summary),
        users_limit(inputs, summary),
        resent(summary),
        connection_each(inputs, summary),
        warmup(summary),
        encoded(summary),
    ];
    findings.into_iter().flatten().chain(super::health::findings(summary)).collect()
}

fn client_limited(summary: &LoadSummary) -> Option<Finding> {
    let reason = summary.client_limited_reason.as_ref()?;
    let message = format!(
        "the load generator was the limit: {reason}; ask for less, or give it more --threads or a \
         machine of its own"
    );
    Some(warning("client-limited", message, 1))
}

/// Little's law: throughput times mean latency is the mean number in flight. It is off when the
/// latencies are not those of all the requests that were in flight.
fn little(summary: &LoadSummary) -> Option<Finding> {
    let (counted, by_law) = (summary.mean_in_flight, summary.mean_in_flight_by_little);
    summary.service.as_ref()?;
    let is_off = (counted - by_law).abs() > LITTLE_SHARE * counted.max(by_law);
    let because = if summary.failed > summary.timeouts {
        ": failed requests were in flight too, and are in no latency"
    } else {
        ": do not rely on these latencies"
    };
    is_off.then(|| {
        let message = format!(
            "{counted:.2} requests were in flight on average, and throughput times mean latency \
             gives {by_law:.2}{because}"
        );
        warning("littles-law", message, 1)
    })
}

fn censored(summary: &LoadSummary) -> Option<Finding> {
    let kinds = [
        (summary.unfinished, "were still out at the end"),
        (summary.unsent, "were due and never started"),
        (summary.timeouts, "ran into the timeout"),
    ];
    let count: u64 = kinds.iter().map(|(count, _)| count).sum();
    let named: Vec<String> = kinds
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    (count > 0).then(|| {
        let message = format!(
            "{}: they count with their age, and figures that depend on how long they would have \
             taken are marked as lower bounds",
            named.join(", ")
        );
        warning("censored", message, count)
    })
}

/// A client's own limit on those in flight looks like a server that works on so many at once.
fn held_back(inputs: &LoadInputs, summary: &LoadSummary) -> Option<Finding> {
    let count = summary.held_back;
    (count > 0).then(|| {
        let most = inputs.max_in_flight.unwrap_or(summary.max_in_flight);
        let message = format!(
            "{count} requests started late, since as many as allowed were in flight: their wait is \
             in the response time, not in the service time; --max-in-flight {most} is a limit of \
             this client, and looks exactly like a server with {}",
            threads(most)
        );
        warning("held-back", message, count)
    })
}

/// In a closed loop whose users always wait for the server, their number is a limit as well.
fn users_limit(inputs: &LoadInputs, summary: &LoadSummary) -> Option<Finding> {
    /// The share of their time that users wait for the server when nothing else holds them up.
    const ALWAYS: f64 = 0.9;
    let users = inputs.concurrency.filter(|_| inputs.schedule == "closed")?;
    (summary.answered > users && summary.mean_in_flight > ALWAYS * users as f64).then(|| {
        let message = format!(
            "-c {users} is a limit of this client, reached all the time: the rate is what {users} \
             at once get, and looks exactly like that of a server with {}; more users or a --rate \
             show what the server can do",
            threads(users)
        );
        note("users-limit", message, users)
    })
}

fn threads(count: u64) -> String {
    if count == 1 { "one thread".into() } else { format!("{count} threads") }
}

fn resent(summary: &LoadSummary) -> Option<Finding> {
    let count = summary.resent;
    (count > 0).then(|| {
        let message = format!(
            "{count} requests were sent again, since the server had closed their kept connection \
             before it saw them"
        );
        note("resent", message, count)
    })
}

/// A server that closes every connection makes a closed loop measure the opening of connections.
fn connection_each(inputs: &LoadInputs, summary: &LoadSummary) -> Option<Finding> {
    const FEW: u64 = 2;
    let users = inputs.concurrency.unwrap_or_default();
    let expects_reuse = inputs.keep_alive && !is_open(inputs) && summary.answered > FEW * users;
    (expects_reuse && summary.reused == 0).then(|| {
        let message = "the server closed every connection after one answer, so that each request \
                       opened one of its own"
            .to_owned();
        note("connection-each", message, summary.connections)
    })
}

fn warmup(summary: &LoadSummary) -> Option<Finding> {
    let count = summary.warmup;
    (count > 0).then(|| {
        let message = format!("{count} answers of the start-up are left out of all figures");
        note("warmup", message, count)
    })
}

fn encoded(summary: &LoadSummary) -> Option<Finding> {
    let count = summary.encoded;
    (count > 0).then(|| {
        let message =
            format!("{count} answers were compressed; they were counted and not unpacked");
        note("encoded", message, count)
    })
}

pub(super) fn warning(name: &str, message: String, count: u64) -> Finding {
    Finding { name: name.into(), severity: Severity::Warning, message, count }
}

fn note(name: &str, message: String, count: u64) -> Finding {
    Finding { name: name.into(), severity: Severity::Note, message, count }
}

#[cfg(test)]
mod tests {
    use waitscope_record::LatencyFigures;

    use super::*;

    fn inputs() -> LoadInputs {
        let (schedule, concurrency) = ("closed".into(), Some(4));
        LoadInputs { schedule, concurrency, keep_alive: true, ..LoadInputs::default() }
    }

    /// A run without anything to remark.
    fn quiet() -> LoadSummary {
        LoadSummary {
            requests: 100,
            answered: 100,
            reused: 96,
            service: Some(LatencyFigures::default()),
            mean_in_flight: 3.0,
            mean_in_flight_by_little: 2.9,
            ..LoadSummary::default()
        }
    }

    /// A change to the quiet run, and the name of the finding that it makes.
    type Case = (fn(&mut LoadSummary), Option<&'static str>);

    #[test]
    fn each_finding_has_its_cause_and_a_quiet_run_has_none() {
        let cases: [Case; 14] = [
            (|_| {}, None),
            (|s| s.client_limited_reason = Some("late".into()), Some("client-limited")),
            (|s| s.mean_in_flight_by_little = 2.84, Some("littles-law")),
            (|s| s.mean_in_flight_by_little = 3.17, Some("littles-law")),
            (|s| s.unfinished = 3, Some("censored")),
            (|s| s.unsent = 3, Some("censored")),
            (|s| s.timeouts = 3, Some("censored")),
            (|s| s.held_back = 3, Some("held-back")),
            (|s| (s.mean_in_flight, s.mean_in_flight_by_little) = (3.7, 3.7), Some("users-limit")),
            (|s| (s.mean_in_flight, s.mean_in_flight_by_little) = (3.5, 3.5), None),
            (|s| s.resent = 1, Some("resent")),
            (|s| s.reused = 0, Some("connection-each")),
            (|s| s.warmup = 4, Some("warmup")),
            (|s| s.encoded = 4, Some("encoded")),
        ];
        for (change, expected) in cases {
            let mut summary = quiet();
            change(&mut summary);
            let names: Vec<String> =
                all(&inputs(), &summary).into_iter().map(|finding| finding.name).collect();
            assert_eq!(names, expected.map(str::to_owned).into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_limit_of_the_client_is_called_one() {
        let said = |inputs: &LoadInputs, summary: &LoadSummary| {
            let findings = all(inputs, summary).into_iter();
            findings.map(|finding| finding.message).collect::<Vec<_>>().join("\n")
        };
        let mut summary = quiet();
        summary.held_back = 9;
        let open = LoadInputs { schedule: "open".into(), max_in_flight: Some(100), ..inputs() };
        let text = said(&open, &summary);
        assert!(text.contains("--max-in-flight 100 is a limit of this client"), "{text}");
        assert!(text.contains("like a server with 100 threads"), "{text}");
        summary = quiet();
        (summary.mean_in_flight, summary.mean_in_flight_by_little) = (4.0, 4.0);
        let text = said(&inputs(), &summary);
        assert!(text.contains("-c 4 is a limit of this client"), "{text}");
        assert!(text.contains("that of a server with 4 threads"), "{text}");
        // A burst asks once, and an open loop without a limit has none.
        for schedule in ["burst", "open"] {
            let inputs = LoadInputs { schedule: schedule.into(), ..inputs() };
            assert_eq!(said(&inputs, &summary), "", "{schedule}");
        }
    }

    #[test]
    fn nothing_at_all_breaks_no_law() {
        assert!(all(&inputs(), &LoadSummary::default()).is_empty());
    }
}
