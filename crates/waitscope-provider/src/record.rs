//! A proxy before a real provider that records each call's times as a line of JSON, for
//! `--latency file:` and for `waitscope provider fit`.
//!
//! It passes on what it gets, unbuffered, and writes down times, sizes and headers: texts only when
//! told to, keys never. The lines are described in `docs/recordings.md`.

mod content;
mod exchange;
mod headers;
mod line;
mod log;
mod observer;
mod secrets;
mod upstream;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use waitscope_serve::{Drained, Patience};

pub use log::{Log, Logged};
pub use upstream::{InvalidUpstream, Upstream};

/// How long an unused connection to the upstream is kept: less than servers keep theirs, so that a
/// call does not meet a connection that is just being closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15);
/// How long a connection to the upstream may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// How long calls may take to be noted once all their clients are served.
const NOTING: Duration = Duration::from_secs(1);

/// What a recorder is told at its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Where the calls go.
    pub upstream: Upstream,
    /// Whether the texts of requests and answers are written as well.
    pub bodies: bool,
}

/// How a recorder ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    /// Whether calls in flight were cut; these are noted as such.
    pub drained: Drained,
    /// What became of the lines.
    pub logged: Logged,
}

/// Why a recorder could not work.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// There is no HTTP client to be had, for want of root certificates for instance.
    #[error("cannot set up the client of the upstream: {0}")]
    Client(#[from] reqwest::Error),
    /// The runtime cannot register the listener.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// What all calls share.
#[derive(Debug)]
struct Recorder {
    client: reqwest::Client,
    options: Options,
    log: Log,
    calls: TaskTracker,
    /// Cancelled when calls in flight must end.
    cut: CancellationToken,
}

/// Proxies calls until `stop` is cancelled; must be called inside a tokio runtime with I/O and time
/// enabled, and needs a `rustls` crypto provider installed. Calls in flight are then given some
/// time to end, and noted as cut when they do not.
///
/// # Errors
/// When there is no HTTP client or the listener cannot be registered.
pub async fn serve(
    listener: std::net::TcpListener,
    options: Options,
    log: Log,
    stop: CancellationToken,
) -> Result<Recorded, RecordError> {
    let client = client(&options.upstream)?;
    let (calls, cut) = (TaskTracker::new(), CancellationToken::new());
    let recorder = Arc::new(Recorder { client, options, log, calls, cut });
    let router = Router::new().fallback(exchange::forward).with_state(Arc::clone(&recorder));
    let patience = Patience::default();
    // Noted as cut a moment before the server drops them, which looks like a client that leaves.
    let (stopped, cut) = (stop.clone(), recorder.cut.clone());
    tokio::spawn(async move {
        stopped.cancelled().await;
        tokio::time::sleep(patience.drain.saturating_sub(NOTING)).await;
        cut.cancel();
    });
    let drained = waitscope_serve::serve(listener, router, stop, patience).await?;
    recorder.calls.close();
    if drained == Drained::Clean {
        // Their clients have all they wanted: what is left is to read the end.
        let _ = tokio::time::timeout(NOTING, recorder.calls.wait()).await;
    }
    recorder.cut.cancel();
    recorder.calls.wait().await;
    Ok(Recorded { drained, logged: recorder.log.close() })
}

fn client(upstream: &Upstream) -> reqwest::Result<reqwest::Client> {
    reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(IDLE_TIMEOUT)
        // A proxy from the environment would be measured in the provider's place.
        .no_proxy()
        // The client decides whether to follow, as it would without a recorder.
        .redirect(reqwest::redirect::Policy::none())
        // For plain http no certificate is ever looked at, and a machine without any is fine.
        .tls_danger_accept_invalid_certs(upstream.is_plain())
        .build()
}
