//! `GET /v1/models` and `GET /v1/models/{id}`, in both dialects.

use std::time::Duration;

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode, Uri};
use waitscope_wire::rate_limit::format_rfc3339;
use waitscope_wire::{anthropic, openai};

use crate::account::{OFFERS, Offer};
use crate::dialect::Dialect;
use crate::error::ApiError;

/// 2026-10-10, the day on which the latencies were recorded: so many hours after 1970 began.
const CREATED: Duration = Duration::from_hours(497_664);

pub(super) async fn list(uri: Uri, headers: HeaderMap) -> Response {
    match Dialect::of(uri.path(), &headers) {
        Dialect::OpenAi => {
            Json(openai::models::List::new(OFFERS.iter().map(openai).collect())).into_response()
        }
        Dialect::Anthropic => {
            let models = OFFERS.iter().map(anthropic).collect();
            Json(anthropic::models::List::new(models)).into_response()
        }
    }
}

pub(super) async fn one(
    id: Result<Path<String>, PathRejection>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let Path(id) = id.map_err(|error| ApiError::bad_request("invalid_path", error.body_text()))?;
    let offer = OFFERS.iter().find(|offer| offer.id == id).ok_or_else(|| {
        let message = format!("The model '{id}' is not listed.");
        ApiError::request(StatusCode::NOT_FOUND, "model_not_found", message).about("model")
    })?;
    Ok(match Dialect::of(uri.path(), &headers) {
        Dialect::OpenAi => Json(openai(offer)).into_response(),
        Dialect::Anthropic => Json(anthropic(offer)).into_response(),
    })
}

/// A listed model was asked for what it does not do.
pub(super) fn wrong_kind(model: &str, task: &str) -> ApiError {
    let message = format!("The model '{model}' does no {task}.");
    ApiError::bad_request("model_not_supported", message).about("model")
}

fn openai(offer: &Offer) -> openai::models::Model {
    openai::models::Model::new(offer.id, CREATED.as_secs(), "waitscope")
}

fn anthropic(offer: &Offer) -> anthropic::models::Model {
    anthropic::models::Model::new(offer.id, format_rfc3339(CREATED))
}
