//! The routes, one file per group.

mod admin;
pub(crate) mod chat;
pub(crate) mod embeddings;
pub(crate) mod messages;
mod models;
pub(crate) mod plain;
mod request_log;
pub(crate) mod responses;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use http::{Method, StatusCode, Uri};
use waitscope_wire::openai::error::{Body, Detail};

use crate::edge::Edge;
use crate::error::ApiError;
use crate::openapi;
use crate::server::App;

/// All routes.
pub(crate) fn all(app: Arc<App>) -> Edge {
    let router = Router::new()
        .route("/v1/chat/completions", post(chat::create))
        .route("/v1/responses", post(responses::create))
        .route("/v1/messages", post(messages::create))
        .route("/v1/messages/count_tokens", post(messages::count_tokens))
        .route("/v1/embeddings", post(embeddings::create))
        .route("/v1/models", get(models::list))
        .route("/v1/models/{id}", get(models::one))
        .route("/v1/complete", get(plain::complete))
        .route("/v1/stream", get(plain::stream))
        .route("/get", get(request_log::get))
        .route("/add", post(request_log::add))
        .route("/stats", get(request_log::stats))
        .route("/reset", post(request_log::reset))
        .merge(waitscope_serve::openapi::routes(&openapi::document()))
        .route("/health", get(admin::health))
        .route("/metrics", get(admin::metrics))
        .route("/admin/stats", get(admin::stats))
        .route("/admin/mode", post(admin::set_mode))
        .route("/admin/reset", post(admin::reset))
        .fallback(unknown_route)
        .method_not_allowed_fallback(wrong_method)
        .with_state(Arc::clone(&app));
    Edge::new(app, router)
}

async fn unknown_route(method: Method, uri: Uri) -> ApiError {
    let message = format!("Unknown request URL: {method} {}.", uri.path());
    ApiError::request(StatusCode::NOT_FOUND, "unknown_url", message)
}

/// The router adds the `Allow` header.
async fn wrong_method(method: Method, uri: Uri) -> ApiError {
    let message = format!("{} does not take {method}: see the Allow header.", uri.path());
    ApiError::request(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message)
}

/// What ends an `OpenAI` stream early.
fn stream_error(_place: u64) -> (Option<&'static str>, String) {
    let message = "A simulated fault ends this stream.".to_owned();
    let detail = Detail {
        message,
        kind: "server_error".to_owned(),
        param: None,
        code: Some("server_error".to_owned()),
    };
    // Writing strings to memory cannot fail.
    (None, serde_json::to_string(&Body { error: detail }).unwrap_or_default())
}
