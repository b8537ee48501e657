//! What the header `x-waitscope-fault`, `--fault` and `--timeline` say.

use std::time::Duration;

use waitscope_provider::fault::{Faults, Phase, Rule};
use waitscope_provider::model::script::{Event, Part};

/// More pieces than a stream of three tokens can be torn into.
const MOST_PIECES: usize = 10_000;

/// What can be read is written in a form that means the same, and rewrites any answer.
pub fn fault_spec(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let _ = text.parse::<Phase>();
    if let Ok(rule) = text.parse::<Rule>() {
        let written = rule.to_string();
        assert_eq!(written.parse::<Rule>().map(|rule| rule.to_string()), Ok(written));
    }
    let Ok(faults) = text.parse::<Faults>() else { return };
    let written = faults.to_string();
    assert_eq!(written.parse::<Faults>().map(|faults| faults.to_string()), Ok(written));
    let _ = faults.before();
    let script = faults.stream(Box::new(stream().into_iter()), error);
    assert!(script.pieces.take(MOST_PIECES).count() < MOST_PIECES);
    let body = faults.spoil(BODY.into());
    let script = faults.whole(Duration::from_millis(30), body);
    assert!(script.pieces.take(MOST_PIECES).count() < MOST_PIECES);
}

const BODY: &str =
    r#"{"choices":[{"message":{"content":"x é 漢 🎉"}}],"usage":{"total_tokens":3}}"#;

fn error(_place: u64) -> (Option<&'static str>, String) {
    (Some("error"), r#"{"error":{}}"#.to_owned())
}

/// A stream of three tokens, one each 10 ms.
fn stream() -> Vec<Event> {
    let event = |ms, part, data: &str| Event::new(Duration::from_millis(ms), part, data.to_owned());
    vec![
        event(10, Part::Open, r#"{"choices":[{"delta":{"role":"assistant"}}]}"#),
        event(10, Part::Token, r#"{"choices":[{"delta":{"content":"x"}}]}"#),
        event(20, Part::Token, r#"{"choices":[{"delta":{"content":"é"}}]}"#),
        event(30, Part::Token, r#"{"choices":[{"delta":{"content":"漢 🎉"}}]}"#),
        event(30, Part::Finish, r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#),
        event(30, Part::Usage, r#"{"choices":[],"usage":{"total_tokens":3}}"#),
        event(30, Part::End, "[DONE]"),
    ]
}
