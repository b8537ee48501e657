//! What every answer carries: its id, the rate limits, and an error in its protocol's own form.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue};
use waitscope_stats::draw::StableHash;

use crate::account::{Account, Kind};
use crate::dialect::Dialect;
use crate::error::ApiError;
use crate::limit_headers;
use crate::model::quota::LimitState;
use crate::server::App;

/// Every answer's own id, in one of two names.
const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");

/// The limits that an answer tells, as an extension of the response: those right after its call
/// was judged.
#[derive(Debug, Clone)]
pub(crate) struct Limits(pub(crate) Vec<LimitState>);

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

/// Completes an answer on its way out.
pub(crate) async fn complete(
    State(app): State<Arc<App>>,
    request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path();
    let limited = path == "/v1" || path.starts_with("/v1/");
    let dialect = Dialect::of(path, request.headers());
    let mut response = next.run(request).await;
    let id = app.ids.next();
    if let Some(error) = response.extensions_mut().remove::<ApiError>() {
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(CONTENT_TYPE, json);
        *response.body_mut() = Body::from(dialect.error_body(&error, &id));
    }
    let told = response.extensions_mut().remove::<Limits>();
    let headers = response.headers_mut();
    if limited {
        // An answer that is about no model tells the quota of the listed chat model.
        let limits = told.map(|Limits(told)| told).filter(|told| !told.is_empty());
        let limits = limits.unwrap_or_else(|| app.limits(default_account(dialect)));
        limit_headers::insert(headers, dialect, &limits, since_1970());
    }
    insert_id(headers, dialect, id);
    response
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
