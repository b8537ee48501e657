//! The two lines that everyone looks at first, and scripts look for.

use waitscope_record::{Record, StallInputs, StallSummary};
use waitscope_report::{Style, text};

use crate::fixtures::{self, blocking_run, concurrent_run};

/// The lines of `record` after the change must begin like this.
fn check(
    mut record: Record,
    change: impl Fn(&mut StallInputs, &mut StallSummary),
    expected: &[&str],
) {
    fixtures::change(&mut record, change);
    let text = text(&record, Style::default());
    let lines: Vec<&str> = text.lines().take(expected.len()).collect();
    assert_eq!(lines, expected);
}

#[test]
fn the_documented_sample() {
    check(
        blocking_run(false),
        |_, summary| {
            summary.wall_s = 18.8;
            summary.health_median_ms = Some(4400.0);
            summary.health_slowest_ms = Some(9800.0);
            summary.health_calm_median_ms = Some(1.2);
        },
        &[
            "8 requests, 4 at a time: 18.8 s, status codes [201]",
            "GET /health during that time: 188 answers, median 4.4 s, slowest 9.8 s (calm: 1.2 ms)",
            "",
        ],
    );
}

#[test]
fn the_requests_line() {
    type Change = fn(&mut StallInputs, &mut StallSummary);
    let cases: [(Change, &str); 5] = [
        (
            |_, summary| summary.statuses = [("201".into(), 6), ("503".into(), 2)].into(),
            "8 requests, 4 at a time: 4.6 s, status codes [201 x6, 503 x2]",
        ),
        (
            |_, summary| (summary.errors, summary.unfinished) = (2, 3),
            "8 requests, 4 at a time: 4.6 s, status codes [201], 2 failed, 3 unfinished",
        ),
        (|_, summary| summary.statuses.clear(), "8 requests, 4 at a time: 4.6 s, no answer"),
        (
            |_, summary| (summary.requests, summary.concurrency) = (1, 1),
            "1 request, 1 at a time: 4.6 s, status codes [201]",
        ),
        (
            |_, summary| summary.wall_s = 0.0123,
            "8 requests, 4 at a time: 12.3 ms, status codes [201]",
        ),
    ];
    for (change, expected) in cases {
        check(concurrent_run(false), change, &[expected]);
    }
}

#[test]
fn the_health_line() {
    type Change = fn(&mut StallInputs, &mut StallSummary);
    let cases: [(Change, &str); 6] = [
        (
            |_, summary| summary.health_failed = 3,
            "GET /health during that time: 46 answers, median 1.1 ms, slowest 1.4 ms (calm: 1.2 \
             ms), 3 failed",
        ),
        (
            |_, summary| {
                (summary.health_failed, summary.health_censored) = (1, 1);
                summary.health_slowest_ms = Some(120_000.0);
            },
            "GET /health during that time: 46 answers, median 1.1 ms, slowest at least 120 s \
             (calm: 1.2 ms), 1 failed",
        ),
        (
            // A probe was cut off, but an answered one took longer.
            |_, summary| {
                (summary.health_failed, summary.health_censored) = (1, 1);
                summary.health_slowest_ms = Some(1.2);
            },
            "GET /health during that time: 46 answers, median 1.1 ms, slowest 1.2 ms (calm: 1.2 \
             ms), 1 failed",
        ),
        (
            |_, summary| {
                summary.health_count = 0;
                (summary.health_median_ms, summary.health_slowest_ms) = (None, None);
                (summary.health_calm_median_ms, summary.health_failed) = (None, 31);
            },
            "GET /health during that time: 0 answers, 31 failed",
        ),
        (
            |inputs, _| inputs.health = "http://127.0.0.1:8400/ready?deep=1".into(),
            "GET /ready?deep=1 during that time: 46 answers, median 1.1 ms, slowest 1.4 ms (calm: \
             1.2 ms)",
        ),
        (
            |inputs, _| inputs.health = "http://me:secret@127.0.0.1:8401/health".into(),
            "GET http://127.0.0.1:8401/health during that time: 46 answers, median 1.1 ms, \
             slowest 1.4 ms (calm: 1.2 ms)",
        ),
    ];
    for (change, expected) in cases {
        let requests_line = "8 requests, 4 at a time: 4.6 s, status codes [201]";
        check(concurrent_run(false), change, &[requests_line, expected]);
    }
}
