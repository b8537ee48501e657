//! Records as lines of text: one file per kind, and the registry of them.

mod demo;
mod figure;
mod load;
mod stall;
mod table;
mod timeline;

use waitscope_record::{Body, Record};

use crate::Style;

use stall::Detail;

pub use demo::{demo_closing_text, demo_run_text};

/// The whole text of a record, whatever its kind.
///
/// No line is wider than `style.width`, but for the headline of a `stall` or `load` run: its two
/// lines are kept whole, because scripts look for them.
pub fn text(record: &Record, style: Style) -> String {
    match &record.body {
        Body::Stall { inputs, summary } => {
            stall::page(record, inputs, summary, Detail::Full, style).render(style)
        }
        Body::Load { inputs, summary } => load::page(record, inputs, summary, style).render(style),
        Body::Demo { .. } => demo::text(record, style),
    }
}
