//! Errors as the API tells them.

use std::time::Duration;

use axum::response::{IntoResponse, Response};
use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use waitscope_wire::rate_limit::{format_reset, http_date};

use crate::edge::since_1970;
use crate::model::fault::refusal::RetryAfter;
use crate::model::quota::Refusal;
use crate::model::validity::Invalid;

/// When and how refusals and outages were told in the recorded calls (see
/// [`crate::model::recorded`]).
const REFUSAL_AFTER: Duration = Duration::from_micros(131_600);
const REFUSAL_RETRY_AFTER_SECONDS: u64 = 30;
const OUTAGE_AFTER: Duration = Duration::from_millis(30);

/// How long a refused call should wait, in milliseconds; the official SDKs prefer it.
const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");
/// Whether the official SDKs may try again at all.
const X_SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// An answer that is an error. It travels as an extension of its response until its body is
/// written in the request's dialect (see [`crate::edge`]).
#[derive(Debug, Clone)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    /// How long after the call's arrival it is told.
    pub(crate) after: Duration,
    /// What it says about trying again.
    headers: Box<[(HeaderName, HeaderValue)]>,
    pub(crate) message: String,
    pub(crate) kind: &'static str,
    pub(crate) param: Option<String>,
    pub(crate) code: &'static str,
}

impl ApiError {
    /// An error of the request that is told at once.
    pub(crate) fn request(
        status: StatusCode,
        code: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self {
            status,
            after: Duration::ZERO,
            headers: Box::default(),
            message: message.into(),
            kind: "invalid_request_error",
            param: None,
            code,
        }
    }

    /// A 400.
    pub(crate) fn bad_request(code: &'static str, message: impl Into<String>) -> Self {
        Self::request(StatusCode::BAD_REQUEST, code, message)
    }

    /// The same error, about this parameter.
    pub(crate) fn about(self, param: impl Into<String>) -> Self {
        Self { param: Some(param.into()), ..self }
    }

    /// What every call gets in an outage.
    pub(crate) fn outage() -> Self {
        let message = "The model is not available right now; try again later.";
        let (status, code) = (StatusCode::SERVICE_UNAVAILABLE, "service_unavailable");
        let error = Self::request(status, code, message);
        Self { kind: "server_error", after: OUTAGE_AFTER, ..error }
    }

    /// A fault in the provider itself.
    pub(crate) fn internal() -> Self {
        let message = "The provider failed to answer this request.";
        let error = Self::request(StatusCode::INTERNAL_SERVER_ERROR, "internal_error", message);
        Self { kind: "server_error", ..error }
    }

    /// A call that the quota has no room for.
    pub(crate) fn refused(model: &str, refusal: &Refusal) -> Self {
        let Refusal { limit, requested, fits_after } = refusal;
        let advice = match fits_after {
            Some(wait) => format!("try again in {}", format_reset(*wait)),
            None => "it can never fit: send a shorter prompt or ask for fewer tokens".to_owned(),
        };
        let message = format!(
            "Rate limit of {model} reached: {} {} per minute, {} left, {requested} requested; \
             {advice}.",
            limit.limit, limit.name, limit.remaining
        );
        let error = Self::request(StatusCode::TOO_MANY_REQUESTS, "rate_limit_exceeded", message);
        let headers = refusal_headers(fits_after.unwrap_or(limit.reset), fits_after.is_none());
        Self { kind: limit.name, after: REFUSAL_AFTER, headers: headers.into(), ..error }
    }

    /// What a fault puts in the place of an answer.
    pub(crate) fn fault(status: u16, advice: &[RetryAfter]) -> Self {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let (kind, code) = match status.as_u16() {
            401 => ("invalid_request_error", "invalid_api_key"),
            429 => ("requests", "rate_limit_exceeded"),
            500.. => ("server_error", "server_error"),
            _ => ("invalid_request_error", "simulated_fault"),
        };
        let message = format!("A simulated fault answers this call with {}.", status.as_u16());
        let error = Self::request(status, code, message);
        Self { kind, headers: advice.iter().filter_map(advice_header).collect(), ..error }
    }
}

fn refusal_headers(wait: Duration, never_fits: bool) -> Vec<(HeaderName, HeaderValue)> {
    let ms = u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
    let mut headers =
        vec![(RETRY_AFTER, REFUSAL_RETRY_AFTER_SECONDS.into()), (RETRY_AFTER_MS, ms.into())];
    if never_fits {
        headers.push((X_SHOULD_RETRY, HeaderValue::from_static("false")));
    }
    headers
}

/// The header that gives this advice.
fn advice_header(advice: &RetryAfter) -> Option<(HeaderName, HeaderValue)> {
    Some(match advice {
        RetryAfter::Seconds(seconds) => (RETRY_AFTER, (*seconds).into()),
        RetryAfter::Date(wait) => {
            (RETRY_AFTER, HeaderValue::try_from(http_date(since_1970() + *wait)).ok()?)
        }
        RetryAfter::Malformed => (RETRY_AFTER, HeaderValue::from_static("soon")),
        RetryAfter::Ms(ms) => (RETRY_AFTER_MS, (*ms).into()),
        RetryAfter::ShouldRetry(true) => (X_SHOULD_RETRY, HeaderValue::from_static("true")),
        RetryAfter::ShouldRetry(false) => (X_SHOULD_RETRY, HeaderValue::from_static("false")),
    })
}

impl From<Invalid> for ApiError {
    fn from(invalid: Invalid) -> Self {
        Self::bad_request(invalid.code, invalid.message).about(invalid.param)
    }
}

impl IntoResponse for ApiError {
    fn into_response(mut self) -> Response {
        let headers: HeaderMap = std::mem::take(&mut self.headers).into_vec().into_iter().collect();
        let mut response = (self.status, headers).into_response();
        response.extensions_mut().insert(self);
        response
    }
}
