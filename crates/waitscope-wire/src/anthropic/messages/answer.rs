//! The answer. Readers take what other providers leave out or set to null.

use serde::de::Deserializer;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Role;

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Answer {
    /// `msg_...`.
    #[serde(default)]
    pub id: String,
    /// Always `message`.
    #[serde(rename = "type", default)]
    pub kind: String,
    /// Always the assistant.
    pub role: Role,
    /// The model that answered.
    #[serde(default)]
    pub model: String,
    /// What it says.
    pub content: Vec<AnswerBlock>,
    /// Why it ended; not known yet at the start of a stream.
    #[serde(default)]
    pub stop_reason: Option<StopReason>,
    /// The stop sequence that ended it.
    #[serde(default)]
    pub stop_sequence: Option<String>,
    /// The tokens used.
    #[serde(default)]
    pub usage: Usage,
}

/// One block of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = crate::schema::other_is_any))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AnswerBlock {
    /// A text.
    Text {
        /// The text itself.
        text: String,
    },
    /// A call to a tool.
    ToolUse {
        /// `toolu_...`.
        id: String,
        /// The tool's name.
        name: String,
        /// Its input.
        input: Value,
    },
    /// A block of a type this reader does not know.
    #[serde(other)]
    Other,
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = crate::schema::other_is_any))]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It was complete.
    EndTurn,
    /// It reached the most tokens allowed.
    MaxTokens,
    /// It reached a stop sequence.
    StopSequence,
    /// It calls a tool.
    ToolUse,
    /// A reason this reader does not know.
    #[serde(other)]
    Other,
}

/// The token counts of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "MessagesUsage"))]
pub struct Usage {
    /// Tokens of the prompt.
    #[serde(default)]
    pub input_tokens: u64,
    /// Tokens written to a cache.
    #[serde(default, deserialize_with = "null_as_zero")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u64>"))]
    pub cache_creation_input_tokens: u64,
    /// Tokens read from a cache.
    #[serde(default, deserialize_with = "null_as_zero")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u64>"))]
    pub cache_read_input_tokens: u64,
    /// Tokens of the answer so far.
    #[serde(default)]
    pub output_tokens: u64,
    /// The tier that served the call.
    #[serde(default)]
    pub service_tier: Option<ServiceTier>,
}

/// No tokens, on the standard tier.
impl Default for Usage {
    fn default() -> Self {
        Self {
            input_tokens: 0,
            cache_creation_input_tokens: 0,
            cache_read_input_tokens: 0,
            output_tokens: 0,
            service_tier: Some(ServiceTier::Standard),
        }
    }
}

/// Tiers that serve calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = crate::schema::other_is_any))]
#[serde(rename_all = "snake_case")]
pub enum ServiceTier {
    /// By default.
    Standard,
    /// Capacity bought ahead.
    Priority,
    /// The batch API.
    Batch,
    /// A tier this reader does not know.
    #[serde(other)]
    Other,
}

/// The API's types have these counts as a number or null.
fn null_as_zero<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_whole_answer_has_the_real_form() {
        let answer = Answer {
            id: "msg_1".to_owned(),
            kind: "message".to_owned(),
            role: Role::Assistant,
            model: "m".to_owned(),
            content: vec![
                AnswerBlock::Text { text: "Hello".to_owned() },
                AnswerBlock::ToolUse {
                    id: "toolu_1".to_owned(),
                    name: "f".to_owned(),
                    input: json!({"b": 1, "a": 2}),
                },
            ],
            stop_reason: Some(StopReason::ToolUse),
            stop_sequence: None,
            usage: Usage { input_tokens: 2, output_tokens: 3, ..Usage::default() },
        };
        let expected = concat!(
            r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":["#,
            r#"{"type":"text","text":"Hello"},"#,
            r#"{"type":"tool_use","id":"toolu_1","name":"f","input":{"b":1,"a":2}}],"#,
            r#""stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":2,"#,
            r#""cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":3,"#,
            r#""service_tier":"standard"}}"#,
        );
        assert_eq!(serde_json::to_string(&answer).unwrap(), expected);
        assert_eq!(serde_json::from_str::<Answer>(expected).unwrap(), answer);
    }

    #[test]
    fn lean_and_odd_answers_of_other_providers_are_read() {
        let lean: Answer =
            serde_json::from_value(json!({"role": "assistant", "content": []})).unwrap();
        assert_eq!((lean.stop_reason, lean.usage), (None, Usage::default()));
        let odd: Answer = serde_json::from_value(json!({
            "role": "assistant", "content": [{"type": "server_tool_use", "id": "x"}],
            "stop_reason": "pause_turn", "usage": {"cache_creation_input_tokens": null,
                "cache_read_input_tokens": 1, "output_tokens": 2, "service_tier": "new"}}))
        .unwrap();
        assert_eq!(odd.content, [AnswerBlock::Other]);
        assert_eq!(odd.stop_reason, Some(StopReason::Other));
        let usage = Usage {
            cache_read_input_tokens: 1,
            output_tokens: 2,
            service_tier: Some(ServiceTier::Other),
            ..Usage::default()
        };
        assert_eq!(odd.usage, usage);
    }
}
