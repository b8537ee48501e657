//! Whatever a record holds: no panic, no line wider than asked for, nothing that acts on the
//! terminal.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;
use waitscope_record::{
    Body, Cell, DemoSummary, Finding, ModeRow, Part, Record, Series, Severity, StallInputs,
    StallSummary, Verdict,
};
use waitscope_report::{Style, text};

use crate::fixtures;

/// What holds for the text of every record.
fn check(record: &Record, width: usize, unicode: bool) {
    let style = Style { width, color: false, unicode };
    let plain = text(record, style);
    for line in plain.lines() {
        assert!(!line.contains(char::is_control), "{line:?}");
        assert!(unicode || line.is_ascii(), "{line:?}");
        assert_eq!(line, line.trim_end());
        // The headline is kept whole, because scripts look for it.
        let headline = line.starts_with("GET ") || line.contains(" at a time: ");
        assert!(headline || line.width() <= width.clamp(60, 160), "{width}: {line:?}");
    }
    assert!(!plain.contains("\n\n\n"));
    let painted = text(record, Style { color: true, ..style });
    assert_eq!(without_color(&painted), plain);
}

fn without_color(text: &str) -> String {
    let mut pieces = text.split("\u{1b}[");
    let first = pieces.next().unwrap_or_default();
    pieces
        .fold(first.to_owned(), |text, piece| text + piece.split_once('m').map_or("", |end| end.1))
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => 0.0..20_000.0,
        1 => -100.0..100.0,
        1 => any::<f64>(),
        1 => prop::sample::select(vec![0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e12,
            1e300, f64::MIN_POSITIVE]),
    ]
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => "[a-z ]{0,40}",
        1 => any::<String>(),
        1 => "[a-z]{0,300}",
        1 => prop::sample::select(vec!["漢字 漢字漢字".repeat(20), "\u{1b}[31m\r\n".into(),
            "e\u{301}\u{202e}\u{200d}👩\u{200d}🚀\u{fe0f}".repeat(30)]),
    ]
}

fn cell() -> impl Strategy<Value = Cell> {
    prop_oneof![
        4 => number().prop_map(Cell::Number),
        1 => words().prop_map(Cell::Text),
        1 => Just(Cell::Missing(())),
        1 => prop::sample::select(vec![1.0, 200.0, 503.0]).prop_map(Cell::Number),
    ]
}

fn column() -> impl Strategy<Value = String> {
    let known = ["start_ms", "end_ms", "intended_ms", "status", "error", "ok", "part.db_ms"];
    prop_oneof![
        8 => prop::sample::select(known.map(String::from).to_vec()),
        1 => words(),
        1 => words().prop_map(|name| format!("part.{name}_ms")),
    ]
}

fn series() -> impl Strategy<Value = Series> {
    let name = prop::sample::select(vec!["requests", "health", "other"]);
    let rows = prop_oneof![vec(vec(cell(), 0..8), 0..12), vec(vec(cell(), 3..8), 20..60)];
    (name, vec(column(), 0..10), rows).prop_map(|(name, columns, rows)| Series {
        name: name.into(),
        unit: None,
        columns,
        rows,
    })
}

fn inputs() -> impl Strategy<Value = StallInputs> {
    let url =
        || prop_oneof![words(), words().prop_map(|path| format!("http://user:pw@host/{path}"))];
    (url(), url(), any::<u64>(), number()).prop_map(|(url, health, requests, number)| StallInputs {
        url,
        method: "GET".into(),
        requests,
        concurrency: requests,
        health,
        every_ms: number,
        probe: "scheduled".into(),
        max_health_ms: number,
        timeout_ms: number,
    })
}

fn summary() -> impl Strategy<Value = StallSummary> {
    let part = (words(), number(), number()).prop_map(|(name, median_ms, share_percent)| Part {
        name,
        median_ms,
        share_percent,
    });
    let counts = (any::<u64>(), 0..3_u64, 0..3_u64);
    let figures = (number(), number(), option::of(number()), option::of(number()));
    (counts, figures, btree_map(words(), any::<u64>(), 0..12), vec(part, 0..8)).prop_map(
        |((requests, errors, censored), (wall_s, own, ms, cpu), statuses, parts)| StallSummary {
            requests,
            wall_s,
            statuses,
            errors,
            unfinished: errors,
            health_median_ms: ms,
            health_slowest_ms: ms,
            health_calm_median_ms: cpu,
            health_failed: censored,
            health_censored: censored,
            server_cpu_seconds: cpu,
            server_cpu_percent: ms,
            client_cpu_seconds: own,
            client_lag_p99_ms: own,
            parts,
            ..StallSummary::default()
        },
    )
}

fn verdict() -> impl Strategy<Value = Verdict> {
    (words(), words(), vec(words(), 0..3), vec(words(), 0..3))
        .prop_map(|(name, sentence, evidence, next)| Verdict { name, sentence, evidence, next })
}

fn finding() -> impl Strategy<Value = Finding> {
    let severity = prop::sample::select(vec![Severity::Note, Severity::Warning, Severity::Error]);
    (severity, words(), any::<u64>()).prop_map(|(severity, message, count)| Finding {
        name: "odd".into(),
        severity,
        message,
        count,
    })
}

prop_compose! {
    fn stall()(
        (inputs, summary) in (inputs(), summary()),
        series in vec(series(), 0..3),
        findings in vec(finding(), 0..3),
        verdict in option::of(verdict()),
        other_verdicts in vec(verdict(), 0..2),
        name in option::of(words()),
        interrupted in any::<bool>(),
    ) -> Record {
        let body = Body::Stall { inputs, summary: Box::new(summary) };
        let record = Record::new(body, "0.1.0", "2026-01-02T03:04:05Z".into());
        Record { name, interrupted, series, findings, verdict, other_verdicts, ..record }
    }
}

fn mode() -> impl Strategy<Value = ModeRow> {
    let name = prop_oneof![
        prop::sample::select(vec!["async", "thread", "blocking"]).prop_map(String::from),
        words()
    ];
    (name, number(), option::of(number()), any::<u64>()).prop_map(|(mode, figure, ms, most)| {
        ModeRow {
            mode,
            wall_s: figure,
            health_median_ms: ms,
            health_slowest_ms: ms,
            tickets_per_s: figure,
            provider_max_in_flight: most,
            steady: None,
        }
    })
}

prop_compose! {
    fn demo()(
        modes in vec(mode(), 0..5),
        surprises in vec(words(), 0..3),
        as_expected in any::<bool>(),
        runs in vec(stall(), 0..3),
        interrupted in any::<bool>(),
    ) -> Record {
        let record = fixtures::demo_of(DemoSummary { modes, as_expected, surprises });
        Record { runs, interrupted, ..record }
    }
}

proptest! {
    #[test]
    fn every_stall_record_is_rendered(
        record in stall(), width in 0..200_usize, unicode in any::<bool>()
    ) {
        check(&record, width, unicode);
    }

    #[test]
    fn every_demo_record_is_rendered(
        record in demo(), width in 0..200_usize, unicode in any::<bool>()
    ) {
        check(&record, width, unicode);
    }
}

#[test]
fn the_longest_series_are_rendered() {
    // All at once, so that each of them needs a row of its own; and one after the other.
    for took_ms in [1e6, 0.5] {
        let request = |number: u32| fixtures::Request {
            start_ms: f64::from(number),
            end_ms: Some(f64::from(number) + took_ms),
            answer: Ok(200),
            parts_ms: vec![took_ms / 2.0],
        };
        let requests: Vec<fixtures::Request> = (0..10_000).map(request).collect();
        let probes = fixtures::held_probes(1e6, &[1e6]);
        assert_eq!(probes.len(), waitscope_record::MAX_ROWS);
        check(&fixtures::stall(10_000, &["db"], &requests, &probes), 80, true);
    }
}

#[test]
fn records_without_requests_or_probes_are_rendered() {
    let requests = || {
        vec![fixtures::Request {
            start_ms: 0.0,
            end_ms: Some(0.0),
            answer: Ok(200),
            parts_ms: vec![],
        }]
    };
    for (requests, probes) in [
        (vec![], vec![]),
        (requests(), vec![]),
        (vec![], fixtures::fast_probes(500.0)),
        (requests(), fixtures::fast_probes(1.0)),
    ] {
        check(&fixtures::stall(1, &[], &requests, &probes), 80, true);
    }
}
