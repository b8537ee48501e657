//! The HTTP server shell under waitscope's own servers: bind, serve, drain.
//!
//! It decides nothing about routes, but for the two with which an API describes itself: see
//! [`openapi`]. The listener, the handler and the stop token are passed in, so that a server can be
//! started by the binary, by a test and by another server alike.
//! `axum::serve` is not used: it sets no timer, so a client that sends half a request head would
//! hold its connection for ever.

mod body;
mod connection;
mod listen;
pub mod openapi;
mod wire;

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use http::Request;
use hyper::body::Incoming;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower_service::Service;

use body::PatientBody;

pub use body::{BodyError, BodyLimits, BodyStalled, read_body};
pub use listen::{BindError, bind, bind_shared};
pub use wire::Wire;

/// The status under which a request is logged and counted whose client left before its answer was
/// complete: nginx's convention. It is never sent.
pub const CLIENT_LEFT: u16 = 499;

/// How patient a server is with its clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// How long a client may take for a whole request head; an idle kept-alive connection counts.
    pub head: Duration,
    /// The longest silence inside a request body.
    pub body: Duration,
    /// How long requests in flight may take to finish once the server is told to stop.
    pub drain: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            head: Duration::from_secs(30),
            body: Duration::from_secs(30),
            drain: Duration::from_secs(10),
        }
    }
}

/// How a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drained {
    /// Every request in flight was answered.
    Clean,
    /// Some connections were still busy after [`Patience::drain`] and were cut.
    Cut,
}

/// Serves `handler` on `listener` until `stop` is cancelled, then stops accepting and lets the
/// requests that have arrived finish, those too that nobody has read yet: in connections that wait
/// to be accepted, and in those that were idle.
///
/// Must be called inside a tokio runtime with I/O and time enabled; every connection runs on that
/// runtime. Dropping a connection drops its handler, so a client that leaves frees its place. A
/// client that closes only its sending side counts as one that leaves: until something is written
/// to it, the two look the same.
///
/// # Errors
/// When the runtime cannot register the listener. Errors of single connections are logged and
/// end only that connection.
pub async fn serve(
    listener: std::net::TcpListener,
    handler: impl Handler,
    stop: CancellationToken,
    patience: Patience,
) -> io::Result<Drained> {
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let connections = TaskTracker::new();
    let cut = CancellationToken::new();
    let start = |stream| {
        let serving = connection::run(stream, handler.clone(), stop.clone(), patience);
        connections.spawn(cut.clone().run_until_cancelled_owned(serving));
    };
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _peer)) => start(stream),
                Err(error) => pause_after(&error).await,
            },
        }
    }
    waiting(listener.into_std()?).for_each(start);
    connections.close();
    let drained = tokio::select! {
        () = connections.wait() => Drained::Clean,
        () = tokio::time::sleep(patience.drain) => Drained::Cut,
    };
    // Whoever is cut is dropped before this returns, so that what counts requests has counted all.
    cut.cancel();
    connections.wait().await;
    Ok(drained)
}

/// The connections that the kernel holds ready to be accepted, which closing the listener would
/// reset. As many as the kernel holds are taken, so that new ones cannot keep a server from ending.
fn waiting(listener: std::net::TcpListener) -> impl Iterator<Item = TcpStream> {
    let accept = move |_| {
        let (stream, _peer) = listener.accept().ok()?;
        stream.set_nonblocking(true).ok()?;
        TcpStream::from_std(stream).ok()
    };
    (0..listen::BACKLOG).map_while(accept)
}

/// A failed accept is either one client's (it left already) or ours (no file descriptors left):
/// in the second case trying again at once would spin at 100 % CPU.
async fn pause_after(error: &io::Error) {
    let client_left = matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    );
    if !client_left {
        tracing::warn!(%error, "cannot accept connections for the moment");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// What answers requests: an axum router, or what is wrapped around one.
pub trait Handler:
    Service<Request<Body>, Response = Response, Error = Infallible, Future: Send>
    + Clone
    + Send
    + 'static
{
}

impl<S> Handler for S where
    S: Service<Request<Body>, Response = Response, Error = Infallible, Future: Send>
        + Clone
        + Send
        + 'static
{
}

/// Turns hyper's requests into axum's: gives each the [`Wire`] that it came on, and its body a
/// limited patience.
struct FromHyper<S> {
    handler: S,
    wire: Wire,
    body_patience: Duration,
}

impl<S: Handler> hyper::service::Service<Request<Incoming>> for FromHyper<S> {
    type Response = Response;
    type Error = Infallible;
    type Future = S::Future;

    fn call(&self, request: Request<Incoming>) -> S::Future {
        let patient = |body| Body::new(PatientBody::new(body, self.body_patience));
        let mut request = request.map(patient);
        request.extensions_mut().insert(self.wire.clone());
        // A router is always ready.
        self.handler.clone().call(request)
    }
}
