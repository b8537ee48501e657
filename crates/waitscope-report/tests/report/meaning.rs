//! What a demo says its figures mean: only what they show.

use waitscope_record::{DemoSummary, ModeRow, Record};
use waitscope_report::{Style, demo_closing_text, demo_run_text, text};

use crate::fixtures::{change, demo, demo_of, interrupted_demo, mode};

fn closing(modes: Vec<ModeRow>) -> String {
    let surprises = vec!["blocking did not block".to_owned()];
    let summary = DemoSummary { modes, as_expected: false, surprises };
    one_line(&demo_of(summary))
}

/// As one line, so that expectations need not know where lines are broken.
fn one_line(record: &Record) -> String {
    let text = demo_closing_text(record, Style::default());
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn sentences_follow_the_figures() {
    let held = |name| mode(name, 18.8, Some(4400.0), Some(9800.0), 1);
    let free = |name| mode(name, 4.6, Some(1.1), Some(1.4), 4);
    let cases = [
        (vec![free("async")], "the event loop serves the others: health stayed at 1.1 ms, with 4"),
        (
            vec![held("async")],
            "async: health took 4.4 s in the median and 9.8 s at most, with 1 provider call in flight",
        ),
        (vec![free("thread")], "thread: each ticket waits in a worker thread"),
        (vec![held("blocking")], "up to 9.8 s, because only 1 provider call was ever in flight."),
        (
            vec![free("async"), held("blocking")],
            "9.8 s and the tickets 18.8 s instead of 4.6 s, because",
        ),
        (vec![free("blocking")], "blocking: health took 1.1 ms in the median and 1.4 ms at most"),
        (
            vec![mode("new", 1.0, None, None, 2)],
            "new: no health probe was answered, with 2 provider calls",
        ),
    ];
    for (modes, expected) in cases {
        let text = closing(modes);
        assert!(text.contains(expected), "{expected}\n{text}");
        assert!(text.ends_with("Not as expected: - blocking did not block"), "{text}");
    }
}

#[test]
fn a_demo_can_be_printed_run_by_run() {
    let (record, style) = (demo(), Style::default());
    let mut printed: String = record.runs.iter().map(|run| demo_run_text(run, style)).collect();
    printed += &demo_closing_text(&record, style);
    assert_eq!(printed, text(&record, style));
    assert!(printed.starts_with("--- intake mode: async ---\n8 requests, 4 at a time: "));
    assert!(printed.contains("\n\n--- intake mode: blocking ---\n"));
}

#[test]
fn an_interrupted_demo_says_what_it_covers() {
    let modes = vec![mode("async", 4.6, Some(1.1), Some(1.4), 4)];
    let mut record = demo_of(DemoSummary { modes, as_expected: false, surprises: vec![] });
    assert!(!demo_closing_text(&record, Style::default()).contains("interrupted"));
    record.interrupted = true;
    let text = demo_closing_text(&record, Style::default());
    assert!(text.starts_with("interrupted: only 1 intake mode measured to the end\n"), "{text}");
}

#[test]
fn a_mode_that_was_cut_off_counts_as_such() {
    let mut record = interrupted_demo();
    let text = one_line(&record);
    assert!(text.starts_with("interrupted: only 2 intake modes measured to the end "), "{text}");
    let expected = "blocking: cut off after 3.2 s with 0 of 8 tickets created: until then a health \
                    probe waited as long as 2.6 s, with 1 provider call in flight at once.";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains(" blocking >3.2 s "), "{text}");
    assert!(!text.contains("instead of"), "{text}");
    for run in &mut record.runs {
        run.interrupted = true;
    }
    let text = one_line(&record);
    assert!(text.starts_with("interrupted: no intake mode was measured to the end "), "{text}");
}

#[test]
fn times_are_compared_only_between_complete_modes() {
    let compared = "and the tickets 18.8 s instead of 4.6 s";
    assert!(one_line(&demo()).contains(compared));
    for (at, name) in [(0, "async"), (2, "blocking")] {
        let mut record = demo();
        change(&mut record.runs[at], |_, summary| {
            summary.statuses = [("201".into(), 5), ("503".into(), 3)].into();
        });
        let text = one_line(&record);
        assert!(!text.contains("instead of"), "{text}");
        let expected = format!("{name}: only 5 of 8 tickets were created: health took ");
        assert!(text.contains(&expected), "{text}");
    }
}
