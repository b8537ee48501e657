//! The `x-ratelimit-*` headers.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue};
use waitscope_wire::rate_limit::format_reset;

use crate::account::{Account, Kind};
use crate::model::quota::LimitState;
use crate::server::App;

/// Gives every answer under `/v1` that tells no model's quota that of the listed chat model.
pub(crate) async fn on_every_answer(
    State(app): State<Arc<App>>,
    request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path();
    let limited = path == "/v1" || path.starts_with("/v1/");
    let mut response = next.run(request).await;
    if limited && !response.headers().contains_key("x-ratelimit-limit-tokens") {
        let limits = app.limits(Account::listed(Kind::Chat));
        response.headers_mut().extend(limit_headers(&limits));
    }
    response
}

/// The headers that tell these limits.
pub(crate) fn limit_headers(limits: &[LimitState]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for limit in limits {
        let mut insert = |what, value: String| {
            let name = format!("x-ratelimit-{what}-{}", limit.name).parse::<HeaderName>();
            if let (Ok(name), Ok(value)) = (name, HeaderValue::try_from(value)) {
                headers.insert(name, value);
            }
        };
        insert("limit", limit.limit.to_string());
        insert("remaining", limit.remaining.to_string());
        insert("reset", format_reset(limit.reset));
    }
    headers
}
