//! The request body.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Content;
use super::tools::{ChosenTool, Tool, ToolCall, ToolChoice, ToolMode};

/// A chat completion to be made. An absent field and `null` mean the same.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ChatRequest"))]
pub struct Request {
    /// The model's name.
    pub model: String,
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// Whether the answer comes as a stream of events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// What a stream also holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_options: Option<StreamOptions>,
    /// The form of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_format: Option<ResponseFormat>,
    /// The most tokens of the answer, by its older name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// The most tokens of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_completion_tokens: Option<u64>,
    /// The tools that the model may call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    /// Whether it calls one, and which.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// Whether it may call several at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    /// How many answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<u64>,
    /// Sampling temperature, 0 to 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// -2 to 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency_penalty: Option<f64>,
    /// -2 to 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub presence_penalty: Option<f64>,
    /// For repeatable sampling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<i64>,
    /// Where the answer ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// The caller's name for its user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

impl Request {
    /// The tool that a simulated model calls, and the JSON Schema of its arguments: the function
    /// that `tool_choice` names, or else the first. `None` if `tool_choice` forbids it, if there is
    /// no such function, or if the last message is a tool's result.
    pub fn called_tool(&self) -> Option<(&str, Option<&Value>)> {
        let last = self.messages.last().map(|message| message.role);
        if matches!(last, Some(Role::Tool | Role::Function)) {
            return None;
        }
        let mut functions = self.tools.iter().flatten().filter_map(Tool::function);
        let function = match &self.tool_choice {
            Some(ToolChoice::Mode(ToolMode::None)) => None,
            Some(ToolChoice::Tool(ChosenTool::Function { function: chosen })) => {
                functions.find(|function| function.name == chosen.name)
            }
            _ => functions.next(),
        }?;
        Some((&function.name, function.parameters.as_ref()))
    }
}

/// One message of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ChatMessage"))]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said; absent in an assistant's message that only calls tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// The speaker's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The tools that an assistant's message calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Vec<ToolCall>>,
    /// The call that a tool's message is the result of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
}

impl Message {
    /// A message that is plain text.
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self {
            role,
            content: Some(Content::Text(text.into())),
            name: None,
            tool_calls: None,
            tool_call_id: None,
        }
    }
}

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ChatRole"))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Instructions, in the newer models' name.
    Developer,
    /// Instructions.
    System,
    /// The person who asks.
    User,
    /// The model.
    Assistant,
    /// A tool's result.
    Tool,
    /// A function's result (the older form of `tool`).
    Function,
}

/// What a stream also holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StreamOptions {
    /// One last chunk with the usage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_usage: Option<bool>,
}

/// The form of the answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResponseFormat {
    /// Its kind.
    #[serde(rename = "type")]
    pub kind: FormatKind,
    /// The schema of a [`FormatKind::JsonSchema`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json_schema: Option<Value>,
}

/// Kinds of answer formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FormatKind {
    /// Free text, the default.
    Text,
    /// Any JSON object.
    JsonObject,
    /// A JSON object by a schema.
    JsonSchema,
}

/// Where the answer ends: one text or several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "a string or an array of strings")]
pub enum Stop {
    /// One text.
    One(String),
    /// Several texts.
    Several(Vec<String>),
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(extra: &Value) -> Request {
        let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        serde_json::from_value(body).unwrap()
    }

    #[test]
    fn the_first_or_the_chosen_function_is_called() {
        let tools = json!([
            {"type": "custom", "custom": {"name": "c"}},
            {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}},
            {"type": "function", "function": {"name": "g"}},
        ]);
        let result = json!([{"role": "tool", "tool_call_id": "call_1", "content": "5"}]);
        let asked_again = json!([result[0], {"role": "user", "content": "and now?"}]);
        let schema = json!({"type": "object"});
        let f = Some(("f", Some(&schema)));
        let g = json!({"type": "function", "function": {"name": "g"}});
        let unknown = json!({"type": "function", "function": {"name": "h"}});
        for (extra, expected) in [
            (json!({}), None),
            (json!({"tools": []}), None),
            (json!({"tools": [tools[0]]}), None),
            (json!({"tools": tools}), f),
            (json!({"tools": tools, "tool_choice": "auto"}), f),
            (json!({"tools": tools, "tool_choice": "required"}), f),
            (json!({"tools": tools, "tool_choice": "none"}), None),
            (json!({"tools": tools, "tool_choice": g}), Some(("g", None))),
            (json!({"tools": tools, "tool_choice": unknown}), None),
            (json!({"tools": tools, "tool_choice": {"type": "custom"}}), f),
            (json!({"tools": tools, "messages": result}), None),
            (json!({"tools": tools, "messages": [{"role": "function", "content": "5"}]}), None),
            (json!({"tools": tools, "messages": asked_again}), f),
        ] {
            assert_eq!(request(&extra).called_tool(), expected, "{extra}");
        }
    }

    #[test]
    fn a_conversation_with_tools_is_read_and_written_alike() {
        let body = json!({
            "model": "m",
            "messages": [
                {"role": "user", "content": "Weather in Bern?"},
                {"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function",
                    "function": {"name": "get_weather", "arguments": "{\"city\":\"Bern\"}"}}]},
                {"role": "tool", "content": "12 C", "tool_call_id": "call_1"},
            ],
            "tools": [{"type": "function", "function": {"name": "get_weather",
                "description": "The weather.", "parameters": {"type": "object"},
                "strict": false}}],
            "tool_choice": "auto",
            "parallel_tool_calls": false,
        });
        let read: Request = serde_json::from_value(body.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), body);
        let calls = read.messages[1].tool_calls.as_ref().unwrap();
        assert_eq!(calls[0].function.arguments, r#"{"city":"Bern"}"#);
    }
}
