//! One writer at a time, in the order of their coming.
//!
//! `SQLite` lets one connection write; the others try again and again until their timeout has
//! passed. Where the event loop is held, a transaction takes as long as the requests that get in
//! between its statements, and those timeouts would pass. So the writers of this process queue
//! here, without a timeout.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{Mutex, MutexGuard};

use crate::store::StoreError;
use crate::trail::Trail;

/// The queue of the writers of one process.
#[derive(Debug, Clone, Default)]
pub(super) struct Turns(Arc<Mutex<LastBusy>>);

/// When a writer whose turn it was last found the database busy, which then is somebody else's
/// doing.
type LastBusy = Option<Instant>;

impl Turns {
    /// Waits for its turn. Those who were in the queue while another process kept the first one
    /// waiting in vain do not each wait in vain as well.
    pub(super) async fn wait(&self, trail: &Trail) -> Result<Turn<'_>, StoreError> {
        let queued = Instant::now();
        let last_busy = trail.database(self.0.lock()).await;
        if last_busy.is_some_and(|busy| busy > queued) {
            return Err(StoreError::Busy("another process keeps writing".into()));
        }
        Ok(Turn(last_busy))
    }
}

/// Nobody else in the process writes while this lives.
#[derive(Debug)]
pub(super) struct Turn<'a>(MutexGuard<'a, LastBusy>);

impl Turn<'_> {
    /// Notes how writing went.
    pub(super) fn end<T>(&mut self, outcome: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(StoreError::Busy(_)) = outcome {
            *self.0 = Some(Instant::now());
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trail::RequestId;

    #[tokio::test]
    async fn who_queued_behind_a_busy_database_does_not_wait_again() {
        let (turns, trail) = (Turns::default(), Trail::begin(RequestId::from_random(1)));
        let mut first = turns.wait(&trail).await.unwrap();
        let mut queued = Box::pin(turns.wait(&trail));
        assert!(still_waits(&mut queued).await, "one writer at a time");
        let busy: Result<(), _> = first.end(Err(StoreError::Busy("locked".into())));
        assert!(busy.is_err());
        drop(first);
        assert!(matches!(queued.await, Err(StoreError::Busy(_))));
        assert!(turns.wait(&trail).await.is_ok(), "who comes later tries again");
    }

    #[tokio::test]
    async fn who_queued_behind_a_success_or_another_failure_has_its_turn() {
        for outcome in [Ok(()), Err(StoreError::UnknownCustomer)] {
            let (turns, trail) = (Turns::default(), Trail::begin(RequestId::from_random(1)));
            let mut first = turns.wait(&trail).await.unwrap();
            let mut queued = Box::pin(turns.wait(&trail));
            assert!(still_waits(&mut queued).await);
            let _ = first.end(outcome);
            drop(first);
            assert!(queued.await.is_ok());
        }
    }

    /// Whether a future is still waiting after a first look.
    async fn still_waits<F: Future + Unpin>(future: &mut F) -> bool {
        tokio::select! {
            biased;
            _ = future => false,
            () = std::future::ready(()) => true,
        }
    }
}
