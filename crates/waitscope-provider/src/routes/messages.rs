//! `POST /v1/messages` and `POST /v1/messages/count_tokens`.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::response::Response;
use waitscope_wire::anthropic::messages::{Counted, Request as Asked};

use crate::account::{Account, Kind};
use crate::answer::{self, Answer, Content};
use crate::body;
use crate::call::Call;
use crate::error::ApiError;
use crate::model::attempts::content_hash;
use crate::model::messages::{Plan, ask, stream_error};
use crate::model::reply::Reply;
use crate::model::validity::{check_message, check_message_prompt};
use crate::server::App;

pub(crate) async fn create(State(app): State<Arc<App>>, request: Request) -> Response {
    answer::to(&app, request, "message", Kind::Messages, plan).await
}

/// Admits the call, or tells why not.
fn plan(call: &mut Call, body: &[u8]) -> Result<Answer, ApiError> {
    let request: Asked = body::parse(body)?;
    check_message(&request)?;
    let ask = ask(&request);
    call.rename(ask.task().name());
    let account = account(&request)?;
    let content = content_hash(call.app.config.seed, "/v1/messages", body);
    let admission = call.admit(&request.model, Some((account, ask.prompt_tokens)), content)?;
    let reply = Reply::plan(&ask, &call.app.latency, admission.conditions, admission.draws);
    let total = reply.total();
    let plan = Plan::new(&request, reply);
    let tokens = plan.tokens();
    let content = if request.stream.unwrap_or(false) {
        Content::Stream(Box::new(plan.events()), stream_error)
    } else {
        Content::json(&plan.answer())
    };
    Ok(Answer { total, tokens, content })
}

pub(super) async fn count_tokens(State(app): State<Arc<App>>, request: Request) -> Response {
    answer::to(&app, request, "count_tokens", Kind::Messages, count).await
}

/// Counts at once, and costs nothing.
fn count(call: &mut Call, body: &[u8]) -> Result<Answer, ApiError> {
    let request: Asked = body::parse(body)?;
    check_message_prompt(&request)?;
    call.charge_to(account(&request)?);
    let content = content_hash(call.app.config.seed, "/v1/messages/count_tokens", body);
    call.admit(&request.model, None, content)?;
    let input_tokens = request.prompt_tokens();
    let content = Content::json(&Counted { input_tokens });
    Ok(Answer { total: Duration::ZERO, tokens: (input_tokens, 0), content })
}

fn account(request: &Asked) -> Result<Account, ApiError> {
    let account = Account::of(&request.model, Kind::Messages);
    account.ok_or_else(|| super::models::wrong_kind(&request.model, "messages"))
}
