//! A response body that follows a script: each piece leaves in one write at its absolute deadline,
//! so that a late piece does not delay the next ones.
//!
//! A stream's pieces are written to the socket below hyper, each as one chunk: nearly all of a
//! stream's cost is one small write per token, and only so is each write's time known. Hyper
//! writes the head and the last chunk.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::Body;
use bytes::Bytes;
use http_body::Frame;
use tokio::time::{Instant, Sleep};
use tokio_util::sync::WaitForCancellationFutureOwned;
use waitscope_serve::Wire;

use crate::call::Call;
use crate::model::script::{Ending, Part, Piece, Script};

/// How many pieces that are due are written before other connections get their turn.
const WRITES_PER_TURN: usize = 64;

/// A body under way.
pub(crate) struct ScriptBody {
    pieces: Box<dyn Iterator<Item = Piece> + Send>,
    next: Option<Piece>,
    deadline: Instant,
    timer: Pin<Box<Sleep>>,
    ending: Ending,
    /// Held until the end; dropped sooner, it counts as left by its client.
    call: Call,
    tokens: (u64, u64),
    path: Path,
    /// Polled by a body that never ends by itself.
    stopped: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
}

/// How pieces reach the socket.
enum Path {
    /// Handed to hyper, one frame each.
    Hyper { flushes_before: Option<u64> },
    /// Written below hyper, each as a chunk, once hyper has written the head.
    Chunks { flushes_before: Option<u64>, unsent: Unsent },
}

/// What the kernel has not taken yet of a piece.
#[derive(Default)]
struct Unsent {
    bytes: Vec<u8>,
    sent: usize,
}

impl ScriptBody {
    /// The body of a stream; `tokens` are counted when the last piece leaves.
    pub(crate) fn stream(call: Call, script: Script, tokens: (u64, u64)) -> Body {
        let path = if call.wire.is_some() && call.chunked {
            Path::Chunks { flushes_before: None, unsent: Unsent::default() }
        } else {
            Path::Hyper { flushes_before: None }
        };
        Self::begin(call, script, tokens, path)
    }

    /// The body of a whole answer whose length is told.
    pub(crate) fn whole(call: Call, script: Script, tokens: (u64, u64)) -> Body {
        Self::begin(call, script, tokens, Path::Hyper { flushes_before: None })
    }

    fn begin(call: Call, script: Script, tokens: (u64, u64), path: Path) -> Body {
        let Script { mut pieces, ending } = script;
        let next = pieces.next();
        let deadline = next.as_ref().map_or_else(Instant::now, |next| call.deadline(next.due));
        let timer = Box::pin(tokio::time::sleep_until(deadline));
        let stopped =
            (ending == Ending::Open).then(|| Box::pin(call.app.stop.clone().cancelled_owned()));
        Body::new(Self { pieces, next, deadline, timer, ending, call, tokens, path, stopped })
    }

    /// Waits until the next piece is due and takes it.
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<(Piece, Instant)>> {
        if self.next.is_none() {
            return Poll::Ready(None);
        }
        // A piece that is due already needs no timer, which would round up to the next 1 ms.
        if self.deadline > Instant::now() {
            ready!(self.timer.as_mut().poll(context));
        }
        let due = self.deadline;
        let piece = std::mem::replace(&mut self.next, self.pieces.next());
        match &self.next {
            Some(next) => {
                self.deadline = self.call.deadline(next.due);
                self.timer.as_mut().reset(self.deadline);
            }
            // Ended before the last piece is sent: who has read it finds the call counted. A
            // connection that stays open keeps its call in flight until its client leaves.
            None if self.ending != Ending::Open => self.call.count(200, self.tokens),
            None => {}
        }
        Poll::Ready(piece.map(|piece| (piece, due)))
    }

    /// Writes pieces until the next one is not due yet.
    fn poll_chunks(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(wire) = self.call.wire.clone() else { return Poll::Ready(Ok(())) };
        for _ in 0..WRITES_PER_TURN {
            if let Path::Chunks { unsent, .. } = &mut self.path {
                ready!(unsent.poll_send(&wire, context))?;
            }
            let Some((piece, due)) = ready!(self.poll_piece(context)) else {
                return Poll::Ready(Ok(()));
            };
            let Path::Chunks { unsent, .. } = &mut self.path else { return Poll::Ready(Ok(())) };
            unsent.fill(&piece.bytes);
            let sent = unsent.poll_send(&wire, context);
            self.note(&piece, due);
            ready!(sent)?;
        }
        // Streams without waits must not keep the others from theirs.
        context.waker().wake_by_ref();
        Poll::Pending
    }

    fn note(&mut self, piece: &Piece, due: Instant) {
        if piece.part == Part::Token {
            self.call.produced(1);
        }
        self.call.wrote(due, Instant::now(), piece.bytes.len());
    }

    /// The end of the body, or of the connection.
    fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.ending == Ending::Complete {
            return Poll::Ready(None);
        }
        if let (Path::Hyper { flushes_before }, Some(wire)) = (&mut self.path, &self.call.wire) {
            // An error makes hyper drop what it has not written.
            ready!(poll_flushed(flushes_before, wire, context));
        }
        if let Some(stopped) = &mut self.stopped {
            // That the client leaves is noticed by hyper, which drops this body.
            ready!(stopped.as_mut().poll(context));
        }
        if let (Ending::Reset, Some(wire)) = (self.ending, &self.call.wire) {
            wire.reset();
        }
        Poll::Ready(Some(Err(io::Error::other("the answer is cut by a fault"))))
    }
}

impl Unsent {
    /// Takes bytes as one chunk (RFC 9112, 7.1).
    fn fill(&mut self, bytes: &[u8]) {
        use std::io::Write as _;
        self.bytes.clear();
        self.sent = 0;
        if bytes.is_empty() {
            // An empty chunk would end the body.
            return;
        }
        // Writing to memory cannot fail.
        let _ = write!(self.bytes, "{:x}\r\n", bytes.len());
        self.bytes.extend_from_slice(bytes);
        self.bytes.extend_from_slice(b"\r\n");
    }

    fn poll_send(&mut self, wire: &Wire, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.bytes.len() {
            match wire.try_write(&self.bytes[self.sent..]) {
                Ok(sent) => self.sent += sent,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    ready!(wire.poll_writable(context))?;
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// Waits until hyper has written what it holds.
fn poll_flushed(before: &mut Option<u64>, wire: &Wire, context: &mut Context<'_>) -> Poll<()> {
    match before {
        Some(before) if wire.flushes() > *before => Poll::Ready(()),
        Some(_) => Poll::Pending,
        None => {
            *before = Some(wire.flushes());
            let waker = context.waker().clone();
            wire.when_flushed(move |_| waker.wake());
            Poll::Pending
        }
    }
}

impl http_body::Body for ScriptBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let body = self.get_mut();
        match &mut body.path {
            Path::Chunks { flushes_before, .. } => {
                if let Some(wire) = &body.call.wire {
                    ready!(poll_flushed(flushes_before, wire, context));
                }
                ready!(body.poll_chunks(context))?;
            }
            Path::Hyper { .. } => {
                if let Some((piece, due)) = ready!(body.poll_piece(context)) {
                    body.note(&piece, due);
                    return Poll::Ready(Some(Ok(Frame::data(Bytes::from(piece.bytes)))));
                }
            }
        }
        body.poll_end(context)
    }
}
