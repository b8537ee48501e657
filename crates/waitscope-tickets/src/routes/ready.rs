//! `GET /ready`: whether the service could do its work.

use std::sync::Arc;

use axum::extract::State as FromState;
use axum::{Extension, Json};
use serde_json::{Value, json};

use super::error::ApiError;
use crate::state::State;
use crate::trail::Trail;

/// Asks the database.
pub(super) async fn ready(
    FromState(state): FromState<State>,
    Extension(trail): Extension<Arc<Trail>>,
) -> Result<Json<Value>, ApiError> {
    state.0.store.ready(&trail).await?;
    Ok(Json(json!({"status": "ready"})))
}
