//! The input: a text, or the conversation so far.

use serde::de::Deserializer;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::response::FunctionCall;
use super::tools::{kind, read};
use crate::text_or_list::{ListItem, TextOrList};

/// What is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ResponsesInput"))]
#[serde(untagged, from = "TextOrList<Item>")]
pub enum Input {
    /// A text of the user's.
    Text(String),
    /// The conversation so far.
    Items(Vec<Item>),
}

/// One item of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = crate::schema::message_needs_no_type))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Item {
    /// A message; its type may be left out.
    Message(Message),
    /// A call that the model made.
    FunctionCall(FunctionCall),
    /// The result of such a call.
    FunctionCallOutput(FunctionCallOutput),
    /// An item of another type, as it was given.
    #[serde(untagged)]
    Other(
        #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::other_item"))]
        Map<String, Value>,
    ),
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ResponsesMessage"))]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: Content,
}

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ResponsesRole"))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The person who asks.
    User,
    /// The model.
    Assistant,
    /// Instructions.
    System,
    /// Instructions, in the newer models' name.
    Developer,
}

/// What a message or a function's result says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ResponsesContent"))]
#[serde(untagged, from = "TextOrList<Part>")]
pub enum Content {
    /// Plain text.
    Text(String),
    /// Texts, images and so on.
    Parts(Vec<Part>),
}

impl Content {
    /// Its text parts, in order.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let (text, parts) = match self {
            Self::Text(text) => (Some(text.as_str()), [].as_slice()),
            Self::Parts(parts) => (None, parts.as_slice()),
        };
        text.into_iter().chain(parts.iter().filter_map(|part| part.text.as_deref()))
    }

    /// How many of its parts are images, files and the like.
    pub fn attachments(&self) -> usize {
        match self {
            Self::Text(_) => 0,
            Self::Parts(parts) => parts.iter().filter(|part| part.is_attachment()).count(),
        }
    }
}

/// One part of a message. What an image, audio or file part carries is not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ResponsesPart"))]
pub struct Part {
    /// Its kind.
    #[serde(rename = "type")]
    pub kind: PartKind,
    /// The text of a text part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl Part {
    fn is_attachment(&self) -> bool {
        matches!(self.kind, PartKind::InputImage | PartKind::InputFile | PartKind::InputAudio)
    }
}

/// Kinds of message parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ResponsesPartKind")
)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// A text to the model.
    InputText,
    /// An image, by URL, in the URL or by file id.
    InputImage,
    /// A file, by URL, in the part or by file id.
    InputFile,
    /// Recorded speech.
    InputAudio,
    /// A text of the model's.
    OutputText,
    /// The model's refusal.
    Refusal,
}

/// The result of a function call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FunctionCallOutput {
    /// The call that it is the result of.
    pub call_id: String,
    /// What the function returned.
    pub output: Content,
}

/// By hand rather than `tag`: a message may leave its type out, and other types are kept.
impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let item = Map::deserialize(deserializer)?;
        match kind(&item)? {
            None | Some("message") => read(item).map(Self::Message),
            Some("function_call") => read(item).map(Self::FunctionCall),
            Some("function_call_output") => read(item).map(Self::FunctionCallOutput),
            Some(_) => Ok(Self::Other(item)),
        }
    }
}

impl ListItem for Item {
    const TEXT_OR_LIST: &'static str = "a string or an array of input items";
}

impl From<TextOrList<Item>> for Input {
    fn from(input: TextOrList<Item>) -> Self {
        match input {
            TextOrList::Text(text) => Self::Text(text),
            TextOrList::List(items) => Self::Items(items),
        }
    }
}

impl ListItem for Part {
    const TEXT_OR_LIST: &'static str = "a string or an array of content parts";
}

impl From<TextOrList<Part>> for Content {
    fn from(content: TextOrList<Part>) -> Self {
        match content {
            TextOrList::Text(text) => Self::Text(text),
            TextOrList::List(parts) => Self::Parts(parts),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn items(items: Value) -> Vec<Item> {
        match serde_json::from_value(items).unwrap() {
            Input::Items(items) => items,
            Input::Text(text) => panic!("{text}"),
        }
    }

    #[test]
    fn an_input_is_text_or_items() {
        let text: Input = serde_json::from_value(json!("hello")).unwrap();
        assert_eq!(text, Input::Text("hello".to_owned()));
        let read = items(json!([
            {"role": "system", "content": "Be kind."},
            {"type": "message", "role": "user", "content": [
                {"type": "input_text", "text": "a"},
                {"type": "input_image", "image_url": "data:image/png;base64,AA==",
                 "detail": "auto"},
                {"type": "input_file", "filename": "a.pdf", "file_data": "data:;base64,AA=="},
                {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}},
                {"type": "input_text", "text": "b"}]},
            {"id": "rs_1", "type": "reasoning", "summary": [], "content": 5},
            {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant",
             "content": [{"type": "output_text", "text": "c", "annotations": []},
                         {"type": "refusal", "refusal": "No."}]},
            {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f",
             "arguments": "{}", "status": "completed"},
            {"type": "function_call", "call_id": "call_2", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "call_1", "output": "5"},
            {"type": "function_call_output", "call_id": "call_2",
             "output": [{"type": "input_image", "file_id": "file-1"}]},
            {"type": "item_reference", "id": "msg_1"},
        ]));
        let told: Vec<(String, usize)> = read
            .iter()
            .map(|item| match item {
                Item::Message(Message { content, .. })
                | Item::FunctionCallOutput(FunctionCallOutput { output: content, .. }) => {
                    (content.texts().collect(), content.attachments())
                }
                Item::FunctionCall(call) => (call.call_id.clone(), 0),
                Item::Other(other) => (other["type"].to_string(), 0),
            })
            .collect();
        let expected = [
            ("Be kind.", 0),
            ("ab", 3),
            ("\"reasoning\"", 0),
            ("c", 0),
            ("call_1", 0),
            ("call_2", 0),
            ("5", 0),
            ("", 1),
            ("\"item_reference\"", 0),
        ];
        assert_eq!(told, expected.map(|(text, attachments)| (text.to_owned(), attachments)));
    }

    #[test]
    fn items_are_written_with_their_type() {
        for (item, expected) in [
            (
                json!({"role": "user", "content": "hi"}),
                r#"{"type":"message","role":"user","content":"hi"}"#,
            ),
            (
                json!({"type": "function_call_output", "call_id": "c", "output": ""}),
                r#"{"type":"function_call_output","call_id":"c","output":""}"#,
            ),
            (json!({"type": "reasoning", "x": 1}), r#"{"type":"reasoning","x":1}"#),
        ] {
            let read: Item = serde_json::from_value(item).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), expected);
        }
    }

    #[test]
    fn anything_else_is_refused_with_what_was_expected() {
        let supported = "expected one of `input_text`, `input_image`, `input_file`";
        for (input, expected) in [
            (json!(5), "a string or an array of input items"),
            (json!({"role": "user"}), "a string or an array of input items"),
            (json!(["hi"]), "invalid type: string \"hi\""),
            (json!([{"content": "hi"}]), "missing field `role`"),
            (json!([{"role": "user"}]), "missing field `content`"),
            (json!([{"role": "tool", "content": "5"}]), "unknown variant `tool`"),
            (json!([{"role": "user", "content": 5}]), "a string or an array of content parts"),
            (json!([{"role": "user", "content": [{"type": "text", "text": "x"}]}]), supported),
            (json!([{"type": 5}]), "expected a string in field `type`"),
            (json!([{"type": "function_call", "call_id": "c"}]), "missing field `name`"),
            (json!([{"type": "function_call_output", "output": "5"}]), "missing field `call_id`"),
            (json!([{"type": "function_call_output", "call_id": "c"}]), "missing field `output`"),
        ] {
            let error = serde_json::from_value::<Input>(input).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
