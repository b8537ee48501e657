//! `POST /v1/tickets` and `GET /v1/tickets/{id}`.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State as FromState};
use axum::{Extension, Json};
use http::StatusCode;
use http::header::LOCATION;

use super::body::read_json;
use super::error::ApiError;
use crate::domain::{NewTicket, Ticket, TicketId};
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
    let new = NewTicket::parse(&read_json(request).await?)?;
    let ticket = intake::create(state, new, trail).await?;
    let location = [(LOCATION, format!("/v1/tickets/{}", ticket.ticket_id))];
    Ok((StatusCode::CREATED, location, Json(ticket)))
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
