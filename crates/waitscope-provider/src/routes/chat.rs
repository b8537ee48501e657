//! `POST /v1/chat/completions`.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use waitscope_wire::openai::chat::Request as Chat;

use crate::account::{Account, Kind};
use crate::answer::{self, Answer, Content};
use crate::body;
use crate::call::Call;
use crate::edge::since_1970;
use crate::error::ApiError;
use crate::model::Task;
use crate::model::attempts::content_hash;
use crate::model::chat::{Plan, ask, charge};
use crate::model::fault::events::Fault;
use crate::model::reply::Reply;
use crate::model::validity::check_chat;
use crate::server::App;

pub(crate) async fn create(State(app): State<Arc<App>>, request: Request) -> Response {
    answer::to(&app, request, "chat", Kind::Chat, plan).await
}

/// Admits the call, or tells why not.
fn plan(call: &mut Call, body: &[u8]) -> Result<Answer, ApiError> {
    let request: Chat = body::parse(body)?;
    check_chat(&request)?;
    call.rename(Task::of_chat(&request).name());
    let account = Account::of(&request.model, Kind::Chat)
        .ok_or_else(|| super::models::wrong_kind(&request.model, "chat"))?;
    let content = content_hash(call.app.config.seed, "/v1/chat/completions", body);
    let admission = call.admit(&request.model, Some((account, charge(&request))), content)?;
    let reply =
        Reply::plan(&ask(&request), &call.app.latency, admission.conditions, admission.draws);
    let total = reply.total();
    let mut plan = Plan::new(&request, reply, since_1970().as_secs());
    if call.faults.has(&Fault::UsageUnasked) {
        plan = plan.with_usage();
    }
    let tokens = plan.tokens();
    let content = if request.stream.unwrap_or(false) {
        Content::Stream(Box::new(plan.events()), super::stream_error)
    } else {
        Content::json(&plan.completion())
    };
    Ok(Answer { total, tokens, content })
}
