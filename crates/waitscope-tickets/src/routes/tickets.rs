//! `POST /v1/tickets`, `GET /v1/tickets` and `GET /v1/tickets/{id}`.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, Request, State as FromState};
use axum::{Extension, Json};
use http::header::LOCATION;
use http::{HeaderMap, StatusCode};

use super::body::read_json;
use super::error::ApiError;
use crate::domain::{
    FieldErrors, IdempotencyKey, NewTicket, PageRequest, Ticket, TicketId, TicketPage,
};
use crate::intake;
use crate::state::State;
use crate::trail::Trail;

type Created = (StatusCode, [(http::HeaderName, String); 1], Json<Ticket>);

/// Takes a ticket in.
pub(super) async fn create(
    FromState(state): FromState<State>,
    Extension(trail): Extension<Arc<Trail>>,
    request: Request,
) -> Result<Created, ApiError> {
    let idempotency_key = idempotency_key(request.headers())?;
    let new = NewTicket { idempotency_key, ..NewTicket::parse(&read_json(request).await?)? };
    let ticket = intake::create(state, new, trail).await?;
    let location = [(LOCATION, format!("/v1/tickets/{}", ticket.summary.ticket_id))];
    Ok((StatusCode::CREATED, location, Json(ticket)))
}

/// The key of a request that may be repeated, if it has one.
fn idempotency_key(headers: &HeaderMap) -> Result<Option<IdempotencyKey>, FieldErrors> {
    let mut values = headers.get_all(IdempotencyKey::HEADER).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let key = IdempotencyKey::parse(value.as_bytes()).filter(|_| values.next().is_none());
    let wrong = || {
        let most = IdempotencyKey::MAX_LEN;
        let message = format!("must be one value of 1 to {most} printable ASCII characters");
        FieldErrors::of(IdempotencyKey::HEADER, &message)
    };
    key.map(Some).ok_or_else(wrong)
}

/// Lists tickets.
pub(super) async fn list(
    FromState(state): FromState<State>,
    Extension(trail): Extension<Arc<Trail>>,
    RawQuery(query): RawQuery,
) -> Result<Json<TicketPage>, ApiError> {
    let page = PageRequest::parse(&query.unwrap_or_default())?;
    Ok(Json(intake::list(state, page, trail).await?))
}

/// Shows a ticket. What is no ticket's number is not found either.
pub(super) async fn find(
    FromState(state): FromState<State>,
    Extension(trail): Extension<Arc<Trail>>,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<Ticket>, ApiError> {
    let not_found = || ApiError::NotFound("there is no such ticket".into());
    let id = id.ok().and_then(|Path(text)| TicketId::parse(&text)).ok_or_else(not_found)?;
    intake::find(state, id, trail).await?.map(Json).ok_or_else(not_found)
}
