//! One client's connection, from its first byte to its end.

use std::future::{Future as _, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedReadHalf;
use tokio_util::sync::CancellationToken;

use crate::wire::Wire;
use crate::{FromHyper, Handler, Patience};

/// Serves one connection until its client leaves, or until `stop` is cancelled and every request
/// that had arrived by then is answered. Errors are logged and end only this connection.
pub(crate) async fn run<S: Handler>(
    stream: TcpStream,
    handler: S,
    stop: CancellationToken,
    patience: Patience,
) {
    // Small writes (one event of a stream each) must leave at once; a failure costs only latency.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY");
    }
    let unread = Arc::new(AtomicBool::new(false));
    let (read, wire) = Wire::split(stream);
    let socket =
        Socket { read, wire: wire.clone(), stop: stop.clone(), unread: Arc::clone(&unread) };
    let service = FromHyper { handler, wire, body_patience: patience.body };
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(patience.head)
            .serve_connection(TokioIo::new(socket), service)
    );
    let ended = tokio::select! {
        biased;
        ended = &mut connection => ended,
        () = stop.cancelled() => finish(connection, &unread).await,
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection ended early");
    }
}

type Connection<S> = http1::Connection<TokioIo<Socket>, FromHyper<S>>;

/// Answers what has arrived. A connection that is told to shut down between two requests closes
/// at once: a request that is there already must be read first.
async fn finish<S: Handler>(
    mut connection: Pin<&mut Connection<S>>,
    unread: &AtomicBool,
) -> hyper::Result<()> {
    let early = poll_fn(|context| match connection.as_mut().poll(context) {
        Poll::Ready(ended) => Poll::Ready(Some(ended)),
        Poll::Pending if unread.load(Ordering::Relaxed) => Poll::Pending,
        Poll::Pending => Poll::Ready(None),
    });
    if let Some(ended) = early.await {
        return ended;
    }
    connection.as_mut().graceful_shutdown();
    connection.await
}

/// A client's socket that notes, once the server stops, whether the client has sent what is not
/// read yet. The runtime learns of new bytes only between two turns of its event loop, and a
/// handler may have held that: so the kernel is asked.
struct Socket {
    read: OwnedReadHalf,
    wire: Wire,
    stop: CancellationToken,
    unread: Arc<AtomicBool>,
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.read).poll_read(context, buffer);
        let unread = read.is_pending() && self.stop.is_cancelled() && self.wire.has_bytes();
        self.unread.store(unread, Ordering::Relaxed);
        read
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.wire.poll_write(context, |stream| stream.try_write(bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.wire.poll_write(context, |stream| stream.try_write_vectored(pieces))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Called when all is written.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.wire.flushed_now();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.wire.shutdown())
    }
}
