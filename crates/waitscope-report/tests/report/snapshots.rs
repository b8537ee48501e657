//! The rendered text of realistic records. After an intended change: look at the new text, then
//! accept it with `cargo insta review` or `INSTA_UPDATE=always`.

use waitscope_record::Record;
use waitscope_report::{Style, text};

use crate::fixtures;

const NARROW: Style = Style { width: 80, color: false, unicode: true };
const NARROWEST: Style = Style { width: 60, ..NARROW };
const WIDE: Style = Style { width: 120, ..NARROW };
const WIDEST: Style = Style { width: 160, ..NARROW };
const ASCII: Style = Style { unicode: false, ..NARROW };
const COLOR: Style = Style { color: true, ..NARROW };

fn check(name: &str, record: &Record, style: Style) {
    // Escapes are shown as a character, so that the snapshots stay plain text.
    insta::assert_snapshot!(name, text(record, style).replace('\u{1b}', "␛"));
}

#[test]
fn runs_of_every_shape() {
    let cases = [
        ("blocking", fixtures::blocking_run(false)),
        ("blocking_parts", fixtures::blocking_run(true)),
        ("concurrent", fixtures::concurrent_run(false)),
        ("concurrent_parts", fixtures::concurrent_run(true)),
        ("failing", fixtures::failing_run()),
        ("interrupted", fixtures::interrupted_run()),
        ("html_health", fixtures::html_health_run()),
        ("packed", fixtures::many_requests_run(60, 16)),
        ("packed_partly", fixtures::many_requests_run(120, 40)),
        ("demo", fixtures::demo()),
        ("demo_interrupted", fixtures::interrupted_demo()),
    ];
    for (name, record) in cases {
        check(&format!("{name}_80"), &record, NARROW);
        check(&format!("{name}_120"), &record, WIDE);
    }
}

#[test]
fn the_narrowest_and_the_widest() {
    for (name, record) in [
        ("blocking_parts", fixtures::blocking_run(true)),
        ("interrupted", fixtures::interrupted_run()),
        ("packed", fixtures::many_requests_run(60, 16)),
        ("demo", fixtures::demo()),
    ] {
        check(&format!("{name}_60"), &record, NARROWEST);
        check(&format!("{name}_160"), &record, WIDEST);
    }
}

#[test]
fn terminals_of_every_kind() {
    let record = fixtures::blocking_run(true);
    check("blocking_ascii", &record, ASCII);
    check("blocking_color", &record, COLOR);
    check("failing_ascii", &fixtures::failing_run(), ASCII);
    check("failing_color", &fixtures::failing_run(), COLOR);
}
