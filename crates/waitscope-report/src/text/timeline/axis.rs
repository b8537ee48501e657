//! The common time axis: which column a time falls into, and the ticks above it.

use super::row::Row;
use crate::page::Paint;

/// Times from 0 to `end_ms` on `columns` columns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    end_ms: f64,
    columns: usize,
}

/// The first and the last column of something that takes time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) first: usize,
    pub(super) last: usize,
}

impl Extent {
    pub(super) fn columns(self) -> usize {
        self.last - self.first + 1
    }
}

impl Scale {
    /// `end_ms` may be anything: an axis without a length is drawn as one of a microsecond.
    pub(super) fn new(end_ms: f64, columns: usize) -> Self {
        Self { end_ms: end_ms.max(0.001), columns: columns.max(1) }
    }

    /// The column that holds `ms`; times outside of the axis fall on its ends.
    pub(super) fn column(self, ms: f64) -> usize {
        floor(self.position(ms), self.columns - 1)
    }

    /// The columns from `start_ms` to `end_ms`, at least one.
    pub(super) fn extent(self, start_ms: f64, end_ms: f64) -> Extent {
        let first = self.column(start_ms);
        // What ends exactly on a column's edge does not reach into that column.
        let last = floor((self.position(end_ms) - 1e-9).ceil() - 1.0, self.columns - 1);
        Extent { first, last: last.max(first) }
    }

    /// Whether `ms` lies behind the end of the axis, by more than the eye could see on it.
    pub(super) fn is_past(self, ms: f64) -> bool {
        self.position(ms) > self.columns as f64 + 0.5
    }

    pub(super) fn end_ms(self) -> f64 {
        self.end_ms
    }

    fn position(self, ms: f64) -> f64 {
        ms / self.end_ms * self.columns as f64
    }

    /// The labels and the line with ticks below them.
    pub(super) fn rows(self, label_columns: usize, unicode: bool) -> [Row; 2] {
        let [left, tick, line, right] =
            if unicode { ['├', '┼', '─', '┤'] } else { ['+', '+', '-', '+'] };
        let mut labels = Row::new(self.columns + label_columns);
        let mut axis = Row::new(self.columns);
        axis.fill(Extent { first: 0, last: self.columns - 1 }, Paint::Faint, line);
        axis.put(self.columns - 1, Paint::Faint, right);
        for (ms, label) in self.ticks() {
            let column = self.column(ms);
            axis.put(column, Paint::Faint, if column == 0 { left } else { tick });
            labels.write(column, Paint::Faint, &label);
        }
        [labels, axis]
    }

    /// The ticks with their labels, at round times that leave room for the labels.
    fn ticks(self) -> Vec<(f64, String)> {
        const COLUMNS_PER_TICK: usize = 11;
        let most = (self.columns / COLUMNS_PER_TICK).max(1);
        let (unit_ms, unit) = if self.end_ms >= 1000.0 { (1000.0, "s") } else { (1.0, "ms") };
        let (step, decimals) = round_step(self.end_ms / unit_ms / most as f64);
        (0..=most)
            .map(|tick| tick as f64 * step)
            .take_while(|value| value * unit_ms <= self.end_ms)
            .map(|value| (value * unit_ms, format!("{value:.decimals$} {unit}")))
            .collect()
    }
}

/// The smallest 1, 2 or 5 times a power of ten that is not below `least`, and the decimals that
/// its multiples need.
fn round_step(least: f64) -> (f64, usize) {
    let power = least.log10().floor();
    let base = 10_f64.powf(power);
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * base >= least * (1.0 - 1e-9));
    let decimals = if factor.is_none() { -power - 1.0 } else { -power };
    (factor.unwrap_or(10.0) * base, floor(decimals, 9))
}

/// `value` as an index from 0 to `last`; 0 for what is no number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is brought between 0 and `last` first"
)]
fn floor(value: f64, last: usize) -> usize {
    value.clamp(0.0, last as f64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_fall_into_columns() {
        let scale = Scale::new(1000.0, 10);
        let cases = [
            (0.0, 100.0, 0, 0),
            (0.0, 100.1, 0, 1),
            (0.0, 1000.0, 0, 9),
            (950.0, 2000.0, 9, 9),
            (-5.0, 50.0, 0, 0),
            (500.0, 100.0, 5, 5),
            (f64::NAN, f64::NAN, 0, 0),
            (f64::NEG_INFINITY, f64::INFINITY, 0, 9),
        ];
        for (start_ms, end_ms, first, last) in cases {
            assert_eq!(scale.extent(start_ms, end_ms), Extent { first, last }, "{start_ms}");
        }
    }

    #[test]
    fn ticks_stand_at_round_times() {
        let cases: [(f64, usize, &[&str]); 7] = [
            (18_800.0, 60, &["0 s", "5 s", "10 s", "15 s"]),
            (
                18_800.0,
                120,
                &["0 s", "2 s", "4 s", "6 s", "8 s", "10 s", "12 s", "14 s", "16 s", "18 s"],
            ),
            (5000.0, 60, &["0 s", "1 s", "2 s", "3 s", "4 s", "5 s"]),
            (1200.0, 60, &["0.0 s", "0.5 s", "1.0 s"]),
            (45.0, 60, &["0 ms", "10 ms", "20 ms", "30 ms", "40 ms"]),
            (0.0, 22, &["0.0000 ms", "0.0005 ms", "0.0010 ms"]),
            (1e12, 30, &["0 s", "500000000 s", "1000000000 s"]),
        ];
        for (end_ms, columns, expected) in cases {
            let labels: Vec<String> =
                Scale::new(end_ms, columns).ticks().into_iter().map(|(_, label)| label).collect();
            assert_eq!(labels, expected, "{end_ms} ms on {columns} columns");
        }
    }
}
