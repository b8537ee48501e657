//! `POST /v1/chat/completions`.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use waitscope_wire::openai::chat::Request as Chat;

use super::{EVENT_STREAM, PROCESSING_MS};
use crate::account::{Account, Kind};
use crate::body;
use crate::call::Call;
use crate::error::ApiError;
use crate::model::Task;
use crate::model::attempts::content_hash;
use crate::model::chat::{Plan, charge};
use crate::model::validity::check_chat;
use crate::paced::PacedBody;
use crate::server::{App, unix_seconds};

pub(super) async fn create(State(app): State<Arc<App>>, request: Request) -> Response {
    let body = body::read(request).await;
    let mut call = Call::begin(&app, "chat");
    call.charge_to(Account::listed(Kind::Chat));
    match body.and_then(|body| plan(&app, &mut call, &body)) {
        Ok((plan, stream)) => answer(call, plan, stream).await,
        Err(error) => call.refuse(error).await,
    }
}

/// Admits the call, or tells why not. The flag says whether the answer is a stream.
fn plan(app: &App, call: &mut Call, body: &[u8]) -> Result<(Plan, bool), ApiError> {
    let request: Chat = body::parse(body)?;
    check_chat(&request)?;
    call.rename(Task::of_chat(&request).name());
    let account = Account::of(&request.model, Kind::Chat)
        .ok_or_else(|| super::models::wrong_kind(&request.model, "chat"))?;
    let content = content_hash(app.config.seed, "/v1/chat/completions", body);
    let admission = call.admit(&request.model, account, charge(&request), content)?;
    let plan =
        Plan::new(&request, app.config.latency, admission.mode, admission.draws, unix_seconds());
    Ok((plan, request.stream.unwrap_or(false)))
}

async fn answer(call: Call, plan: Plan, stream: bool) -> Response {
    let limits = call.limit_headers();
    let processing = [(PROCESSING_MS, plan.total.as_millis().to_string())];
    let tokens = plan.tokens();
    if stream {
        let body = PacedBody::body(call, plan.events(), tokens);
        return (limits, processing, EVENT_STREAM, body).into_response();
    }
    call.wait(plan.total).await;
    call.end(200, tokens);
    (limits, processing, Json(plan.completion())).into_response()
}
