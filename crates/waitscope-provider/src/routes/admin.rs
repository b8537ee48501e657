//! Health, metrics, counts and the mode.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use serde::Deserialize;
use serde_json::{Value, json};
use waitscope_stats::latencies::Latencies;

use crate::body;
use crate::config::Mode;
use crate::error::ApiError;
use crate::metrics::{self, Snapshot};
use crate::server::{App, Ledger};
use crate::summary::Lateness;

pub(super) async fn health() -> Json<Value> {
    Json(json!({"status": "ok"}))
}

pub(super) async fn metrics(State(app): State<Arc<App>>) -> Response {
    match snapshot(&app).text() {
        Ok(text) => ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response(),
        Err(_) => ApiError::internal().into_response(),
    }
}

fn snapshot(app: &App) -> Snapshot {
    let mode = app.mode();
    let lateness = Lateness::of(&app.lateness());
    let ledger = app.ledger();
    let counts = &ledger.counts;
    let share = app.config.quota_share(mode);
    Snapshot {
        calls: counts.calls.clone(),
        in_flight: counts.in_flight,
        max_in_flight: counts.max_in_flight,
        tokens_in: counts.tokens_in,
        tokens_out: counts.tokens_out,
        limits: share.into_iter().flat_map(|share| ledger.accounts.all(share, app.now())).collect(),
        lateness,
    }
}

/// `GET /admin/stats`.
pub(super) async fn stats(State(app): State<Arc<App>>) -> Json<Value> {
    Json(stats_of(app.mode(), &app.ledger()))
}

fn stats_of(mode: Mode, ledger: &Ledger) -> Value {
    let counts = &ledger.counts;
    let by_status = |statuses: &BTreeMap<u16, u64>| {
        statuses.iter().map(|(status, count)| (status.to_string(), json!(count))).collect()
    };
    let calls: serde_json::Map<String, Value> = counts
        .calls
        .iter()
        .map(|(name, statuses)| ((*name).to_owned(), Value::Object(by_status(statuses))))
        .collect();
    json!({
        "mode": mode.name(),
        "in_flight": counts.in_flight,
        "max_in_flight": counts.max_in_flight,
        "calls": calls,
        "tokens": counts.tokens_in + counts.tokens_out,
    })
}

#[derive(Deserialize)]
struct SetMode {
    mode: String,
}

/// `POST /admin/mode {"mode": "slow"}`.
pub(super) async fn set_mode(
    State(app): State<Arc<App>>,
    request: Request,
) -> Result<Json<Value>, ApiError> {
    let SetMode { mode } = body::parse(&body::read(request).await?)?;
    let mode: Mode = mode.parse().map_err(|error| {
        ApiError::bad_request("invalid_value", format!("Invalid 'mode': {error}.")).about("mode")
    })?;
    app.ledger().mode = mode;
    Ok(Json(json!({"mode": mode.name()})))
}

/// `POST /admin/reset`: counts to zero, quota full, mode normal, attempts forgotten.
pub(super) async fn reset(State(app): State<Arc<App>>) -> Json<Value> {
    app.ledger().reset();
    *app.lateness() = Latencies::new();
    Json(stats_of(app.mode(), &app.ledger()))
}
