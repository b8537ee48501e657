//! The routes, one file per group.

mod admin;
mod chat;
mod embeddings;
mod models;
mod plain;
mod request_log;

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::middleware::{from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Method, StatusCode, Uri};
use tower_http::catch_panic::CatchPanicLayer;
use waitscope_stats::draw::StableHash;

use crate::error::ApiError;
use crate::limit_headers;
use crate::server::App;

/// Every answer's own id.
const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The time the answer was planned to take, before any speed-up, in milliseconds.
const PROCESSING_MS: HeaderName = HeaderName::from_static("openai-processing-ms");
/// The head of an answer that is a stream of events.
const EVENT_STREAM: [(HeaderName, HeaderValue); 2] = [
    (CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8")),
    (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
];

/// All routes.
pub(crate) fn all(app: Arc<App>) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(chat::create))
        .route("/v1/embeddings", post(embeddings::create))
        .route("/v1/models", get(models::list))
        .route("/v1/models/{id}", get(models::one))
        .route("/v1/complete", get(plain::complete))
        .route("/v1/stream", get(plain::stream))
        .route("/get", get(request_log::get))
        .route("/add", post(request_log::add))
        .route("/stats", get(request_log::stats))
        .route("/reset", post(request_log::reset))
        .route("/health", get(admin::health))
        .route("/metrics", get(admin::metrics))
        .route("/admin/stats", get(admin::stats))
        .route("/admin/mode", post(admin::set_mode))
        .route("/admin/reset", post(admin::reset))
        .fallback(unknown_route)
        .method_not_allowed_fallback(wrong_method)
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn_with_state(Arc::clone(&app), limit_headers::on_every_answer))
        .layer(map_response(with_request_id()))
        .with_state(app)
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

/// The panic itself is printed by the standard library's hook.
fn panicked(_panic: Box<dyn Any + Send>) -> Response {
    ApiError::internal().into_response()
}

/// Ids differ from one another, and from those of another run.
fn with_request_id() -> impl Fn(Response) -> std::future::Ready<Response> + Clone {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let run = StableHash::new(since_1970.as_secs()).word(since_1970.subsec_nanos().into());
    let requests = Arc::new(AtomicU64::new(0));
    move |mut response| {
        let request = requests.fetch_add(1, Ordering::Relaxed);
        let id = format!("req_{:016x}", run.clone().word(request).finish());
        if let Ok(id) = HeaderValue::try_from(id) {
            response.headers_mut().insert(X_REQUEST_ID, id);
        }
        std::future::ready(response)
    }
}
