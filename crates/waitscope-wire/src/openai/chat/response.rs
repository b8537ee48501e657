//! The answer, whole and in chunks. Readers take what other providers leave out or set to null.

use serde::{Deserialize, Serialize};

use super::{Role, ToolCall, ToolCallDelta};
use crate::openai::Usage;

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Completion {
    /// `chatcmpl-...`.
    #[serde(default)]
    pub id: String,
    /// `chat.completion`.
    #[serde(default)]
    pub object: String,
    /// When it was made, in Unix seconds.
    #[serde(default)]
    pub created: u64,
    /// The model that answered.
    #[serde(default)]
    pub model: String,
    /// The answers, as many as asked for.
    pub choices: Vec<Choice>,
    /// The tokens used.
    #[serde(default)]
    pub usage: Option<Usage>,
    /// The tier that served the call.
    #[serde(default)]
    pub service_tier: Option<String>,
    /// The configuration that served the call.
    #[serde(default)]
    pub system_fingerprint: Option<String>,
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Choice {
    /// Its place among the choices.
    #[serde(default)]
    pub index: u64,
    /// What the model says.
    pub message: AnswerMessage,
    /// Token probabilities; not simulated.
    #[serde(default)]
    pub logprobs: Option<serde_json::Value>,
    /// Why it ended.
    #[serde(default)]
    pub finish_reason: Option<FinishReason>,
}

/// What the model says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AnswerMessage {
    /// Always the assistant.
    pub role: Role,
    /// The text; null in an answer that calls tools.
    #[serde(default)]
    pub content: Option<String>,
    /// The model's refusal to answer.
    #[serde(default)]
    pub refusal: Option<String>,
    /// Citations; never any here.
    #[serde(default)]
    pub annotations: Vec<serde_json::Value>,
    /// The tools that the model calls; absent if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Vec<ToolCall>>,
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = crate::schema::other_is_any))]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// It was complete.
    Stop,
    /// It reached the most tokens allowed.
    Length,
    /// The model calls tools.
    ToolCalls,
    /// It was withheld.
    ContentFilter,
    /// A reason this reader does not know.
    #[serde(other)]
    Other,
}

/// One event of a streamed answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Chunk {
    /// `chatcmpl-...`, the same in every chunk.
    #[serde(default)]
    pub id: String,
    /// `chat.completion.chunk`.
    #[serde(default)]
    pub object: String,
    /// When the stream began, in Unix seconds; the same in every chunk.
    #[serde(default)]
    pub created: u64,
    /// The model that answers.
    #[serde(default)]
    pub model: String,
    /// The tier that served the call.
    #[serde(default)]
    pub service_tier: Option<String>,
    /// The configuration that served the call.
    #[serde(default)]
    pub system_fingerprint: Option<String>,
    /// What is new; empty in the chunk with the usage.
    pub choices: Vec<ChunkChoice>,
    /// The tokens used.
    #[serde(default, skip_serializing_if = "ChunkUsage::is_absent")]
    pub usage: ChunkUsage,
}

/// The usage in a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum ChunkUsage {
    /// Not asked for: the field is left out.
    #[default]
    #[serde(skip)]
    Absent,
    /// Asked for and yet to come: `null`.
    ToCome,
    /// The last chunk's.
    Counted(Usage),
}

impl ChunkUsage {
    fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }
}

/// What is new of one answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChunkChoice {
    /// Its place among the choices.
    #[serde(default)]
    pub index: u64,
    /// What is added.
    #[serde(default)]
    pub delta: Option<Delta>,
    /// Token probabilities; not simulated.
    #[serde(default)]
    pub logprobs: Option<serde_json::Value>,
    /// Why it ended; null until it does.
    #[serde(default)]
    pub finish_reason: Option<FinishReason>,
}

/// What is added to an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Delta {
    /// Who speaks; in the first chunk only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// More text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// More of the calls to tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Vec<ToolCallDelta>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunk_usage_is_absent_null_or_counted() {
        let chunk = |usage| Chunk {
            id: "chatcmpl-1".to_owned(),
            object: "chat.completion.chunk".to_owned(),
            created: 1,
            model: "m".to_owned(),
            service_tier: None,
            system_fingerprint: None,
            choices: Vec::new(),
            usage,
        };
        let counted = ChunkUsage::Counted(Usage::of_chat(2, 3));
        for (usage, expected) in [
            (ChunkUsage::Absent, r#""choices":[]}"#),
            (ChunkUsage::ToCome, r#""choices":[],"usage":null}"#),
            (counted, r#""completion_tokens_details":{"reasoning_tokens":0}}}"#),
        ] {
            let json = serde_json::to_string(&chunk(usage)).unwrap();
            assert!(json.ends_with(expected), "{json}");
            assert_eq!(serde_json::from_str::<Chunk>(&json).unwrap(), chunk(usage));
        }
    }

    #[test]
    fn calls_to_tools_are_absent_unless_there_are_any() {
        let said = AnswerMessage {
            role: Role::Assistant,
            content: Some("hi".to_owned()),
            refusal: None,
            annotations: Vec::new(),
            tool_calls: None,
        };
        let call = ToolCall { id: "call_1".to_owned(), ..ToolCall::default() };
        let called = AnswerMessage { content: None, tool_calls: Some(vec![call]), ..said.clone() };
        for (message, expected) in [
            (said, r#"{"role":"assistant","content":"hi","refusal":null,"annotations":[]}"#),
            (
                called,
                concat!(
                    r#"{"role":"assistant","content":null,"refusal":null,"annotations":[],"#,
                    r#""tool_calls":[{"id":"call_1","type":"function","#,
                    r#""function":{"name":"","arguments":""}}]}"#,
                ),
            ),
        ] {
            assert_eq!(serde_json::to_string(&message).unwrap(), expected);
            assert_eq!(serde_json::from_str::<AnswerMessage>(expected).unwrap(), message);
        }
        let piece = ToolCallDelta { index: 1, ..ToolCallDelta::default() };
        for (tool_calls, expected) in
            [(None, "{}"), (Some(vec![piece]), r#"{"tool_calls":[{"index":1}]}"#)]
        {
            let delta = Delta { tool_calls, ..Delta::default() };
            assert_eq!(serde_json::to_string(&delta).unwrap(), expected);
            assert_eq!(serde_json::from_str::<Delta>(expected).unwrap(), delta);
        }
    }

    #[test]
    fn lean_and_odd_answers_of_other_providers_are_read() {
        let lean: Completion = serde_json::from_str(
            r#"{"choices": [{"message": {"role": "assistant", "content": null},
                "finish_reason": "eos"}], "usage": {"prompt_tokens": 1, "total_tokens": 1}}"#,
        )
        .unwrap();
        assert_eq!(lean.choices[0].finish_reason, Some(FinishReason::Other));
        let odd: Chunk = serde_json::from_str(
            r#"{"choices": [{"index": 0, "delta": null, "finish_reason": "stop"}], "x": 1}"#,
        )
        .unwrap();
        assert_eq!(odd.choices[0].delta, None);
    }
}
