//! `GET /v1/complete` and `GET /v1/stream`: an AI call's waits without its protocol.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{Method, Uri};
use serde_json::json;
use waitscope_wire::sse;

use super::EVENT_STREAM;
use crate::call::Call;
use crate::config::{MAX_WAIT, Mode};
use crate::error::ApiError;
use crate::model::chat::Timed;
use crate::model::latency::in_mode;
use crate::model::schedule::steady;
use crate::paced::PacedBody;
use crate::params::Params;
use crate::server::App;

/// The most tokens of one answer.
const MAX_TOKENS: u32 = 100_000;
/// What is said, over and over.
const TOKENS: [&str; 6] = ["Who ", "waits ", "well ", "is ", "not ", "busy. "];

/// `GET /v1/complete?ttft=0.4&tokens=40&tok_ms=40`: JSON after ttft + tokens x `tok_ms`.
pub(super) async fn complete(State(app): State<Arc<App>>, uri: Uri) -> Response {
    let call = Call::begin(&app, "complete");
    let (waits, mode) = match plan(&call, &uri) {
        Ok(plan) => plan,
        Err(error) => return call.refuse(error).await,
    };
    let total = in_mode(waits.total(), mode);
    call.wait(total).await;
    call.end(200, (0, u64::from(waits.tokens)));
    let text: String = (0..waits.tokens).map(token).collect();
    Json(json!({
        "text": text,
        "tokens": waits.tokens,
        "planned_ms": total.as_secs_f64() * 1_000.0,
    }))
    .into_response()
}

/// `GET /v1/stream?...`: an event `{"token": ...}` per token, the first one after ttft, then one
/// each `tok_ms`, then `[DONE]`.
pub(super) async fn stream(State(app): State<Arc<App>>, method: Method, uri: Uri) -> Response {
    let call = Call::begin(&app, "stream");
    let (waits, mode) = match plan(&call, &uri) {
        Ok(plan) => plan,
        Err(error) => return call.refuse(error).await,
    };
    if method == Method::HEAD {
        // There is no body to stream.
        call.end(200, (0, 0));
        return EVENT_STREAM.into_response();
    }
    let (first, gap) = (in_mode(waits.first, mode), in_mode(waits.gap, mode));
    let last = first + gap * waits.tokens.saturating_sub(1);
    let tokens = steady(first, gap, waits.tokens).zip(0..).map(|(due, index)| Timed {
        due,
        text: sse::encode(&json!({"token": token(index)}).to_string()),
    });
    let pieces = tokens.chain([Timed { due: last, text: sse::encode(sse::DONE) }]);
    let body = PacedBody::body(call, pieces, (0, u64::from(waits.tokens)));
    (EVENT_STREAM, body).into_response()
}

fn token(index: u32) -> &'static str {
    TOKENS[index as usize % TOKENS.len()]
}

fn plan(call: &Call, uri: &Uri) -> Result<(Waits, Mode), ApiError> {
    let waits = Waits::of(&Params::of(uri)?)?;
    Ok((waits, call.mode()?))
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
