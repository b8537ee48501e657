//! One call: passed on to the upstream, its answer passed back, and noted.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use axum::Json;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, StatusCode};
use http_body::Frame;
use tokio::sync::{mpsc, oneshot};
use waitscope_serve::{BodyError, BodyLimits, read_body};
use waitscope_wire::openai::error::{Body as ErrorBody, Detail};

use super::Recorder;
use super::headers;
use super::line::{Asked, Entry, Says, Text, is_event_stream};
use super::observer::Observer;

/// A longer request than this is answered 413.
const LIMITS: BodyLimits = BodyLimits { taken: 64 * 1024 * 1024, discarded: 128 * 1024 * 1024 };
/// Reads of an answer that wait for a slow client, so that the times stay the upstream's.
const MOST_UNSENT: usize = 4_096;

/// Passes a request on. The call itself runs on its own: it is noted also when its client leaves.
pub(super) async fn forward(State(recorder): State<Arc<Recorder>>, request: Request) -> Response {
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let headers = request.headers().clone();
    let body = match read_body(request, LIMITS).await {
        Ok(body) => Bytes::from(body),
        Err(error) => return unread(&error),
    };
    let says = Says::read(&body);
    let kept = recorder.options.bodies.then(|| body.clone());
    let asked = Asked { method, uri, headers, body_bytes: body.len(), says, body: kept };
    let (head, answered) = oneshot::channel();
    let call = Call {
        recorder: Arc::clone(&recorder),
        begun: Instant::now(),
        started_at: jiff::Timestamp::now(),
        text: recorder.options.bodies.then(Text::default),
    };
    recorder.calls.spawn(call.run(asked, body, head));
    answered.await.unwrap_or_else(|_| failed("the recorder is stopping"))
}

/// A call in flight.
struct Call {
    recorder: Arc<Recorder>,
    begun: Instant,
    started_at: jiff::Timestamp,
    text: Option<Text>,
}

/// Why an answer was not passed back whole.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum Broken {
    #[error("the upstream cannot be reached: {0}")]
    Unreachable(String),
    #[error("the upstream broke off: {0}")]
    BrokeOff(String),
    #[error("the upstream reported an error in its stream")]
    ErrorEvent,
    #[error("the client left")]
    ClientLeft,
    #[error("cut: the recorder was stopped")]
    Stopped,
}

impl Call {
    /// Runs it to its end and notes it.
    async fn run(mut self, asked: Asked, body: Bytes, mut head: oneshot::Sender<Response>) {
        let mut observed = Observer::default();
        let mut answer = None;
        let passed = match self.send(&asked, body, &mut head).await {
            Ok(response) => {
                let headers = response.headers().clone();
                observed = Observer::new(is_event_stream(&headers));
                answer = Some((response.status().as_u16(), headers));
                self.pass_back(response, head, &mut observed).await
            }
            Err(broken) => {
                // Fails when the client has left, which needs no answer.
                let _ = head.send(failed(&broken.to_string()));
                Err(broken)
            }
        };
        let latency = self.begun.elapsed();
        let headers = answer.as_ref().map(|(_, headers)| headers);
        let error = judge(passed, headers, &observed).err().map(|broken| broken.to_string());
        let Self { recorder, started_at, text, .. } = self;
        let request = asked;
        recorder.log.write(Entry { started_at, request, answer, observed, latency, error, text });
    }

    /// Sends the request and waits for the head of the answer.
    async fn send(
        &self,
        asked: &Asked,
        body: Bytes,
        head: &mut oneshot::Sender<Response>,
    ) -> Result<reqwest::Response, Broken> {
        let Recorder { client, options, cut, .. } = &*self.recorder;
        let target = asked.uri.path_and_query().map_or("/", |target| target.as_str());
        let request = client.request(asked.method.clone(), options.upstream.url(target));
        let request = request.headers(headers::of_request(&asked.headers));
        let request = if body.is_empty() { request } else { request.body(body) };
        tokio::select! {
            biased;
            sent = request.send() => sent.map_err(|error| Broken::Unreachable(explain(error))),
            () = head.closed() => Err(Broken::ClientLeft),
            () = cut.cancelled() => Err(Broken::Stopped),
        }
    }

    /// Passes the answer back as it comes.
    async fn pass_back(
        &mut self,
        mut response: reqwest::Response,
        head: oneshot::Sender<Response>,
        observed: &mut Observer,
    ) -> Result<(), Broken> {
        let (pieces, unsent) = mpsc::channel(MOST_UNSENT);
        let mut answer = Response::new(Body::new(Passing { pieces: unsent, broken: None }));
        *answer.status_mut() = response.status();
        *answer.headers_mut() = headers::of_answer(response.headers());
        head.send(answer).map_err(|_| Broken::ClientLeft)?;
        let cut = &self.recorder.cut;
        loop {
            let read = tokio::select! {
                biased;
                read = response.chunk() => read,
                () = pieces.closed() => return Err(Broken::ClientLeft),
                () = cut.cancelled() => return Err(Broken::Stopped),
            };
            let now = self.begun.elapsed();
            let (piece, ended) = match read {
                Ok(None) => return Ok(()),
                Ok(Some(bytes)) => {
                    observed.read(&bytes, now);
                    if let Some(text) = &mut self.text {
                        text.add(&bytes);
                    }
                    (Ok(bytes), Ok(()))
                }
                Err(error) => {
                    let why = explain(error);
                    (Err(io::Error::other(why.clone())), Err(Broken::BrokeOff(why)))
                }
            };
            tokio::select! {
                biased;
                sent = pieces.send(piece) => sent.map_err(|_| Broken::ClientLeft)?,
                () = cut.cancelled() => return Err(Broken::Stopped),
            }
            ended?;
        }
    }
}

/// What a call is noted as. A client may leave once it has the whole answer: some do so at the
/// stream's last event, before the connection says that it was the last one.
fn judge(
    passed: Result<(), Broken>,
    headers: Option<&HeaderMap>,
    observed: &Observer,
) -> Result<(), Broken> {
    if observed.failed {
        return Err(Broken::ErrorEvent);
    }
    let announced = headers.and_then(|headers| headers.get(CONTENT_LENGTH)?.to_str().ok());
    let announced: Option<u64> = announced.and_then(|length| length.parse().ok());
    let is_whole = observed.ended || announced == Some(observed.bytes);
    if passed == Err(Broken::ClientLeft) && is_whole { Ok(()) } else { passed }
}

/// An answer's body on its way to the client. An error in it breaks the connection, as the
/// upstream's was.
struct Passing {
    pieces: mpsc::Receiver<io::Result<Bytes>>,
    /// An error that is told at the next poll: until then hyper writes what it holds, which an
    /// error makes it drop.
    broken: Option<io::Error>,
}

impl http_body::Body for Passing {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if let Some(error) = self.broken.take() {
            return Poll::Ready(Some(Err(error)));
        }
        match ready!(self.pieces.poll_recv(context)) {
            Some(Err(error)) => {
                self.broken = Some(error);
                context.waker().wake_by_ref();
                Poll::Pending
            }
            piece => Poll::Ready(piece.map(|piece| piece.map(Frame::data))),
        }
    }
}

/// The cause at the bottom, without the URL, which may hold a key.
fn explain(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

/// The answer to a call that the upstream did not answer, in `OpenAI`'s form.
fn failed(message: &str) -> Response {
    refusal(StatusCode::BAD_GATEWAY, "upstream_unavailable", message)
}

fn unread(error: &BodyError) -> Response {
    match error {
        BodyError::TooLarge => {
            let message = "the request is larger than 64 MiB";
            refusal(StatusCode::PAYLOAD_TOO_LARGE, "request_too_large", message)
        }
        BodyError::Broken(_) => {
            let message = "the request's body did not arrive whole";
            refusal(StatusCode::BAD_REQUEST, "incomplete_body", message)
        }
    }
}

fn refusal(status: StatusCode, code: &str, message: &str) -> Response {
    let error = Detail {
        message: format!("waitscope provider record: {message}"),
        kind: "server_error".to_owned(),
        param: None,
        code: Some(code.to_owned()),
    };
    (status, Json(ErrorBody { error })).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_may_leave_once_it_has_all() {
        let ten: HeaderMap = [(CONTENT_LENGTH, "10".parse().unwrap())].into_iter().collect();
        let seen = |bytes, ended, failed| {
            let mut observed = Observer::default();
            (observed.bytes, observed.ended, observed.failed) = (bytes, ended, failed);
            observed
        };
        for (headers, observed, passed, expected) in [
            (None, seen(0, false, false), Err(Broken::Stopped), Err(Broken::Stopped)),
            (None, seen(9, false, false), Err(Broken::ClientLeft), Err(Broken::ClientLeft)),
            (None, seen(9, true, false), Err(Broken::ClientLeft), Ok(())),
            (Some(&ten), seen(10, false, false), Err(Broken::ClientLeft), Ok(())),
            (Some(&ten), seen(9, false, false), Err(Broken::ClientLeft), Err(Broken::ClientLeft)),
            (Some(&ten), seen(10, false, false), Ok(()), Ok(())),
            (None, seen(9, false, true), Ok(()), Err(Broken::ErrorEvent)),
        ] {
            assert_eq!(judge(passed, headers, &observed), expected, "{observed:?}");
        }
    }
}
