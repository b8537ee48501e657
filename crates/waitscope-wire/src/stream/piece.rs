//! Whether a field holds anything, without keeping what it holds.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A text that is not empty, or any other value than null.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Filled(pub(super) bool);

impl<'de> Deserialize<'de> for Filled {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FilledVisitor)
    }
}

struct FilledVisitor;

impl<'de> Visitor<'de> for FilledVisitor {
    type Value = Filled;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Filled, E> {
        Ok(Filled(!text.is_empty()))
    }

    fn visit_unit<E: Error>(self) -> Result<Filled, E> {
        Ok(Filled(false))
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Filled, E> {
        Ok(Filled(true))
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Filled, E> {
        Ok(Filled(true))
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Filled, E> {
        Ok(Filled(true))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Filled, E> {
        Ok(Filled(true))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Filled, A::Error> {
        let mut any = false;
        while items.next_element::<IgnoredAny>()?.is_some() {
            any = true;
        }
        Ok(Filled(any))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Filled, A::Error> {
        let mut any = false;
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            any = true;
        }
        Ok(Filled(any))
    }
}

/// The message of an error: providers write a text or an object with one.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Trouble {
    Detail {
        #[serde(default)]
        message: Option<String>,
        #[serde(default, rename = "type")]
        kind: Option<String>,
    },
    Text(String),
    Other(serde_json::Value),
}

impl Trouble {
    /// In one line.
    pub(super) fn text(self) -> String {
        match self {
            Self::Detail { message: Some(message), kind: Some(kind) } => {
                format!("{kind}: {message}")
            }
            Self::Detail { message: Some(text), .. }
            | Self::Detail { message: None, kind: Some(text) }
            | Self::Text(text) => text,
            Self::Detail { .. } => "an error without a message".into(),
            Self::Other(value) => value.to_string(),
        }
    }
}
