//! The content of a request's message: a text, or a list of blocks.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::text_or_list::{ListItem, TextOrList};
use crate::tokens;

/// A text, or a list of blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "MessagesContent"))]
#[serde(untagged, from = "TextOrList<Block>")]
pub enum Content {
    /// Plain text.
    Text(String),
    /// Texts, images, tools and so on.
    Blocks(Vec<Block>),
}

/// One block of a request. What images, documents and unknown blocks carry is not kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = crate::schema::other_is_any))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// A text.
    Text {
        /// The text itself.
        text: String,
    },
    /// An image.
    Image,
    /// A document.
    Document,
    /// A call to a tool, in an assistant's message.
    ToolUse {
        /// `toolu_...`; the tool's result refers to it.
        id: String,
        /// The tool's name.
        name: String,
        /// Its input.
        input: Value,
    },
    /// What a tool answered, in a user's message.
    ToolResult {
        /// The call that it is the result of.
        tool_use_id: String,
        /// What it answered; a tool may have nothing to say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<Content>,
        /// Whether it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        is_error: Option<bool>,
    },
    /// What the model thought before it answered.
    Thinking {
        /// Its thoughts.
        thinking: String,
    },
    /// A block of another type, such as `redacted_thinking`.
    #[serde(other)]
    Other,
}

impl Content {
    /// Its texts, in order; those in a tool's result are not among them.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let (text, blocks) = match self {
            Self::Text(text) => (Some(text.as_str()), [].as_slice()),
            Self::Blocks(blocks) => (None, blocks.as_slice()),
        };
        text.into_iter().chain(blocks.iter().filter_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            _ => None,
        }))
    }

    /// Whether a tool has answered.
    pub fn has_tool_result(&self) -> bool {
        match self {
            Self::Text(_) => false,
            Self::Blocks(blocks) => {
                blocks.iter().any(|block| matches!(block, Block::ToolResult { .. }))
            }
        }
    }

    /// About how many tokens it is, without what frames the message.
    pub(super) fn tokens(&self) -> u64 {
        let (characters, attachments) = self.size();
        tokens::of_text(characters) + attachments * tokens::PER_ATTACHMENT
    }

    /// Its characters and its attachments.
    fn size(&self) -> (usize, u64) {
        match self {
            Self::Text(text) => (text.chars().count(), 0),
            Self::Blocks(blocks) => {
                blocks.iter().map(Block::size).fold((0, 0), |(characters, attachments), block| {
                    (characters + block.0, attachments + block.1)
                })
            }
        }
    }
}

impl Block {
    fn size(&self) -> (usize, u64) {
        match self {
            Self::Text { text } | Self::Thinking { thinking: text } => (text.chars().count(), 0),
            Self::ToolUse { name, input, .. } => {
                (name.chars().count() + input.to_string().chars().count(), 0)
            }
            Self::ToolResult { content, .. } => content.as_ref().map_or((0, 0), Content::size),
            Self::Image | Self::Document | Self::Other => (0, 1),
        }
    }
}

impl ListItem for Block {
    const TEXT_OR_LIST: &'static str = "a string or an array of content blocks";
}

impl From<TextOrList<Block>> for Content {
    fn from(content: TextOrList<Block>) -> Self {
        match content {
            TextOrList::Text(text) => Self::Text(text),
            TextOrList::List(blocks) => Self::Blocks(blocks),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn content_is_text_or_blocks_of_any_type() {
        for (content, texts, tokens) in [
            (json!("four"), "four", 2),
            (json!([]), "", 0),
            (
                json!([{"type": "text", "text": "fo", "cache_control": {"type": "ephemeral"}},
                    {"type": "text", "text": "ur", "citations": null}]),
                "four",
                2,
            ),
            (
                json!([{"type": "image", "source": {"type": "url", "url": "https://x/y.png"}},
                    {"type": "text", "text": "four"}]),
                "four",
                87,
            ),
            (json!([{"type": "document", "source": {"type": "base64", "data": "AA=="}}]), "", 85),
            (json!([{"type": "thinking", "thinking": "four", "signature": "x"}]), "", 2),
            (json!([{"type": "redacted_thinking", "data": "x"}]), "", 85),
            (json!([{"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}}]), "", 3),
            (json!([{"type": "tool_result", "tool_use_id": "toolu_1"}]), "", 0),
            (json!([{"type": "tool_result", "tool_use_id": "t", "content": "four"}]), "", 2),
            (
                json!([{"type": "tool_result", "tool_use_id": "t", "is_error": true, "content": [
                        {"type": "text", "text": "four"}, {"type": "image"}]}]),
                "",
                87,
            ),
        ] {
            let read: Content = serde_json::from_value(content.clone()).unwrap();
            assert_eq!((read.texts().collect::<String>().as_str(), read.tokens()), (texts, tokens));
            let written = serde_json::to_value(&read).unwrap();
            assert_eq!(serde_json::from_value::<Content>(written).unwrap(), read, "{content}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (content, expected) in [
            (json!(5), "a string or an array of content blocks"),
            (json!({"type": "text", "text": "x"}), "a string or an array of content blocks"),
            (json!(["x"]), "invalid type: string \"x\""),
            (json!([{"text": "x"}]), "missing field `type`"),
            (json!([{"type": "text"}]), "missing field `text`"),
            (json!([{"type": "tool_use", "id": "t", "name": "f"}]), "missing field `input`"),
            (json!([{"type": "tool_result"}]), "missing field `tool_use_id`"),
            (
                json!([{"type": "tool_result", "tool_use_id": "t", "content": 5}]),
                "a string or an array of content blocks",
            ),
        ] {
            let error = serde_json::from_value::<Content>(content).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
