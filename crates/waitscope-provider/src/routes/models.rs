//! `GET /v1/models` and `GET /v1/models/{id}`.

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use http::StatusCode;
use waitscope_wire::openai::models::{List, Model};

use crate::account::{OFFERS, Offer};
use crate::error::ApiError;

/// 2026-10-10, the day on which the latencies were recorded, in Unix seconds.
const CREATED: u64 = 1_791_590_400;

pub(super) async fn list() -> Json<List> {
    Json(List::new(OFFERS.iter().map(model).collect()))
}

pub(super) async fn one(id: Result<Path<String>, PathRejection>) -> Result<Json<Model>, ApiError> {
    let Path(id) = id.map_err(|error| ApiError::bad_request("invalid_path", error.body_text()))?;
    let offer = OFFERS.iter().find(|offer| offer.id == id);
    offer.map(|offer| Json(model(offer))).ok_or_else(|| {
        let message = format!("The model '{id}' is not listed.");
        ApiError::request(StatusCode::NOT_FOUND, "model_not_found", message).about("model")
    })
}

/// A listed model was asked for what it does not do.
pub(super) fn wrong_kind(model: &str, task: &str) -> ApiError {
    let message = format!("The model '{model}' does no {task}.");
    ApiError::bad_request("model_not_supported", message).about("model")
}

fn model(offer: &Offer) -> Model {
    Model::new(offer.id, CREATED, "waitscope")
}
