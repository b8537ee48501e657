//! A `stall` run over time: requests as bars, health probes as marks below them.

mod axis;
mod health;
mod parts;
mod requests;
mod row;

use waitscope_record::{Record, Series, StallInputs, StallSummary};

use crate::Style;
use crate::page::{Line, Page, Paint};

use axis::Scale;
use health::Probe;
use requests::Request;

pub(super) use parts::{OTHER, Palette};
pub(super) use row::GUTTER;

/// Draws the timeline; nothing for a record without requests and probes.
pub(super) fn draw(
    page: &mut Page,
    record: &Record,
    inputs: &StallInputs,
    summary: &StallSummary,
    style: Style,
) {
    let palette = Palette::of(record.series("requests"), style.unicode);
    let requests =
        record.series("requests").map_or_else(Vec::new, |series| Request::read(series, &palette));
    let probes = record
        .series("health")
        .map_or_else(Vec::new, |series| Probe::read(series, inputs.max_health_ms));
    if requests.is_empty() && probes.is_empty() {
        return;
    }
    let labels = requests::label_columns(&requests, style);
    let columns = style.columns() - GUTTER;
    let scale = Scale::new(end_ms(&requests, &probes, summary.wall_s), columns - labels);
    let [ticks, axis] = scale.rows(labels, style.unicode);
    page.push(ticks.line(Line::painted(Paint::Strong, "requests")));
    page.push(axis.line(Line::default()));
    let (bars, remark) = requests::rows(&requests, &palette, scale, columns, style);
    page.extend(bars);
    page.extend(health::rows(&probes, scale, columns - labels, &Glyphs::of(style.unicode)));
    page.gap();
    let marks = health::legend(&probes, inputs.max_health_ms);
    let groups = [("requests: ", requests_key(&requests, &palette, style)), ("health: ", marks)];
    let groups = groups.into_iter().filter(|(_, entries)| !entries.is_empty());
    for ((about, entries), title) in groups.zip(["key", ""]) {
        page.flow(lead(title).with(Paint::Plain, about), GUTTER, entries, 2, style);
    }
    if let Some(remark) = remark {
        page.wrap(lead(""), GUTTER, &remark, style);
    }
}

/// What the glyphs of the bars mean, of those that occur.
fn requests_key(requests: &[Request], palette: &Palette, style: Style) -> Vec<Line> {
    let mut entries = Vec::new();
    if !palette.is_empty() {
        entries.extend(palette.legend(style));
        entries.push(Line::painted(Paint::Faint, "(lengths are measured, positions are not)"));
    }
    if requests.iter().any(Request::failed) {
        entries.push(Line::painted(Paint::Bad, "x").with(Paint::Plain, " failed"));
    }
    entries
}

/// What stands left of the time axis's columns.
pub(super) fn lead(title: &str) -> Line {
    Line::painted(Paint::Faint, &format!("{title:GUTTER$}"))
}

/// Where the axis ends: with the last request. Probes that hang longer run on behind it.
fn end_ms(requests: &[Request], probes: &[Probe], wall_s: f64) -> f64 {
    let wall = if wall_s.is_finite() { wall_s * 1000.0 } else { 0.0 };
    let end_ms = requests.iter().map(Request::latest_ms).fold(wall.min(MOST_MS), f64::max);
    if end_ms > 0.0 {
        return end_ms;
    }
    probes.iter().map(Probe::latest_ms).fold(0.0, f64::max)
}

/// Some thirty years: a time beyond it is a mistake of the writer.
const MOST_MS: f64 = 1e12;

/// A time of the series that can be drawn.
fn known_ms(series: &Series, row: usize, column: &str) -> Option<f64> {
    series.number(row, column).filter(|ms| ms.is_finite() && ms.abs() <= MOST_MS)
}

/// The glyphs of lines.
#[derive(Debug)]
struct Glyphs {
    wait: char,
    runs_on: char,
}

impl Glyphs {
    fn of(unicode: bool) -> Self {
        let [wait, runs_on] = if unicode { ['─', '→'] } else { ['-', '>'] };
        Self { wait, runs_on }
    }
}
