//! What stands below the headline of a run: verdict, key, cost and parts.

use waitscope_record::{Part, Record, Verdict};
use waitscope_report::{Style, demo_closing_text, demo_run_text, text};

use crate::fixtures::{
    blocking_run, change, concurrent_run, demo, interrupted_demo, interrupted_run,
};

#[test]
fn a_verdict_that_fits_is_one_line() {
    // `STALLED: ` fills 9 columns.
    let cases =
        [(71, 80, 1), (72, 80, 2), (72, 81, 1), (111, 120, 1), (112, 120, 2), (151, 160, 1)];
    for (columns, width, expected) in cases {
        let mut record = blocking_run(false);
        let mut sentence = "word ".repeat(columns / 5 - 1);
        sentence += &"w".repeat(columns - sentence.len());
        record.verdict =
            Some(Verdict { name: "stalled".into(), sentence, evidence: vec![], next: vec![] });
        let text = text(&record, Style { width, ..Style::default() });
        let lines = text.lines().skip_while(|line| !line.starts_with("STALLED: "));
        let lines = lines.take_while(|line| !line.is_empty()).count();
        assert_eq!(lines, expected, "{columns} columns in {width}\n{text}");
    }
}

#[test]
fn probes_that_were_still_out_did_not_fail() {
    let text = text(&interrupted_run(), Style::default());
    assert!(text.contains("~ still out (26)"), "{text}");
    assert!(!text.contains("failed"), "{text}");
}

#[test]
fn the_cpu_line() {
    let cases = [
        (Some(0.23), Some(1.22), 18.8, "server CPU: 1.2 % of one core (0.23 s)"),
        (Some(0.01), Some(0.5), 2.0, "server CPU: 0.5 % of one core (0.01 s)"),
        // The share is rounded up: 10 ms of 4.6 s are 0.22 %.
        (Some(0.0), Some(0.0), 4.6, "server CPU: under 0.3 % of one core (under 0.01 s)"),
        (Some(0.0), Some(0.0), 0.05, "server CPU: under 20.0 % of one core (under 0.01 s)"),
        (Some(0.0), None, 4.6, "server CPU: under 0.3 % of one core (under 0.01 s)"),
        (Some(0.0), Some(0.0), 0.0, "server CPU: under 0.01 s"),
        (None, Some(1.22), 4.6, "server CPU: 1.2 % of one core"),
        (Some(0.23), None, 4.6, "server CPU: 0.23 s"),
    ];
    for (seconds, percent, wall_s, expected) in cases {
        let mut record = concurrent_run(false);
        change(&mut record, |_, summary| {
            (summary.server_cpu_seconds, summary.server_cpu_percent) = (seconds, percent);
            summary.wall_s = wall_s;
        });
        for text in [text(&record, Style::default()), demo_run_text(&record, Style::default())] {
            let lines: Vec<&str> =
                text.lines().filter(|line| line.starts_with("server CPU")).collect();
            assert_eq!(lines, [expected]);
        }
    }
    let mut record = concurrent_run(false);
    change(&mut record, |_, summary| {
        (summary.server_cpu_seconds, summary.server_cpu_percent) = (None, None);
    });
    assert!(!text(&record, Style::default()).contains("server CPU"));
}

/// A run whose parts have these names and shares.
fn with_parts(shares: &[(&str, f64)]) -> Record {
    let mut record = concurrent_run(true);
    for (at, (name, _)) in shares.iter().enumerate().take(shares.len() - 1) {
        record.series[0].columns[4 + at] = format!("part.{name}_ms");
    }
    change(&mut record, |_, summary| {
        let part = |(name, share): &(&str, f64)| Part {
            name: (*name).into(),
            median_ms: 1.0,
            share_percent: *share,
        };
        summary.parts = shares.iter().map(part).collect();
    });
    record
}

#[test]
fn in_short_the_parts_are_one_line() {
    let record = with_parts(&[
        ("db", 0.2),
        ("classify", 15.4),
        ("draft_reply", 18.0),
        ("embed", 4.6),
        ("other", 61.9),
    ]);
    let in_short = demo_run_text(&record, Style::default());
    let expected = "\ntime      other 62 %  db <1 %  classify 15 %  draft_reply 18 %  embed 5 %\n";
    assert!(in_short.contains(expected), "{in_short}");
    assert!(!in_short.contains("Server-Timing"), "{in_short}");
    let in_full = text(&record, Style::default());
    assert!(in_full.contains("Server-Timing") && !in_full.contains("\ntime "), "{in_full}");
    assert!(!demo_run_text(&concurrent_run(false), Style::default()).contains("\ntime "));
}

#[test]
fn the_rest_is_the_last_part_whatever_the_server_calls_its_own() {
    for own in ["other", "other (server)"] {
        let shares = [("db", 5.0), (own, 20.0), ("draft", 30.0), ("embed", 5.0), ("other", 40.0)];
        let record = with_parts(&shares);
        let in_full = text(&record, Style::default());
        let rows: Vec<String> = in_full
            .lines()
            .skip_while(|line| !line.contains("Server-Timing"))
            .filter(|line| line.contains("other"))
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(rows, [format!("▓ {own} 1.0 20.0 %"), "░ other 1.0 40.0 %".to_owned()]);
        let key = format!("key       requests: ░ other  █ db  ▓ {own}  ▄ draft  ▒ embed\n");
        assert!(in_full.contains(&key), "{in_full}");
        let in_short = demo_run_text(&record, Style::default());
        let line = format!("time      other 40 %  db 5 %  {own} 20 %  draft 30 %  embed 5 %\n");
        assert!(in_short.contains(&line), "{in_short}");
    }
}

#[test]
fn no_figure_of_the_demos_table_is_lost_in_a_narrow_terminal() {
    for record in [demo(), interrupted_demo()] {
        let text = demo_closing_text(&record, Style { width: 60, ..Style::default() });
        assert!(!text.contains('…'), "{text}");
        assert!(text.contains("calls at once\n"), "{text}");
    }
}

#[test]
fn what_the_glyphs_mean_stands_under_one_label() {
    let text = text(&interrupted_run(), Style::default());
    let labels = |label: &str| text.lines().filter(|line| line.starts_with(label)).count();
    assert_eq!((labels("requests"), labels("health"), labels("key")), (1, 1, 1), "{text}");
}
