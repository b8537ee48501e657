//! Every error of the API, in one shape.

use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use serde_json::json;

use crate::domain::FieldErrors;
use crate::intake::IntakeError;
use crate::provider_client::ProviderError;
use crate::store::StoreError;
use crate::trail::RequestId;

/// Seconds after which a client may try again when the database was busy.
const DATABASE_RETRY_S: u64 = 2;
/// The same when the provider is rate-limiting and does not say for how long.
const PROVIDER_RETRY_S: u64 = 1;
/// The longest wait that is passed on.
const LONGEST_RETRY_S: u64 = 3600;

/// What a client is told when there is no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ApiError {
    Unauthorized,
    /// What was not found.
    NotFound(String),
    MethodNotAllowed,
    BodyTooLarge,
    UnsupportedMediaType,
    InvalidRequest(FieldErrors),
    IdempotencyKeyReused,
    AiBadAnswer,
    AiBusy {
        retry_after_s: u64,
    },
    AiUnavailable,
    /// The cause, for the log alone.
    DatabaseBusy(String),
    /// The cause, for the log alone.
    DatabaseUnavailable(String),
    /// The cause, for the log alone.
    Internal(String),
}

/// How an error is shown.
struct Shown {
    status: StatusCode,
    code: &'static str,
    message: String,
    retry_after_s: Option<u64>,
}

impl ApiError {
    /// The answer for a request with this id. Headers that came with the error, such as `Allow`,
    /// are kept.
    pub(super) fn render(&self, id: &RequestId, response: Response) -> Response {
        let shown = self.shown();
        let no_fields = FieldErrors::default();
        let fields = match self {
            Self::InvalidRequest(fields) => fields,
            _ => &no_fields,
        };
        let body = json!({"error": {
            "code": shown.code,
            "message": shown.message,
            "request_id": id.as_str(),
            "fields": fields,
        }});
        let (mut head, _empty) = response.into_parts();
        head.status = shown.status;
        head.headers.remove(CONTENT_LENGTH);
        head.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if shown.status == StatusCode::UNAUTHORIZED {
            // RFC 9110, section 11.6.1: a 401 names what it wants.
            head.headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("X-API-Key"));
        }
        if let Some(seconds) = shown.retry_after_s {
            head.headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        Response::from_parts(head, body.to_string().into())
    }

    /// What the log should say and the client need not know. (Why the provider failed stands in
    /// the line of the call.)
    pub(super) fn cause(&self) -> Option<&str> {
        match self {
            Self::DatabaseBusy(cause)
            | Self::DatabaseUnavailable(cause)
            | Self::Internal(cause) => Some(cause),
            _ => None,
        }
    }

    fn shown(&self) -> Shown {
        let (status, code, message) = match self {
            Self::Unauthorized => (
                StatusCode::UNAUTHORIZED,
                "unauthorized",
                "send the service's key as X-API-Key".into(),
            ),
            Self::NotFound(what) => (StatusCode::NOT_FOUND, "not_found", what.clone()),
            Self::MethodNotAllowed => (
                StatusCode::METHOD_NOT_ALLOWED,
                "method_not_allowed",
                "this path has other methods: see the header Allow".into(),
            ),
            Self::BodyTooLarge => (
                StatusCode::PAYLOAD_TOO_LARGE,
                "body_too_large",
                format!("the body may have at most {} bytes", super::body::LIMITS.taken),
            ),
            Self::UnsupportedMediaType => (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported_media_type",
                "send the body as Content-Type: application/json, without Content-Encoding".into(),
            ),
            Self::InvalidRequest(_) => (
                StatusCode::UNPROCESSABLE_ENTITY,
                "invalid_request",
                "the request is not valid: see fields".into(),
            ),
            Self::IdempotencyKeyReused => (
                StatusCode::UNPROCESSABLE_ENTITY,
                "idempotency_key_reused",
                "this Idempotency-Key has opened a ticket that was asked for in other words".into(),
            ),
            Self::AiBadAnswer => (
                StatusCode::BAD_GATEWAY,
                "ai_bad_answer",
                "the AI provider gave no usable answer; nothing was saved".into(),
            ),
            Self::AiBusy { .. } => (
                StatusCode::SERVICE_UNAVAILABLE,
                "ai_busy",
                "the AI provider takes no more calls for now; nothing was saved".into(),
            ),
            Self::AiUnavailable => (
                StatusCode::SERVICE_UNAVAILABLE,
                "ai_unavailable",
                "the AI provider does not answer; nothing was saved".into(),
            ),
            Self::DatabaseBusy(_) => (
                StatusCode::SERVICE_UNAVAILABLE,
                "database_busy",
                "the database had no time: to repeat it under an Idempotency-Key is safe".into(),
            ),
            Self::DatabaseUnavailable(_) => (
                StatusCode::SERVICE_UNAVAILABLE,
                "database_unavailable",
                "the database is away: to repeat it under an Idempotency-Key is safe".into(),
            ),
            Self::Internal(_) => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "internal_error",
                "something went wrong here; the log has more under the request_id".into(),
            ),
        };
        let retry_after_s = match self {
            Self::AiBusy { retry_after_s } => Some(*retry_after_s),
            Self::DatabaseBusy(_) => Some(DATABASE_RETRY_S),
            _ => None,
        };
        Shown { status, code, message, retry_after_s }
    }
}

/// Leaves the error itself in the response's extensions: only the outermost layer, which knows the
/// request's id, can render it.
impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = Response::new(axum::body::Body::empty());
        *response.status_mut() = self.shown().status;
        response.extensions_mut().insert(self);
        response
    }
}

impl From<FieldErrors> for ApiError {
    fn from(errors: FieldErrors) -> Self {
        Self::InvalidRequest(errors)
    }
}

impl From<IntakeError> for ApiError {
    fn from(error: IntakeError) -> Self {
        match error {
            IntakeError::Store(error) => error.into(),
            IntakeError::Provider(error) => error.into(),
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        let text = error.to_string();
        match error {
            StoreError::UnknownCustomer => Self::NotFound(text),
            StoreError::KeyReused => Self::IdempotencyKeyReused,
            StoreError::Busy(_) => Self::DatabaseBusy(text),
            StoreError::Unavailable(_) => Self::DatabaseUnavailable(text),
            StoreError::Internal(_) => Self::Internal(text),
        }
    }
}

impl From<ProviderError> for ApiError {
    fn from(error: ProviderError) -> Self {
        match error {
            ProviderError::RateLimited { retry_after } => {
                let seconds = |wait: std::time::Duration| wait.as_millis().div_ceil(1000);
                let wanted = retry_after.map_or(PROVIDER_RETRY_S.into(), seconds);
                let bounded = u64::try_from(wanted).unwrap_or(u64::MAX).clamp(1, LONGEST_RETRY_S);
                Self::AiBusy { retry_after_s: bounded }
            }
            ProviderError::Timeout | ProviderError::Unavailable(_) => Self::AiUnavailable,
            ProviderError::Rejected(_) => Self::AiBadAnswer,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn errors_have_their_status_and_code() {
        let busy = |ms| ProviderError::RateLimited { retry_after: Some(Duration::from_millis(ms)) };
        let unknown_wait = ProviderError::RateLimited { retry_after: None };
        let cases: [(ApiError, u16, &str, Option<u64>); 16] = [
            (ApiError::Unauthorized, 401, "unauthorized", None),
            (StoreError::UnknownCustomer.into(), 404, "not_found", None),
            (StoreError::KeyReused.into(), 422, "idempotency_key_reused", None),
            (StoreError::Busy(String::new()).into(), 503, "database_busy", Some(2)),
            (StoreError::Unavailable(String::new()).into(), 503, "database_unavailable", None),
            (StoreError::Internal(String::new()).into(), 500, "internal_error", None),
            (busy(131).into(), 503, "ai_busy", Some(1)),
            (busy(30_001).into(), 503, "ai_busy", Some(31)),
            (busy(0).into(), 503, "ai_busy", Some(1)),
            (busy(u64::MAX).into(), 503, "ai_busy", Some(3600)),
            (unknown_wait.into(), 503, "ai_busy", Some(1)),
            (ProviderError::Timeout.into(), 503, "ai_unavailable", None),
            (ProviderError::Unavailable(String::new()).into(), 503, "ai_unavailable", None),
            (ProviderError::Rejected(String::new()).into(), 502, "ai_bad_answer", None),
            (ApiError::BodyTooLarge, 413, "body_too_large", None),
            (FieldErrors::of("body", "x").into(), 422, "invalid_request", None),
        ];
        for (error, status, code, retry_after_s) in cases {
            let shown = error.shown();
            let got = (shown.status.as_u16(), shown.code, shown.retry_after_s);
            assert_eq!(got, (status, code, retry_after_s), "{error:?}");
        }
    }
}
