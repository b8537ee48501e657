//! What the provider is asked: one file per task. Each builds a request and reads its answer,
//! without a clock or a socket.

mod classify;
mod draft_reply;
mod embed;

use serde::Serialize;
use serde::de::DeserializeOwned;
use waitscope_wire::openai::{Usage, chat};

use super::ProviderError;
use crate::config::Config;
use crate::domain::{NewTicket, TaskName};

pub(crate) use classify::Classify;
pub(crate) use draft_reply::DraftReply;
pub(crate) use embed::Embed;

/// One kind of call.
pub(crate) trait Task {
    /// What the call is for.
    type Output;

    /// Its name in answers, logs and metrics.
    const NAME: TaskName;
    /// Changes with each change of the request, so that results can be told apart later.
    const PROMPT_VERSION: &'static str;
    /// Where it is asked.
    const ENDPOINT: Endpoint;

    /// The body of a request to `model`.
    fn request(&self, model: &str) -> Result<Vec<u8>, ProviderError>;

    /// Reads the body of a successful answer; `model` is the one that was asked.
    fn read(&self, model: &str, body: &[u8]) -> Result<TaskAnswer<Self::Output>, ProviderError>;
}

/// An endpoint of the provider.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Endpoint {
    Chat,
    Embeddings,
}

impl Endpoint {
    /// The path below the provider's base URL.
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Chat => "/chat/completions",
            Self::Embeddings => "/embeddings",
        }
    }

    /// What the default model costs.
    pub(crate) const fn price(self) -> Price {
        match self {
            Self::Chat => Price::CHAT,
            Self::Embeddings => Price::EMBED,
        }
    }

    /// The model to ask.
    pub(crate) fn model(self, models: &Models) -> &str {
        match self {
            Self::Chat => &models.chat,
            Self::Embeddings => &models.embed,
        }
    }
}

/// A task's result and what the answer says about itself.
#[derive(Debug, PartialEq)]
pub(crate) struct TaskAnswer<T> {
    pub(crate) output: T,
    /// The model that answered, as it calls itself; empty when the provider does not say.
    pub(crate) model: String,
    pub(crate) usage: Usage,
}

/// The models to ask.
#[derive(Debug, Clone)]
pub(crate) struct Models {
    chat: String,
    embed: String,
}

impl Models {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            chat: config.provider_chat_model.clone(),
            embed: config.provider_embed_model.clone(),
        }
    }
}

/// A list price in US dollars per million tokens. The prices of the default models, as published
/// in 2024, are used for every model: the cost says how expensive a ticket is, it is no invoice.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Price {
    input: f64,
    output: f64,
}

impl Price {
    /// `gpt-4o-mini`.
    const CHAT: Self = Self { input: 0.15, output: 0.60 };
    /// `text-embedding-3-small`.
    const EMBED: Self = Self { input: 0.02, output: 0.0 };

    /// The cost of a call in US dollars, to a billionth.
    pub(crate) fn cost_usd(self, tokens_in: u32, tokens_out: u32) -> f64 {
        let per_million = f64::from(tokens_in) * self.input + f64::from(tokens_out) * self.output;
        (per_million * 1e3).round() / 1e9
    }
}

fn to_json(request: &impl Serialize) -> Result<Vec<u8>, ProviderError> {
    serde_json::to_vec(request).map_err(|error| ProviderError::Rejected(error.to_string()))
}

/// The error's text says where the answer is wrong, not what it holds.
fn from_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, ProviderError> {
    serde_json::from_slice(body).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        bad_answer(&format!("is not the expected JSON at line {line} column {column}"))
    })
}

/// A chat request that says what to do with a ticket.
fn chat_request(model: &str, instructions: String, ticket: &NewTicket) -> chat::Request {
    chat::Request {
        model: model.to_owned(),
        messages: vec![
            chat::Message::text(chat::Role::System, instructions),
            chat::Message::text(chat::Role::User, ticket_text(ticket)),
        ],
        ..chat::Request::default()
    }
}

/// Reads the text of the first choice of a chat answer.
fn chat_answer(body: &[u8]) -> Result<TaskAnswer<String>, ProviderError> {
    let answer: chat::Completion = from_json(body)?;
    let text = answer.choices.into_iter().next().and_then(|choice| choice.message.content);
    match text.map(|text| text.trim().to_owned()) {
        Some(text) if text.contains('\0') => Err(bad_answer("holds the character NUL")),
        Some(text) if !text.is_empty() => Ok(TaskAnswer {
            output: text,
            model: answer.model,
            usage: answer.usage.unwrap_or_default(),
        }),
        _ => Err(bad_answer("holds no text")),
    }
}

fn bad_answer(what: &str) -> ProviderError {
    ProviderError::Rejected(format!("the provider's answer {what}"))
}

/// How every prompt shows a ticket.
fn ticket_text(ticket: &NewTicket) -> String {
    format!("Subject: {}\n\n{}", ticket.subject, ticket.body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_follow_the_tokens() {
        let cases = [
            (Price::CHAT, 0, 0, 0.0),
            (Price::CHAT, 1_000_000, 0, 0.15),
            (Price::CHAT, 0, 1_000_000, 0.60),
            (Price::CHAT, 200, 100, 0.000_09),
            (Price::EMBED, 100, 0, 0.000_002),
        ];
        for (price, tokens_in, tokens_out, usd) in cases {
            let cost = price.cost_usd(tokens_in, tokens_out);
            assert!((cost - usd).abs() < 1e-12, "{tokens_in} {tokens_out}: {cost}");
        }
    }

    #[test]
    fn chat_answers_hold_a_text() {
        let with_content = |content: serde_json::Value| {
            let message = serde_json::json!({"role": "assistant", "content": content});
            serde_json::json!({"choices": [{"message": message}]}).to_string()
        };
        let cases = [
            (with_content(" Dear Ada \n".into()), Some("Dear Ada")),
            (with_content("".into()), None),
            (with_content(" \n ".into()), None),
            (with_content("a\0b".into()), None),
            (with_content(serde_json::Value::Null), None),
            (r#"{"choices": []}"#.into(), None),
            (r#"{"error": {"message": "x"}}"#.into(), None),
            ("<html>".into(), None),
            (String::new(), None),
        ];
        for (body, expected) in cases {
            let answer = chat_answer(body.as_bytes()).map(|answer| answer.output);
            match expected {
                Some(text) => assert_eq!(answer.as_deref(), Ok(text)),
                None => assert!(matches!(answer, Err(ProviderError::Rejected(_))), "{body}"),
            }
        }
    }
}
