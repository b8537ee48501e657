//! Worker threads that run whole requests.

use std::future::Future;
use std::panic::resume_unwind;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;

/// A bounded number of worker threads. The bound is a semaphore before `spawn_blocking` and not
/// the runtime's own limit, because name look-ups use the runtime's threads too.
#[derive(Debug)]
pub(crate) struct Workers {
    free: Arc<Semaphore>,
    threads: u16,
}

impl Workers {
    /// At most `threads` requests run at a time.
    pub(crate) fn new(threads: u16) -> Self {
        Self { free: Arc::new(Semaphore::new(threads.into())), threads }
    }

    /// Runs `work` on a worker thread, which waits with it from its start to its end. A caller
    /// that stops waiting leaves the thread to finish its work, as threads do.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> T {
        let place = Arc::clone(&self.free).acquire_owned().await;
        let handle = Handle::current();
        let worker = tokio::task::spawn_blocking(move || {
            let _place = place;
            handle.block_on(work)
        });
        match worker.await {
            Ok(outcome) => outcome,
            Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
            // Never started: the runtime is shutting down and drops this caller too.
            Err(_) => std::future::pending().await,
        }
    }

    /// Waits until no worker is busy.
    pub(crate) async fn idle(&self) {
        // The semaphore is never closed, so this does not fail.
        let _all = self.free.acquire_many(self.threads.into()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_reaches_the_caller_and_frees_its_place() {
        let workers = Arc::new(Workers::new(1));
        let broken = Arc::clone(&workers);
        let work = async { panic!("broken") };
        let caller = tokio::spawn(async move { broken.run::<()>(work).await });
        assert!(caller.await.unwrap_err().is_panic());
        assert_eq!(workers.run(async { 7 }).await, 7);
    }

    #[tokio::test]
    async fn work_goes_on_when_its_caller_has_left() {
        let workers = Workers::new(1);
        let (begun, wait_begun) = tokio::sync::oneshot::channel();
        let (done, mut wait_done) = tokio::sync::oneshot::channel();
        let work = async move {
            let _ = begun.send(());
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            let _ = done.send(());
        };
        tokio::select! {
            () = workers.run(work) => panic!("the caller leaves first"),
            _ = wait_begun => {}
        }
        assert!(wait_done.try_recv().is_err(), "it is still at it");
        workers.idle().await;
        assert!(wait_done.try_recv().is_ok());
    }
}
