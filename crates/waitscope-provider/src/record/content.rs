//! What an event of a provider's stream is.

use serde_json::Value;

/// What an event is, as far as times are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// It carries a piece of the answer: text, a refusal, or a tool call.
    Content,
    /// The answer is complete.
    End,
    /// The provider reports an error.
    Error,
    /// Anything else: roles, usage, pings, and what a model thinks before it answers.
    Other,
}

/// What an event with this data is, in chat completions, completions, responses and messages
/// alike. Of several choices the first one counts.
pub(super) fn meaning(data: &str) -> Meaning {
    if data == waitscope_wire::sse::DONE {
        return Meaning::End;
    }
    let Ok(event) = serde_json::from_str::<Value>(data) else { return Meaning::Other };
    let says = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    let is_content = match event["type"].as_str() {
        Some("error" | "response.failed") => return Meaning::Error,
        Some("message_stop" | "response.completed" | "response.incomplete") => {
            return Meaning::End;
        }
        Some(
            "response.output_text.delta"
            | "response.refusal.delta"
            | "response.function_call_arguments.delta",
        ) => says(&event["delta"]),
        Some("content_block_delta") => {
            let delta = &event["delta"];
            says(&delta["text"]) || says(&delta["partial_json"])
        }
        _ if !event["error"].is_null() => return Meaning::Error,
        _ => event["choices"].as_array().into_iter().flatten().any(|choice| {
            let delta = &choice["delta"];
            let is_first = choice["index"].as_u64().unwrap_or(0) == 0;
            let mut calls = delta["tool_calls"].as_array().into_iter().flatten();
            let function = |call: &Value| {
                says(&call["function"]["name"]) || says(&call["function"]["arguments"])
            };
            let text = says(&delta["content"]) || says(&delta["refusal"]) || says(&choice["text"]);
            is_first && (text || calls.any(function))
        }),
    };
    if is_content { Meaning::Content } else { Meaning::Other }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_all_protocols_are_understood() {
        for (data, expected) in [
            (r#"{"choices": [{"index": 0, "delta": {"content": "a"}}]}"#, Meaning::Content),
            (r#"{"choices": [{"delta": {"refusal": "no"}}]}"#, Meaning::Content),
            (r#"{"choices": [{"text": "a", "index": 0}]}"#, Meaning::Content),
            (
                r#"{"choices": [{"delta": {"tool_calls": [{"function": {"arguments": "{"}}]}}]}"#,
                Meaning::Content,
            ),
            (
                r#"{"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}"#,
                Meaning::Other,
            ),
            (r#"{"choices": [{"index": 1, "delta": {"content": "a"}}]}"#, Meaning::Other),
            (r#"{"choices": [{"delta": {"reasoning_content": "hm"}}]}"#, Meaning::Other),
            (r#"{"choices": [{"delta": null, "finish_reason": "stop"}]}"#, Meaning::Other),
            (r#"{"choices": [], "usage": {"total_tokens": 1}, "error": null}"#, Meaning::Other),
            ("[DONE]", Meaning::End),
            (r#"{"error": {"message": "overloaded"}}"#, Meaning::Error),
            (r#"{"type": "response.output_text.delta", "delta": "a"}"#, Meaning::Content),
            (
                r#"{"type": "response.function_call_arguments.delta", "delta": "{"}"#,
                Meaning::Content,
            ),
            (r#"{"type": "response.created", "response": {"error": null}}"#, Meaning::Other),
            (r#"{"type": "response.completed", "response": {}}"#, Meaning::End),
            (r#"{"type": "response.failed", "response": {}}"#, Meaning::Error),
            (
                r#"{"type": "content_block_delta", "delta": {"type": "text_delta", "text": "a"}}"#,
                Meaning::Content,
            ),
            (
                r#"{"type": "content_block_delta", "delta": {"partial_json": "{"}}"#,
                Meaning::Content,
            ),
            (r#"{"type": "content_block_delta", "delta": {"thinking": "hm"}}"#, Meaning::Other),
            (r#"{"type": "message_start", "message": {}}"#, Meaning::Other),
            (r#"{"type": "ping"}"#, Meaning::Other),
            (r#"{"type": "message_stop"}"#, Meaning::End),
            (r#"{"type": "error", "error": {"type": "overloaded_error"}}"#, Meaning::Error),
            (": keepalive", Meaning::Other),
            (r#"{"choices": [{"delta": {"content": "#, Meaning::Other),
            ("[]", Meaning::Other),
        ] {
            assert_eq!(meaning(data), expected, "{data}");
        }
    }
}
