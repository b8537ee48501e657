//! The parts of a request's time, by the `Server-Timing` header: a glyph and a colour for each,
//! and how many cells of a bar each gets.

use waitscope_record::Series;

use crate::Style;
use crate::page::{Line, Paint};
use crate::text::table;

/// More parts than this cannot be told apart; the rest counts as unexplained.
const MOST: usize = 16;

/// The name of the time that no part explains, as in the summary.
pub(in crate::text) const OTHER: &str = "other";

/// One part of the bars.
#[derive(Debug)]
pub(super) struct Ink {
    name: String,
    column: usize,
    glyph: char,
    paint: Paint,
}

/// How the parts of the `requests` series are drawn, here and in the table of the parts.
#[derive(Debug)]
pub(in crate::text) struct Palette {
    parts: Vec<Ink>,
    other: char,
    solid: char,
}

impl Palette {
    pub(in crate::text) fn of(requests: Option<&Series>, unicode: bool) -> Self {
        let mut parts: Vec<Ink> = Vec::new();
        let columns = requests.map_or(&[][..], |series| &series.columns);
        let named = columns.iter().enumerate().filter_map(|(column, title)| {
            let name = title.strip_prefix("part.")?.strip_suffix("_ms")?;
            (!name.is_empty()).then_some((column, name))
        });
        for (number, (column, name)) in named.take(MOST).enumerate() {
            let taken: Vec<char> = parts.iter().map(|part| part.glyph).collect();
            let glyph = block(number, unicode).unwrap_or_else(|| letter(name, &taken));
            parts.push(Ink { name: name.to_owned(), column, glyph, paint: Paint::Bar(number) });
        }
        let [other, solid] = if unicode { ['░', '█'] } else { ['-', '='] };
        Self { parts, other, solid }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The glyph of a part, blank for one that the bars do not show.
    pub(in crate::text) fn swatch(&self, name: &str) -> Line {
        let known = self.parts.iter().find(|part| part.name == name);
        known.map_or_else(|| Line::plain(" "), |part| glyph_line(part.paint, part.glyph))
    }

    /// The glyph of what no part explains, blank if the bars have no parts.
    pub(in crate::text) fn rest_swatch(&self) -> Line {
        if self.is_empty() { Line::plain(" ") } else { glyph_line(Paint::Faint, self.other) }
    }

    /// What each glyph means.
    pub(super) fn legend(&self, style: Style) -> Vec<Line> {
        let entry = |swatch: Line, name: &str| {
            swatch.with(Paint::Plain, " ").with(Paint::Plain, &table::name(name, style))
        };
        let parts =
            self.parts.iter().map(|part| entry(glyph_line(part.paint, part.glyph), &part.name));
        std::iter::once(entry(self.rest_swatch(), OTHER)).chain(parts).collect()
    }

    /// The parts' times in one row of the series, in the palette's order; 0 where absent.
    pub(super) fn times_ms(&self, series: &Series, row: usize) -> Vec<f64> {
        let cells = series.rows.get(row);
        let time = |part: &Ink| cells?.get(part.column)?.number().filter(|ms| ms.is_finite());
        self.parts.iter().map(|part| time(part).unwrap_or(0.0).clamp(0.0, 1e12)).collect()
    }

    /// The cells of a bar of `columns`: first what no part explains, then the parts.
    pub(super) fn bar(
        &self,
        times_ms: &[f64],
        total_ms: f64,
        columns: usize,
    ) -> Vec<(Paint, char)> {
        if self.is_empty() {
            return vec![(Paint::Bar(0), self.solid); columns];
        }
        let mut inks = vec![(Paint::Faint, self.other)];
        inks.extend(self.parts.iter().map(|part| (part.paint, part.glyph)));
        let cells = split(times_ms, total_ms, columns);
        inks.into_iter().zip(cells).flat_map(|(ink, cells)| vec![ink; cells]).collect()
    }
}

fn glyph_line(paint: Paint, glyph: char) -> Line {
    Line::painted(paint, glyph.encode_utf8(&mut [0; 4]))
}

/// How many of `columns` cells the unexplained rest and then each part gets, in proportion to
/// their times. Parts that sum to more than the total share the whole bar.
fn split(times_ms: &[f64], total_ms: f64, columns: usize) -> Vec<usize> {
    let explained: f64 = times_ms.iter().sum();
    let whole = total_ms.max(explained);
    let mut until_ms = (total_ms - explained).max(0.0);
    let mut cells = Vec::with_capacity(times_ms.len() + 1);
    let mut used = 0;
    for next in times_ms.iter().map(Some).chain([None]) {
        // Rounding the running sum instead of each part keeps the sum of the cells right.
        let share = if whole > 0.0 { until_ms / whole } else { 1.0 };
        let until = nearest(share * columns as f64, columns).max(used);
        cells.push(until - used);
        used = until;
        until_ms += next.copied().unwrap_or(0.0);
    }
    cells
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is brought between 0 and `most` first"
)]
fn nearest(value: f64, most: usize) -> usize {
    value.round().clamp(0.0, most as f64) as usize
}

/// Blocks whose neighbours are easy to tell apart.
fn block(number: usize, unicode: bool) -> Option<char> {
    const BLOCKS: [char; 6] = ['█', '▓', '▄', '▒', '▀', '▚'];
    BLOCKS.get(number).copied().filter(|_| unicode)
}

/// A letter of the name that is not taken yet, else any letter that is not. `o` and `x` mark
/// health probes and failures.
fn letter(name: &str, taken: &[char]) -> char {
    let own = name.chars().map(|c| c.to_ascii_lowercase()).filter(char::is_ascii_lowercase);
    let free = |c: &char| !"ox".contains(*c) && !taken.contains(c);
    own.chain('a'..='z').find(free).unwrap_or('?')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_shared_in_proportion_to_the_times() {
        let cases: [(&[f64], f64, usize, &[usize]); 8] = [
            (&[25.0, 25.0], 100.0, 8, &[4, 2, 2]),
            (&[50.0, 50.0], 100.0, 8, &[0, 4, 4]),
            // The parts overlap or were measured wrongly.
            (&[100.0, 300.0], 100.0, 8, &[0, 2, 6]),
            (&[0.1, 99.0], 100.0, 10, &[0, 0, 10]),
            (&[], 100.0, 5, &[5]),
            (&[0.0], 0.0, 5, &[5, 0]),
            (&[1.0, 1.0, 1.0], 3.0, 1, &[0, 0, 1, 0]),
            (&[0.0], f64::NAN, 5, &[5, 0]),
        ];
        for (times_ms, total_ms, columns, expected) in cases {
            assert_eq!(split(times_ms, total_ms, columns), expected, "{times_ms:?} of {total_ms}");
        }
    }

    #[test]
    fn every_part_has_a_glyph_of_its_own() {
        let mut columns: Vec<String> = vec!["start_ms".into(), "part._ms".into()];
        let names = ["db", "classify", "draft_reply", "draft", "ox", "--", "7"];
        columns.extend(names.iter().map(|name| format!("part.{name}_ms")));
        let series = Series { name: "requests".into(), unit: None, columns, rows: vec![] };
        for (unicode, expected) in [(true, "█▓▄▒▀▚a"), (false, "dcrabef")] {
            let palette = Palette::of(Some(&series), unicode);
            let glyphs: String = palette.parts.iter().map(|part| part.glyph).collect();
            assert_eq!(glyphs, expected);
        }
    }
}
