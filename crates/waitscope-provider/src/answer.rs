//! Sending a call's answer: the faults that come before it, its head, and its body as a script.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderName, HeaderValue};

use crate::account::{Account, Kind};
use crate::body;
use crate::call::{Call, Visit};
use crate::edge::Limits;
use crate::error::ApiError;
use crate::model::fault::Before;
use crate::model::script::{ErrorEvent, Events};
use crate::script_body::ScriptBody;
use crate::server::App;

/// The time the answer was planned to take, before any speed-up, in milliseconds.
const PROCESSING_MS: HeaderName = HeaderName::from_static("openai-processing-ms");
const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream; charset=utf-8");
const NO_CACHE: HeaderValue = HeaderValue::from_static("no-cache");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// The status under which an answer is counted that a fault left out altogether. Never sent.
pub(crate) const NO_ANSWER: u16 = 0;

/// What a call is answered with.
pub(crate) struct Answer {
    /// The time from the call's arrival to the last byte.
    pub(crate) total: Duration,
    /// The tokens of the prompt and of the answer.
    pub(crate) tokens: (u64, u64),
    pub(crate) content: Content,
}

/// The body.
pub(crate) enum Content {
    /// JSON.
    Whole(Vec<u8>),
    /// Events, and what the protocol's error event is.
    Stream(Events, ErrorEvent),
    /// The head of a stream without its body, for `HEAD`.
    StreamHead,
}

impl Content {
    /// A whole answer.
    pub(crate) fn json(answer: &impl serde::Serialize) -> Self {
        // Our own types have text keys and no failing parts.
        Self::Whole(serde_json::to_vec(answer).unwrap_or_default())
    }
}

/// Answers a request whose body is JSON: reads it, plans the answer and sends it, or tells why
/// not. `name` is what the call is counted as until the plan says more.
pub(crate) async fn to(
    app: &Arc<App>,
    request: Request,
    name: &'static str,
    kind: Kind,
    plan: fn(&mut Call, &[u8]) -> Result<Answer, ApiError>,
) -> Response {
    let visit = Visit::of(&request);
    let body = body::read(request).await;
    let mut call = Call::begin(app, name, visit);
    call.charge_to(Account::listed(kind));
    match body.and_then(|body| plan(&mut call, &body)) {
        Ok(answer) => send(call, answer).await,
        Err(error) => call.refuse(error).await,
    }
}

/// Sends the answer to a call, or what its faults make of it.
pub(crate) async fn send(mut call: Call, answer: Answer) -> Response {
    let Answer { total, tokens, content } = answer;
    call.delay(call.faults.delay());
    let before = call.faults.before();
    if before.is_some() {
        call.wait(Duration::ZERO).await;
    }
    match before {
        None => {}
        Some(Before::Hang) => {
            call.app.stop.cancelled().await;
            return aborted(call);
        }
        Some(Before::Reset) => return aborted(call),
        Some(Before::Refuse(status, advice)) => {
            return call.refuse(ApiError::fault(status, &advice)).await;
        }
    }
    let limits = call.limits();
    let processing = HeaderValue::from(millis(total));
    let mut response = match content {
        Content::Whole(body) => whole(call, total, tokens, body).await,
        Content::Stream(events, error) => {
            // Not even the head comes sooner.
            call.wait(Duration::ZERO).await;
            let script = call.faults.stream(events, error);
            stream_head(ScriptBody::stream(call, script, tokens))
        }
        Content::StreamHead => {
            call.end(200, (0, 0), Duration::ZERO, 0);
            stream_head(Body::empty())
        }
    };
    response.headers_mut().insert(PROCESSING_MS, processing);
    Limits::tell(limits, &mut response);
    response
}

fn stream_head(body: Body) -> Response {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, EVENT_STREAM);
    response.headers_mut().insert(CACHE_CONTROL, NO_CACHE);
    response
}

async fn whole(call: Call, total: Duration, tokens: (u64, u64), body: Vec<u8>) -> Response {
    let body = call.faults.spoil(body);
    call.wait(total).await;
    let length = body.len();
    let body = if call.faults.splits_whole() {
        let script = call.faults.whole(total, body);
        ScriptBody::whole(call, script, tokens)
    } else {
        call.produced(tokens.1);
        call.end(200, tokens, total, length);
        Body::from(body)
    };
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
    response
}

/// The connection is reset under the answer: its head is never written.
fn aborted(mut call: Call) -> Response {
    if let Some(wire) = &call.wire {
        wire.reset();
    }
    call.count(NO_ANSWER, (0, 0));
    Response::new(Body::empty())
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
