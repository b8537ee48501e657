//! What a request may hold beyond its types: the limits of the real API, and a few of our own.

use std::fmt::Display;
use std::ops::RangeInclusive;

use waitscope_wire::anthropic::messages::{Request as Message, Tool};
use waitscope_wire::openai::chat::{Content, FormatKind, Part, PartKind, Request as Chat, Role};
use waitscope_wire::openai::embeddings::{Input, Request as Embeddings};
use waitscope_wire::openai::responses::{Input as ResponseInput, Request as Response, of_input};
use waitscope_wire::tokens;

use super::embedding::DIMENSIONS;

/// The most tokens of a chat call's prompt, and of its answer.
pub const MAX_CHAT_TOKENS: u64 = 128_000;
/// The most answers to one chat call.
const MAX_CHOICES: u64 = 128;
/// The most inputs of an embeddings call, and the most tokens of one of them.
const MAX_INPUTS: usize = 2_048;
const MAX_INPUT_TOKENS: u64 = 8_192;
/// The longest model name.
const MAX_MODEL_CHARACTERS: usize = 200;

/// A request that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// The parameter it is about.
    pub param: String,
    /// The API's code for it.
    pub code: &'static str,
    /// What is wrong, and what would be right.
    pub message: String,
}

fn invalid(param: impl Into<String>, code: &'static str, problem: impl Display) -> Invalid {
    let param = param.into();
    Invalid { message: format!("Invalid '{param}': {problem}."), param, code }
}

/// Checks a chat request.
pub fn check_chat(request: &Chat) -> Result<(), Invalid> {
    check_model(&request.model)?;
    check_messages(request)?;
    check_integer("max_tokens", request.max_tokens, 1..=MAX_CHAT_TOKENS)?;
    check_integer("max_completion_tokens", request.max_completion_tokens, 1..=MAX_CHAT_TOKENS)?;
    if request.max_tokens.is_some() && request.max_completion_tokens.is_some() {
        let problem = "it cannot be given together with 'max_completion_tokens'";
        return Err(invalid("max_tokens", "invalid_parameter_combination", problem));
    }
    check_integer("n", request.n, 1..=MAX_CHOICES)?;
    check_decimal("temperature", request.temperature, 0.0..=2.0)?;
    check_decimal("top_p", request.top_p, 0.0..=1.0)?;
    check_decimal("frequency_penalty", request.frequency_penalty, -2.0..=2.0)?;
    check_decimal("presence_penalty", request.presence_penalty, -2.0..=2.0)?;
    if request.stream_options.is_some() && request.stream != Some(true) {
        let problem = "it is only allowed when 'stream' is true";
        return Err(invalid("stream_options", "invalid_parameter_combination", problem));
    }
    match &request.response_format {
        Some(format) if format.kind == FormatKind::JsonSchema && format.json_schema.is_none() => {
            let problem = "a response format of type 'json_schema' needs one";
            Err(invalid("response_format.json_schema", "missing_required_parameter", problem))
        }
        _ => Ok(()),
    }
}

fn check_messages(request: &Chat) -> Result<(), Invalid> {
    if request.messages.is_empty() {
        return Err(invalid("messages", "empty_array", "it needs at least one message"));
    }
    for (index, message) in request.messages.iter().enumerate() {
        let param = || format!("messages[{index}].content");
        match &message.content {
            // An assistant's message may hold tool calls instead.
            None if message.role != Role::Assistant => {
                let problem = "expected a string or an array of content parts, but got null";
                return Err(invalid(param(), "invalid_type", problem));
            }
            Some(Content::Parts(parts)) if parts.is_empty() => {
                return Err(invalid(param(), "empty_array", "it needs at least one part"));
            }
            Some(Content::Parts(parts)) => {
                let textless = |part: &Part| part.kind == PartKind::Text && part.text.is_none();
                if let Some(part) = parts.iter().position(textless) {
                    let param = format!("{}[{part}].text", param());
                    return Err(invalid(param, "missing_required_parameter", "it is missing"));
                }
            }
            _ => {}
        }
    }
    check_prompt("messages", tokens::of_chat(request))
}

/// Checks a response request.
pub fn check_response(request: &Response) -> Result<(), Invalid> {
    check_model(&request.model)?;
    if matches!(&request.input, ResponseInput::Items(items) if items.is_empty()) {
        return Err(invalid("input", "empty_array", "it needs at least one item"));
    }
    check_prompt("input", of_input(request))?;
    check_integer("max_output_tokens", request.max_output_tokens, 16..=MAX_CHAT_TOKENS)?;
    check_decimal("temperature", request.temperature, 0.0..=2.0)?;
    check_decimal("top_p", request.top_p, 0.0..=1.0)
}

/// Checks a message request.
pub fn check_message(request: &Message) -> Result<(), Invalid> {
    check_message_prompt(request)?;
    if request.max_tokens.is_none() {
        return Err(invalid("max_tokens", "missing_required_parameter", "it is missing"));
    }
    check_integer("max_tokens", request.max_tokens, 1..=MAX_CHAT_TOKENS)?;
    check_decimal("temperature", request.temperature, 0.0..=1.0)?;
    check_decimal("top_p", request.top_p, 0.0..=1.0)
}

/// Checks a message request whose tokens are counted only.
pub fn check_message_prompt(request: &Message) -> Result<(), Invalid> {
    check_model(&request.model)?;
    if request.messages.is_empty() {
        return Err(invalid("messages", "empty_array", "it needs at least one message"));
    }
    let tools = request.tools.iter().flatten();
    let nameless = |tool: &Tool| tool.is_the_clients() && tool.name.is_empty();
    if let Some(tool) = tools.into_iter().position(nameless) {
        let param = format!("tools[{tool}].name");
        return Err(invalid(param, "missing_required_parameter", "it is missing"));
    }
    check_prompt("messages", request.prompt_tokens())
}

fn check_prompt(param: &str, tokens: u64) -> Result<(), Invalid> {
    if tokens > MAX_CHAT_TOKENS {
        let problem = format!("{tokens} tokens are more than the model's {MAX_CHAT_TOKENS}");
        return Err(invalid(param, "context_length_exceeded", problem));
    }
    Ok(())
}

/// Checks an embeddings request.
pub fn check_embeddings(request: &Embeddings) -> Result<(), Invalid> {
    check_model(&request.model)?;
    check_integer("dimensions", request.dimensions, 1..=DIMENSIONS as u64)?;
    let sizes = input_tokens(&request.input);
    if sizes.is_empty() {
        return Err(invalid("input", "empty_array", "it needs at least one item"));
    }
    if sizes.len() > MAX_INPUTS {
        let problem = format!("{} items are more than {MAX_INPUTS}", sizes.len());
        return Err(invalid("input", "array_above_max_length", problem));
    }
    for (index, size) in sizes.into_iter().enumerate() {
        let problem = match size {
            0 => "is empty".to_owned(),
            1..=MAX_INPUT_TOKENS => continue,
            _ => format!("has {size} tokens, more than the model's {MAX_INPUT_TOKENS}"),
        };
        return Err(invalid("input", "invalid_value", format_args!("item {index} {problem}")));
    }
    Ok(())
}

/// The tokens of each input; 0 for an empty one.
pub fn input_tokens(input: &Input) -> Vec<u64> {
    let of_text = |text: &String| match text.chars().count() {
        0 => 0,
        characters => tokens::of_embedding_input(characters),
    };
    match input {
        Input::Text(text) => vec![of_text(text)],
        Input::Texts(texts) => texts.iter().map(of_text).collect(),
        // An empty array is read as an array of texts, so this one has tokens.
        Input::Tokens(tokens) => vec![tokens.len() as u64],
        Input::TokenLists(lists) => lists.iter().map(|tokens| tokens.len() as u64).collect(),
    }
}

fn check_model(model: &str) -> Result<(), Invalid> {
    match model.chars().count() {
        0 => Err(invalid("model", "invalid_value", "it is empty")),
        1..=MAX_MODEL_CHARACTERS => Ok(()),
        _ => Err(invalid("model", "string_above_max_length", "it is longer than 200 characters")),
    }
}

/// Checks a whole number that may be absent.
fn check_integer(
    param: &str,
    value: Option<u64>,
    allowed: RangeInclusive<u64>,
) -> Result<(), Invalid> {
    let Some(value) = value.filter(|value| !allowed.contains(value)) else { return Ok(()) };
    let (code, bound) = if value < *allowed.start() {
        ("integer_below_min_value", format!(">= {}", allowed.start()))
    } else {
        ("integer_above_max_value", format!("<= {}", allowed.end()))
    };
    Err(invalid(param, code, format_args!("expected a value {bound}, but got {value}")))
}

/// Checks a number that may be absent.
fn check_decimal(
    param: &str,
    value: Option<f64>,
    allowed: RangeInclusive<f64>,
) -> Result<(), Invalid> {
    let Some(value) = value.filter(|value| !allowed.contains(value)) else { return Ok(()) };
    let (code, bound) = if value < *allowed.start() {
        ("decimal_below_min_value", format!(">= {}", allowed.start()))
    } else {
        ("decimal_above_max_value", format!("<= {}", allowed.end()))
    };
    Err(invalid(param, code, format_args!("expected a value {bound}, but got {value:e}")))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn merged(mut base: Value, extra: &Value) -> Value {
        base.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        base
    }

    fn chat(extra: &Value) -> Result<(), Invalid> {
        let base = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
        check_chat(&serde_json::from_value(merged(base, extra)).unwrap())
    }

    fn embeddings(extra: &Value) -> Result<(), Invalid> {
        let base = json!({"model": "m", "input": "hi"});
        check_embeddings(&serde_json::from_value(merged(base, extra)).unwrap())
    }

    fn response(extra: &Value) -> Result<(), Invalid> {
        let base = json!({"model": "m", "input": "hi"});
        check_response(&serde_json::from_value(merged(base, extra)).unwrap())
    }

    fn message(extra: &Value) -> Result<(), Invalid> {
        let base = json!({"model": "m", "max_tokens": 9,
            "messages": [{"role": "user", "content": "hi"}]});
        check_message(&serde_json::from_value(merged(base, extra)).unwrap())
    }

    #[track_caller]
    fn refused(result: Result<(), Invalid>, param: &str, code: &str) {
        let invalid = result.unwrap_err();
        assert_eq!((invalid.param.as_str(), invalid.code), (param, code));
        assert!(invalid.message.contains(param), "{}", invalid.message);
    }

    #[test]
    fn sensible_chat_requests_pass() {
        for extra in [
            json!({}),
            json!({"max_tokens": 1, "n": 128, "temperature": 2, "top_p": 0, "unknown": [[]]}),
            json!({"max_tokens": null, "temperature": null, "stream": null, "stop": ["a"]}),
            json!({"stream": true, "stream_options": {"include_usage": true}}),
            json!({"response_format": {"type": "json_schema", "json_schema": {}}}),
            json!({"messages": [{"role": "assistant", "tool_calls": []}]}),
            json!({"messages": [{"role": "user", "content": [{"type": "text", "text": ""},
                                                             {"type": "image_url"}]}]}),
        ] {
            assert_eq!(chat(&extra), Ok(()), "{extra}");
        }
    }

    #[test]
    fn senseless_chat_requests_are_refused_by_name() {
        for (extra, param, code) in [
            (json!({"model": ""}), "model", "invalid_value"),
            (json!({"model": "m".repeat(201)}), "model", "string_above_max_length"),
            (json!({"messages": []}), "messages", "empty_array"),
            (json!({"messages": [{"role": "user"}]}), "messages[0].content", "invalid_type"),
            (
                json!({"messages": [{"role": "user", "content": []}]}),
                "messages[0].content",
                "empty_array",
            ),
            (
                json!({"messages": [{"role": "user", "content": [{"type": "text"}]}]}),
                "messages[0].content[0].text",
                "missing_required_parameter",
            ),
            (
                json!({"messages": [{"role": "user", "content": "x".repeat(500_000)}]}),
                "messages",
                "context_length_exceeded",
            ),
            (json!({"max_tokens": 0}), "max_tokens", "integer_below_min_value"),
            (
                json!({"max_completion_tokens": 1_000_000_000}),
                "max_completion_tokens",
                "integer_above_max_value",
            ),
            (
                json!({"max_completion_tokens": 1, "max_tokens": 1}),
                "max_tokens",
                "invalid_parameter_combination",
            ),
            (json!({"n": 0}), "n", "integer_below_min_value"),
            (json!({"n": 129}), "n", "integer_above_max_value"),
            (json!({"temperature": -0.1}), "temperature", "decimal_below_min_value"),
            (json!({"temperature": 1e308}), "temperature", "decimal_above_max_value"),
            (json!({"top_p": 1.1}), "top_p", "decimal_above_max_value"),
            (json!({"frequency_penalty": -3}), "frequency_penalty", "decimal_below_min_value"),
            (json!({"presence_penalty": 3}), "presence_penalty", "decimal_above_max_value"),
            (json!({"stream_options": {}}), "stream_options", "invalid_parameter_combination"),
            (
                json!({"response_format": {"type": "json_schema"}}),
                "response_format.json_schema",
                "missing_required_parameter",
            ),
        ] {
            refused(chat(&extra), param, code);
        }
    }

    #[test]
    fn embeddings_requests_are_checked() {
        for extra in [
            json!({}),
            json!({"input": ["a", "b"], "dimensions": 384, "encoding_format": "base64"}),
            json!({"input": [1, 2]}),
            json!({"input": [[1], [2]], "dimensions": 1}),
        ] {
            assert_eq!(embeddings(&extra), Ok(()), "{extra}");
        }
        for (extra, param, code) in [
            (json!({"model": ""}), "model", "invalid_value"),
            (json!({"input": ""}), "input", "invalid_value"),
            (json!({"input": []}), "input", "empty_array"),
            (json!({"input": ["a", ""]}), "input", "invalid_value"),
            (json!({"input": [[1], []]}), "input", "invalid_value"),
            (json!({"input": "x".repeat(50_000)}), "input", "invalid_value"),
            (json!({"input": vec!["a"; 2_049]}), "input", "array_above_max_length"),
            (json!({"dimensions": 0}), "dimensions", "integer_below_min_value"),
            (json!({"dimensions": 385}), "dimensions", "integer_above_max_value"),
        ] {
            refused(embeddings(&extra), param, code);
        }
    }

    #[test]
    fn senseless_responses_are_refused() {
        assert_eq!(response(&json!({"max_output_tokens": 16, "temperature": 2})), Ok(()));
        let long = "word ".repeat(200_000);
        for (extra, param, code) in [
            (json!({"model": ""}), "model", "invalid_value"),
            (json!({"input": []}), "input", "empty_array"),
            (json!({"input": long}), "input", "context_length_exceeded"),
            (json!({"max_output_tokens": 15}), "max_output_tokens", "integer_below_min_value"),
            (json!({"temperature": 2.1}), "temperature", "decimal_above_max_value"),
            (json!({"top_p": -0.1}), "top_p", "decimal_below_min_value"),
        ] {
            refused(response(&extra), param, code);
        }
    }

    #[test]
    fn senseless_messages_are_refused() {
        let server_tool = json!({"tools": [{"type": "mcp_toolset", "mcp_server_name": "s"}]});
        assert_eq!(message(&server_tool), Ok(()));
        for (extra, param, code) in [
            (json!({"max_tokens": null}), "max_tokens", "missing_required_parameter"),
            (json!({"max_tokens": 0}), "max_tokens", "integer_below_min_value"),
            (json!({"messages": []}), "messages", "empty_array"),
            (json!({"temperature": 1.1}), "temperature", "decimal_above_max_value"),
            (json!({"tools": [{}]}), "tools[0].name", "missing_required_parameter"),
        ] {
            refused(message(&extra), param, code);
        }
        let counted: Message = serde_json::from_value(
            json!({"model": "m", "messages": [{"role": "user", "content": ""}]}),
        )
        .unwrap();
        assert_eq!(check_message_prompt(&counted), Ok(()));
    }
}
