//! The text of a `demo`: each run, then what they show together.

use waitscope_record::{Body, DemoInputs, ModeRow, Record};

use crate::Style;
use crate::page::{Line, Page, Paint};

use super::stall::Detail;
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
            stall::page(run, inputs, summary, Detail::Compact, style).render(style)
        }
        Body::Demo { .. } | Body::Load { .. } => String::new(),
    };
    format!("{heading}{body}\n")
}

/// The end of a demo's text: the modes side by side, what that means, and what was not expected.
/// Nothing for a record of another kind.
pub fn demo_closing_text(record: &Record, style: Style) -> String {
    let Body::Demo { inputs, summary } = &record.body else {
        return String::new();
    };
    let modes: Vec<Mode> =
        summary.modes.iter().map(|row| Mode::of(row, &record.runs, inputs)).collect();
    let mut page = Page::default();
    if record.interrupted {
        page.push(Line::painted(Paint::Caution, &interrupted(&modes)));
        page.gap();
    }
    if !modes.is_empty() {
        page.extend(table(&modes, style));
        let meanings: Vec<String> = modes.iter().map(|mode| meaning(mode, &modes)).collect();
        page.list("What it means:", meanings.iter().map(|text| ("-".to_owned(), text)), style);
    }
    if !summary.as_expected {
        let surprises = summary.surprises.iter().map(|text| ("-".to_owned(), text));
        page.list("Not as expected:", surprises, style);
    }
    page.render(style)
}

/// One mode's figures, and how far its run came.
#[derive(Debug, Clone, Copy)]
struct Mode<'a> {
    row: &'a ModeRow,
    /// Tickets that were created, if the record holds the run.
    created: Option<u64>,
    /// Tickets that should have been.
    asked: u64,
    /// Whether its run was stopped before its end.
    cut: bool,
}

impl<'a> Mode<'a> {
    fn of(row: &'a ModeRow, runs: &[Record], inputs: &DemoInputs) -> Self {
        let run = runs.iter().find(|run| run.name.as_deref() == Some(&row.mode));
        let created = run.and_then(|run| match &run.body {
            Body::Stall { summary, .. } => {
                let good = summary.statuses.iter().filter(|(status, _)| status.starts_with('2'));
                Some(good.fold(0, |sum: u64, (_, count)| sum.saturating_add(*count)))
            }
            Body::Demo { .. } | Body::Load { .. } => None,
        });
        Self { row, created, asked: inputs.requests, cut: run.is_some_and(|run| run.interrupted) }
    }

    /// Whether every ticket was created, so that its times compare with those of another mode.
    fn is_complete(&self) -> bool {
        !self.cut && self.created.is_none_or(|created| created >= self.asked)
    }

    /// `3 of 8 tickets`
    fn tickets(&self) -> String {
        let asked = figure::count(self.asked, "ticket");
        format!("{} of {asked}", self.created.unwrap_or(0))
    }
}

fn interrupted(modes: &[Mode]) -> String {
    match modes.iter().filter(|mode| !mode.cut).count() as u64 {
        0 => "interrupted: no intake mode was measured to the end".to_owned(),
        measured => {
            let measured = figure::count(measured, "intake mode");
            format!("interrupted: only {measured} measured to the end")
        }
    }
}

fn table(modes: &[Mode], style: Style) -> Vec<Line> {
    let mut columns: Vec<(Align, &[&str])> = vec![
        (Align::Left, &["mode"]),
        (Align::Right, &["wall"]),
        (Align::Right, &["health", "median"]),
        (Align::Right, &["health", "slowest"]),
        (Align::Right, &["tickets/s"]),
        (Align::Right, &["most provider", "calls at once"]),
    ];
    let has_steady = modes.iter().any(|mode| mode.row.steady.is_some());
    if has_steady {
        columns.push((Align::Right, &["8 users,", "tickets/s"]));
        columns.push((Align::Right, &["8 users,", "median"]));
    }
    let mut table = Table::new(columns);
    for Mode { row, cut, .. } in modes {
        // A run that was cut off would have taken longer.
        let bound = if *cut { ">" } else { "" };
        let paint = if holds_everyone(row) { Paint::Bad } else { Paint::Plain };
        let mut cells = vec![
            Line::plain(&name(&row.mode, style)),
            Line::plain(&format!("{bound}{}", figure::time_ms(row.wall_s * 1000.0))),
            Line::painted(paint, &maybe_time(row.health_median_ms)),
            Line::painted(paint, &maybe_time(row.health_slowest_ms)),
            Line::plain(&figure::number(row.tickets_per_s)),
            Line::painted(paint, &row.provider_max_in_flight.to_string()),
        ];
        if has_steady {
            let steady = row.steady.as_ref();
            let rate = steady.map_or_else(String::new, |s| figure::number(s.tickets_per_s));
            cells.push(Line::painted(paint, &rate));
            cells.push(Line::painted(paint, &maybe_time(steady.and_then(|s| s.ticket_p50_ms))));
        }
        table.row(cells);
    }
    table.lines(style)
}

/// Whether something held the event loop for so long that health probes had to wait.
fn holds_everyone(row: &ModeRow) -> bool {
    const LONGER_THAN_NOISE_MS: f64 = 1000.0;
    row.health_slowest_ms.is_some_and(|ms| ms > LONGER_THAN_NOISE_MS)
}

/// One mode in one sentence, which says only what its figures show.
fn meaning(mode: &Mode, modes: &[Mode]) -> String {
    let row = mode.row;
    if !mode.is_complete() {
        return incomplete(mode);
    }
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
        (mode, _) => format!("{mode}: {}.", health(row)),
    }
}

/// What is known of a mode in which not every ticket was created.
fn incomplete(mode: &Mode) -> String {
    let (row, tickets) = (mode.row, mode.tickets());
    if !mode.cut {
        return format!("{}: only {tickets} were created: {}.", row.mode, health(row));
    }
    let wall = figure::time_ms(row.wall_s * 1000.0);
    let calls = figure::count(row.provider_max_in_flight, "provider call");
    // The slowest may be a probe that was still out, so this is no upper bound.
    let waited = row.health_slowest_ms.map_or_else(
        || "no health probe was answered".to_owned(),
        |ms| format!("a health probe waited as long as {}", figure::time_ms(ms)),
    );
    format!(
        "{}: cut off after {wall} with {tickets} created: until then {waited}, with {calls} in \
         flight at once.",
        row.mode
    )
}

fn health(row: &ModeRow) -> String {
    let calls = figure::count(row.provider_max_in_flight, "provider call");
    if row.health_slowest_ms.is_none() {
        return format!("no health probe was answered, with {calls} in flight at once");
    }
    let [median, slowest] = [row.health_median_ms, row.health_slowest_ms].map(maybe_time);
    format!(
        "health took {median} in the median and {slowest} at most, with {calls} in flight at once"
    )
}

/// The tickets' time against the async mode's, where that was measured to its end.
fn compared(row: &ModeRow, modes: &[Mode]) -> String {
    let mut others = modes.iter().filter(|other| other.is_complete()).map(|other| other.row);
    let other = others.find(|other| other.mode == "async" && other.wall_s < row.wall_s);
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
