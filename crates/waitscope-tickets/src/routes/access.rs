//! Who may use the API.

use axum::extract::{Request, State as FromState};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::HeaderName;

use super::error::ApiError;
use crate::state::State;

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// Lets those through who know the key, or everybody when there is none.
pub(super) async fn with_key(
    FromState(state): FromState<State>,
    request: Request,
    next: Next,
) -> Response {
    let sent = request.headers().get(API_KEY).map_or(&b""[..], |value| value.as_bytes());
    match &state.0.api_key {
        Some(key) if !key.is(sent) => ApiError::Unauthorized.into_response(),
        _ => next.run(request).await,
    }
}
