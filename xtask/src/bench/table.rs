//! Tables in Markdown, and medians of several passes.

use std::fmt;

/// A table under way.
#[derive(Debug)]
pub(super) struct Table {
    title: String,
    header: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    /// What stands below it.
    notes: Vec<String>,
}

impl Table {
    pub(super) fn new(title: impl Into<String>, header: &[&'static str]) -> Self {
        let header = header.to_vec();
        Self { title: title.into(), header, rows: Vec::new(), notes: Vec::new() }
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Notes a target, and whether it was reached.
    pub(super) fn target(&mut self, target: &str, reached: bool) {
        let verdict = if reached { "reached" } else { "missed" };
        self.note(format!("Target: {target}: {verdict}."));
    }
}

impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        writeln!(formatter, "### {}\n\n| {} |", self.title, self.header.join(" | "))?;
        writeln!(formatter, "|{}", "---|".repeat(self.header.len()))?;
        for row in &self.rows {
            writeln!(formatter, "| {} |", row.join(" | "))?;
        }
        for note in &self.notes {
            writeln!(formatter, "\n{note}")?;
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
    let median = grouped(median(figures), decimals);
    if figures.len() < 2 {
        return median;
    }
    let lowest = figures.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!("{median} ({} to {})", grouped(lowest, decimals), grouped(highest, decimals))
}

/// A figure with commas between its thousands.
pub(super) fn grouped(figure: f64, decimals: usize) -> String {
    let text = format!("{figure:.decimals$}");
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut out = String::new();
    for (index, digit) in whole.chars().enumerate() {
        let left = whole.len() - index;
        if index > 0 && left % 3 == 0 && out != "-" && digit.is_ascii_digit() {
            out.push(',');
        }
        out.push(digit);
    }
    out + fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_the_middle() {
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
        assert!((median(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-9);
        assert!(median(&[]).is_nan());
        assert_eq!(spread(&[1.0, 3.0, 2.0], 1), "2.0 (1.0 to 3.0)");
        assert_eq!(spread(&[1.26], 1), "1.3");
    }

    #[test]
    fn thousands_are_grouped() {
        for (figure, decimals, expected) in [
            (0.0, 0, "0"),
            (999.6, 0, "1,000"),
            (1_234_567.0, 1, "1,234,567.0"),
            (12_345.678, 2, "12,345.68"),
            (-123_456.0, 0, "-123,456"),
            (f64::NAN, 1, "NaN"),
        ] {
            assert_eq!(grouped(figure, decimals), expected);
        }
    }

    #[test]
    fn a_table_is_markdown() {
        let mut table = Table::new("T", &["a", "b"]);
        table.row(["1".to_owned(), "2".to_owned()]);
        table.target("at least 2", true);
        let expected = "### T\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nTarget: at least 2: reached.\n";
        assert_eq!(table.to_string(), expected);
    }
}
