//! `GET /health`: whether the event loop answers. No work at all.

use axum::Json;
use serde_json::{Value, json};

/// Answers at once, if the event loop does.
pub(super) async fn health() -> Json<Value> {
    Json(json!({"status": "ok"}))
}
