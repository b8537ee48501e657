//! Starts the event loops, and ends them whatever they are doing.

use std::net::TcpListener;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;
use std::{io, thread};

use tokio::runtime::Builder;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use waitscope_serve::{Drained, Patience, serve};

use crate::config::Config;
use crate::provider_client::ClientError;
use crate::routes::app;
use crate::state::{Process, State};
use crate::store::PrepareError;

/// What is allowed beyond the drain time for giving connections back and closing the database.
const CLOSING: Duration = Duration::from_millis(500);

/// Threads of an event loop beside its workers: for name look-ups and for writing to the database.
const OTHER_BLOCKING_THREADS: usize = 128;

/// Why the service could not start, or could not go on.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The database cannot be opened or brought up to date.
    #[error(transparent)]
    Database(#[from] PrepareError),
    /// The provider's client cannot be built.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The system gives no thread, no event loop, or no listener.
    #[error("cannot start an event loop: {0}")]
    Io(#[from] io::Error),
    /// A fault of ours; the panic hook has told where.
    #[error("an event loop panicked: this is a fault of the service")]
    Panicked,
}

/// What an event loop tells the thread that watches over it.
enum News {
    Serving,
    Ended(Result<Drained, StartError>),
}

/// Serves on every listener with an event loop of its own, until `stop` is cancelled and the
/// requests in flight are answered. `serving` is called once, when all event loops serve.
///
/// This call blocks. It must not be made inside an event loop, and the process must have a default
/// `rustls` crypto provider. It returns within the drain time even when an event loop is held,
/// which is then left behind: the caller is expected to end the process.
///
/// # Errors
/// When the database cannot be opened, and when an event loop cannot start or breaks.
pub fn run(
    listeners: Vec<TcpListener>,
    config: &Config,
    stop: &CancellationToken,
    serving: impl FnOnce(),
) -> Result<Drained, StartError> {
    // The event loops can be held, so that nothing on them could end them in time: this thread
    // watches over them and does nothing else.
    let watching = Builder::new_current_thread().enable_all().build()?;
    watching.block_on(async {
        let Some(process) = stop.run_until_cancelled(Process::prepare(config)).await else {
            return Ok(Drained::Clean);
        };
        let process = Arc::new(process?);
        // Cancelled with `stop`, or when one event loop fails: then the others end too.
        let stop = stop.child_token();
        let _stop_all = stop.clone().drop_guard();
        let loops = listeners.len();
        let news = start(listeners, config, &process, &stop)?;
        watch(news, loops, &stop, config.drain, serving).await
    })
}

fn start(
    listeners: Vec<TcpListener>,
    config: &Config,
    process: &Arc<Process>,
    stop: &CancellationToken,
) -> Result<mpsc::UnboundedReceiver<News>, StartError> {
    let (tell, news) = mpsc::unbounded_channel();
    for (number, listener) in listeners.into_iter().enumerate() {
        let (config, stop) = (config.clone(), stop.clone());
        let (process, tell) = (Arc::clone(process), tell.clone());
        thread::Builder::new().name(format!("event-loop-{number}")).spawn(move || {
            let ended = event_loop(listener, &config, process, stop, &tell);
            // Nobody listens any more after the drain time.
            let _ = tell.send(News::Ended(ended));
        })?;
    }
    Ok(news)
}

async fn watch(
    mut news: mpsc::UnboundedReceiver<News>,
    loops: usize,
    stop: &CancellationToken,
    drain: Duration,
    serving: impl FnOnce(),
) -> Result<Drained, StartError> {
    let mut serving = Some(serving);
    let (mut not_serving, mut running) = (loops, loops);
    let mut outcome = Drained::Clean;
    let mut end = None;
    while running > 0 {
        let next = match end {
            None => tokio::select! {
                next = news.recv() => next,
                () = stop.cancelled() => {
                    end = Some(Instant::now() + drain + CLOSING);
                    continue;
                }
            },
            Some(end) => match timeout_at(end, news.recv()).await {
                Ok(next) => next,
                Err(_) => return Ok(Drained::Cut),
            },
        };
        match next.ok_or(StartError::Panicked)? {
            News::Serving => not_serving -= 1,
            News::Ended(ended) => {
                running -= 1;
                if ended? == Drained::Cut {
                    outcome = Drained::Cut;
                }
            }
        }
        if not_serving == 0
            && let Some(serving) = serving.take()
        {
            serving();
        }
    }
    Ok(outcome)
}

/// One event loop from its start to its end.
fn event_loop(
    listener: TcpListener,
    config: &Config,
    process: Arc<Process>,
    stop: CancellationToken,
    tell: &mpsc::UnboundedSender<News>,
) -> Result<Drained, StartError> {
    let threads = usize::from(config.threads.get()) + OTHER_BLOCKING_THREADS;
    let runtime =
        Builder::new_current_thread().enable_all().max_blocking_threads(threads).build()?;
    let outcome = or_panicked(|| {
        runtime.block_on(async {
            let state = State::connect(config, process).await?;
            // Connections queue in the listener until they are accepted.
            let _ = tell.send(News::Serving);
            let patience = Patience { drain: config.drain, ..Patience::default() };
            let drained = serve(listener, app(state.clone()), stop, patience).await?;
            // Workers whose client left are still at it; the watching thread bounds the wait.
            if drained == Drained::Clean {
                state.close().await;
            }
            Ok(drained)
        })
    });
    // Dropping the runtime, after a panic too, would wait for its worker threads.
    runtime.shutdown_background();
    outcome
}

/// Turns a panic into an error, so that the event loops that go on are told of it and end too.
fn or_panicked(
    event_loop: impl FnOnce() -> Result<Drained, StartError>,
) -> Result<Drained, StartError> {
    // What the panic left half-done is dropped with the runtime.
    catch_unwind(AssertUnwindSafe(event_loop)).unwrap_or(Err(StartError::Panicked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_and_anything_else_is_passed_on() {
        assert!(matches!(or_panicked(|| panic!("a fault")), Err(StartError::Panicked)));
        assert!(matches!(or_panicked(|| Ok(Drained::Cut)), Ok(Drained::Cut)));
    }

    /// Two event loops, of which the first one ends like this and the second one only when it is
    /// told to.
    async fn first_ends(ended: Result<Drained, StartError>) -> Result<Drained, StartError> {
        let (tell, news) = mpsc::unbounded_channel();
        let stop = CancellationToken::new();
        let (second, told) = (tell.clone(), stop.clone());
        tokio::spawn(async move {
            told.cancelled().await;
            second.send(News::Ended(Ok(Drained::Clean)))
        });
        if ended.is_ok() {
            stop.cancel();
        }
        tell.send(News::Ended(ended)).unwrap_or_else(|_| panic!("nobody watches"));
        watch(news, 2, &stop, Duration::from_mins(1), || {}).await
    }

    #[tokio::test]
    async fn one_event_loop_that_panics_ends_the_service() {
        let limit = Duration::from_secs(10);
        let watched = tokio::time::timeout(limit, first_ends(Err(StartError::Panicked))).await;
        assert!(matches!(watched, Ok(Err(StartError::Panicked))), "{watched:?}");
        let watched = tokio::time::timeout(limit, first_ends(Ok(Drained::Clean))).await;
        assert!(matches!(watched, Ok(Ok(Drained::Clean))), "{watched:?}");
    }
}
