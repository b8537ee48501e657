//! The content of a message: a text, or a list of parts.

use std::fmt;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

/// What a message says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
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

/// By hand rather than `untagged`, so that an error names the part it is in.
impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ContentVisitor;

        impl<'de> Visitor<'de> for ContentVisitor {
            type Value = Content;

            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("a string or an array of content parts")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Content, E> {
                Ok(Content::Text(text.to_owned()))
            }

            fn visit_string<E: Error>(self, text: String) -> Result<Content, E> {
                Ok(Content::Text(text))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, parts: A) -> Result<Content, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(parts)).map(Content::Parts)
            }
        }

        deserializer.deserialize_any(ContentVisitor)
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
