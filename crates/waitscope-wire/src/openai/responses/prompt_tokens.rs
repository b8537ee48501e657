//! The size of the prompt.

use super::{Content, Input, Item, Request};
use crate::tokens;

/// About how many prompt tokens the instructions, the input and the tools of a request are, by the
/// same lines as [`tokens::of_prompt`].
pub fn of_input(request: &Request) -> u64 {
    let instructions = request.instructions.as_deref().map_or(0, of_message);
    let input = match &request.input {
        Input::Text(text) => of_message(text),
        Input::Items(items) => items.iter().map(of_item).sum(),
    };
    let tools = tokens::of_json(request.tools.as_deref());
    instructions + input + tools + tokens::TO_OPEN_THE_ANSWER
}

fn of_message(text: &str) -> u64 {
    tokens::of_text(text.chars().count()) + tokens::PER_MESSAGE
}

fn of_item(item: &Item) -> u64 {
    let (characters, attachments) = match item {
        Item::Message(message) => of_content(&message.content),
        Item::FunctionCall(call) => (call.name.chars().count() + call.arguments.chars().count(), 0),
        Item::FunctionCallOutput(output) => of_content(&output.output),
        Item::Other(_) => (0, 0),
    };
    tokens::of_text(characters) + attachments * tokens::PER_ATTACHMENT + tokens::PER_MESSAGE
}

fn of_content(content: &Content) -> (usize, u64) {
    (content.texts().map(|text| text.chars().count()).sum(), content.attachments() as u64)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn characters_messages_and_attachments_count() {
        let of = |body: &Value| of_input(&serde_json::from_value(body.clone()).unwrap());
        for (body, expected) in [
            (json!({"model": "m", "input": ""}), 6),
            (json!({"model": "m", "input": "four"}), 8),
            (json!({"model": "m", "input": "four", "instructions": "four"}), 13),
            (json!({"model": "m", "input": []}), 3),
            (json!({"model": "m", "input": [], "tools": []}), 3),
            // [{"type":"web_search"}] has 23 characters: 5.98 tokens.
            (json!({"model": "m", "input": [], "tools": [{"type": "web_search"}]}), 9),
            (json!({"model": "m", "input": [{"role": "user", "content": "four"}]}), 8),
            (
                json!({"model": "m", "input": [{"role": "user", "content": [
                    {"type": "input_text", "text": "four"}, {"type": "input_image"}]}]}),
                93,
            ),
            (
                json!({"model": "m", "input": [
                    {"type": "function_call", "call_id": "c", "name": "fo", "arguments": "{}"},
                    {"type": "function_call_output", "call_id": "c", "output": "four"},
                    {"type": "reasoning", "summary": []}]}),
                16,
            ),
        ] {
            assert_eq!(of(&body), expected, "{body}");
        }
        // Characters count, not bytes.
        let text = |text| json!({"model": "m", "input": text});
        assert_eq!(of(&text("ééééé")), of(&text("eeeee")));
    }
}
