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
        /// The tokens used.
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
pub struct MessageDelta {
    /// The reason.
    pub stop_reason: Option<StopReason>,
    /// The stop sequence that ended it.
    pub stop_sequence: Option<String>,
}

/// The tokens of a message at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeltaUsage {
    /// Tokens of the answer, all of them.
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
    use super::*;

    #[test]
    fn events_are_written_like_the_real_ones() {
        for (event, expected) in [
            (StreamEvent::Ping, r#"{"type":"ping"}"#),
            (
                StreamEvent::ContentBlockDelta {
                    index: 0,
                    delta: BlockDelta::TextDelta { text: "Hi".to_owned() },
                },
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}"#,
            ),
            (
                StreamEvent::ContentBlockDelta {
                    index: 1,
                    delta: BlockDelta::InputJsonDelta { partial_json: "{".to_owned() },
                },
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
        ] {
            let json = serde_json::to_string(&event).unwrap();
            assert_eq!(json, expected);
            assert!(json.contains(event.name()));
            assert_eq!(serde_json::from_str::<StreamEvent>(&json).unwrap(), event);
        }
    }

    #[test]
    fn unknown_events_are_read_over() {
        let event: StreamEvent = serde_json::from_str(r#"{"type": "new", "x": 1}"#).unwrap();
        assert_eq!(event, StreamEvent::Other);
    }
}
