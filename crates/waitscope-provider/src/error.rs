//! Errors as the API tells them.

use std::time::Duration;

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use waitscope_wire::openai::error::{Body, Detail};
use waitscope_wire::rate_limit::format_reset;

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

/// An answer that is an error.
#[derive(Debug)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    /// How long after the call's arrival it is told.
    pub(crate) after: Duration,
    /// How long a refused call is told to wait.
    retry_after: Option<Duration>,
    /// It would not fit then either.
    never_fits: bool,
    message: String,
    kind: &'static str,
    param: Option<String>,
    code: &'static str,
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
            retry_after: None,
            never_fits: false,
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
        Self {
            kind: limit.name,
            after: REFUSAL_AFTER,
            retry_after: Some(fits_after.unwrap_or(limit.reset)),
            never_fits: fits_after.is_none(),
            ..error
        }
    }

    fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let Some(wait) = self.retry_after else { return headers };
        headers.insert(RETRY_AFTER, REFUSAL_RETRY_AFTER_SECONDS.into());
        let ms = u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
        headers.insert(RETRY_AFTER_MS, ms.into());
        if self.never_fits {
            headers.insert(X_SHOULD_RETRY, HeaderValue::from_static("false"));
        }
        headers
    }
}

impl From<Invalid> for ApiError {
    fn from(invalid: Invalid) -> Self {
        Self::bad_request(invalid.code, invalid.message).about(invalid.param)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let headers = self.headers();
        let error = Detail {
            message: self.message,
            kind: self.kind.to_owned(),
            param: self.param,
            code: Some(self.code.to_owned()),
        };
        (self.status, headers, Json(Body { error })).into_response()
    }
}
