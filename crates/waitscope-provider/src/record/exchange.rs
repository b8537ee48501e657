//! One call: passed on to the upstream, its answer passed back, and noted.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
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

/// How a call ended.
enum End {
    /// All of it was passed back.
    Whole,
    /// Why it was not.
    Broken(String),
}

impl Call {
    /// Runs it to its end and notes it.
    async fn run(mut self, asked: Asked, body: Bytes, head: oneshot::Sender<Response>) {
        let mut observed = Observer::default();
        let mut answer = None;
        let end = match self.send(&asked, body, head).await {
            Ok((response, head)) => {
                let headers = response.headers();
                observed = Observer::new(is_event_stream(headers));
                answer = Some((response.status().as_u16(), headers.clone()));
                self.pass_back(response, head, &mut observed).await
            }
            Err(why) => End::Broken(why),
        };
        let error = match end {
            Broken(why) => Some(why),
            Whole if observed.failed => Some("the upstream reported an error in its stream".to_owned()),
            Whole => None,
        };
        let latency = self.begun.elapsed();
        let Self { recorder, started_at, text, .. } = self;
        recorder.log.write(Entry {
            started_at,
            request: asked,
            answer,
            observed,
            latency,
            error,
            text,
        });
    }
}
