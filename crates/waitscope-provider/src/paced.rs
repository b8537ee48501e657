//! A response body whose pieces leave when they are due.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::Body;
use bytes::Bytes;
use http_body::Frame;
use tokio::time::{Instant, Sleep};

use crate::call::Call;
use crate::model::chat::Timed;

/// Sends each piece at its absolute deadline, so that a late piece does not delay the next ones.
pub(crate) struct PacedBody {
    pieces: Box<dyn Iterator<Item = Timed> + Send>,
    next: Option<Timed>,
    deadline: Instant,
    timer: Pin<Box<Sleep>>,
    /// Held until the last piece leaves; dropped sooner, it counts as left by its client.
    call: Option<Call>,
    tokens: (u64, u64),
}

impl PacedBody {
    /// The body of a call's answer; `tokens` are counted when the last piece leaves.
    pub(crate) fn body(
        call: Call,
        pieces: impl Iterator<Item = Timed> + Send + 'static,
        tokens: (u64, u64),
    ) -> Body {
        let mut pieces = Box::new(pieces);
        let next = pieces.next();
        let deadline = next.as_ref().map_or_else(Instant::now, |next| call.deadline(next.due));
        let timer = Box::pin(tokio::time::sleep_until(deadline));
        Body::new(Self { pieces, next, deadline, timer, call: Some(call), tokens })
    }

    /// Moves on to the piece after the one that leaves now.
    fn advance(&mut self) {
        self.next = self.pieces.next();
        match (&self.next, &self.call) {
            (Some(next), Some(call)) => {
                self.deadline = call.deadline(next.due);
                self.timer.as_mut().reset(self.deadline);
            }
            // Ended before the last piece is sent: who has read it finds the call counted.
            _ => {
                if let Some(call) = self.call.take() {
                    call.end(200, self.tokens);
                }
            }
        }
    }
}

impl http_body::Body for PacedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.next.is_none() {
            return Poll::Ready(None);
        }
        // A piece that is due already needs no timer, which would round up to the next 1 ms.
        if self.deadline > Instant::now() {
            ready!(self.timer.as_mut().poll(context));
        }
        let piece = self.next.take();
        self.advance();
        Poll::Ready(piece.map(|piece| Ok(Frame::data(Bytes::from(piece.text)))))
    }

    fn is_end_stream(&self) -> bool {
        self.next.is_none()
    }
}
