//! Lines of painted text. [`Page::render`] is the one place that guarantees what every text of
//! this crate keeps to: no line wider than asked for, no control character of a foreign server,
//! ASCII only when asked for.

use anstyle::{AnsiColor, Color, Effects};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::Style;

/// What a piece of text is, for its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    Plain,
    Strong,
    Faint,
    Good,
    Caution,
    Bad,
    /// A bar, or the part of a bar with this number.
    Bar(usize),
}

impl Paint {
    fn ansi(self) -> anstyle::Style {
        const BARS: [AnsiColor; 6] = [
            AnsiColor::Cyan,
            AnsiColor::Blue,
            AnsiColor::Magenta,
            AnsiColor::BrightCyan,
            AnsiColor::BrightBlue,
            AnsiColor::BrightMagenta,
        ];
        let color = |color| anstyle::Style::new().fg_color(Some(Color::Ansi(color)));
        match self {
            Self::Plain => anstyle::Style::new(),
            Self::Strong => anstyle::Style::new().effects(Effects::BOLD),
            Self::Faint => color(AnsiColor::BrightBlack),
            Self::Good => color(AnsiColor::Green),
            Self::Caution => color(AnsiColor::Yellow),
            Self::Bad => color(AnsiColor::Red),
            Self::Bar(number) => color(BARS[number % BARS.len()]),
        }
    }
}

/// One line in the making.
#[derive(Debug, Clone, Default)]
pub(crate) struct Line {
    spans: Vec<(Paint, String)>,
    whole: bool,
}

impl Line {
    pub(crate) fn plain(text: &str) -> Self {
        Self::default().with(Paint::Plain, text)
    }

    pub(crate) fn painted(paint: Paint, text: &str) -> Self {
        Self::default().with(paint, text)
    }

    /// The same line with more text at its end.
    pub(crate) fn with(mut self, paint: Paint, text: &str) -> Self {
        self.push(paint, text);
        self
    }

    pub(crate) fn push(&mut self, paint: Paint, text: &str) {
        let text = clean(text);
        match self.spans.last_mut() {
            Some((last, end)) if *last == paint => end.push_str(&text),
            _ => self.spans.push((paint, text)),
        }
    }

    /// The same line, which must never be cut: scripts may look for it.
    pub(crate) fn whole(mut self) -> Self {
        self.whole = true;
        self
    }

    pub(crate) fn width(&self) -> usize {
        self.spans.iter().map(|(_, text)| width(text)).sum()
    }

    pub(crate) fn append(&mut self, other: Self) {
        for (paint, text) in other.spans {
            self.push(paint, &text);
        }
    }

    fn render(mut self, style: Style, out: &mut String) {
        if !style.unicode {
            for (_, text) in &mut self.spans {
                *text = ascii(text);
            }
        }
        if !self.whole {
            self.cut(style);
        }
        self.trim_end();
        for (paint, text) in self.spans {
            let ansi = if style.color { paint.ansi() } else { anstyle::Style::new() };
            out.push_str(&ansi.render().to_string());
            out.push_str(&text);
            out.push_str(&ansi.render_reset().to_string());
        }
        out.push('\n');
    }

    fn cut(&mut self, style: Style) {
        if self.width() <= style.columns() {
            return;
        }
        let mut left = style.columns();
        for (_, text) in &mut self.spans {
            *text = shorten(text, left, style);
            left -= width(text);
        }
    }

    fn trim_end(&mut self) {
        while let Some((_, text)) = self.spans.last_mut() {
            text.truncate(text.trim_end().len());
            if !text.is_empty() {
                return;
            }
            self.spans.pop();
        }
    }
}

/// A text of several lines in the making.
#[derive(Debug, Default)]
pub(crate) struct Page {
    lines: Vec<Line>,
}

impl Page {
    pub(crate) fn push(&mut self, line: Line) {
        self.lines.push(line);
    }

    pub(crate) fn extend(&mut self, lines: impl IntoIterator<Item = Line>) {
        self.lines.extend(lines);
    }

    /// An empty line between two blocks; none at the top, never two.
    pub(crate) fn gap(&mut self) {
        if self.lines.last().is_some_and(|line| line.width() > 0) {
            self.lines.push(Line::default());
        }
    }

    /// The words of `text` after `lead`, in as many lines as they need, the later ones indented
    /// by `indent` columns.
    pub(crate) fn wrap(&mut self, lead: Line, indent: usize, text: &str, style: Style) {
        let longest = style.columns() - indent;
        let words = words(text).into_iter().flat_map(|word| pieces(&clean(&word), longest));
        self.flow(lead, indent, words.map(|word| Line::plain(&word)), 1, style);
    }

    /// `items` after `lead` with `between` spaces, in as many lines as they need, the later ones
    /// indented by `indent` columns.
    pub(crate) fn flow(
        &mut self,
        lead: Line,
        indent: usize,
        items: impl IntoIterator<Item = Line>,
        between: usize,
        style: Style,
    ) {
        let mut line = lead;
        let mut first = true;
        for item in items {
            let gap = if first { 0 } else { between };
            if line.width() > indent && line.width() + gap + item.width() > style.columns() {
                self.push(std::mem::take(&mut line));
                line.push(Paint::Plain, &" ".repeat(indent));
            } else {
                line.push(Paint::Plain, &" ".repeat(gap));
            }
            line.append(item);
            first = false;
        }
        self.push(line);
    }

    /// A block of `items` below a heading, each behind its bullet; nothing without items.
    pub(crate) fn list<'a>(
        &mut self,
        heading: &str,
        items: impl Iterator<Item = (String, &'a String)>,
        style: Style,
    ) {
        let mut items = items.peekable();
        if items.peek().is_none() {
            return;
        }
        self.gap();
        self.push(Line::painted(Paint::Strong, heading));
        for (bullet, text) in items {
            let lead = Line::plain(&format!("  {bullet} "));
            let indent = lead.width();
            self.wrap(lead, indent, text, style);
        }
    }

    /// The text, with a line end after each line and no empty lines at its end.
    pub(crate) fn render(mut self, style: Style) -> String {
        while self.lines.last().is_some_and(|line| line.width() == 0) {
            self.lines.pop();
        }
        let mut out = String::new();
        for line in self.lines {
            line.render(style, &mut out);
        }
        out
    }
}

/// The columns that `text` fills on a terminal.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// `text` if it fits into `columns`, else its beginning and an ellipsis.
pub(crate) fn shorten(text: &str, columns: usize, style: Style) -> String {
    let text = clean(text);
    if width(&text) <= columns {
        return text;
    }
    let ellipsis = if style.unicode { "…" } else { ".." };
    let room = columns.saturating_sub(width(ellipsis));
    let kept = pieces(&text, room).next().unwrap_or_default();
    // Where not even the ellipsis fits, nothing is better than a stray dot.
    if columns < width(ellipsis) { String::new() } else { kept + ellipsis }
}

/// The words of `text`; a figure and its unit are one of them, so that no line ends between them.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let is_unit = matches!(word.trim_end_matches([',', '.', ':', ';', ')']), "s" | "ms" | "%");
        match words.last_mut() {
            Some(figure) if is_unit && figure.ends_with(|last: char| last.is_ascii_digit()) => {
                figure.push(' ');
                figure.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// `text` in pieces of at most `columns` columns.
fn pieces(text: &str, columns: usize) -> std::vec::IntoIter<String> {
    let mut pieces = vec![String::new()];
    let mut used = 0;
    for character in text.chars() {
        let wide = character.width().unwrap_or(0);
        if used + wide > columns && used > 0 {
            pieces.push(String::new());
            used = 0;
        }
        if wide <= columns {
            used += wide;
            if let Some(piece) = pieces.last_mut() {
                piece.push(character);
            }
        }
    }
    pieces.into_iter()
}

/// `text` without what would act on the terminal or mislead the eye: control characters become
/// spaces; format characters (direction, joiners, variation selectors) are dropped.
fn clean(text: &str) -> String {
    let dropped = |character: char| {
        matches!(character,
            '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
    };
    let visible = text.chars().filter(|character| !dropped(*character));
    visible.map(|character| if character.is_control() { ' ' } else { character }).collect()
}

fn ascii(text: &str) -> String {
    text.chars().map(|character| if character.is_ascii() { character } else { '?' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NARROW: Style = Style { width: 60, color: false, unicode: true };
    const ASCII: Style = Style { unicode: false, ..NARROW };

    #[test]
    fn texts_are_shortened_to_the_columns_they_may_fill() {
        let cases = [
            ("short", 5, NARROW, "short"),
            ("shorter", 5, NARROW, "shor…"),
            ("shorter", 5, ASCII, "sho.."),
            ("shorter", 1, ASCII, ""),
            ("shorter", 0, NARROW, ""),
            // Each of these fills two columns.
            ("漢字漢字", 6, NARROW, "漢字…"),
        ];
        for (text, columns, style, expected) in cases {
            assert_eq!(shorten(text, columns, style), expected, "{text} in {columns}");
        }
    }

    #[test]
    fn a_foreign_text_cannot_act_on_the_terminal() {
        let mut page = Page::default();
        page.push(Line::plain("a\u{1b}[2Jb\r\nc\u{9b}d\u{202e}e\u{200d}f"));
        assert_eq!(page.render(NARROW), "a [2Jb  c def\n");
    }

    #[test]
    fn words_wrap_and_overlong_words_are_broken() {
        let mut page = Page::default();
        let text = format!("{} {}", "word ".repeat(12), "x".repeat(70));
        page.wrap(Line::plain("- "), 2, &text, NARROW);
        let rendered = page.render(NARROW);
        let lines: Vec<&str> = rendered.lines().collect();
        assert_eq!(lines.len(), 4, "{rendered}");
        assert!(lines[0].starts_with("- word word"));
        assert!(lines[1..].iter().all(|line| line.starts_with("  ")));
        assert!(lines.iter().all(|line| width(line) <= 60));
        assert_eq!(rendered.matches('x').count(), 70);
    }

    #[test]
    fn figures_keep_their_units() {
        let cases = [
            ("up to 9.8 s, then", vec!["up", "to", "9.8 s,", "then"]),
            ("waits (0.5 % of 3 cores)", vec!["waits", "(0.5 %", "of", "3", "cores)"]),
            ("s 1 ms ms", vec!["s", "1 ms", "ms"]),
            ("", vec![]),
        ];
        for (text, expected) in cases {
            assert_eq!(words(text), expected);
        }
    }

    #[test]
    fn lines_are_cut_unless_they_are_whole() {
        let long = "y".repeat(61);
        let render = |line: Line| {
            let mut page = Page::default();
            page.push(line);
            page.render(NARROW)
        };
        assert_eq!(render(Line::plain(&long)), format!("{}…\n", "y".repeat(59)));
        assert_eq!(render(Line::plain(&long).whole()), format!("{long}\n"));
    }

    #[test]
    fn colours_appear_only_when_asked_for() {
        let render = |style| {
            let mut page = Page::default();
            page.push(Line::painted(Paint::Bad, "no"));
            page.render(style)
        };
        assert_eq!(render(NARROW), "no\n");
        assert_eq!(render(Style { color: true, ..NARROW }), "\u{1b}[31mno\u{1b}[0m\n");
    }

    #[test]
    fn blocks_are_one_empty_line_apart() {
        let mut page = Page::default();
        page.gap();
        page.push(Line::plain("a"));
        page.gap();
        page.gap();
        page.push(Line::plain("b"));
        assert_eq!(page.render(NARROW), "a\n\nb\n");
    }
}
