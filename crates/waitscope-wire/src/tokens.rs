//! Token counts without a tokenizer: straight lines through recorded calls.
//!
//! Source: the public data set (CC0 1.0) of 300 calls to a hosted chat model and an embedding
//! model, recorded on 2026-10-10. Its fits of tokens against characters have the slopes below; the
//! constants of its chat fits are the recorded client's own prompts, which count by their
//! characters here.

use serde::Serialize;

use crate::openai::chat::{Content, Message, Request, ToolCall};

const CHAT_TOKENS_PER_CHARACTER: f64 = 0.260_04;
const EMBEDDING_TOKENS_PER_CHARACTER: f64 = 0.274_93;
const EMBEDDING_CONSTANT: f64 = -5.205;
const REPLY_CHARACTERS_PER_TOKEN: f64 = 4.348;

/// Tokens that frame each message, and that open the answer. Source: the `OpenAI` cookbook,
/// "How to count tokens with tiktoken".
pub(crate) const PER_MESSAGE: u64 = 3;
pub(crate) const TO_OPEN_THE_ANSWER: u64 = 3;
/// What an image part costs at low detail, by the `OpenAI` documentation on images; other parts
/// that are no text count the same.
pub(crate) const PER_ATTACHMENT: u64 = 85;

/// About how many prompt tokens a chat request has: its messages, and its tools by their JSON.
pub fn of_chat(request: &Request) -> u64 {
    of_prompt(&request.messages) + of_json(request.tools.as_deref())
}

/// About how many prompt tokens these messages are.
pub fn of_prompt(messages: &[Message]) -> u64 {
    messages.iter().map(of_message).sum::<u64>() + TO_OPEN_THE_ANSWER
}

fn of_message(message: &Message) -> u64 {
    let (characters, attachments) = match &message.content {
        None => (0, 0),
        Some(Content::Text(text)) => (text.chars().count(), 0),
        Some(Content::Parts(parts)) => (
            parts.iter().filter_map(|part| part.text.as_deref()).map(|t| t.chars().count()).sum(),
            parts.iter().filter(|part| part.text.is_none()).count() as u64,
        ),
    };
    let calls: usize = message.tool_calls.iter().flatten().map(characters_of_call).sum();
    of_text(characters + calls) + attachments * PER_ATTACHMENT + PER_MESSAGE
}

fn characters_of_call(ToolCall { function, .. }: &ToolCall) -> usize {
    function.name.chars().count() + function.arguments.chars().count()
}

/// About how many tokens a text of so many characters is for a chat model.
pub fn of_text(characters: usize) -> u64 {
    whole(CHAT_TOKENS_PER_CHARACTER * characters as f64)
}

/// About how many tokens a list of tools is, by the length of its JSON; none when there is none.
pub(crate) fn of_json<T: Serialize>(tools: Option<&[T]>) -> u64 {
    let Some(tools) = tools.filter(|tools| !tools.is_empty()) else { return 0 };
    of_text(serde_json::to_string(tools).map_or(0, |json| json.chars().count()))
}

/// About how many tokens a text of so many characters is for an embedding model; at least one.
pub fn of_embedding_input(characters: usize) -> u64 {
    whole(EMBEDDING_CONSTANT + EMBEDDING_TOKENS_PER_CHARACTER * characters as f64).max(1)
}

/// About how many tokens a chat model writes for a reply of so many characters.
pub fn of_reply(characters: usize) -> u64 {
    whole(characters as f64 / REPLY_CHARACTERS_PER_TOKEN)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
fn whole(tokens: f64) -> u64 {
    tokens.ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(content: &str) -> Message {
        serde_json::from_str(&format!(r#"{{"role": "user", "content": {content}}}"#)).unwrap()
    }

    #[test]
    fn counts_follow_the_fits() {
        for (actual, expected) in [
            (of_text(0), 0),
            (of_text(1_000), 261),
            (of_embedding_input(0), 1),
            (of_embedding_input(1_000), 270),
            (of_reply(0), 0),
            (of_reply(300), 69),
            (of_prompt(&[]), 3),
            (of_prompt(&[message("null")]), 6),
            (of_prompt(&[message(r#""four""#), message(r#""four""#)]), 13),
            (of_prompt(&[message(r#"[{"type": "text", "text": "four"}]"#)]), 8),
            (of_prompt(&[message(r#"[{"type": "image_url", "image_url": {}}]"#)]), 91),
        ] {
            assert_eq!(actual, expected);
        }
        let call = r#"{"role": "assistant", "tool_calls": [{"id": "c", "type": "function",
            "function": {"name": "fo", "arguments": "{}"}}]}"#;
        assert_eq!(of_prompt(&[serde_json::from_str(call).unwrap()]), 8);
        let tool = r#"{"type":"function","function":{"name":"f"}}"#;
        for (tools, expected) in [
            (String::new(), 8),
            (r#", "tools": []"#.to_owned(), 8),
            (format!(r#", "tools": [{tool}]"#), 8 + of_text(tool.len() + 2)),
        ] {
            let messages = r#"[{"role": "user", "content": "four"}]"#;
            let body = format!(r#"{{"model": "m", "messages": {messages}{tools}}}"#);
            assert_eq!(of_chat(&serde_json::from_str(&body).unwrap()), expected);
        }
        // Characters count, not bytes.
        assert_eq!(of_prompt(&[message(r#""ééééé""#)]), of_prompt(&[message(r#""eeeee""#)]));
    }
}
