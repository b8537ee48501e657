//! What every answer has: an id, its timing, one line in the log; errors in one shape.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{MatchedPath, Request, State as FromState};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderName, HeaderValue, Method};
use waitscope_serve::CLIENT_LEFT;

use super::error::ApiError;
use crate::metrics::{FinishedRequest, InFlight};
use crate::state::State;
use crate::trail::{RequestId, Trail, milliseconds};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

/// Characters of a path that are logged.
const MAX_PATH: usize = 200;

/// The outermost layer.
pub(super) async fn envelope(
    FromState(state): FromState<State>,
    mut request: Request,
    next: Next,
) -> Response {
    let from_client =
        request.headers().get(REQUEST_ID).and_then(|id| RequestId::from_client(id.as_bytes()));
    let id = from_client.unwrap_or_else(|| RequestId::from_random(state.0.process.ids.next()));
    let trail = Arc::new(Trail::begin(id));
    request.extensions_mut().insert(Arc::clone(&trail));
    let mut log = LogOnDrop::new(state, Arc::clone(&trail), &request);

    let mut response = next.run(request).await;

    if let Some(error) = response.extensions_mut().remove::<ApiError>() {
        if let Some(cause) = error.cause() {
            tracing::error!("{cause} id={}", trail.id);
        }
        response = error.render(&trail.id, response);
    }
    set(&mut response, REQUEST_ID, trail.id.as_str());
    set(&mut response, SERVER_TIMING, &trail.server_timing());
    log.status = response.status().as_u16();
    response
}

/// Both headers are printable ASCII by construction; a value that is not is left out.
fn set(response: &mut Response, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

/// Logs and counts the request when it is over, which for a client that left is when its handler
/// is dropped.
struct LogOnDrop {
    state: State,
    trail: Arc<Trail>,
    method: Method,
    path: String,
    route: Option<MatchedPath>,
    status: u16,
    _in_flight: InFlight,
}

impl LogOnDrop {
    fn new(state: State, trail: Arc<Trail>, request: &Request) -> Self {
        Self {
            _in_flight: state.0.process.metrics.request_in_flight(),
            state,
            trail,
            method: request.method().clone(),
            // Without the query, which may hold what nobody should read in a log.
            path: request.uri().path().chars().take(MAX_PATH).collect(),
            route: request.extensions().get::<MatchedPath>().cloned(),
            status: CLIENT_LEFT,
        }
    }
}

impl Drop for LogOnDrop {
    fn drop(&mut self) {
        let route = self.route.as_ref().map_or("other", MatchedPath::as_str);
        let took = self.trail.started.elapsed();
        let statements = self.trail.statements();
        self.state.0.process.metrics.request(&FinishedRequest {
            method: known_method(&self.method),
            route,
            status: self.status,
            took,
            statements,
        });
        let line = line(self, took, statements);
        // Probes and scrapes come several times a second and would bury the rest.
        if matches!(route, "/health" | "/ready" | "/metrics") {
            tracing::debug!("{line}");
        } else {
            tracing::info!("{line}");
        }
    }
}

/// `POST /v1/tickets 201 2147ms queries=7 id=c5b2dd1547ab`
fn line(request: &LogOnDrop, took: Duration, statements: u32) -> String {
    format!(
        "{} {} {} {:.0}ms queries={statements} id={}",
        known_method(&request.method),
        request.path,
        request.status,
        milliseconds(took),
        request.trail.id,
    )
}

/// A client may make up a method of any length; logs and labels have the usual ones.
fn known_method(method: &Method) -> &str {
    match *method {
        Method::GET
        | Method::HEAD
        | Method::POST
        | Method::PUT
        | Method::DELETE
        | Method::OPTIONS
        | Method::PATCH
        | Method::TRACE
        | Method::CONNECT => method.as_str(),
        _ => "OTHER",
    }
}
