//! The HTTP server shell under waitscope's own servers: bind, serve, drain.
//!
//! It decides nothing about routes. The listener, the router and the stop token are passed in,
//! so that a server can be started by the binary, by a test and by another server alike.
//! `axum::serve` is not used: it sets no timer, so a client that sends half a request head would
//! hold its connection for ever.

mod listen;

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tower_http::timeout::RequestBodyTimeoutLayer;

pub use listen::{BindError, bind, bind_shared};

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
/// requests in flight finish.
///
/// Must be called inside a tokio runtime with I/O and time enabled; every connection runs on that
/// runtime. Dropping a connection drops its handler, so a client that leaves frees its place.
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
    let graceful = GracefulShutdown::new();
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _peer)) => spawn_connection(stream, &router, &graceful, patience),
                Err(error) => pause_after(&error).await,
            },
        }
    }
    drop(listener);
    Ok(tokio::select! {
        () = graceful.shutdown() => Drained::Clean,
        () = tokio::time::sleep(patience.drain) => Drained::Cut,
    })
}

fn spawn_connection(
    stream: TcpStream,
    router: &Router,
    graceful: &GracefulShutdown,
    patience: Patience,
) {
    // Small writes (one event of a stream each) must leave at once; a failure costs only latency.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY");
    }
    let service = TowerToHyperService::new(BodyFromHyper(router.clone()));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(patience.head)
        .serve_connection(TokioIo::new(stream), service);
    let connection = graceful.watch(connection);
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "connection ended early");
        }
    });
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

/// Turns hyper's request body into axum's, so that a [`Router`] serves a bare connection.
#[derive(Clone)]
struct BodyFromHyper(Router);

impl tower_service::Service<Request<Incoming>> for BodyFromHyper {
    type Response = axum::response::Response;
    type Error = Infallible;
    type Future = <Router as tower_service::Service<Request<Body>>>::Future;

    fn poll_ready(
        &mut self,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Infallible>> {
        tower_service::Service::<Request<Body>>::poll_ready(&mut self.0, context)
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        tower_service::Service::call(&mut self.0, request.map(Body::new))
    }
}
