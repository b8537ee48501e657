//! `GET /v1/complete` and `GET /v1/stream`: an AI call's waits without its protocol.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::response::Response;
use http::{Method, Uri};
use serde_json::json;
use waitscope_wire::sse;

use crate::answer::{self, Answer, Content};
use crate::call::{Call, Visit};
use crate::config::{MAX_WAIT, Mode};
use crate::error::ApiError;
use crate::model::attempts::content_hash;
use crate::model::latency::in_mode;
use crate::model::schedule::steady;
use crate::model::script::{Event, Part};
use crate::params::Params;
use crate::server::App;

/// The most tokens of one answer.
const MAX_TOKENS: u32 = 100_000;
/// What is said, over and over.
const TOKENS: [&str; 6] = ["Who ", "waits ", "well ", "is ", "not ", "busy. "];

/// `GET /v1/complete?ttft=0.4&tokens=40&tok_ms=40`: JSON after ttft + tokens x `tok_ms`.
pub(crate) async fn complete(State(app): State<Arc<App>>, request: Request) -> Response {
    let mut call = Call::begin(&app, "complete", Visit::of(&request));
    let (waits, mode) = match plan(&mut call, request.uri()) {
        Ok(plan) => plan,
        Err(error) => return call.refuse(error).await,
    };
    let total = in_mode(waits.total(), mode);
    let text: String = (0..waits.tokens).map(token).collect();
    let content = Content::json(&json!({
        "text": text,
        "tokens": waits.tokens,
        "planned_ms": total.as_secs_f64() * 1_000.0,
    }));
    answer::send(call, Answer { total, tokens: (0, waits.tokens.into()), content }).await
}

/// `GET /v1/stream?...`: an event `{"token": ...}` per token, the first one after ttft, then one
/// each `tok_ms`, then `[DONE]`.
pub(crate) async fn stream(State(app): State<Arc<App>>, request: Request) -> Response {
    let mut call = Call::begin(&app, "stream", Visit::of(&request));
    let (waits, mode) = match plan(&mut call, request.uri()) {
        Ok(plan) => plan,
        Err(error) => return call.refuse(error).await,
    };
    let (first, gap) = (in_mode(waits.first, mode), in_mode(waits.gap, mode));
    let last = first + gap * waits.tokens.saturating_sub(1);
    let content = if request.method() == Method::HEAD {
        Content::StreamHead
    } else {
        let tokens = steady(first, gap, waits.tokens).zip(0..).map(|(due, index)| {
            Event::new(due, Part::Token, json!({"token": token(index)}).to_string())
        });
        let done = Event::new(last, Part::End, sse::DONE.to_owned());
        Content::Stream(Box::new(tokens.chain([done])), super::stream_error)
    };
    answer::send(call, Answer { total: last, tokens: (0, waits.tokens.into()), content }).await
}

fn token(index: u32) -> &'static str {
    TOKENS[index as usize % TOKENS.len()]
}

fn plan(call: &mut Call, uri: &Uri) -> Result<(Waits, Mode), ApiError> {
    let waits = Waits::of(&Params::of(uri)?)?;
    let asked = uri.path_and_query().map_or("", |asked| asked.as_str());
    let content = content_hash(call.app.config.seed, asked, b"");
    Ok((waits, call.admit("", None, content)?.conditions.mode))
}

/// What a request asks to wait for.
struct Waits {
    first: Duration,
    tokens: u32,
    gap: Duration,
}

impl Waits {
    fn of(params: &Params) -> Result<Self, ApiError> {
        let max_seconds = MAX_WAIT.as_secs_f64();
        let ttft = params.number("ttft", 0.4, 0.0..=max_seconds)?;
        let tokens = params.number("tokens", 40, 0..=MAX_TOKENS)?;
        let tok_ms = params.number("tok_ms", 40.0, 0.0..=max_seconds * 1_000.0)?;
        let waits = Self {
            first: Duration::from_secs_f64(ttft),
            tokens,
            gap: Duration::from_secs_f64(tok_ms / 1_000.0),
        };
        if waits.total() > MAX_WAIT {
            let message = "Invalid 'tokens': the whole answer would take more than an hour.";
            return Err(ApiError::bad_request("invalid_value", message).about("tokens"));
        }
        Ok(waits)
    }

    fn total(&self) -> Duration {
        self.first + self.gap * self.tokens
    }
}
