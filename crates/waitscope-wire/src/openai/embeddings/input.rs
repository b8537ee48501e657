//! The four forms of an embeddings input.

use std::fmt;

use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

/// What to embed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "EmbeddingsInput"))]
#[serde(untagged)]
pub enum Input {
    /// One text.
    Text(String),
    /// Several texts.
    Texts(Vec<String>),
    /// One text as token ids.
    Tokens(Vec<u32>),
    /// Several texts as token ids.
    TokenLists(Vec<Vec<u32>>),
}

/// By hand rather than `untagged`: an error says what is wrong with which item, and a long list
/// is not read twice.
impl<'de> Deserialize<'de> for Input {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(InputVisitor)
    }
}

struct InputVisitor;

impl<'de> Visitor<'de> for InputVisitor {
    type Value = Input;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(
            "a string, an array of strings, an array of token ids or an array of such arrays",
        )
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Input, E> {
        Ok(Input::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Input, A::Error> {
        let mut input = match items.next_element::<Item>()? {
            None => return Ok(Input::Texts(Vec::new())),
            Some(Item::Text(text)) => Input::Texts(vec![text]),
            Some(Item::Token(token)) => Input::Tokens(vec![token]),
            Some(Item::Tokens(tokens)) => Input::TokenLists(vec![tokens]),
        };
        while let Some(item) = items.next_element::<Item>()? {
            match (&mut input, item) {
                (Input::Texts(texts), Item::Text(text)) => texts.push(text),
                (Input::Tokens(tokens), Item::Token(token)) => tokens.push(token),
                (Input::TokenLists(lists), Item::Tokens(tokens)) => lists.push(tokens),
                _ => return Err(A::Error::custom("the array mixes strings, numbers or arrays")),
            }
        }
        Ok(input)
    }
}

/// One item of an input array.
enum Item {
    Text(String),
    Token(u32),
    Tokens(Vec<u32>),
}

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ItemVisitor)
    }
}

struct ItemVisitor;

impl<'de> Visitor<'de> for ItemVisitor {
    type Value = Item;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a string, a token id or an array of token ids")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Item, E> {
        Ok(Item::Text(text.to_owned()))
    }

    fn visit_u64<E: Error>(self, token: u64) -> Result<Item, E> {
        u32::try_from(token)
            .map(Item::Token)
            .map_err(|_| E::custom(format_args!("{token} is no token id")))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Item, A::Error> {
        let mut tokens = Vec::new();
        while let Some(token) = items.next_element()? {
            tokens.push(token);
        }
        Ok(Item::Tokens(tokens))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_four_forms_are_read_and_written() {
        for (json, expected) in [
            (r#""a""#, Input::Text("a".to_owned())),
            (r#"["a","b"]"#, Input::Texts(vec!["a".to_owned(), "b".to_owned()])),
            ("[1,2]", Input::Tokens(vec![1, 2])),
            ("[[1,2],[3]]", Input::TokenLists(vec![vec![1, 2], vec![3]])),
            ("[[]]", Input::TokenLists(vec![vec![]])),
            ("[]", Input::Texts(vec![])),
        ] {
            assert_eq!(serde_json::from_str::<Input>(json).unwrap(), expected);
            assert_eq!(serde_json::to_string(&expected).unwrap(), json);
        }
    }

    #[test]
    fn other_forms_are_refused() {
        for (json, expected) in [
            ("5", "a string, an array of strings"),
            ("{}", "a string, an array of strings"),
            ("[\"a\", 1]", "mixes"),
            ("[1, [2]]", "mixes"),
            ("[-1]", "a token id"),
            ("[1.5]", "a token id"),
            ("[4294967296]", "4294967296 is no token id"),
            ("[[\"a\"]]", "u32"),
            ("[[[1]]]", "u32"),
            ("[null]", "a token id"),
        ] {
            let error = serde_json::from_str::<Input>(json).unwrap_err().to_string();
            assert!(error.contains(expected), "{json}: {error}");
        }
    }
}
