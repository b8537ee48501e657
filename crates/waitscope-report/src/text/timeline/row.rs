//! One row of the timeline: cells that bars, marks and labels are put into.

use crate::page::{Line, Paint, width};

use super::axis::Extent;

/// Columns left of the time axis, for what a row is about.
pub(in crate::text) const GUTTER: usize = 10;

/// A row of single-column cells. What does not fit is not drawn.
#[derive(Debug, Clone)]
pub(super) struct Row {
    cells: Vec<(Paint, char)>,
}

impl Row {
    pub(super) fn new(columns: usize) -> Self {
        Self { cells: vec![(Paint::Plain, ' '); columns] }
    }

    pub(super) fn put(&mut self, column: usize, paint: Paint, glyph: char) {
        if let Some(cell) = self.cells.get_mut(column) {
            *cell = (paint, glyph);
        }
    }

    pub(super) fn fill(&mut self, extent: Extent, paint: Paint, glyph: char) {
        for column in extent.first..=extent.last {
            self.put(column, paint, glyph);
        }
    }

    /// Writes `text`, one column per character; one that fills none or two becomes `?`.
    pub(super) fn write(&mut self, column: usize, paint: Paint, text: &str) {
        for (offset, glyph) in text.chars().enumerate() {
            let fits = width(glyph.encode_utf8(&mut [0; 4])) == 1;
            self.put(column + offset, paint, if fits { glyph } else { '?' });
        }
    }

    pub(super) fn is_blank(&self, column: usize) -> bool {
        self.cells.get(column).is_none_or(|(_, glyph)| *glyph == ' ')
    }

    /// The row behind `title`, which fills the gutter.
    pub(super) fn line(&self, title: Line) -> Line {
        let missing = GUTTER.saturating_sub(title.width());
        let mut line = title.with(Paint::Plain, &" ".repeat(missing));
        for (paint, glyph) in &self.cells {
            line.push(*paint, glyph.encode_utf8(&mut [0; 4]));
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Style;
    use crate::page::Page;

    #[test]
    fn every_character_fills_one_column_and_none_leaves_the_row() {
        let mut row = Row::new(8);
        row.write(1, Paint::Plain, "a漢e\u{301}b");
        row.write(7, Paint::Plain, "xyz");
        row.put(99, Paint::Plain, 'z');
        let line = row.line(Line::plain("health"));
        assert_eq!(line.width(), GUTTER + 8);
        let mut page = Page::default();
        page.push(line);
        assert_eq!(page.render(Style::default()), "health     a?e?b x\n");
    }
}
