//! Tables with aligned columns.

use crate::Style;
use crate::page::{Line, Paint, shorten};

/// Where a column's cells stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

/// A column: where its cells stand, and the lines of its heading.
type Column = (Align, &'static [&'static str]);

/// A table whose headings may have several lines.
#[derive(Debug)]
pub(super) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Line>>,
}

impl Table {
    pub(super) fn new(columns: Vec<Column>) -> Self {
        Self { columns, rows: Vec::new() }
    }

    pub(super) fn row(&mut self, cells: Vec<Line>) {
        self.rows.push(cells);
    }

    /// The headings, then the rows; the columns stand closer where they would not fit otherwise.
    pub(super) fn lines(self, style: Style) -> Vec<Line> {
        let mut rows = self.headings();
        rows.extend(self.rows);
        let width_of = |at: usize| rows.iter().filter_map(|row| row.get(at)).map(Line::width).max();
        let columns: Vec<(Align, usize)> = self
            .columns
            .iter()
            .enumerate()
            .map(|(at, (align, _))| (*align, width_of(at).unwrap_or(0)))
            .collect();
        let gaps = columns.len().saturating_sub(1);
        let wide = columns.iter().map(|(_, width)| width).sum::<usize>() + 3 * gaps;
        let between = if wide > style.columns() { "  " } else { "   " };
        rows.into_iter().map(|cells| aligned(&columns, between, cells)).collect()
    }

    /// The lines of the headings; short ones stand right above the figures.
    fn headings(&self) -> Vec<Vec<Line>> {
        let height = self.columns.iter().map(|(_, heading)| heading.len()).max().unwrap_or(0);
        let cell = |heading: &[&str], line: usize| {
            let at = line.checked_sub(height - heading.len());
            Line::painted(Paint::Strong, at.and_then(|at| heading.get(at)).copied().unwrap_or(""))
        };
        let line = |line| self.columns.iter().map(|(_, heading)| cell(heading, line)).collect();
        (0..height).map(line).collect()
    }
}

fn aligned(columns: &[(Align, usize)], between: &str, cells: Vec<Line>) -> Line {
    let mut line = Line::default();
    for (at, (cell, (align, columns))) in cells.into_iter().zip(columns).enumerate() {
        if at > 0 {
            line.push(Paint::Plain, between);
        }
        let missing = " ".repeat(columns - cell.width());
        match align {
            Align::Left => line.append(cell.with(Paint::Plain, &missing)),
            Align::Right => {
                line.push(Paint::Plain, &missing);
                line.append(cell);
            }
        }
    }
    line
}

/// A foreign name as a cell: it may be of any length.
pub(super) fn name(text: &str, style: Style) -> String {
    const WIDEST: usize = 24;
    shorten(text, WIDEST, style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Page;

    #[test]
    fn columns_are_aligned_and_long_names_shortened() {
        let style = Style::default();
        let mut table =
            Table::new(vec![(Align::Left, &["mode"]), (Align::Right, &["most", "at once"])]);
        for (mode, most) in [("async".to_owned(), "4"), ("m".repeat(40), "12")] {
            table.row(vec![Line::plain(&name(&mode, style)), Line::plain(most)]);
        }
        let mut page = Page::default();
        page.extend(table.lines(style));
        let expected = [
            "                              most",
            "mode                       at once",
            "async                            4",
            "mmmmmmmmmmmmmmmmmmmmmmm…        12",
        ];
        assert_eq!(page.render(style), expected.join("\n") + "\n");
    }
}
