//! `POST /v1/responses`.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use waitscope_wire::openai::responses::Request as Asked;

use crate::account::{Account, Kind};
use crate::answer::{self, Answer, Content};
use crate::body;
use crate::call::Call;
use crate::edge::since_1970;
use crate::error::ApiError;
use crate::model::attempts::content_hash;
use crate::model::reply::Reply;
use crate::model::responses::{Plan, ask, charge, stream_error};
use crate::model::validity::check_response;
use crate::server::App;

pub(crate) async fn create(State(app): State<Arc<App>>, request: Request) -> Response {
    answer::to(&app, request, "response", Kind::Chat, plan).await
}

/// Admits the call, or tells why not.
fn plan(call: &mut Call, body: &[u8]) -> Result<Answer, ApiError> {
    let request: Asked = body::parse(body)?;
    check_response(&request)?;
    let ask = ask(&request);
    call.rename(ask.task().name());
    let account = Account::of(&request.model, Kind::Chat)
        .ok_or_else(|| super::models::wrong_kind(&request.model, "responses"))?;
    let content = content_hash(call.app.config.seed, "/v1/responses", body);
    let admission = call.admit(&request.model, Some((account, charge(&request))), content)?;
    let reply = Reply::plan(&ask, &call.app.latency, admission.conditions, admission.draws);
    let total = reply.total();
    let plan = Plan::new(&request, reply, since_1970().as_secs());
    let tokens = plan.tokens();
    let content = if request.stream.unwrap_or(false) {
        Content::Stream(Box::new(plan.events()), stream_error)
    } else {
        Content::json(&plan.response())
    };
    Ok(Answer { total, tokens, content })
}
