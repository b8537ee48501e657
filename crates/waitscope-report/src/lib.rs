//! Records as text for a terminal. Everything here is a pure function of the record and the
//! [`Style`]: the same record always gives the same text.

mod page;
mod text;

pub use text::{demo_closing_text, demo_run_text, text};

/// How the text may look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal, 80 if unknown; taken as 60 to 160.
    pub width: usize,
    /// Whether ANSI colours may be used.
    pub color: bool,
    /// Whether characters outside of ASCII may be used.
    pub unicode: bool,
}

impl Style {
    /// The columns that lines may fill.
    fn columns(self) -> usize {
        self.width.clamp(60, 160)
    }
}

impl Default for Style {
    /// What can be shown everywhere that is no terminal: 80 columns without colours.
    fn default() -> Self {
        Self { width: 80, color: false, unicode: true }
    }
}
