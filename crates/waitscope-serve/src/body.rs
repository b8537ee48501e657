//! Reading request bodies within bounds.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::BoxError;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, EXPECT};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt as _;
use tokio::time::Sleep;

/// How much of a request's body is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyLimits {
    /// The bytes of the longest body that is taken.
    pub taken: usize,
    /// The bytes of a longer one that are read and thrown away, so that its client is done with
    /// writing and reads the answer. Closing the connection at once would reset it under the
    /// client.
    pub discarded: usize,
}

/// Why there is no body.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// It is longer than [`BodyLimits::taken`].
    #[error("the body is too large")]
    TooLarge,
    /// It broke off, or stopped coming.
    #[error(transparent)]
    Broken(#[from] axum::Error),
}

/// Reads a request's body.
///
/// # Errors
/// When it is longer than `limits` allow, and when it does not arrive whole.
pub async fn read_body(request: Request, limits: BodyLimits) -> Result<Vec<u8>, BodyError> {
    let (head, body) = request.into_parts();
    let announced = announced_bytes(&head.headers);
    // A client that asks first has not begun to send.
    let can_be_told = head.headers.contains_key(EXPECT) || announced > limits.discarded;
    if announced > limits.taken && can_be_told {
        return Err(BodyError::TooLarge);
    }
    read(body, limits).await
}

async fn read(mut body: Body, limits: BodyLimits) -> Result<Vec<u8>, BodyError> {
    let (mut taken, mut received) = (Vec::new(), 0_usize);
    while let Some(frame) = body.frame().await {
        let data = frame?.into_data().unwrap_or_default();
        received = received.saturating_add(data.len());
        if received <= limits.taken {
            taken.extend_from_slice(&data);
        } else if received <= limits.discarded {
            taken = Vec::new();
        } else {
            break;
        }
    }
    if received > limits.taken { Err(BodyError::TooLarge) } else { Ok(taken) }
}

/// A body that did not come for too long: the source of a [`BodyError::Broken`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the body stopped coming")]
pub struct BodyStalled;

/// A body whose silences are limited. The timer is not started before the first of them: most
/// bodies are there with their head.
pub(crate) struct PatientBody<B> {
    body: B,
    patience: Duration,
    silence: Option<Pin<Box<Sleep>>>,
}

impl<B> PatientBody<B> {
    pub(crate) fn new(body: B, patience: Duration) -> Self {
        Self { body, patience, silence: None }
    }
}

impl<B> http_body::Body for PatientBody<B>
where
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            self.silence = None;
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let patience = self.patience;
        let silence = self.silence.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        ready!(silence.as_mut().poll(context));
        Poll::Ready(Some(Err(BodyStalled.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

fn announced_bytes(headers: &HeaderMap) -> usize {
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    length.and_then(|length| length.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn bodies_are_taken_up_to_the_limit() {
        let limits = BodyLimits { taken: 4, discarded: 8 };
        for (body, announced, asks_first, taken) in [
            ("", None, false, true),
            ("1234", None, false, true),
            ("1234", Some("4"), true, true),
            ("12345", None, false, false),
            ("123456789", None, false, false),
            ("", Some("5"), true, false),
            ("", Some("9"), false, false),
            ("1234", Some("many"), false, true),
        ] {
            let mut request = Request::new(Body::from(body));
            if let Some(announced) = announced {
                request.headers_mut().insert(CONTENT_LENGTH, announced.parse().unwrap());
            }
            if asks_first {
                request.headers_mut().insert(EXPECT, "100-continue".parse().unwrap());
            }
            match read_body(request, limits).await {
                Ok(read) => assert!(taken && read == body.as_bytes(), "{body} {announced:?}"),
                Err(error) => {
                    assert!(!taken, "{body} {announced:?}: {error}");
                    assert!(matches!(error, BodyError::TooLarge));
                }
            }
        }
    }
}
