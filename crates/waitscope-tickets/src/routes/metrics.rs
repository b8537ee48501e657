//! `GET /metrics`: the counters, for Prometheus.

use axum::extract::State as FromState;
use http::header::CONTENT_TYPE;

use super::error::ApiError;
use crate::state::State;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All counters of the process.
pub(super) async fn metrics(
    FromState(state): FromState<State>,
) -> Result<([(http::HeaderName, &'static str); 1], String), ApiError> {
    let text = state.0.process.metrics.text();
    let text = text.map_err(|error| ApiError::Internal(error.to_string()))?;
    Ok(([(CONTENT_TYPE, OPEN_METRICS)], text))
}
