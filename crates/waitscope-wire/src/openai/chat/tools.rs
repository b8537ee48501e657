//! Tools: what a request offers, and what an answer calls.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool that the model may call. Tools of other types are accepted; what they carry is not kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ChatTool", transform = crate::schema::other_is_any))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Tool {
    /// A function of the caller's.
    Function {
        /// What it is.
        function: Function,
    },
    /// A tool of another type, such as `custom`.
    #[serde(other)]
    Other,
}

impl Tool {
    /// The function, if it is one.
    pub fn function(&self) -> Option<&Function> {
        match self {
            Self::Function { function } => Some(function),
            Self::Other => None,
        }
    }
}

/// A function that the model may call.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Function {
    /// Its name.
    pub name: String,
    /// What it does, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its arguments, as a JSON Schema; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Value>,
    /// Whether the arguments keep to the schema exactly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
}

/// Whether the model calls a tool, and which.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ChatToolChoice"))]
#[serde(
    untagged,
    expecting = "expected `none`, `auto`, `required`, or an object such as \
                 {\"type\": \"function\", \"function\": {\"name\": \"...\"}}"
)]
pub enum ToolChoice {
    /// In general.
    Mode(ToolMode),
    /// One tool.
    Tool(ChosenTool),
}

/// Whether the model calls a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolMode {
    /// It calls none.
    None,
    /// It decides; the default.
    #[default]
    Auto,
    /// It calls at least one.
    Required,
}

/// The tool that the model has to call. Choices of other types are accepted; what they carry is
/// not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = crate::schema::other_is_any))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ChosenTool {
    /// A function.
    Function {
        /// Which one.
        function: FunctionName,
    },
    /// A choice of another type, such as `allowed_tools`.
    #[serde(other)]
    Other,
}

/// Names a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FunctionName {
    /// Its name.
    pub name: String,
}

/// A call to a tool.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolCall {
    /// `call_...`; the tool's result refers to it.
    #[serde(default)]
    pub id: String,
    /// Its type.
    #[serde(rename = "type", default)]
    pub kind: ToolKind,
    /// The function; empty in a call of another type.
    #[serde(default)]
    pub function: FunctionCall,
}

/// Types of tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = crate::schema::other_is_any))]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// To a function.
    #[default]
    Function,
    /// To a tool of another type, such as `custom`.
    #[serde(other)]
    Other,
}

/// A function and its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ChatFunctionCall"))]
pub struct FunctionCall {
    /// The function's name.
    pub name: String,
    /// The arguments: JSON in a string.
    pub arguments: String,
}

/// What is added to a call of a streamed answer. The first piece has the id, the type and the
/// name; the others have more of the arguments.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolCallDelta {
    /// The call's place among the calls of the answer.
    #[serde(default)]
    pub index: u64,
    /// `call_...`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its type.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ToolKind>,
    /// What is added to its function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<FunctionDelta>,
}

/// What is added to a function call.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FunctionDelta {
    /// The function's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// More of the arguments; empty in the first piece.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn weather() -> Function {
        Function {
            name: "get_weather".to_owned(),
            parameters: Some(json!({"type": "object", "properties": {"city": {}}})),
            strict: Some(true),
            ..Function::default()
        }
    }

    #[test]
    fn tools_are_functions_or_kept_apart() {
        for (body, expected) in [
            (json!({"type": "function", "function": weather()}), Some(weather())),
            (
                json!({"type": "function", "function": {"name": "f", "parameters": true, "x": 1}}),
                Some(Function {
                    name: "f".to_owned(),
                    parameters: Some(json!(true)),
                    ..Function::default()
                }),
            ),
            (json!({"type": "custom", "custom": {"name": "f", "format": {"type": "text"}}}), None),
            (json!({"type": "web_search", "function": 5}), None),
        ] {
            let tool: Tool = serde_json::from_value(body).unwrap();
            assert_eq!(tool.function(), expected.as_ref());
        }
    }

    #[test]
    fn a_tool_that_lacks_a_field_is_refused_by_its_name() {
        for (body, expected) in [
            (json!({"function": {"name": "f"}}), "missing field `type`"),
            (json!({"type": "function", "name": "f"}), "missing field `function`"),
            (json!({"type": "function", "function": {}}), "missing field `name`"),
        ] {
            let error = serde_json::from_value::<Tool>(body).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_choice_is_a_mode_or_a_tool() {
        let function = || FunctionName { name: "f".to_owned() };
        for (body, expected) in [
            (json!("none"), ToolChoice::Mode(ToolMode::None)),
            (json!("auto"), ToolChoice::Mode(ToolMode::Auto)),
            (json!("required"), ToolChoice::Mode(ToolMode::Required)),
            (
                json!({"type": "function", "function": {"name": "f"}}),
                ToolChoice::Tool(ChosenTool::Function { function: function() }),
            ),
            (
                json!({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}),
                ToolChoice::Tool(ChosenTool::Other),
            ),
        ] {
            assert_eq!(serde_json::from_value::<ToolChoice>(body).unwrap(), expected);
        }
        for body in [json!("any"), json!(5), json!({}), json!({"type": "function", "name": "f"})] {
            let error = serde_json::from_value::<ToolChoice>(body).unwrap_err().to_string();
            assert!(error.starts_with("expected `none`, `auto`, `required`, or"), "{error}");
        }
    }

    #[test]
    fn calls_have_the_real_form() {
        let call = ToolCall {
            id: "call_1".to_owned(),
            function: FunctionCall { name: "f".to_owned(), arguments: "{}".to_owned() },
            ..ToolCall::default()
        };
        let json = r#"{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}"#;
        assert_eq!(serde_json::to_string(&call).unwrap(), json);
        assert_eq!(serde_json::from_str::<ToolCall>(json).unwrap(), call);
        let custom = json!({"id": "call_1", "type": "custom", "custom": {"name": "f"}});
        assert_eq!(serde_json::from_value::<ToolCall>(custom).unwrap().kind, ToolKind::Other);

        let piece = |name: Option<&str>, arguments: &str| FunctionDelta {
            name: name.map(str::to_owned),
            arguments: Some(arguments.to_owned()),
        };
        let first = ToolCallDelta {
            index: 0,
            id: Some("call_1".to_owned()),
            kind: Some(ToolKind::Function),
            function: Some(piece(Some("f"), "")),
        };
        let next = ToolCallDelta { function: Some(piece(None, "{}")), ..ToolCallDelta::default() };
        for (delta, json) in [
            (
                first,
                r#"{"index":0,"id":"call_1","type":"function","function":{"name":"f","arguments":""}}"#,
            ),
            (next, r#"{"index":0,"function":{"arguments":"{}"}}"#),
        ] {
            assert_eq!(serde_json::to_string(&delta).unwrap(), json);
            assert_eq!(serde_json::from_str::<ToolCallDelta>(json).unwrap(), delta);
        }
    }
}
