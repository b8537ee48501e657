//! `GET /get` and `POST /add`, which wait as told, and the log of them: `GET /stats`,
//! `POST /reset`.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::{Method, Uri};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::body;
use crate::config::MAX_WAIT;
use crate::error::ApiError;
use crate::model::latency::at_speed;
use crate::params::Params;
use crate::request_log::Entry;
use crate::server::App;

/// `GET /get?delay=50&name=x`.
pub(super) async fn get(State(app): State<Arc<App>>, method: Method, uri: Uri) -> Response {
    let mut logged = Logged::begin(&app, &method);
    let answer = logged.answer(&uri, Instant::now()).await;
    logged.end(answer)
}

/// `POST /add?delay=50`: waits once the body is read.
pub(super) async fn add(State(app): State<Arc<App>>, request: Request) -> Response {
    let mut logged = Logged::begin(&app, request.method());
    let uri = request.uri().clone();
    let answer = match body::read(request).await {
        Ok(body) => {
            logged.entry.body_bytes = body.len();
            logged.answer(&uri, Instant::now()).await
        }
        Err(error) => Err(error),
    };
    logged.end(answer)
}

/// The log, oldest first.
pub(super) async fn stats(State(app): State<Arc<App>>) -> Json<Value> {
    Json(json!(app.ledger().requests))
}

/// Empties the log.
pub(super) async fn reset(State(app): State<Arc<App>>) -> Json<Value> {
    let mut ledger = app.ledger();
    ledger.requests.reset();
    Json(json!(ledger.requests))
}

/// A request in flight; it is logged when it ends, or when its client leaves and it is dropped.
struct Logged {
    app: Arc<App>,
    entry: Entry,
}

impl Logged {
    fn begin(app: &Arc<App>, method: &Method) -> Self {
        app.ledger().requests.begin();
        Self { app: Arc::clone(app), entry: Entry::arriving(method, app.now()) }
    }

    async fn answer(&mut self, uri: &Uri, since: Instant) -> Result<Json<Value>, ApiError> {
        let params = Params::of(uri)?;
        self.entry.name = params.text("name")?;
        let max_ms = MAX_WAIT.as_secs_f64() * 1_000.0;
        self.entry.delay_ms = params.number("delay", 0.0, 0.0..=max_ms)?;
        let delay = Duration::from_secs_f64(self.entry.delay_ms / 1_000.0);
        let delay = at_speed(delay, self.app.config.speed);
        if !delay.is_zero() {
            tokio::time::sleep_until(since + delay).await;
        }
        Ok(Json(json!({
            "name": self.entry.name,
            "delay_ms": self.entry.delay_ms,
            "body_bytes": self.entry.body_bytes,
        })))
    }

    fn end(mut self, answer: Result<Json<Value>, ApiError>) -> Response {
        let response = answer.into_response();
        self.entry.status = response.status().as_u16();
        response
    }
}

impl Drop for Logged {
    fn drop(&mut self) {
        let now = self.app.now();
        self.app.ledger().requests.end(self.entry.clone(), now);
    }
}
