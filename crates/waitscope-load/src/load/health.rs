//! What health probes beside a load say. Pure.

use waitscope_record::{ErrorKind, Finding, LoadHealth, LoadSummary};

use super::Health;
use super::figures::{latencies, ms};
use super::findings::warning;

/// All that is counted of them.
pub(super) fn figures(health: &Health) -> LoadHealth {
    let probes = &health.probes;
    let failures = probes.failures.iter().map(|(class, (count, example))| ErrorKind {
        class: class.clone(),
        count: *count,
        example: example.clone(),
    });
    LoadHealth {
        url: health.url.clone(),
        every_ms: ms(health.every),
        max_health_ms: ms(health.limit),
        calm_median_ms: health.calm.median().map(ms),
        sent: probes.sent(),
        answered: probes.answered,
        failed: probes.failed,
        unfinished: probes.unfinished,
        slow: probes.slow,
        latency: latencies(&probes.latencies, None),
        failures: failures.collect(),
    }
}

/// Health that waited with the requests, or failed.
pub(super) fn findings(summary: &LoadSummary) -> impl Iterator<Item = Finding> {
    let health = summary.health.as_ref();
    [health.and_then(waits), health.and_then(failed)].into_iter().flatten()
}

fn waits(health: &LoadHealth) -> Option<Finding> {
    let slowest_ms = health.latency.as_ref()?.max_ms;
    let calm_ms = health.calm_median_ms?;
    (health.slow > 0).then(|| {
        let message = format!(
            "the health check waited with the requests: {} of {} answers took longer than {:.0} ms, \
             the slowest {slowest_ms:.0} ms, against {calm_ms:.1} ms before; `waitscope stall` says \
             more",
            health.slow, health.sent, health.max_health_ms
        );
        warning("health-waits", message, health.slow)
    })
}

fn failed(health: &LoadHealth) -> Option<Finding> {
    let first = health.failures.first()?;
    let message =
        format!("{} of {} health probes failed: {}", health.failed, health.sent, first.example);
    Some(warning("health-failed", message, health.failed))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use waitscope_stats::latencies::Latencies;

    use super::*;
    use crate::probe::{ProbeSample, Probes};

    fn of(probes: &[(u64, Option<u16>)]) -> LoadHealth {
        let millis = Duration::from_millis;
        let mut calm = Latencies::new();
        calm.record(millis(2));
        let mut counted = Probes::new(millis(250));
        for (latency_ms, status) in probes {
            counted.add(ProbeSample {
                intended: millis(0),
                start: millis(0),
                end: millis(*latency_ms),
                status: *status,
                error: None,
            });
        }
        let (every, limit, url) = (millis(100), millis(250), "http://h/health".to_owned());
        figures(&Health { url, every, limit, calm, probes: counted })
    }

    fn named(health: LoadHealth) -> Vec<String> {
        let summary = LoadSummary { health: Some(health), ..LoadSummary::default() };
        findings(&summary).map(|finding| finding.name).collect()
    }

    #[test]
    fn slow_and_failed_health_is_told_and_good_health_is_not() {
        let good = of(&[(2, Some(200)), (249, Some(204))]);
        assert_eq!((good.sent, good.answered, good.slow, good.failed), (2, 2, 0, 0));
        assert_eq!(named(good), [""; 0]);
        let slow = of(&[(2, Some(200)), (8_000, Some(200)), (900, None)]);
        assert_eq!((slow.sent, slow.slow, slow.unfinished), (3, 2, 1));
        assert_eq!(slow.latency.as_ref().map(|latency| latency.count), Some(3));
        assert_eq!(named(slow), ["health-waits"]);
        assert_eq!(named(of(&[(2, Some(503))])), ["health-failed"]);
        assert_eq!(findings(&LoadSummary::default()).count(), 0);
    }
}
