//! What to look for or to run next, by what was found. Pure.

use waitscope_record::{StallInputs, StallSummary};

use super::Meaning;
use super::verdict::Doing;

const ASYNC_HANDLER: &str = "on an event loop (FastAPI `async def`, aiohttp, Node, axum): look for \
    a call that waits inside a handler (requests.get, time.sleep, a synchronous database driver, \
    readFileSync, std::thread::sleep), and await its async variant or send it to a thread \
    (asyncio.to_thread, spawn_blocking)";
const COMPUTING: &str = "look for long computing in a handler (password hashing, JSON, images) and \
    move it to another process; in Python a thread is not enough, since computing threads share one \
    interpreter lock";
const WORKERS: &str = "on workers or threads (Flask, gunicorn, plain `def` in FastAPI): the health \
    check queues for the same ones; add some, or answer it from the event loop";

/// The next steps for a reader, the likeliest first.
pub(super) fn next(
    meaning: Meaning,
    doing: Doing,
    inputs: &StallInputs,
    summary: &StallSummary,
) -> Vec<String> {
    let mut steps: Vec<String> = match meaning {
        Meaning::Stalled if doing == Doing::Computing => vec![COMPUTING.into(), WORKERS.into()],
        Meaning::Stalled => vec![ASYNC_HANDLER.into(), WORKERS.into()],
        Meaning::HealthFailed => vec!["read the server's log for the time of the failures".into()],
        Meaning::NotMeasured if summary.statuses.is_empty() => {
            vec!["look at the server: is it up, and does it answer within --timeout?".into()]
        }
        Meaning::NotMeasured => {
            vec!["send a request that succeeds: check --method, --header and --body".into()]
        }
        Meaning::CannotTell => vec!["give this machine some idle CPU and run again".into()],
        Meaning::Responsive => vec![when_responsive(inputs, summary)],
    };
    if inputs.probe == "sequential" {
        steps.push(
            "these probes waited for each other, so a stall shows in few of them: measure with \
             --probe scheduled"
                .into(),
        );
    }
    steps
}

fn when_responsive(inputs: &StallInputs, summary: &StallSummary) -> String {
    let answers: u64 = summary.statuses.values().sum();
    let worked: u64 = summary
        .statuses
        .iter()
        .filter(|(status, _)| status.starts_with('2'))
        .map(|(_, count)| count)
        .sum();
    if worked < answers || summary.errors > 0 {
        return "some requests failed: mend those first, since work that fails does not wait"
            .into();
    }
    let more = (inputs.concurrency * 10).min(200);
    if inputs.concurrency >= more {
        return "the waits do not hold this server, at least up to here".into();
    }
    format!(
        "try more at once, since pools of 10, 40 or 100 fill up late: -c {more} -n {}",
        more * 2
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(concurrency: u64, probe: &str) -> StallInputs {
        StallInputs {
            url: "http://h/".into(),
            method: "GET".into(),
            requests: 8,
            concurrency,
            health: "http://h/health".into(),
            every_ms: 100.0,
            probe: probe.into(),
            max_health_ms: 250.0,
            timeout_ms: 120_000.0,
        }
    }

    fn statuses(of: &[(&str, u64)]) -> StallSummary {
        let statuses = of.iter().map(|(status, count)| ((*status).to_owned(), *count)).collect();
        StallSummary { statuses, ..StallSummary::default() }
    }

    #[test]
    fn advice_fits_what_was_found() {
        use Meaning::{CannotTell, HealthFailed, NotMeasured, Responsive, Stalled};
        let fine = || statuses(&[("200", 8)]);
        let cases = [
            (Stalled, Doing::Waiting, 4, fine(), "requests.get"),
            (Stalled, Doing::Unknown, 4, fine(), "requests.get"),
            (Stalled, Doing::Computing, 4, fine(), "password hashing"),
            (HealthFailed, Doing::Waiting, 4, fine(), "log"),
            (NotMeasured, Doing::Waiting, 4, statuses(&[("422", 8)]), "--body"),
            (NotMeasured, Doing::Waiting, 4, statuses(&[]), "is it up"),
            (CannotTell, Doing::Waiting, 4, fine(), "idle CPU"),
            (Responsive, Doing::Waiting, 4, fine(), "-c 40 -n 80"),
            (Responsive, Doing::Waiting, 200, fine(), "up to here"),
            (Responsive, Doing::Waiting, 4, statuses(&[("201", 7), ("503", 1)]), "mend those"),
        ];
        for (meaning, doing, concurrency, summary, words) in cases {
            let steps = next(meaning, doing, &inputs(concurrency, "scheduled"), &summary);
            assert!(steps[0].contains(words), "{meaning:?}: {steps:?}");
        }
    }

    #[test]
    fn sequential_probes_are_warned_about_and_scheduled_ones_are_not() {
        for (probe, expected) in [("sequential", true), ("scheduled", false)] {
            let summary = statuses(&[("200", 8)]);
            let steps = next(Meaning::Responsive, Doing::Waiting, &inputs(4, probe), &summary);
            assert_eq!(steps.iter().any(|step| step.contains("--probe scheduled")), expected);
        }
    }
}
