//! `POST /v1/messages` and `POST /v1/messages/count_tokens`.

mod answer;
mod content;

pub use answer::{Answer, AnswerBlock, ServiceTier, StopReason, Usage};
pub use content::{Block, Content};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tokens;

/// A message to be made, or one whose tokens are to be counted. An absent field and `null` mean
/// the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "MessagesRequest"))]
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
    /// What the caller tells of itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    /// Whether the model thinks first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Thinking>,
}

/// How many tokens a prompt has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counted {
    /// All of its tokens.
    pub input_tokens: u64,
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "MessagesMessage"))]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: Content,
}

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "MessagesRole"))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The person who asks.
    User,
    /// The model.
    Assistant,
}

/// What the model may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "MessagesTool"))]
pub struct Tool {
    /// `custom` or absent for a tool of the caller's; tools of the provider's own have others.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Its name; a set of tools has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of its input; tools of the provider's own have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Value>,
}

impl Tool {
    /// Whether the client runs it, rather than the provider.
    pub fn is_the_clients(&self) -> bool {
        matches!(self.kind.as_deref(), None | Some("custom"))
    }
}

/// What the model must call: `auto`, `any`, `tool` with its name, or `none`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "MessagesToolChoice")
)]
pub struct ToolChoice {
    /// Its kind.
    #[serde(rename = "type")]
    pub kind: String,
    /// The tool's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether it may call one tool at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disable_parallel_tool_use: Option<bool>,
}

/// What the caller tells of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Metadata {
    /// The caller's name for its user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
}

/// Whether the model thinks first: `enabled` with a budget, `disabled`, or `adaptive`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Thinking {
    /// Its kind.
    #[serde(rename = "type")]
    pub kind: String,
    /// The most tokens of its thoughts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_tokens: Option<u64>,
}

impl Request {
    /// The text of the user's last message that has one.
    pub fn question(&self) -> String {
        let users = self.messages.iter().rev().filter(|message| message.role == Role::User);
        let mut texts = users.map(|message| message.content.texts().collect::<Vec<_>>().join("\n"));
        texts.find(|text| !text.is_empty()).unwrap_or_default()
    }

    /// The tool that a simulated model calls: the one that `tool_choice` names, or else the first;
    /// none once a tool has answered.
    pub fn called_tool(&self) -> Option<&Tool> {
        if self.messages.last().is_some_and(|message| message.content.has_tool_result()) {
            return None;
        }
        let choice = self.tool_choice.as_ref();
        let mut tools = self.tools.iter().flatten().filter(|tool| tool.is_the_clients());
        match choice.map(|choice| (choice.kind.as_str(), choice.name.as_deref())) {
            Some(("none", _)) => None,
            Some(("tool", Some(name))) => tools.find(|tool| tool.name == name),
            _ => tools.next(),
        }
    }

    /// About how many tokens the prompt has, by the same rule as a chat prompt.
    pub fn prompt_tokens(&self) -> u64 {
        let messages = self.messages.iter().map(|message| message.content.tokens());
        let system = self.system.as_ref().map(Content::tokens);
        let contents: u64 = messages.chain(system).map(|tokens| tokens + tokens::PER_MESSAGE).sum();
        contents + tokens::of_json(self.tools.as_deref()) + tokens::TO_OPEN_THE_ANSWER
    }
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
            "thinking": {"type": "enabled", "budget_tokens": 1024},
            "tool_choice": {"type": "auto", "disable_parallel_tool_use": true},
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
        assert_eq!(request.metadata.as_ref().unwrap().user_id.as_deref(), Some("x"));
        assert_eq!(request.thinking.as_ref().unwrap().budget_tokens, Some(1024));
        let tool_types = request.tools.iter().flatten().map(|tool| tool.kind.as_deref());
        assert_eq!(tool_types.collect::<Vec<_>>(), [None, Some("web_search_20250305")]);
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
    fn tools_of_the_provider_are_not_called() {
        let request: Request = serde_json::from_str(
            r#"{"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": [
                {"type": "web_search_20250305", "name": "web_search"},
                {"type": "mcp_toolset", "mcp_server_name": "s"},
                {"type": "custom", "name": "a"}]}"#,
        )
        .unwrap();
        assert_eq!(request.called_tool().map(|tool| tool.name.as_str()), Some("a"));
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
        // A tool counts by its JSON, which is written without spaces.
        let tools = r#", "tools": [{"name": "a", "input_schema": {}}]}"#;
        let with_tools = tokens(&more.replace("}]}]}", &format!("}}]}}]{tools}")));
        assert_eq!(
            with_tools,
            tokens(&more) + tokens::of_text(r#"[{"name":"a","input_schema":{}}]"#.len())
        );
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        for (extra, problem) in [
            ("", "messages"),
            (r#", "messages": [{"role": "system", "content": "x"}]"#, "system"),
            (r#", "messages": [{"role": "user", "content": 1}]"#, "array of content blocks"),
        ] {
            let error = request(extra).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }
}
