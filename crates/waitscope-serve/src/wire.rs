//! The socket under a connection, for servers that speak below HTTP: exact write times, one write
//! per event of a stream, and faults that no HTTP library would send.

use std::fmt;
use std::io;
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use socket2::SockRef;
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::Instant;

/// A handle to the socket of the connection that a request came on; every request carries one in
/// its extensions.
///
/// HTTP's own bytes come first: whoever writes here must have seen [`flushes`](Self::flushes) rise
/// since the head of the answer was handed to HTTP, and must keep to the head's framing.
#[derive(Clone)]
pub struct Wire(Arc<Shared>);

struct Shared {
    /// `None` only while it is dropped.
    stream: Option<OwnedWriteHalf>,
    /// How often HTTP had written all that it held.
    flushes: AtomicU64,
    broken: AtomicBool,
    /// What is to be told of the next flush.
    flushed: Mutex<Option<Flushed>>,
}

type Flushed = Box<dyn FnOnce(Instant) + Send>;

impl Wire {
    /// Splits a connection into what reads and what writes.
    pub(crate) fn split(stream: TcpStream) -> (OwnedReadHalf, Self) {
        let (read, write) = stream.into_split();
        let wire = Self(Arc::new(Shared {
            stream: Some(write),
            flushes: AtomicU64::new(0),
            broken: AtomicBool::new(false),
            flushed: Mutex::new(None),
        }));
        (read, wire)
    }

    fn stream(&self) -> io::Result<&TcpStream> {
        self.0.stream.as_ref().map(AsRef::as_ref).ok_or(io::ErrorKind::NotConnected.into())
    }

    /// How often HTTP had nothing left to write: it rises after each part of an answer that was
    /// handed to the kernel.
    pub fn flushes(&self) -> u64 {
        self.0.flushes.load(Ordering::Relaxed)
    }

    /// Tells when HTTP has next written all that it holds. Dropped untold when the connection ends
    /// before.
    pub fn when_flushed(&self, tell: impl FnOnce(Instant) + Send + 'static) {
        *self.flushed() = Some(Box::new(tell));
    }

    /// Writes what the kernel takes at once.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] when it takes nothing (see
    /// [`poll_writable`](Self::poll_writable)), and when the connection is gone.
    pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.broken.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        self.stream()?.try_write(bytes)
    }

    /// Waits until the kernel takes bytes again.
    ///
    /// # Errors
    /// When the runtime shuts down.
    pub fn poll_writable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_write_ready(context)
    }

    /// From now on nothing more is written, and when the connection is closed its client sees a
    /// reset (RST) instead of an end (FIN): RFC 9293, 3.10.4, an abort.
    pub fn reset(&self) {
        let linger = |stream| SockRef::from(stream).set_linger(Some(Duration::ZERO));
        if let Err(error) = self.stream().and_then(linger) {
            tracing::debug!(%error, "SO_LINGER");
        }
        self.0.broken.store(true, Ordering::Relaxed);
    }

    /// Whether the client has sent what is not read yet: the kernel is asked.
    pub(crate) fn has_bytes(&self) -> bool {
        let mut byte = [std::mem::MaybeUninit::uninit()];
        let peek = |stream| SockRef::from(stream).peek(&mut byte);
        self.stream().and_then(peek).is_ok_and(|bytes| bytes > 0)
    }

    /// `write` is one attempt; it is repeated until the kernel takes bytes.
    pub(crate) fn poll_write(
        &self,
        context: &mut Context<'_>,
        write: impl Fn(&TcpStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        if self.0.broken.load(Ordering::Relaxed) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        let stream = self.stream()?;
        loop {
            ready!(stream.poll_write_ready(context))?;
            match write(stream) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
        }
    }

    /// HTTP has written all that it holds.
    pub(crate) fn flushed_now(&self) {
        self.0.flushes.fetch_add(1, Ordering::Relaxed);
        if let Some(tell) = self.flushed().take() {
            tell(Instant::now());
        }
    }

    pub(crate) fn shutdown(&self) -> io::Result<()> {
        self.stream().and_then(|stream| SockRef::from(stream).shutdown(Shutdown::Write))
    }

    fn flushed(&self) -> std::sync::MutexGuard<'_, Option<Flushed>> {
        self.0.flushed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // By itself it would end the connection (FIN), and a reset must come before that.
        if let Some(stream) = self.stream.take() {
            stream.forget();
        }
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.debug_struct("Wire").field("flushes", &self.flushes()).finish_non_exhaustive()
    }
}
