//! Anthropic's streams of messages. The type of an event is in its data as well, so that a stream
//! whose `event:` lines a gateway has dropped is understood.

use serde::Deserialize;

use super::piece::{Filled, Trouble};
use super::{Says, malformed};

#[derive(Debug, Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    delta: Option<Delta>,
    #[serde(default)]
    usage: Option<Usage>,
    #[serde(default)]
    error: Option<Trouble>,
}

#[derive(Debug, Deserialize)]
struct Delta {
    #[serde(default)]
    text: Filled,
    #[serde(default)]
    thinking: Filled,
    #[serde(default)]
    partial_json: Filled,
    #[serde(default)]
    stop_reason: Filled,
}

#[derive(Debug, Deserialize)]
struct Usage {
    #[serde(default)]
    output_tokens: Option<u64>,
}

/// Whether a `type` is one of an event of a message.
pub(super) fn is_type(kind: &str) -> bool {
    matches!(
        kind,
        "message_start"
            | "message_delta"
            | "message_stop"
            | "ping"
            | "content_block_start"
            | "content_block_delta"
            | "content_block_stop"
    )
}

pub(super) fn read(data: &str) -> Says {
    let Ok(event) = serde_json::from_str::<Event>(data) else { return malformed() };
    let delta = event.delta.as_ref();
    let has = |field: fn(&Delta) -> Filled| delta.is_some_and(|delta| field(delta).0);
    match event.kind.as_str() {
        "content_block_delta" => Says {
            content: has(|d| d.text) || has(|d| d.thinking) || has(|d| d.partial_json),
            ..Says::default()
        },
        "message_delta" => Says {
            finish: has(|d| d.stop_reason),
            completion_tokens: event.usage.and_then(|usage| usage.output_tokens),
            ..Says::default()
        },
        "message_stop" => Says { done: true, ..Says::default() },
        "error" => {
            let error = event.error.map(Trouble::text);
            Says {
                error: error.or_else(|| Some("an error without a message".into())),
                ..Says::default()
            }
        }
        _ => Says::default(),
    }
}
