//! How long something took, apart from how long the event loop took to notice.
//!
//! A task that is woken runs when the event loop gets to it, which for one that is held is much
//! later. Taking the time around an `.await` would charge that to the database.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

/// Runs `work` and gives the time that it took itself: the time inside its polls, and from the end
/// of each poll to the call that woke it.
pub(crate) async fn time<T>(work: impl Future<Output = T>) -> (T, Duration) {
    let mut work = pin!(work);
    let mut watch = Stopwatch { took: Duration::ZERO, waiting: None };
    let output = std::future::poll_fn(|context| watch.poll(work.as_mut(), context)).await;
    (output, watch.took)
}

/// Runs `work` for at most `patience` of time in which the event loop was free to notice its end:
/// however long the loop is held, that counts as a tenth of the patience at most. A plain timeout
/// would pass with the answer lying in the socket.
pub(crate) async fn within<T>(patience: Duration, work: impl Future<Output = T>) -> Option<T> {
    const SLICES: u32 = 10;
    let mut work = pin!(work);
    for _ in 0..SLICES {
        if let Ok(output) = tokio::time::timeout(patience / SLICES, work.as_mut()).await {
            return Some(output);
        }
    }
    None
}

struct Stopwatch {
    took: Duration,
    waiting: Option<Waiting>,
}

/// A pending future: since when, and who will wake it.
struct Waiting {
    since: Instant,
    bell: Arc<Bell>,
}

impl Stopwatch {
    fn poll<F: Future>(&mut self, work: Pin<&mut F>, context: &mut Context<'_>) -> Poll<F::Output> {
        let started = Instant::now();
        if let Some(waiting) = self.waiting.take() {
            // Polled without having been woken, by a neighbour in the same task: it still waits.
            let until = waiting.bell.rung().unwrap_or(started);
            self.took += until.duration_since(waiting.since);
        }
        let bell = Arc::new(Bell { rung: Mutex::default(), task: context.waker().clone() });
        let waker = Waker::from(Arc::clone(&bell));
        let outcome = work.poll(&mut Context::from_waker(&waker));
        let ended = Instant::now();
        self.took += ended - started;
        if outcome.is_pending() {
            self.waiting = Some(Waiting { since: ended, bell });
        }
        outcome
    }
}

/// Wakes the task and notes when it was first asked to.
struct Bell {
    rung: Mutex<Option<Instant>>,
    task: Waker,
}

impl Bell {
    fn rung(&self) -> Option<Instant> {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.rung.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(Instant::now);
        self.task.wake_by_ref();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: Duration = Duration::from_millis(50);
    const HELD: Duration = Duration::from_millis(400);

    /// Something that answers from a thread of its own, as a database does.
    async fn answer() -> u32 {
        let (tell, told) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            nap(ANSWER);
            let _ = tell.send(7);
        });
        told.await.unwrap()
    }

    #[expect(clippy::disallowed_methods, reason = "this is how a thread or an event loop is held")]
    fn nap(duration: Duration) {
        std::thread::sleep(duration);
    }

    #[tokio::test]
    async fn the_time_for_which_the_event_loop_is_held_is_not_counted() {
        for held in [Duration::ZERO, HELD] {
            let started = Instant::now();
            let holder = async { nap(held) };
            let ((output, took), ()) = tokio::join!(time(answer()), holder);
            assert_eq!(output, 7);
            assert!(started.elapsed() >= held);
            // Well below the time for which the loop was held.
            assert!((ANSWER..HELD / 2).contains(&took), "held for {held:?}: {took:?}");
        }
    }

    #[tokio::test]
    async fn the_time_for_which_the_event_loop_is_held_tries_nobodys_patience() {
        // Two answers, one after the other, each lying there for as long as the loop is held.
        let two = async { answer().await + answer().await };
        let holder = async {
            for _ in 0..2 {
                tokio::task::yield_now().await;
                nap(HELD);
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let (output, ()) = tokio::join!(within(HELD, two), holder);
        assert_eq!(output, Some(14));
    }

    #[tokio::test]
    async fn patience_ends() {
        let started = Instant::now();
        assert_eq!(within(ANSWER, std::future::pending::<()>()).await, None);
        assert!(started.elapsed() >= ANSWER);
    }

    #[tokio::test]
    async fn time_inside_a_poll_is_counted() {
        let ((), took) = time(async { nap(ANSWER) }).await;
        assert!(took >= ANSWER, "{took:?}");
    }
}
