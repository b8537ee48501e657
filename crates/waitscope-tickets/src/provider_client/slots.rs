//! How many calls may be in flight at once, over all event loops of the process.

use std::num::NonZeroUsize;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::config::IntakeMode;

/// The slots of the process, for the kind of waiting that its mode does.
#[derive(Debug)]
pub(crate) enum Slots {
    /// Tasks wait for a slot.
    Async(AsyncSlots),
    /// Threads wait for a slot.
    Blocking(BlockingSlots),
}

impl Slots {
    /// `None` is no bound: every call has a slot at once.
    pub(crate) fn new(mode: IntakeMode, bound: Option<NonZeroUsize>) -> Self {
        let bound = bound.map(NonZeroUsize::get);
        match mode {
            IntakeMode::Async => Self::Async(AsyncSlots::new(bound)),
            IntakeMode::Thread | IntakeMode::Blocking => Self::Blocking(BlockingSlots::new(bound)),
        }
    }
}

/// Slots on which tasks wait, in the order of their coming.
#[derive(Debug, Clone)]
pub(crate) struct AsyncSlots(Option<Arc<Semaphore>>);

impl AsyncSlots {
    fn new(bound: Option<usize>) -> Self {
        let semaphore = |bound: usize| Arc::new(Semaphore::new(bound.min(Semaphore::MAX_PERMITS)));
        Self(bound.map(semaphore))
    }

    /// Waits for a slot, which is held while the result lives.
    pub(super) async fn wait(&self) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed, so this does not fail.
        self.0.as_ref()?.acquire().await.ok()
    }
}

/// Slots on which threads wait.
#[derive(Debug, Clone)]
pub(crate) struct BlockingSlots(Option<Arc<Counter>>);

impl BlockingSlots {
    fn new(bound: Option<usize>) -> Self {
        let counter = |bound| Arc::new(Counter { free: Mutex::new(bound), freed: Condvar::new() });
        Self(bound.map(counter))
    }

    /// Holds the calling thread until there is a slot, which is held while the result lives.
    pub(super) fn block(&self) -> Option<BlockingSlot<'_>> {
        let counter = self.0.as_ref()?;
        let none_free = |free: &mut usize| *free == 0;
        let waited = counter.freed.wait_while(counter.free(), none_free);
        *waited.unwrap_or_else(PoisonError::into_inner) -= 1;
        Some(BlockingSlot(counter))
    }
}

#[derive(Debug)]
struct Counter {
    free: Mutex<usize>,
    freed: Condvar,
}

impl Counter {
    /// A count is whole whatever a panicking thread did, so a poisoned lock is taken.
    fn free(&self) -> MutexGuard<'_, usize> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Holds a slot while it lives.
#[derive(Debug)]
pub(super) struct BlockingSlot<'a>(&'a Counter);

impl Drop for BlockingSlot<'_> {
    fn drop(&mut self) {
        *self.0.free() += 1;
        self.0.freed.notify_one();
    }
}
