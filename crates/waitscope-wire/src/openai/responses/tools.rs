//! Tools: what a request offers. The answer repeats them, so that other types are kept as they are.

use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::openai::chat::ToolMode;

/// A tool that the model may call.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ResponsesTool"))]
#[serde(untagged)]
pub enum Tool {
    /// A function of the caller's.
    Function(FunctionTool),
    /// A tool of another type, such as `web_search`, as it was given.
    Other(
        #[cfg_attr(
            feature = "schema",
            schemars(schema_with = "crate::schema::other_than_function")
        )]
        Map<String, Value>,
    ),
}

impl Tool {
    /// The function, if it is one.
    pub fn function(&self) -> Option<&FunctionTool> {
        match self {
            Self::Function(function) => Some(function),
            Self::Other(_) => None,
        }
    }
}

/// A function that the model may call: `{"type": "function", "name": ...}`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "FunctionTool", transform = crate::schema::tagged_function))]
#[serde(tag = "type", rename = "function")]
pub struct FunctionTool {
    /// What it does, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its name.
    pub name: String,
    /// Its arguments, as a JSON Schema; null if it has none.
    #[serde(default)]
    pub parameters: Option<Value>,
    /// Whether the arguments keep to the schema exactly.
    #[serde(default)]
    pub strict: Option<bool>,
}

/// Whether the model calls a tool, and which.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ResponsesToolChoice")
)]
#[serde(untagged)]
pub enum ToolChoice {
    /// In general: `none`, `auto` or `required`.
    Mode(ToolMode),
    /// One function.
    Function(NamedFunction),
    /// A choice of another type, such as `allowed_tools`, as it was given.
    Other(
        #[cfg_attr(
            feature = "schema",
            schemars(schema_with = "crate::schema::other_than_function")
        )]
        Map<String, Value>,
    ),
}

impl Default for ToolChoice {
    fn default() -> Self {
        Self::Mode(ToolMode::default())
    }
}

/// The function that the model has to call: `{"type": "function", "name": ...}`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "NamedFunction", transform = crate::schema::tagged_function))]
#[serde(tag = "type", rename = "function")]
pub struct NamedFunction {
    /// Its name.
    pub name: String,
}

/// By hand rather than `untagged`, so that an error names the field that is missing.
impl<'de> Deserialize<'de> for Tool {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let tool = Map::deserialize(deserializer)?;
        match required_kind(&tool)? {
            "function" => read(tool).map(Self::Function),
            _ => Ok(Self::Other(tool)),
        }
    }
}

/// By hand rather than `untagged`, so that an error names the field that is missing.
impl<'de> Deserialize<'de> for ToolChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Object(choice) => match required_kind(&choice)? {
                "function" => read(choice).map(Self::Function),
                _ => Ok(Self::Other(choice)),
            },
            mode => match ToolMode::deserialize(mode) {
                Ok(mode) => Ok(Self::Mode(mode)),
                Err(_) => Err(D::Error::custom(
                    "expected `none`, `auto`, `required`, or an object such as \
                     {\"type\": \"function\", \"name\": \"...\"}",
                )),
            },
        }
    }
}

/// What an object says its type is.
pub(super) fn kind<E: Error>(object: &Map<String, Value>) -> Result<Option<&str>, E> {
    match object.get("type") {
        None => Ok(None),
        Some(Value::String(kind)) => Ok(Some(kind)),
        Some(_) => Err(E::custom("expected a string in field `type`")),
    }
}

fn required_kind<E: Error>(object: &Map<String, Value>) -> Result<&str, E> {
    kind(object)?.ok_or_else(|| E::missing_field("type"))
}

/// Reads an object whose type is known.
pub(super) fn read<T: for<'de> Deserialize<'de>, E: Error>(
    object: Map<String, Value>,
) -> Result<T, E> {
    T::deserialize(Value::Object(object)).map_err(E::custom)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tools_are_repeated_as_they_were() {
        for tool in [
            json!({"type": "function", "description": "The weather.", "name": "get_weather",
                   "parameters": {"type": "object", "properties": {"b": {}, "a": {}}},
                   "strict": true}),
            json!({"type": "function", "name": "f", "parameters": null, "strict": null}),
            json!({"type": "web_search", "user_location": {"country": "CH"}, "name": 5}),
            json!({"type": "custom", "name": "c"}),
        ] {
            let read: Tool = serde_json::from_value(tool.clone()).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), tool.to_string());
            assert_eq!(read.function().is_some(), tool["type"] == "function");
        }
    }

    #[test]
    fn choices_are_repeated_as_they_were() {
        for (choice, expected) in [
            (json!("none"), ToolChoice::Mode(ToolMode::None)),
            (json!("required"), ToolChoice::Mode(ToolMode::Required)),
            (json!("auto"), ToolChoice::default()),
            (
                json!({"type": "function", "name": "f"}),
                ToolChoice::Function(NamedFunction { name: "f".to_owned() }),
            ),
            (
                json!({"type": "mcp", "server_label": "s"}),
                ToolChoice::Other(
                    [("type", "mcp"), ("server_label", "s")]
                        .map(|(field, value)| (field.to_owned(), json!(value)))
                        .into_iter()
                        .collect(),
                ),
            ),
        ] {
            let read: ToolChoice = serde_json::from_value(choice.clone()).unwrap();
            assert_eq!(read, expected);
            assert_eq!(serde_json::to_value(&read).unwrap(), choice);
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (tool, expected) in [
            (json!({"name": "f"}), "missing field `type`"),
            (json!({"type": 5}), "expected a string in field `type`"),
            (json!({"type": "function", "function": {"name": "f"}}), "missing field `name`"),
            (json!({"type": "function", "name": 5}), "invalid type: integer `5`"),
            (json!("function"), "invalid type: string \"function\""),
        ] {
            let error = serde_json::from_value::<Tool>(tool).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        for (choice, expected) in [
            (json!("any"), "expected `none`, `auto`, `required`, or an object"),
            (json!(5), "expected `none`, `auto`, `required`, or an object"),
            (json!({"name": "f"}), "missing field `type`"),
            (json!({"type": "function"}), "missing field `name`"),
        ] {
            let error = serde_json::from_value::<ToolChoice>(choice).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
