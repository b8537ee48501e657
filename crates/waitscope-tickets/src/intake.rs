//! The intake of a ticket: check the customer, ask the provider three things, save.

use std::future::Future;
use std::sync::Arc;

use crate::domain::{AiWork, NewTicket, PageRequest, Ticket, TicketId, TicketPage};
use crate::provider_client::{Classify, DraftReply, Embed, ProviderClient, ProviderError};
use crate::state::State;
use crate::store::StoreError;
use crate::trail::Trail;

/// Why there is no ticket.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum IntakeError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Provider(#[from] ProviderError),
}

/// Takes a ticket in. It is saved with all of its AI work, or not at all. Under an idempotency key
/// that has opened a ticket before, that one is the answer.
pub(crate) async fn create(
    state: State,
    new: NewTicket,
    trail: Arc<Trail>,
) -> Result<Ticket, IntakeError> {
    match &state.0.workers {
        Some(workers) => {
            let state = state.clone();
            workers.run(async move { holding_a_connection(&state, &new, &trail).await }).await
        }
        None => giving_connections_back(&state, new, trail).await,
    }
}

/// Shows a ticket.
pub(crate) async fn find(
    state: State,
    id: TicketId,
    trail: Arc<Trail>,
) -> Result<Option<Ticket>, StoreError> {
    let asked = state.clone();
    let found = async move { asked.0.store.find(id, &trail).await };
    on_a_worker(&state, found).await
}

/// Lists tickets.
pub(crate) async fn list(
    state: State,
    page: PageRequest,
    trail: Arc<Trail>,
) -> Result<TicketPage, StoreError> {
    let asked = state.clone();
    let listed = async move { asked.0.store.list(&page, &trail).await };
    on_a_worker(&state, listed).await
}

/// Runs a whole request where the mode wants it.
async fn on_a_worker<T: Send + 'static>(
    state: &State,
    work: impl Future<Output = T> + Send + 'static,
) -> T {
    match &state.0.workers {
        Some(workers) => workers.run(work).await,
        None => work.await,
    }
}

/// No connection is held while the provider is waited for. With the blocking client the event
/// loop is, which is all the difference between the modes `async` and `blocking`.
async fn giving_connections_back(
    state: &State,
    new: NewTicket,
    trail: Arc<Trail>,
) -> Result<Ticket, IntakeError> {
    if let Some(before) = state.0.store.admit(&new, &trail).await? {
        return Ok(before);
    }
    let work = ask_provider(&state.0.provider, &new, &trail).await?;
    Ok(state.0.store.save(new, work, trail).await?)
}

/// One connection with an open transaction is held for the whole request, as in a service that
/// opens its transaction first and thinks of nothing else.
async fn holding_a_connection(
    state: &State,
    new: &NewTicket,
    trail: &Trail,
) -> Result<Ticket, IntakeError> {
    let work = async { Ok(ask_provider(&state.0.provider, new, trail).await?) };
    state.0.store.save_holding(new, Box::pin(work), trail).await
}

/// Asks for the three parts, one after the other: the reply is written in the name of the team.
async fn ask_provider(
    provider: &ProviderClient,
    new: &NewTicket,
    trail: &Trail,
) -> Result<AiWork, ProviderError> {
    let (classification, classified) = provider.ask(&Classify(new), trail).await?;
    let team = classification.team;
    let (draft_reply, drafted) = provider.ask(&DraftReply { ticket: new, team }, trail).await?;
    let (embedding, embedded) = provider.ask(&Embed(new), trail).await?;
    Ok(AiWork { classification, draft_reply, embedding, runs: [classified, drafted, embedded] })
}
