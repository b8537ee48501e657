//! Streams of other kinds: lines of JSON, and what tells one kind from another.

use serde::Deserialize;

use super::piece::{Filled, Trouble};
use super::{Says, malformed};

/// A line: Ollama's (its API reference, "Generate a completion", "Generate a chat completion"), or
/// any other JSON.
#[derive(Debug, Deserialize)]
struct Line {
    #[serde(default)]
    message: Option<Message>,
    #[serde(default)]
    response: Option<Filled>,
    #[serde(default)]
    done: Option<bool>,
    #[serde(default)]
    error: Option<Trouble>,
    #[serde(default)]
    eval_count: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Message {
    Chat {
        #[serde(default)]
        content: Filled,
        #[serde(default)]
        thinking: Filled,
        #[serde(default)]
        tool_calls: Filled,
    },
    Other(serde::de::IgnoredAny),
}

impl Message {
    fn is_content(&self) -> bool {
        match self {
            Self::Chat { content, thinking, tool_calls } => content.0 || thinking.0 || tool_calls.0,
            Self::Other(_) => true,
        }
    }
}

pub(super) fn read_line(data: &str) -> Says {
    let Ok(line) = serde_json::from_str::<Line>(data) else {
        let is_json = serde_json::from_str::<serde::de::IgnoredAny>(data).is_ok();
        return if is_json { Says { content: true, ..Says::default() } } else { malformed() };
    };
    let content = match (&line.message, &line.response) {
        (None, None) => line.done.is_none() && line.error.is_none(),
        (message, response) => {
            message.as_ref().is_some_and(Message::is_content) || response.is_some_and(|r| r.0)
        }
    };
    let done = line.done == Some(true);
    Says {
        content,
        finish: done,
        done,
        error: line.error.map(Trouble::text),
        completion_tokens: line.eval_count,
        ..Says::default()
    }
}

/// Whether there are `choices`, or an error of that dialect's, and the `type`.
pub(super) fn first_field_and_type(data: &str) -> (bool, Option<String>) {
    #[derive(Debug, Deserialize)]
    struct Any {
        #[serde(default)]
        choices: Option<serde::de::IgnoredAny>,
        #[serde(default, rename = "type")]
        kind: Option<String>,
    }
    let any = serde_json::from_str::<Any>(data).ok();
    any.map_or((false, None), |any| (any.choices.is_some(), any.kind))
}
