//! The events of a streamed message.
//!
//! Source: the Anthropic documentation, "Streaming messages": `message_start`; for each block
//! `content_block_start`, deltas, `content_block_stop`; `message_delta`; `message_stop`; `ping` at
//! any time, and `error` instead of the rest.

use serde::{Deserialize, Serialize};

use super::error::Detail;
use super::messages::{Answer, AnswerBlock, StopReason};

/// One event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "MessagesStreamEvent", transform = crate::schema::other_is_any))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum StreamEvent {
    /// The message begins, with no content yet.
    MessageStart {
        /// The message.
        message: Answer,
    },
    /// A block begins, with no content yet.
    ContentBlockStart {
        /// Its place in the message.
        index: u64,
        /// The block.
        content_block: AnswerBlock,
    },
    /// Nothing: the connection is kept alive.
    Ping,
    /// More of a block.
    ContentBlockDelta {
        /// The block's place in the message.
        index: u64,
        /// What is added.
        delta: BlockDelta,
    },
    /// A block is complete.
    ContentBlockStop {
        /// Its place in the message.
        index: u64,
    },
    /// What is known at the end.
    MessageDelta {
        /// Why it ended.
        delta: MessageDelta,
        /// The tokens used; other providers leave them out.
        #[serde(default)]
        usage: DeltaUsage,
    },
    /// The message is complete.
    MessageStop,
    /// The message breaks off.
    Error {
        /// Why.
        error: Detail,
    },
    /// An event that this reader does not know.
    #[serde(other)]
    Other,
}

/// What is added to a block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = crate::schema::other_is_any))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum BlockDelta {
    /// More text.
    TextDelta {
        /// The text.
        text: String,
    },
    /// More of a tool's input.
    InputJsonDelta {
        /// A piece of JSON.
        partial_json: String,
    },
    /// What this reader does not know.
    #[serde(other)]
    Other,
}

/// Why a message ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MessageDelta {
    /// The reason.
    #[serde(default)]
    pub stop_reason: Option<StopReason>,
    /// The stop sequence that ended it.
    #[serde(default)]
    pub stop_sequence: Option<String>,
}

/// The tokens of a message at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeltaUsage {
    /// Tokens of the answer, all of them.
    #[serde(default)]
    pub output_tokens: u64,
}

impl StreamEvent {
    /// Its name, for the `event:` line.
    pub fn name(&self) -> &'static str {
        match self {
            Self::MessageStart { .. } => "message_start",
            Self::ContentBlockStart { .. } => "content_block_start",
            Self::Ping => "ping",
            Self::ContentBlockDelta { .. } => "content_block_delta",
            Self::ContentBlockStop { .. } => "content_block_stop",
            Self::MessageDelta { .. } => "message_delta",
            Self::MessageStop => "message_stop",
            Self::Error { .. } => "error",
            Self::Other => "other",
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::anthropic::messages::{Role, Usage};
    use crate::sse::{Decoder, encode_named};

    fn start() -> Answer {
        Answer {
            id: "msg_1".to_owned(),
            kind: "message".to_owned(),
            role: Role::Assistant,
            model: "m".to_owned(),
            content: Vec::new(),
            stop_reason: None,
            stop_sequence: None,
            usage: Usage { input_tokens: 8, output_tokens: 1, ..Usage::default() },
        }
    }

    /// A stream that says a word and calls a tool, in order, and how the real one is written.
    fn stream() -> Vec<(StreamEvent, &'static str)> {
        let delta = |index, delta| StreamEvent::ContentBlockDelta { index, delta };
        let tool = AnswerBlock::ToolUse {
            id: "toolu_1".to_owned(),
            name: "f".to_owned(),
            input: json!({}),
        };
        vec![
            (
                StreamEvent::MessageStart { message: start() },
                r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":8,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1,"service_tier":"standard"}}}"#,
            ),
            (
                StreamEvent::ContentBlockStart {
                    index: 0,
                    content_block: AnswerBlock::Text { text: String::new() },
                },
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
            ),
            (StreamEvent::Ping, r#"{"type":"ping"}"#),
            (
                delta(0, BlockDelta::TextDelta { text: "Hi".to_owned() }),
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}"#,
            ),
            (
                StreamEvent::ContentBlockStop { index: 0 },
                r#"{"type":"content_block_stop","index":0}"#,
            ),
            (
                StreamEvent::ContentBlockStart { index: 1, content_block: tool },
                r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"f","input":{}}}"#,
            ),
            (
                delta(1, BlockDelta::InputJsonDelta { partial_json: "{".to_owned() }),
                r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{"}}"#,
            ),
            (
                StreamEvent::MessageDelta {
                    delta: MessageDelta {
                        stop_reason: Some(StopReason::EndTurn),
                        stop_sequence: None,
                    },
                    usage: DeltaUsage { output_tokens: 3 },
                },
                r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":3}}"#,
            ),
            (StreamEvent::MessageStop, r#"{"type":"message_stop"}"#),
            (
                StreamEvent::Error {
                    error: Detail { kind: "overloaded_error".to_owned(), message: "m".to_owned() },
                },
                r#"{"type":"error","error":{"type":"overloaded_error","message":"m"}}"#,
            ),
        ]
    }

    #[test]
    fn a_stream_is_written_like_a_real_one_and_read_back_in_order() {
        let mut decoder = Decoder::new();
        for (event, expected) in stream() {
            let json = serde_json::to_string(&event).unwrap();
            assert_eq!(json, expected);
            decoder.push(encode_named(event.name(), &json).as_bytes());
        }
        for (event, _) in stream() {
            let read = decoder.next_event().unwrap().unwrap();
            let data: Value = serde_json::from_str(&read.data).unwrap();
            assert_eq!((read.event.as_str(), &data["type"]), (event.name(), &json!(event.name())));
            assert_eq!(serde_json::from_str::<StreamEvent>(&read.data).unwrap(), event);
        }
        assert_eq!(decoder.next_event(), Ok(None));
    }

    #[test]
    fn unknown_and_lean_events_are_read_over() {
        let read = |event: Value| serde_json::from_value::<StreamEvent>(event).unwrap();
        assert_eq!(read(json!({"type": "new", "x": 1})), StreamEvent::Other);
        let thought = json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "thinking_delta", "thinking": "x"}});
        let delta = BlockDelta::Other;
        assert_eq!(read(thought), StreamEvent::ContentBlockDelta { index: 0, delta });
        let lean = json!({"type": "message_delta", "delta": {}});
        let delta = MessageDelta { stop_reason: None, stop_sequence: None };
        let usage = DeltaUsage::default();
        assert_eq!(read(lean), StreamEvent::MessageDelta { delta, usage });
    }

    #[test]
    fn what_is_missing_is_named() {
        for (event, expected) in [
            (json!({"index": 0}), "missing field `type`"),
            (json!({"type": "content_block_stop"}), "missing field `index`"),
            (json!({"type": "message_start"}), "missing field `message`"),
            (json!({"type": "error"}), "missing field `error`"),
        ] {
            let error = serde_json::from_value::<StreamEvent>(event).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
