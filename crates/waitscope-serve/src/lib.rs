//! The HTTP server shell under waitscope's own servers: bind, serve, drain.
//!
//! It decides nothing about routes. The listener, the router and the stop token are passed in,
//! so that a server can be started by the binary, by a test and by another server alike.
//! `axum::serve` is not used: it sets no timer, so a client that sends half a request head would
//! hold its connection for ever.

mod body;
mod connection;
mod listen;
mod wire;

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::Request;
use hyper::body::Incoming;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower_http::timeout::RequestBodyTimeoutLayer;

pub use body::{BodyError, BodyLimits, read_body};
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

/// Serves `router` on `listener` until `stop` is cancelled, then stops accepting and lets the
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
    router: Router,
    stop: CancellationToken,
    patience: Patience,
) -> io::Result<Drained> {
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let router = router.layer(RequestBodyTimeoutLayer::new(patience.body));
    let connections = TaskTracker::new();
    let start = |stream| {
        connections.spawn(connection::run(stream, router.clone(), stop.clone(), patience));
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
    Ok(tokio::select! {
        () = connections.wait() => Drained::Clean,
        () = tokio::time::sleep(patience.drain) => Drained::Cut,
    })
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

/// Turns hyper's request body into axum's, so that a [`Router`] serves a bare connection, and
/// gives every request the [`Wire`] that it came on.
#[derive(Clone)]
struct FromHyper {
    router: Router,
    wire: Wire,
}

impl tower_service::Service<Request<Incoming>> for FromHyper {
    type Response = axum::response::Response;
    type Error = Infallible;
    type Future = <Router as tower_service::Service<Request<Body>>>::Future;

    fn poll_ready(
        &mut self,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Infallible>> {
        tower_service::Service::<Request<Body>>::poll_ready(&mut self.router, context)
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(self.wire.clone());
        tower_service::Service::call(&mut self.router, request)
    }
}
