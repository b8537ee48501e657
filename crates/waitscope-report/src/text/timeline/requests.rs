//! Requests as bars: one row each, or packed into one row per slot where there are many.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use waitscope_record::Series;

use crate::Style;
use crate::page::{Line, Paint, shorten};
use crate::text::figure;

use super::axis::{Extent, Scale};
use super::parts::Palette;
use super::row::{GUTTER, Row};
use super::{Glyphs, known_ms};

/// More rows than this are no longer taken in at a glance.
const MOST_ROWS: usize = 24;

/// One request with a known start.
#[derive(Debug)]
pub(super) struct Request {
    start_ms: f64,
    end_ms: Option<f64>,
    outcome: Outcome,
    parts_ms: Vec<f64>,
}

#[derive(Debug)]
enum Outcome {
    /// Answered with 2xx.
    Good,
    /// Answered with another status.
    Status(f64),
    /// No answer, and why.
    Error(String),
    Unfinished,
}

impl Request {
    /// The requests of the series in the order of their start.
    pub(super) fn read(series: &Series, palette: &Palette) -> Vec<Self> {
        let mut requests: Vec<Self> =
            (0..series.rows.len()).filter_map(|row| Self::read_row(series, row, palette)).collect();
        requests.sort_by(|a, b| a.start_ms.total_cmp(&b.start_ms));
        requests
    }

    fn read_row(series: &Series, row: usize, palette: &Palette) -> Option<Self> {
        let start_ms = known_ms(series, row, "start_ms")?;
        let end_ms = known_ms(series, row, "end_ms").map(|end| end.max(start_ms));
        let outcome = match (series.text(row, "error"), series.number(row, "status")) {
            (Some(error), _) => Outcome::Error(error.to_owned()),
            (None, _) if end_ms.is_none() => Outcome::Unfinished,
            (None, Some(status)) if !(200.0..300.0).contains(&status) => Outcome::Status(status),
            (None, _) => Outcome::Good,
        };
        Some(Self { start_ms, end_ms, outcome, parts_ms: palette.times_ms(series, row) })
    }

    /// The latest time known of it.
    pub(super) fn latest_ms(&self) -> f64 {
        self.end_ms.unwrap_or(self.start_ms)
    }

    /// Whether it was answered with something else than 2xx, or not at all.
    pub(super) fn failed(&self) -> bool {
        matches!(self.outcome, Outcome::Status(_) | Outcome::Error(_))
    }

    fn took_ms(&self, scale: Scale) -> f64 {
        self.end_ms.unwrap_or(scale.end_ms()) - self.start_ms
    }

    fn extent(&self, scale: Scale) -> Extent {
        scale.extent(self.start_ms, self.end_ms.unwrap_or(scale.end_ms()))
    }

    /// What stands behind its bar.
    fn label(&self, style: Style) -> String {
        const WIDEST: usize = 24;
        let took = self.end_ms.map(|end| figure::time_ms(end - self.start_ms));
        let label = match (&self.outcome, took) {
            (Outcome::Good, Some(took)) => took,
            (Outcome::Status(status), Some(took)) => format!("{took} {status}"),
            (Outcome::Error(error), _) => error.clone(),
            (_, None) | (Outcome::Unfinished, _) => "unfinished".to_owned(),
        };
        shorten(&label, WIDEST, style)
    }

    /// Draws its bar; its last cell says when it went wrong or has not ended.
    fn draw(&self, row: &mut Row, extent: Extent, palette: &Palette, glyphs: &Glyphs) {
        let took_ms = self.latest_ms() - self.start_ms;
        let bar = palette.bar(&self.parts_ms, took_ms, extent.columns());
        for (column, (paint, glyph)) in (extent.first..).zip(bar) {
            row.put(column, paint, glyph);
        }
        if self.failed() {
            row.put(extent.last, Paint::Bad, 'x');
        } else if self.end_ms.is_none() {
            row.put(extent.last, Paint::Caution, glyphs.runs_on);
        }
    }
}

/// The columns that the labels behind the bars need.
pub(super) fn label_columns(requests: &[Request], style: Style) -> usize {
    if requests.len() > MOST_ROWS {
        return 0;
    }
    let widths = requests.iter().map(|request| request.label(style).chars().count() + 1);
    widths.max().unwrap_or(0)
}

/// The rows of bars, and a remark on what they leave out.
pub(super) fn rows(
    requests: &[Request],
    palette: &Palette,
    scale: Scale,
    columns: usize,
    style: Style,
) -> (Vec<Line>, Option<String>) {
    let glyphs = Glyphs::of(style.unicode);
    if requests.len() > MOST_ROWS {
        return packed(requests, palette, scale, columns, &glyphs);
    }
    let row_of = |(number, request): (usize, &Request)| {
        let mut row = Row::new(columns);
        let extent = request.extent(scale);
        request.draw(&mut row, extent, palette, &glyphs);
        let paint = if request.failed() { Paint::Bad } else { Paint::Faint };
        row.write(extent.last + 2, paint, &request.label(style));
        row.line(title(number + 1))
    };
    (requests.iter().enumerate().map(row_of).collect(), None)
}

/// Many requests: one row per slot, each slot's requests one behind the other.
fn packed(
    requests: &[Request],
    palette: &Palette,
    scale: Scale,
    columns: usize,
    glyphs: &Glyphs,
) -> (Vec<Line>, Option<String>) {
    let slots = slots(requests, scale);
    let slowest =
        |slot: &[&Request]| slot.iter().map(|request| request.took_ms(scale)).fold(0.0, f64::max);
    let mut order: Vec<usize> = (0..slots.len()).collect();
    order.sort_by(|a, b| slowest(&slots[*b]).total_cmp(&slowest(&slots[*a])));
    order.truncate(MOST_ROWS);
    order.sort_unstable();
    let row_of = |slot: &usize| {
        let mut row = Row::new(columns);
        for request in &slots[*slot] {
            let mut extent = request.extent(scale);
            // A gap of one cell keeps two bars apart where there is room for it.
            let touches = extent.first > 0 && !row.is_blank(extent.first - 1);
            if touches && extent.columns() > 1 {
                row.put(extent.first, Paint::Plain, ' ');
                extent.first += 1;
            }
            request.draw(&mut row, extent, palette, glyphs);
        }
        row.line(title(slot + 1))
    };
    let remark = if slots.len() > MOST_ROWS {
        format!(
            "{} requests in {} rows, one per slot; only the {MOST_ROWS} rows with the slowest \
             requests are drawn",
            requests.len(),
            slots.len()
        )
    } else {
        format!("{} requests in {} rows, one per slot", requests.len(), slots.len())
    };
    (order.iter().map(row_of).collect(), Some(remark))
}

/// Packs the requests into as few slots as hold them without overlap: each goes to the slot that
/// was free first. `requests` are in the order of their start.
fn slots(requests: &[Request], scale: Scale) -> Vec<Vec<&Request>> {
    let mut slots: Vec<Vec<&Request>> = Vec::new();
    let mut free: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    for request in requests {
        let reusable = free.peek().filter(|slot| slot.0.0 <= micros(request.start_ms));
        let slot = if reusable.is_some() { free.pop().map(|slot| slot.0.1) } else { None };
        let slot = slot.unwrap_or(slots.len());
        if slot == slots.len() {
            slots.push(Vec::new());
        }
        slots[slot].push(request);
        free.push(Reverse((micros(request.end_ms.unwrap_or(scale.end_ms())), slot)));
    }
    slots
}

/// Times that can be ordered; [`known_ms`] keeps them far below the largest `u64`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "negative times count as 0, large ones as the largest"
)]
fn micros(ms: f64) -> u64 {
    (ms * 1000.0) as u64
}

fn title(number: usize) -> Line {
    Line::painted(Paint::Faint, &format!("{number:>width$}", width = GUTTER - 2))
}
