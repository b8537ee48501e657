//! `waitscope load --health`: the health probe of `stall` beside any load.

use serde_json::Value;

use super::fixture::{Ran, TICKET, Tickets, Waitscope, provider};
use super::records::keeps_to_the_schema;

/// Four tickets at once, whose provider calls take 300 ms each, with health probed beside them.
fn beside_tickets(mode: &str, args: &[&str]) -> Ran {
    let provider = provider("fixed:300ms");
    let tickets = Tickets::start(mode, &provider);
    Waitscope::new("load")
        .args([&tickets.tickets_url(), "--body", TICKET, "-n", "4", "-c", "4"])
        .args(["--health", "/health", "--every", "50ms"])
        .args(args)
        .run()
}

fn findings(record: &Value) -> Vec<&str> {
    let findings = record["findings"].as_array().into_iter().flatten();
    findings.filter_map(|finding| finding["name"].as_str()).collect()
}

#[test]
fn health_that_waits_with_the_requests_is_told_and_crosses_its_line() {
    let lines = ["--fail-if", "unhealthy>0", "--fail-if", "health-p50>1h", "--json"];
    let record = beside_tickets("blocking", &lines).exits(1).record();
    keeps_to_the_schema(&record);
    assert!(findings(&record).contains(&"health-waits"), "{record:#}");
    let health = &record["summary"]["health"];
    assert!(health["slow"].as_u64().unwrap() > 0, "{health:#}");
    // Each ticket holds the loop for three calls; a probe waits for at least one of them.
    assert!(health["latency"]["max_ms"].as_f64().unwrap() > 600.0, "{health:#}");
    assert!(health["url"].as_str().unwrap().ends_with("/health"), "{health:#}");
    let series = record["series"].as_array().unwrap();
    let probes = series.iter().find(|series| series["name"] == "health").unwrap();
    let rows = probes["rows"].as_array().unwrap().len() as u64;
    assert_eq!(rows, health["sent"].as_u64().unwrap(), "{health:#}");
}

#[test]
fn health_that_does_not_wait_is_not_blamed() {
    let lines = ["--max-health", "500ms", "--fail-if", "unhealthy>0"];
    let ran = beside_tickets("async", &[&lines[..], &["--json"]].concat()).exits(0);
    let record = ran.record();
    assert!(!findings(&record).contains(&"health-waits"), "{record:#}");
    let health = &record["summary"]["health"];
    assert_eq!((&health["slow"], &health["failed"]), (&0.into(), &0.into()), "{health:#}");
    assert!(health["answered"].as_u64().unwrap() >= 3, "{health:#}");
    let text = beside_tickets("async", &lines).exits(0).stdout;
    assert!(text.contains("health: calm "), "{text}");
}

#[test]
fn health_that_is_bad_before_the_load_is_no_baseline() {
    let provider = provider("fixed:1ms");
    let url = provider.url();
    for (health, says) in [("/nothing-here", "answered 404"), ("http://127.0.0.1:1/", "refused")] {
        let ran = Waitscope::new("load").args([url, "-n", "1", "--health", health]).run();
        let ran = ran.exits(3).complains(&[says, "--health"]);
        assert!(ran.stdout.is_empty(), "{ran:#?}");
    }
}

#[test]
fn a_line_about_health_needs_a_health_endpoint() {
    for line in ["health-p99>250ms", "unhealthy>1%", "unhealthy>0"] {
        let args = ["http://127.0.0.1:1/", "--fail-if", line];
        Waitscope::new("load").args(args).run().exits(2).complains(&[line, "--health PATH"]);
    }
    let args = ["http://127.0.0.1:1/", "--health-header", "a: b"];
    let ran = Waitscope::new("load").args(args).run().exits(2);
    assert!(ran.stderr.contains("--health <PATH|URL>"), "{ran:#?}");
}
