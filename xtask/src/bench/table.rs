//! Tables in Markdown, and medians of several passes.

use std::fmt;

/// A table under way.
#[derive(Debug)]
pub(super) struct Table {
    title: String,
    header: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(title: impl Into<String>, header: &[&'static str]) -> Self {
        Self { title: title.into(), header: header.to_vec(), rows: Vec::new() }
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        writeln!(formatter, "{}\n\n| {} |", self.title, self.header.join(" | "))?;
        writeln!(formatter, "|{}", "---|".repeat(self.header.len()))?;
        for row in &self.rows {
            writeln!(formatter, "| {} |", row.join(" | "))?;
        }
        Ok(())
    }
}

/// The middle of some figures; the mean of the two middle ones when their number is even.
pub(super) fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[odd / 2],
        even => f64::midpoint(sorted[even / 2 - 1], sorted[even / 2]),
    }
}

/// The median and what it lies between: `3,580 (3,400 to 3,700)`.
pub(super) fn spread(figures: &[f64], decimals: usize) -> String {
    let lowest = figures.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let median = median(figures);
    if figures.len() < 2 {
        return format!("{median:.decimals$}");
    }
    format!("{median:.decimals$} ({lowest:.decimals$} to {highest:.decimals$})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_tables() {
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
        assert!((median(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-9);
        assert!(median(&[]).is_nan());
        assert_eq!(spread(&[1.0, 3.0, 2.0], 1), "2.0 (1.0 to 3.0)");
        assert_eq!(spread(&[1.26], 1), "1.3");
        let mut table = Table::new("T", &["a", "b"]);
        table.row(["1".to_owned(), "2".to_owned()]);
        assert_eq!(table.to_string(), "T\n\n| a | b |\n|---|---|\n| 1 | 2 |\n");
    }
}
