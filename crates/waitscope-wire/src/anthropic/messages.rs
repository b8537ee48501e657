//! `POST /v1/messages` and `POST /v1/messages/count_tokens`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tokens;

/// A message to be made, or one whose tokens are to be counted. An absent field and `null` mean
/// the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The model's name.
    pub model: String,
    /// The most tokens of the answer; only counting goes without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// Instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<Content>,
    /// What the model may call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    /// What it must call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// Whether the answer comes as a stream of events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// Sampling temperature, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Sampling among so many tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u64>,
    /// Where the answer ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_sequences: Option<Vec<String>>,
}

/// How many tokens a prompt has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// All of its tokens.
    pub input_tokens: u64,
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: Content,
}

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The person who asks.
    User,
    /// The model.
    Assistant,
}

/// A text, or a list of blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a string or an array of content blocks")]
pub enum Content {
    /// Plain text.
    Text(String),
    /// Texts, images, tools and so on.
    Blocks(Vec<Block>),
}

/// One block of a request. What others than texts carry is not kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// Its kind: `text`, `image`, `document`, `tool_use`, `tool_result`, `thinking` and others.
    #[serde(rename = "type")]
    pub kind: String,
    /// The text of a text block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// What the model may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// The JSON Schema of its input; tools of the provider's own have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Value>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// What the model must call: `auto`, `any`, `tool` with its name, or `none`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolChoice {
    /// Its kind.
    #[serde(rename = "type")]
    pub kind: String,
    /// The tool's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Content {
    /// Its texts, in order.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let (text, blocks) = match self {
            Self::Text(text) => (Some(text.as_str()), [].as_slice()),
            Self::Blocks(blocks) => (None, blocks.as_slice()),
        };
        text.into_iter().chain(blocks.iter().filter_map(|block| block.text.as_deref()))
    }

    /// Whether a tool has answered.
    fn has_tool_result(&self) -> bool {
        match self {
            Self::Text(_) => false,
            Self::Blocks(blocks) => blocks.iter().any(|block| block.kind == "tool_result"),
        }
    }

    fn tokens(&self) -> u64 {
        let characters = self.texts().map(|text| text.chars().count()).sum();
        let attachments = match self {
            Self::Text(_) => 0,
            Self::Blocks(blocks) => blocks.iter().filter(|block| block.text.is_none()).count(),
        };
        tokens::of_text(characters) + attachments as u64 * tokens::PER_ATTACHMENT
    }
}

impl Request {
    /// The text of the user's last message that has one.
    pub fn question(&self) -> String {
        let users = self.messages.iter().rev().filter(|message| message.role == Role::User);
        let texts = users.map(|message| message.content.texts().collect::<Vec<_>>().join("\n"));
        texts.filter(|text| !text.is_empty()).next().unwrap_or_default()
    }

    /// The tool that a simulated model calls: the one that `tool_choice` names, or else the first;
    /// none once a tool has answered.
    pub fn called_tool(&self) -> Option<&Tool> {
        if self.messages.last().is_some_and(|message| message.content.has_tool_result()) {
            return None;
        }
        let choice = self.tool_choice.as_ref();
        let tools = self.tools.iter().flatten();
        match choice.map(|choice| (choice.kind.as_str(), choice.name.as_deref())) {
            Some(("none", _)) => None,
            Some(("tool", Some(name))) => tools.into_iter().find(|tool| tool.name == name),
            _ => tools.into_iter().next(),
        }
    }

    /// About how many tokens the prompt has, by the same rule as a chat prompt.
    pub fn prompt_tokens(&self) -> u64 {
        let messages = self.messages.iter().map(|message| message.content.tokens());
        let system = self.system.as_ref().map(Content::tokens);
        let contents: u64 = messages.chain(system).map(|tokens| tokens + tokens::PER_MESSAGE).sum();
        contents + tokens::of_json(&self.tools) + tokens::TO_OPEN_THE_ANSWER
    }
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// `msg_...`.
    pub id: String,
    /// Always `message`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Always the assistant.
    pub role: Role,
    /// The model that answered.
    pub model: String,
    /// What it says.
    pub content: Vec<AnswerBlock>,
    /// Why it ended; not known yet at the start of a stream.
    pub stop_reason: Option<StopReason>,
    /// The stop sequence that ended it.
    pub stop_sequence: Option<String>,
    /// The tokens used.
    pub usage: Usage,
}

/// One block of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt.
    pub input_tokens: u64,
    /// Tokens written to a cache.
    #[serde(default)]
    pub cache_creation_input_tokens: u64,
    /// Tokens read from a cache.
    #[serde(default)]
    pub cache_read_input_tokens: u64,
    /// Tokens of the answer so far.
    pub output_tokens: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(extra: &str) -> serde_json::Result<Request> {
        serde_json::from_str(&format!(r#"{{"model": "m", "max_tokens": 9{extra}}}"#))
    }

    #[test]
    fn requests_are_read_with_all_their_kinds_of_content() {
        let request = request(
            r#", "stream": true, "temperature": 1, "metadata": {"user_id": "x"},
            "system": [{"type": "text", "text": "Be brief.", "cache_control": {}}],
            "tools": [{"name": "a", "input_schema": {"type": "object"}},
                      {"type": "web_search_20250305", "name": "web_search"}],
            "messages": [
              {"role": "user", "content": "What is on it?"},
              {"role": "assistant", "content": [{"type": "thinking", "thinking": "x"},
                {"type": "tool_use", "id": "t", "name": "a", "input": {}}]},
              {"role": "user", "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png"}},
                {"type": "text", "text": "And on this?"}]}]"#,
        )
        .unwrap();
        assert_eq!(request.question(), "And on this?");
        assert_eq!(request.called_tool().map(|tool| tool.name.as_str()), Some("a"));
        assert_eq!(request.stream, Some(true));
        let back = serde_json::to_string(&request).unwrap();
        assert_eq!(serde_json::from_str::<Request>(&back).unwrap(), request);
    }

    #[test]
    fn tools_are_called_as_chosen() {
        let prompt = |extra: &str, content: &str| -> Request {
            let text = format!(
                r#"{{"model": "m", "tools": [{{"name": "a"}}, {{"name": "b"}}]{extra},
                "messages": [{{"role": "user", "content": {content}}}]}}"#
            );
            serde_json::from_str(&text).unwrap()
        };
        for (choice, called) in [
            ("", Some("a")),
            (r#", "tool_choice": {"type": "auto"}"#, Some("a")),
            (r#", "tool_choice": {"type": "any"}"#, Some("a")),
            (r#", "tool_choice": {"type": "tool", "name": "b"}"#, Some("b")),
            (r#", "tool_choice": {"type": "tool", "name": "c"}"#, None),
            (r#", "tool_choice": {"type": "none"}"#, None),
        ] {
            let prompt = prompt(choice, "\"x\"");
            assert_eq!(prompt.called_tool().map(|tool| tool.name.as_str()), called, "{choice}");
        }
        let answered = prompt("", r#"[{"type": "tool_result", "tool_use_id": "t"}]"#);
        assert_eq!(answered.called_tool(), None);
    }

    #[test]
    fn tokens_are_counted_as_for_chat() {
        let tokens = |text: &str| serde_json::from_str::<Request>(text).unwrap().prompt_tokens();
        let one = tokens(r#"{"model": "m", "messages": [{"role": "user", "content": "four"}]}"#);
        assert_eq!(one, 8);
        let image = r#"[{"type": "text", "text": "four"}, {"type": "image"}]"#;
        let more = format!(
            r#"{{"model": "m", "system": "four", "messages": [{{"role": "user", "content": {image}}}]}}"#
        );
        assert_eq!(tokens(&more), one + 85 + 5);
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        for (extra, problem) in [
            ("", "messages"),
            (r#", "messages": [{"role": "system", "content": "x"}]"#, "system"),
            (r#", "messages": [{"role": "user", "content": 1}]"#, "array of content blocks"),
            (r#", "messages": [], "tools": [{}]"#, "name"),
        ] {
            let error = request(extra).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }
}
