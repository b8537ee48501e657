//! `OpenAI`'s streams: chunks of chat completions and completions, events of responses.
//!
//! Read leniently, since many servers speak this dialect with small differences: `delta` may be
//! null, `choices` empty, fields missing.

use serde::Deserialize;

use super::piece::{Filled, Trouble};
use super::{Says, malformed};

#[derive(Debug, Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Option<Vec<Choice>>,
    #[serde(default)]
    usage: Option<Usage>,
    #[serde(default)]
    error: Option<Trouble>,
    /// Of events of responses.
    #[serde(default, rename = "type")]
    kind: Option<String>,
    /// A text there.
    #[serde(default)]
    delta: Filled,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    response: Option<Response>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    #[serde(default)]
    delta: Option<Delta>,
    /// Of completions.
    #[serde(default)]
    text: Filled,
    #[serde(default)]
    finish_reason: Filled,
}

#[derive(Debug, Default, Deserialize)]
struct Delta {
    #[serde(default)]
    content: Filled,
    #[serde(default)]
    refusal: Filled,
    /// What the model thinks, under the names that servers of open models give it.
    #[serde(default)]
    reasoning: Filled,
    #[serde(default)]
    reasoning_content: Filled,
    #[serde(default)]
    tool_calls: Filled,
    #[serde(default)]
    function_call: Filled,
}

impl Delta {
    fn is_content(&self) -> bool {
        let Self { content, refusal, reasoning, reasoning_content, tool_calls, function_call } =
            self;
        [content, refusal, reasoning, reasoning_content, tool_calls, function_call]
            .iter()
            .any(|field| field.0)
    }
}

#[derive(Debug, Deserialize)]
struct Usage {
    /// Of chat completions, and of responses.
    #[serde(default)]
    completion_tokens: Option<u64>,
    #[serde(default)]
    output_tokens: Option<u64>,
}

impl Usage {
    fn tokens(&self) -> Option<u64> {
        self.completion_tokens.or(self.output_tokens)
    }
}

#[derive(Debug, Deserialize)]
struct Response {
    #[serde(default)]
    usage: Option<Usage>,
    #[serde(default)]
    error: Option<Trouble>,
}

/// Whether a `type` is one of an event of responses.
pub(super) fn is_response_type(kind: &str) -> bool {
    kind.starts_with("response.")
}

pub(super) fn read(data: &str) -> Says {
    let Ok(chunk) = serde_json::from_str::<Chunk>(data) else { return malformed() };
    match &chunk.kind {
        Some(kind) if is_response_type(kind) || kind == "error" => {
            let kind = kind.clone();
            read_event(&kind, chunk)
        }
        _ => read_chunk(chunk),
    }
}

fn read_chunk(chunk: Chunk) -> Says {
    let choices = chunk.choices.unwrap_or_default();
    let is_content =
        |choice: &Choice| choice.text.0 || choice.delta.as_ref().is_some_and(Delta::is_content);
    Says {
        content: choices.iter().any(is_content),
        finish: choices.iter().any(|choice| choice.finish_reason.0),
        error: chunk.error.map(Trouble::text),
        completion_tokens: chunk.usage.as_ref().and_then(Usage::tokens),
        ..Says::default()
    }
}

fn read_event(kind: &str, chunk: Chunk) -> Says {
    let (usage, error) = match chunk.response {
        Some(response) => (response.usage, response.error),
        None => (None, None),
    };
    let ends = matches!(kind, "response.completed" | "response.incomplete" | "response.failed");
    let error = match kind {
        "error" => chunk.error.map(Trouble::text).or(chunk.message),
        "response.failed" => error.map(Trouble::text),
        _ => None,
    };
    let is_error = matches!(kind, "error" | "response.failed");
    Says {
        content: kind.strip_suffix(".delta").is_some() && chunk.delta.0,
        finish: ends,
        done: ends,
        error: error.or_else(|| is_error.then(|| "an error without a message".into())),
        completion_tokens: usage.as_ref().and_then(Usage::tokens),
        malformed: false,
    }
}
