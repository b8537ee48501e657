//! The text of a `demo`: each run, then what they show together.

use waitscope_record::{Body, DemoSummary, ModeRow, Record};

use crate::Style;
use crate::page::{Line, Page, Paint};

use super::table::{Align, Table, name};
use super::{figure, stall};

/// Each run, then what they show together.
pub(super) fn text(record: &Record, style: Style) -> String {
    let runs = record.runs.iter().map(|run| demo_run_text(run, style));
    runs.chain([demo_closing_text(record, style)]).collect()
}

/// One run of a demo: a heading with the intake mode, which is the run's name, and the run's
/// `stall` text in short. Ends in an empty line.
pub fn demo_run_text(run: &Record, style: Style) -> String {
    let mode = run.name.as_deref().unwrap_or("not named");
    let mut heading = Page::default();
    heading.push(Line::painted(Paint::Strong, &format!("--- intake mode: {mode} ---")));
    let heading = heading.render(style);
    let body = match &run.body {
        Body::Stall { inputs, summary } => {
            stall::compact(run, inputs, summary, style).render(style)
        }
        Body::Demo { .. } => String::new(),
    };
    format!("{heading}{body}\n")
}

/// The end of a demo's text: the modes side by side, what that means, and what was not expected.
/// Nothing for a record of another kind.
pub fn demo_closing_text(record: &Record, style: Style) -> String {
    let Body::Demo { summary, .. } = &record.body else {
        return String::new();
    };
    let mut page = Page::default();
    if record.interrupted {
        let measured = figure::count(summary.modes.len() as u64, "intake mode");
        let text = format!("interrupted: only {measured} measured to the end");
        page.push(Line::painted(Paint::Caution, &text));
        page.gap();
    }
    if !summary.modes.is_empty() {
        page.extend(table(summary, style));
        let meanings: Vec<String> =
            summary.modes.iter().map(|row| meaning(row, &summary.modes)).collect();
        page.list("What it means:", meanings.iter().map(|text| ("-".to_owned(), text)), style);
    }
    if !summary.as_expected {
        let surprises = summary.surprises.iter().map(|text| ("-".to_owned(), text));
        page.list("Not as expected:", surprises, style);
    }
    page.render(style)
}

fn table(summary: &DemoSummary, style: Style) -> Vec<Line> {
    let mut table = Table::new(vec![
        (Align::Left, &["mode"]),
        (Align::Right, &["wall"]),
        (Align::Right, &["health", "median"]),
        (Align::Right, &["health", "slowest"]),
        (Align::Right, &["tickets/s"]),
        (Align::Right, &["most provider", "calls at once"]),
    ]);
    for row in &summary.modes {
        let paint = if holds_everyone(row) { Paint::Bad } else { Paint::Plain };
        table.row(vec![
            Line::plain(&name(&row.mode, style)),
            Line::plain(&figure::time_ms(row.wall_s * 1000.0)),
            Line::painted(paint, &maybe_time(row.health_median_ms)),
            Line::painted(paint, &maybe_time(row.health_slowest_ms)),
            Line::plain(&figure::number(row.tickets_per_s)),
            Line::painted(paint, &row.provider_max_in_flight.to_string()),
        ]);
    }
    table.lines()
}

/// Whether something held the event loop for so long that health probes had to wait.
fn holds_everyone(row: &ModeRow) -> bool {
    const LONGER_THAN_NOISE_MS: f64 = 1000.0;
    row.health_slowest_ms.is_some_and(|ms| ms > LONGER_THAN_NOISE_MS)
}

/// One mode in one sentence, which says only what its figures show.
fn meaning(row: &ModeRow, modes: &[ModeRow]) -> String {
    let median = maybe_time(row.health_median_ms);
    let slowest = maybe_time(row.health_slowest_ms);
    let calls = figure::count(row.provider_max_in_flight, "provider call");
    match (row.mode.as_str(), holds_everyone(row)) {
        ("async", false) => format!(
            "async: while a ticket waits for the provider the event loop serves the others: \
             health stayed at {median}, with {calls} in flight at once."
        ),
        ("thread", false) => format!(
            "thread: each ticket waits in a worker thread, so the event loop stays free as well: \
             health stayed at {median}; the price is a thread and a database connection held by \
             every ticket that waits."
        ),
        ("blocking", true) => format!(
            "blocking: one waiting call inside the async handler makes everyone wait: a health \
             answer took up to {slowest}{}, {}.",
            compared(row, modes),
            because(row)
        ),
        (mode, _) if row.health_slowest_ms.is_none() => {
            format!("{mode}: no health probe was answered, with {calls} in flight at once.")
        }
        (mode, _) => format!(
            "{mode}: health took {median} in the median and {slowest} at most, with {calls} in \
             flight at once."
        ),
    }
}

/// The tickets' time against the async mode's, where both were measured.
fn compared(row: &ModeRow, modes: &[ModeRow]) -> String {
    let other = modes.iter().find(|other| other.mode == "async" && other.wall_s < row.wall_s);
    other.map_or_else(String::new, |other| {
        let [this, other] = [row, other].map(|row| figure::time_ms(row.wall_s * 1000.0));
        format!(" and the tickets {this} instead of {other}")
    })
}

fn because(row: &ModeRow) -> String {
    if row.provider_max_in_flight == 1 {
        "because only 1 provider call was ever in flight".to_owned()
    } else {
        format!(
            "with {} in flight at once",
            figure::count(row.provider_max_in_flight, "provider call")
        )
    }
}

fn maybe_time(ms: Option<f64>) -> String {
    ms.map_or_else(|| "none".to_owned(), figure::time_ms)
}
