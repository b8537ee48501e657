//! What every answer carries: its id, the rate limits, and an error in its protocol's own form.

use std::convert::Infallible;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use tower_service::Service;
use waitscope_stats::draw::StableHash;

use crate::account::{Account, Kind};
use crate::dialect::Dialect;
use crate::error::ApiError;
use crate::limit_headers;
use crate::model::quota::LimitState;
use crate::routes::{chat, embeddings, messages, plain, responses};
use crate::server::App;

/// Every answer's own id, in one of two names.
const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");

/// The limits that an answer tells, as an extension of the response: those right after its call
/// was judged.
#[derive(Debug, Clone)]
pub(crate) struct Limits(pub(crate) Vec<LimitState>);

impl Limits {
    /// Tells them, if there are any.
    pub(crate) fn tell(limits: Vec<LimitState>, response: &mut Response) {
        if !limits.is_empty() {
            response.extensions_mut().insert(Self(limits));
        }
    }
}

/// Makes the ids of answers: they differ from one another, and from those of another run.
#[derive(Debug)]
pub(crate) struct Ids {
    run: StableHash,
    requests: AtomicU64,
}

impl Ids {
    pub(crate) fn new() -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let run = StableHash::new(since_1970.as_secs()).word(since_1970.subsec_nanos().into());
        Self { run, requests: AtomicU64::new(0) }
    }

    fn next(&self) -> String {
        let request = self.requests.fetch_add(1, Ordering::Relaxed);
        format!("req_{:016x}", self.run.clone().word(request).finish())
    }
}

/// The router, and what every answer gets on its way out. A wrapper rather than layers, each of
/// which would cost a box for every request.
#[derive(Debug, Clone)]
pub(crate) struct Edge {
    app: Arc<App>,
    router: Router,
}

impl Edge {
    pub(crate) fn new(app: Arc<App>, router: Router) -> Self {
        Self { app, router }
    }
}

impl Service<Request> for Edge {
    type Response = Response;
    type Error = Infallible;
    type Future = Answering;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let path = request.uri().path();
        let limited = path == "/v1" || path.starts_with("/v1/");
        let dialect = Dialect::of(path, request.headers());
        let app = Arc::clone(&self.app);
        let state = State(Arc::clone(&app));
        // The calls that a provider is for go around the router, which costs as much as they do.
        match (request.method(), path) {
            (&Method::POST, "/v1/chat/completions") => {
                finish(app, dialect, limited, chat::create(state, request))
            }
            (&Method::POST, "/v1/responses") => {
                finish(app, dialect, limited, responses::create(state, request))
            }
            (&Method::POST, "/v1/messages") => {
                finish(app, dialect, limited, messages::create(state, request))
            }
            (&Method::POST, "/v1/embeddings") => {
                finish(app, dialect, limited, embeddings::create(state, request))
            }
            (&Method::GET, "/v1/complete") => {
                finish(app, dialect, limited, plain::complete(state, request))
            }
            (&Method::GET, "/v1/stream") => {
                finish(app, dialect, limited, plain::stream(state, request))
            }
            _ => {
                let routed = self.router.call(request);
                let routed = async move { routed.await.unwrap_or_else(|never| match never {}) };
                finish(app, dialect, limited, routed)
            }
        }
    }
}

type Answering = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

fn finish(
    app: Arc<App>,
    dialect: Dialect,
    limited: bool,
    answering: impl Future<Output = Response> + Send + 'static,
) -> Answering {
    Box::pin(async move {
        let mut response = unless_it_panics(answering).await;
        complete(&app, dialect, limited, &mut response);
        Ok(response)
    })
}

/// A panic is answered as an error. The panic itself is printed by the standard library's hook.
async fn unless_it_panics(answering: impl Future<Output = Response>) -> Response {
    let mut answering = pin!(answering);
    let polled = poll_fn(|context| {
        let poll = || answering.as_mut().poll(context);
        match catch_unwind(AssertUnwindSafe(poll)) {
            Ok(polled) => polled.map(Some),
            Err(_) => Poll::Ready(None),
        }
    });
    polled.await.unwrap_or_else(|| ApiError::internal().into_response())
}

fn complete(app: &App, dialect: Dialect, limited: bool, response: &mut Response) {
    let id = app.ids.next();
    if let Some(error) = response.extensions_mut().remove::<ApiError>() {
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(CONTENT_TYPE, json);
        // The router told the length of the body that is not there yet.
        response.headers_mut().remove(CONTENT_LENGTH);
        *response.body_mut() = Body::from(dialect.error_body(&error, &id));
    }
    let told = response.extensions_mut().remove::<Limits>();
    if limited {
        // An answer that is about no model tells the quota of the listed chat model.
        let limits = told.map(|Limits(told)| told);
        let limits = limits.unwrap_or_else(|| app.limits(default_account(dialect)));
        limit_headers::insert(response.headers_mut(), dialect, &limits, since_1970());
    }
    insert_id(response.headers_mut(), dialect, id);
}

fn default_account(dialect: Dialect) -> Account {
    Account::listed(match dialect {
        Dialect::OpenAi => Kind::Chat,
        Dialect::Anthropic => Kind::Messages,
    })
}

fn insert_id(headers: &mut HeaderMap, dialect: Dialect, id: String) {
    let Ok(id) = HeaderValue::try_from(id) else { return };
    if dialect == Dialect::Anthropic {
        headers.insert(REQUEST_ID, id.clone());
    }
    headers.insert(X_REQUEST_ID, id);
}

/// The wall clock.
pub(crate) fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use axum::routing::get;

    use super::*;
    use crate::config::Config;

    async fn panics() -> &'static str {
        std::panic::panic_any("on purpose")
    }

    #[tokio::test]
    async fn a_panic_is_answered_and_the_next_call_is_served() {
        let app = Arc::new(App::new(Config::default(), None));
        let router =
            Router::new().route("/panics", get(panics)).route("/works", get(|| async { "fine" }));
        let mut edge = Edge::new(app, router);
        for (path, status) in [("/panics", 500), ("/works", 200)] {
            let request = http::Request::get(path).body(Body::empty()).unwrap();
            let response = edge.call(request).await.unwrap();
            assert_eq!(response.status(), status);
            assert!(response.headers().contains_key(X_REQUEST_ID));
        }
    }
}
