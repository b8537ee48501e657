//! Health probes as marks at their intended start, and the waits of the slow ones as lines.

use std::cmp::Reverse;

use waitscope_record::Series;

use crate::page::{Line, Paint};
use crate::text::figure;

use super::axis::{Extent, Scale};
use super::row::Row;
use super::{Glyphs, known_ms};

/// Rows for the waits of slow probes.
const MOST_ROWS: usize = 3;

/// What became of a probe; the worst is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Mark {
    Fast,
    Slow,
    /// Still out when the run was interrupted.
    Out,
    Failed,
}

impl Mark {
    fn glyph(self) -> char {
        match self {
            Self::Fast => '.',
            Self::Slow => 'o',
            Self::Out => '~',
            Self::Failed => 'x',
        }
    }

    fn paint(self) -> Paint {
        match self {
            Self::Fast => Paint::Good,
            Self::Slow | Self::Out => Paint::Caution,
            Self::Failed => Paint::Bad,
        }
    }
}

/// One probe with a known intended start.
#[derive(Debug)]
pub(super) struct Probe {
    intended_ms: f64,
    end_ms: Option<f64>,
    mark: Mark,
}

impl Probe {
    /// The probes of the series in the order of their intended start.
    pub(super) fn read(series: &Series, max_health_ms: f64) -> Vec<Self> {
        let mut probes: Vec<Self> = (0..series.rows.len())
            .filter_map(|row| Self::read_row(series, row, max_health_ms))
            .collect();
        probes.sort_by(|a, b| a.intended_ms.total_cmp(&b.intended_ms));
        probes
    }

    fn read_row(series: &Series, row: usize, max_health_ms: f64) -> Option<Self> {
        let start_ms = known_ms(series, row, "start_ms");
        let intended_ms = known_ms(series, row, "intended_ms").or(start_ms)?;
        let end_ms = known_ms(series, row, "end_ms").map(|end| end.max(intended_ms));
        let mark = match end_ms {
            Some(_) if series.number(row, "ok") != Some(1.0) => Mark::Failed,
            Some(end) if end - intended_ms > max_health_ms => Mark::Slow,
            Some(_) => Mark::Fast,
            None if is_missing(series, row, "status") && is_missing(series, row, "error") => {
                Mark::Out
            }
            None => Mark::Failed,
        };
        Some(Self { intended_ms, end_ms, mark })
    }

    /// The latest time known of it.
    pub(super) fn latest_ms(&self) -> f64 {
        self.end_ms.unwrap_or(self.intended_ms)
    }
}

fn is_missing(series: &Series, row: usize, column: &str) -> bool {
    series.number(row, column).is_none() && series.text(row, column).is_none()
}

/// The wait of one probe as a line.
#[derive(Debug, Clone, Copy)]
struct Wait {
    extent: Extent,
    mark: Mark,
    /// Its length, unless it never ended.
    took_ms: Option<f64>,
    /// Whether it goes on behind the end of the axis.
    runs_on: bool,
}

impl Wait {
    fn of(probe: &Probe, scale: Scale) -> Self {
        let end_ms = probe.end_ms.unwrap_or(f64::INFINITY);
        Self {
            extent: scale.extent(probe.intended_ms, end_ms),
            mark: probe.mark,
            took_ms: probe.end_ms.map(|end| end - probe.intended_ms),
            runs_on: scale.is_past(end_ms),
        }
    }

    fn draw(self, row: &mut Row, glyphs: &Glyphs) {
        let paint = self.mark.paint();
        let Extent { first, last } = self.extent;
        row.fill(self.extent, paint, glyphs.wait);
        if self.runs_on {
            row.put(last, paint, glyphs.runs_on);
        }
        let Some(took_ms) = self.took_ms else {
            row.put(first, paint, self.mark.glyph());
            return;
        };
        let label = format!(" {} ", figure::time_ms(took_ms));
        // The label stands in the middle of its line if enough of the line is left around it.
        if self.extent.columns() >= label.len() + 6 {
            row.write(first + (self.extent.columns() - label.len()) / 2, paint, &label);
        }
        row.put(first, paint, self.mark.glyph());
    }
}

/// The row of marks, then the waits of slow probes.
pub(super) fn rows(probes: &[Probe], scale: Scale, columns: usize, glyphs: &Glyphs) -> Vec<Line> {
    if probes.is_empty() {
        return Vec::new();
    }
    let mut marks = Row::new(columns);
    let mut worst: Vec<Option<Mark>> = vec![None; columns];
    for probe in probes {
        let column = scale.column(probe.intended_ms);
        // Where several probes share a column the worst is shown.
        worst[column] = worst[column].max(Some(probe.mark));
    }
    for (column, mark) in worst.into_iter().enumerate() {
        if let Some(mark) = mark {
            marks.put(column, mark.paint(), mark.glyph());
        }
    }
    let slow = probes.iter().filter(|probe| probe.mark != Mark::Fast);
    let waits: Vec<Wait> = slow.map(|probe| Wait::of(probe, scale)).collect();
    let mut lines = vec![marks.line(Line::painted(Paint::Strong, "health"))];
    lines.extend(stacked(waits, columns).iter().map(|waits| {
        let mut row = Row::new(columns);
        for wait in waits {
            wait.draw(&mut row, glyphs);
        }
        row.line(Line::default())
    }));
    lines
}

/// Chooses waits for a few rows, the longest first. All probes that hang at once end at about the
/// same time, and the first of them hangs longest: it goes into the first row, one that came after
/// a third of that time into the second, one after two thirds into the third, so that the rows
/// show the slope.
fn stacked(mut waits: Vec<Wait>, columns: usize) -> Vec<Vec<Wait>> {
    waits.sort_by_key(|wait| Reverse(wait.extent.columns()));
    let mut rows: Vec<Vec<Wait>> = Vec::new();
    for number in 0..MOST_ROWS {
        // Short waits are shown once, not as a slope.
        let shortest = if number == 0 { 3 } else { 8 };
        let above: &[Wait] = rows.last().map_or(&[], Vec::as_slice);
        let mut row: Vec<Wait> = Vec::new();
        let mut taken = vec![false; columns];
        waits.retain(|wait| {
            // A wait may start in the column in which another one ends: its mark stands there.
            let Extent { first, last } = wait.extent;
            let fits = wait.extent.columns() >= shortest
                && !taken[first..last].contains(&true)
                && (number == 0 || continues(above, first, MOST_ROWS + 1 - number));
            if fits {
                taken[first..last].fill(true);
                row.push(*wait);
            }
            !fits
        });
        if row.is_empty() {
            break;
        }
        row.sort_by_key(|wait| wait.extent.first);
        rows.push(row);
    }
    rows
}

/// Whether a wait that starts in column `first` continues the slope of the row above: it starts
/// while one of that row hangs, once a `share` of that one is over.
fn continues(above: &[Wait], first: usize, share: usize) -> bool {
    let at = above.partition_point(|wait| wait.extent.first <= first);
    let hanging = at.checked_sub(1).map(|at| above[at].extent);
    hanging.is_some_and(|extent| {
        first < extent.last && first >= extent.first + extent.columns() / share
    })
}

/// What the marks mean, of those that occur.
pub(super) fn legend(probes: &[Probe], max_health_ms: f64) -> Vec<Line> {
    let count = |mark| probes.iter().filter(|probe| probe.mark == mark).count();
    let entry = |mark: Mark, meaning: &str| {
        Line::painted(mark.paint(), &mark.glyph().to_string())
            .with(Paint::Plain, &format!(" {meaning} ({})", count(mark)))
    };
    let limit = figure::time_ms(max_health_ms);
    let meanings = [
        (Mark::Fast, format!("within {limit}")),
        (Mark::Slow, format!("slower than {limit}")),
        (Mark::Out, "still out".to_owned()),
        (Mark::Failed, "failed".to_owned()),
    ];
    let seen = meanings.iter().filter(|(mark, _)| count(*mark) > 0);
    seen.map(|(mark, meaning)| entry(*mark, meaning)).collect()
}

#[cfg(test)]
mod tests {
    use waitscope_record::Cell;

    use super::*;

    #[test]
    fn what_became_of_a_probe() {
        let missing = Cell::Missing(());
        let timeout = || Cell::Text("timeout".into());
        let cases = [
            // end_ms, status, error, ok
            (
                [Cell::Number(3.0), Cell::Number(200.0), missing.clone(), Cell::Number(1.0)],
                Mark::Fast,
            ),
            (
                [Cell::Number(300.0), Cell::Number(200.0), missing.clone(), Cell::Number(1.0)],
                Mark::Slow,
            ),
            (
                [Cell::Number(3.0), Cell::Number(503.0), missing.clone(), Cell::Number(0.0)],
                Mark::Failed,
            ),
            ([Cell::Number(3.0), missing.clone(), timeout(), Cell::Number(0.0)], Mark::Failed),
            ([missing.clone(), missing.clone(), timeout(), Cell::Number(0.0)], Mark::Failed),
            (
                [missing.clone(), Cell::Number(200.0), missing.clone(), Cell::Number(0.0)],
                Mark::Failed,
            ),
            ([missing.clone(), missing.clone(), missing.clone(), Cell::Number(0.0)], Mark::Out),
        ];
        for (cells, expected) in cases {
            let columns = ["end_ms", "status", "error", "ok", "intended_ms"].map(String::from);
            let row = cells.into_iter().chain([Cell::Number(0.0)]).collect();
            let series = Series {
                name: "health".into(),
                unit: None,
                columns: columns.into(),
                rows: vec![row],
            };
            let probes = Probe::read(&series, 250.0);
            assert_eq!(probes[0].mark, expected, "{:?}", series.rows);
        }
    }

    fn wait(first: usize, last: usize) -> Wait {
        Wait { extent: Extent { first, last }, mark: Mark::Slow, took_ms: None, runs_on: false }
    }

    #[test]
    fn rows_show_the_longest_waits_and_their_slope() {
        // Two stalls, from column 0 and from column 30, with a probe in every column; and a short
        // one.
        let mut waits: Vec<Wait> = (0..30).map(|first| wait(first, 30)).collect();
        waits.extend((30..60).map(|first| wait(first, 60)));
        waits.push(wait(62, 65));
        let starts: Vec<Vec<usize>> = stacked(waits, 70)
            .iter()
            .map(|row| row.iter().map(|wait| wait.extent.first).collect())
            .collect();
        assert_eq!(starts, [vec![0, 30, 62], vec![10, 40], vec![20, 50]]);
    }

    #[test]
    fn waits_of_a_row_share_at_most_an_end() {
        let waits = (0..40).map(|at| wait(at * 7 % 50, at * 7 % 50 + at % 12)).collect();
        for row in stacked(waits, 70) {
            for pair in row.windows(2) {
                assert!(pair[0].extent.last <= pair[1].extent.first, "{row:?}");
            }
        }
    }

    #[test]
    fn without_slow_probes_there_are_no_waits() {
        assert!(stacked(vec![], 70).is_empty());
        assert!(stacked(vec![wait(3, 4)], 70).is_empty());
    }
}
