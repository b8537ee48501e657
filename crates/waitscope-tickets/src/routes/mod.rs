//! The HTTP interface: one file per route, and what they share.

mod access;
mod body;
mod envelope;
mod error;
mod health;
mod metrics;
mod openapi;
mod ready;
mod tickets;

use std::any::Any;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tower_http::catch_panic::CatchPanicLayer;

use crate::state::State;
use error::ApiError;

/// The whole service as a router.
pub fn app(state: State) -> Router {
    let routes = Router::new()
        .route("/health", get(health::health))
        .route("/ready", get(ready::ready))
        .route("/metrics", get(metrics::metrics))
        .merge(v1(state.clone()))
        .merge(openapi::routes(state.0.api_key.is_some()));
    enveloped(routes, state)
}

/// What needs the key, when there is one.
fn v1(state: State) -> Router<State> {
    Router::new()
        .route("/v1/tickets", post(tickets::create).get(tickets::list))
        .route("/v1/tickets/{id}", get(tickets::find))
        .route_layer(from_fn_with_state(state, access::with_key))
}

/// Puts every answer of `routes`, errors and panics too, into the form that all answers have.
fn enveloped(routes: Router<State>, state: State) -> Router {
    routes
        .method_not_allowed_fallback(async || ApiError::MethodNotAllowed)
        .fallback(async || ApiError::NotFound("there is no such path".into()))
        .layer(CatchPanicLayer::custom(on_panic))
        .layer(from_fn_with_state(state.clone(), envelope::envelope))
        .with_state(state)
}

/// The panic's text may hold anything: it stays with the panic hook, which wrote it to stderr.
fn on_panic(_panic: Box<dyn Any + Send>) -> Response {
    ApiError::Internal("a panic".into()).into_response()
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use http::Request;
    use http_body_util::BodyExt;
    use serde_json::Value;
    use tower::ServiceExt;

    use super::*;
    use crate::config::{Config, DatabaseUrl};

    #[tokio::test]
    async fn a_panic_is_an_internal_error_like_any_other() {
        // A second install is refused, which leaves the first one in place.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let folder = tempfile::tempdir().unwrap();
        let database_url = DatabaseUrl::sqlite(folder.path().join("tickets.db"));
        let state = State::open(&Config { database_url, ..Config::default() }).await.unwrap();
        let broken = async || -> &str { panic!("with a s3cret") };
        let router = enveloped(Router::new().route("/broken", get(broken)), state);
        let request = Request::get("/broken").body(Body::empty()).unwrap();
        let response = router.oneshot(request).await.unwrap();
        assert_eq!(response.status(), 500);
        let id = response.headers()["x-request-id"].to_str().unwrap().to_owned();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["error"]["code"], "internal_error");
        assert_eq!(body["error"]["request_id"], id);
        assert!(!body.to_string().contains("s3cret"), "{body}");
    }
}
