//! The request body.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Content, Input, Item, Message, Role, Tool, ToolChoice};
use crate::openai::chat::{FormatKind, ToolMode};

/// A response to be made. An absent field and `null` mean the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ResponsesRequest"))]
pub struct Request {
    /// The model's name.
    pub model: String,
    /// What is asked.
    pub input: Input,
    /// What the model is told first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Whether the answer comes as a stream of events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// The most tokens of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// The tools that the model may call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    /// Whether it calls one, and which.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// Whether it may call several at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    /// The form of the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<TextConfig>,
    /// Sampling temperature, 0 to 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// What the caller notes about the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// Whether the response is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<bool>,
    /// The response that this one goes on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_response_id: Option<String>,
    /// The caller's name for its user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// What to do with too long a conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncation: Option<Truncation>,
    /// How much the model thinks first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Value>,
}

impl Request {
    /// The text that is answered: the user's last message, or the input itself.
    pub fn question(&self) -> String {
        let items = match &self.input {
            Input::Text(text) => return text.clone(),
            Input::Items(items) => items,
        };
        let last = items.iter().rev().find_map(|item| match item {
            Item::Message(Message { role: Role::User, content }) => Some(content),
            _ => None,
        });
        let texts: Vec<&str> = last.into_iter().flat_map(Content::texts).collect();
        texts.join("\n")
    }

    /// The tool that a simulated model calls, and the JSON Schema of its arguments: the function
    /// that `tool_choice` names, or else the first. `None` if `tool_choice` forbids it, if there is
    /// no such function, or if the last item is a function's result.
    pub fn called_tool(&self) -> Option<(&str, Option<&Value>)> {
        if let Input::Items(items) = &self.input
            && let Some(Item::FunctionCallOutput(_)) = items.last()
        {
            return None;
        }
        let mut functions = self.tools.iter().flatten().filter_map(Tool::function);
        let function = match &self.tool_choice {
            Some(ToolChoice::Mode(ToolMode::None)) => None,
            Some(ToolChoice::Function(chosen)) => {
                functions.find(|function| function.name == chosen.name)
            }
            _ => functions.next(),
        }?;
        Some((&function.name, function.parameters.as_ref()))
    }

    /// Whether the answer is to be JSON.
    pub fn wants_json(&self) -> bool {
        let format = self.text.as_ref().and_then(|text| text.format.as_ref());
        matches!(
            format.map(|format| format.kind),
            Some(FormatKind::JsonObject | FormatKind::JsonSchema)
        )
    }
}

/// The form of the text.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TextConfig {
    /// Its format; plain text if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<TextFormat>,
    /// How many words the model makes: `low`, `medium` or `high`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verbosity: Option<String>,
}

/// The format of the text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TextFormat {
    /// Its kind.
    #[serde(rename = "type")]
    pub kind: FormatKind,
    /// What the format is for; of a [`FormatKind::JsonSchema`] only, like all that follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The schema's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// Whether the answer keeps to the schema exactly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
}

impl TextFormat {
    /// Plain text.
    pub fn text() -> Self {
        Self { kind: FormatKind::Text, description: None, name: None, schema: None, strict: None }
    }
}

/// What to do with a conversation that is too long for the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Truncation {
    /// Drop its start.
    Auto,
    /// Refuse it; the default.
    #[default]
    Disabled,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(extra: &Value) -> Request {
        let mut body = json!({"model": "m", "input": "hi"});
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        serde_json::from_value(body).unwrap()
    }

    #[test]
    fn a_full_request_is_read_and_written_alike() {
        let body = json!({
            "model": "m",
            "input": [{"type": "message", "role": "user", "content": "hi"}],
            "instructions": "Be kind.",
            "stream": true,
            "max_output_tokens": 16,
            "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"},
                       "strict": true}, {"type": "web_search"}],
            "tool_choice": {"type": "function", "name": "f"},
            "parallel_tool_calls": false,
            "text": {"format": {"type": "json_schema", "name": "n", "schema": {}, "strict": true},
                     "verbosity": "low"},
            "temperature": 0.5,
            "top_p": 0.5,
            "metadata": {"b": "1", "a": "2"},
            "store": false,
            "previous_response_id": "resp_1",
            "user": "u",
            "truncation": "auto",
            "reasoning": {"effort": "low"},
        });
        let read: Request = serde_json::from_value(body.clone()).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), body.to_string());
    }

    #[test]
    fn nulls_and_unknown_fields_are_as_good_as_absent() {
        let odd = json!({"instructions": null, "tools": null, "tool_choice": null, "text": null,
                         "metadata": null, "truncation": null, "reasoning": null, "include": [],
                         "stream": null, "background": false});
        assert_eq!(request(&odd), request(&json!({})));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (body, expected) in [
            (json!({"model": "m"}), "missing field `input`"),
            (json!({"input": "hi"}), "missing field `model`"),
            (json!({"model": "m", "input": null}), "a string or an array of input items"),
            (
                json!({"model": "m", "input": "hi", "text": {"format": {"type": "xml"}}}),
                "unknown variant `xml`",
            ),
            (
                json!({"model": "m", "input": "hi", "truncation": "some"}),
                "expected `auto` or `disabled`",
            ),
        ] {
            let error = serde_json::from_value::<Request>(body).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn the_users_last_message_is_the_question() {
        for (input, expected) in [
            (json!("hi"), "hi"),
            (json!([]), ""),
            (json!([{"role": "system", "content": "s"}]), ""),
            (
                json!([{"role": "user", "content": "a"}, {"role": "user", "content": "b"},
                       {"role": "assistant", "content": "c"},
                       {"type": "function_call_output", "call_id": "c", "output": "5"}]),
                "b",
            ),
            (
                json!([{"role": "user", "content": [{"type": "input_text", "text": "a"},
                    {"type": "input_image", "file_id": "x"},
                    {"type": "input_text", "text": "b"}]}]),
                "a\nb",
            ),
        ] {
            assert_eq!(request(&json!({"input": input})).question(), expected, "{input}");
        }
    }

    #[test]
    fn the_first_or_the_chosen_function_is_called() {
        let tools = json!([
            {"type": "web_search"},
            {"type": "function", "name": "f", "parameters": {"type": "object"}},
            {"type": "function", "name": "g"},
        ]);
        let result = json!([{"type": "function_call_output", "call_id": "c", "output": "5"}]);
        let asked_again = json!([result[0], {"role": "user", "content": "and now?"}]);
        let schema = json!({"type": "object"});
        let f = Some(("f", Some(&schema)));
        for (extra, expected) in [
            (json!({}), None),
            (json!({"tools": []}), None),
            (json!({"tools": [tools[0]]}), None),
            (json!({"tools": tools}), f),
            (json!({"tools": tools, "tool_choice": "auto"}), f),
            (json!({"tools": tools, "tool_choice": "required"}), f),
            (json!({"tools": tools, "tool_choice": "none"}), None),
            (
                json!({"tools": tools, "tool_choice": {"type": "function", "name": "g"}}),
                Some(("g", None)),
            ),
            (json!({"tools": tools, "tool_choice": {"type": "function", "name": "h"}}), None),
            (json!({"tools": tools, "tool_choice": {"type": "allowed_tools"}}), f),
            (json!({"tools": tools, "input": result}), None),
            (json!({"tools": tools, "input": asked_again}), f),
        ] {
            assert_eq!(request(&extra).called_tool(), expected, "{extra}");
        }
    }

    #[test]
    fn json_is_wanted_by_its_format() {
        for (text, expected) in [
            (json!(null), false),
            (json!({}), false),
            (json!({"verbosity": "low"}), false),
            (json!({"format": {"type": "text"}}), false),
            (json!({"format": {"type": "json_object"}}), true),
            (json!({"format": {"type": "json_schema", "name": "n", "schema": {}}}), true),
        ] {
            assert_eq!(request(&json!({"text": text})).wants_json(), expected, "{text}");
        }
    }
}
