//! The content of a message: a text, or a list of parts.

use serde::{Deserialize, Serialize};

use crate::text_or_list::{ListItem, TextOrList};

/// What a message says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ChatContent"))]
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
}

/// One part of a message. What an image, audio or file part carries is not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ChatPart"))]
pub struct Part {
    /// Its kind.
    #[serde(rename = "type")]
    pub kind: PartKind,
    /// The text of a text part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Kinds of message parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ChatPartKind"))]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// A text.
    Text,
    /// An image, by URL or in the URL.
    ImageUrl,
    /// Recorded speech.
    InputAudio,
    /// A file.
    File,
    /// The model's refusal, in a message of its own.
    Refusal,
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
    use super::*;

    #[test]
    fn content_is_text_or_parts() {
        let text: Content = serde_json::from_str(r#""hello""#).unwrap();
        assert_eq!(text, Content::Text("hello".to_owned()));
        let parts: Content = serde_json::from_str(
            r#"[{"type": "text", "text": "a"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
                {"type": "text", "text": "b"}]"#,
        )
        .unwrap();
        assert_eq!(parts.texts().collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn a_part_may_carry_anything() {
        for json in [
            r#"{"type": "image_url", "image_url": {"url": "https://x/y.png", "detail": "low"}}"#,
            r#"{"type": "image_url", "image_url": "data:image/png;base64,AA=="}"#,
            r#"{"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}"#,
            r#"{"type": "file", "file": {"file_id": "file-1"}}"#,
            r#"{"type": "file", "file": {"filename": "a.pdf", "file_data": "data:;base64,AA=="}}"#,
            r#"{"type": "refusal", "refusal": "No."}"#,
        ] {
            let part: Part = serde_json::from_str(json).unwrap();
            assert_eq!(part.text, None, "{json}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_what_was_expected() {
        for (json, expected) in [
            ("5", "a string or an array of content parts"),
            (r#"{"type": "text"}"#, "a string or an array of content parts"),
            (r#"[{"type": "smell"}]"#, "unknown variant `smell`"),
            (r#"[{"text": "x"}]"#, "missing field `type`"),
        ] {
            let error = serde_json::from_str::<Content>(json).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
