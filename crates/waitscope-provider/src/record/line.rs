//! One call as it is written.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Uri};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::headers;
use super::observer::Observer;
use super::secrets::Secrets;

/// How much of a text is written.
const MOST_TEXT_BYTES: usize = 1024 * 1024;
/// The longest model name or error that is written, in characters.
const MOST_CHARACTERS: usize = 300;

/// A call that is over, with all that its line is made from.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) started_at: jiff::Timestamp,
    pub(super) request: Asked,
    /// The status and the headers of the answer, when there was one.
    pub(super) answer: Option<(u16, HeaderMap)>,
    pub(super) observed: Observer,
    pub(super) latency: Duration,
    /// Why the answer is not whole.
    pub(super) error: Option<String>,
    /// The text of the answer, as far as it is kept; `None` when texts are not written.
    pub(super) text: Option<Text>,
}

/// A request, as far as it is written.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) method: Method,
    pub(super) uri: Uri,
    pub(super) headers: HeaderMap,
    pub(super) body_bytes: usize,
    pub(super) says: Says,
    /// `None` when texts are not written.
    pub(super) body: Option<Bytes>,
}

/// What of a request's body is written without its text.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Says {
    #[serde(default)]
    model: Value,
    #[serde(default)]
    stream: Value,
}

impl Says {
    /// Reads a body; one that is no JSON object says nothing.
    pub(super) fn read(body: &[u8]) -> Self {
        let is_object = body.trim_ascii_start().first() == Some(&b'{');
        is_object.then(|| serde_json::from_slice(body).ok()).flatten().unwrap_or_default()
    }
}

/// The beginning of an answer's text.
#[derive(Debug, Default)]
pub(super) struct Text {
    bytes: Vec<u8>,
    is_cut: bool,
}

impl Text {
    /// Adds what fits.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        let room = MOST_TEXT_BYTES - self.bytes.len();
        self.is_cut |= bytes.len() > room;
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn written(&self, secrets: &Secrets) -> String {
        let text = String::from_utf8_lossy(&self.bytes);
        if self.is_cut { secrets.redact_cut(&text) } else { secrets.redact(text).into_owned() }
    }
}

/// The line. The fields are described in `docs/recordings.md`.
#[derive(Debug, Serialize)]
struct Line {
    started_at: String,
    method: String,
    path: String,
    model: Option<String>,
    stream: bool,
    status: Option<u16>,
    latency_ms: f64,
    ttft_ms: Option<f64>,
    gaps_ms: Option<Vec<f64>>,
    coalesced_events: Option<u64>,
    request_bytes: usize,
    response_bytes: u64,
    request_headers: Map<String, Value>,
    headers: Map<String, Value>,
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_body: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_body: Option<String>,
}

impl Entry {
    /// How much memory its texts take.
    pub(super) fn text_bytes(&self) -> usize {
        let request = self.request.body.as_ref().map_or(0, Bytes::len);
        request + self.text.as_ref().map_or(0, |text| text.bytes.len())
    }

    /// The line, with its line feed and without a secret.
    pub(super) fn line(&self) -> String {
        let asked = &self.request;
        let secrets = Secrets::of(&asked.headers, &asked.uri);
        let observed = &self.observed;
        let is_stream = match &self.answer {
            Some((_, headers)) => is_event_stream(headers),
            None => asked.says.stream == Value::Bool(true),
        };
        let ttft = observed.ttft();
        let none = HeaderMap::new();
        let headers = self.answer.as_ref().map_or(&none, |(_, headers)| headers);
        let request_body = asked.body.as_ref().map(|body| {
            let mut text = Text::default();
            text.add(body);
            text.written(&secrets)
        });
        let short =
            |text: &str| -> String { secrets.redact(text).chars().take(MOST_CHARACTERS).collect() };
        let line = Line {
            started_at: self.started_at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
            method: asked.method.to_string(),
            path: short(asked.uri.path()),
            model: asked.says.model.as_str().map(short),
            stream: is_stream,
            status: self.answer.as_ref().map(|(status, _)| *status),
            latency_ms: ms(self.latency),
            ttft_ms: ttft.map(ms),
            gaps_ms: ttft.map(|_| observed.gaps.iter().copied().map(ms).collect()),
            coalesced_events: ttft.map(|_| observed.coalesced_events),
            request_bytes: asked.body_bytes,
            response_bytes: observed.bytes,
            request_headers: headers::written_of_request(&asked.headers, &secrets),
            headers: headers::written_of_answer(headers, &secrets),
            error: self.error.as_deref().map(short),
            request_body,
            response_body: self.text.as_ref().map(|text| text.written(&secrets)),
        };
        // Strings and numbers in memory can always be written.
        serde_json::to_string(&line).unwrap_or_default() + "\n"
    }
}

/// Whether an answer is an event stream.
pub(super) fn is_event_stream(headers: &HeaderMap) -> bool {
    let content_type = headers.get(http::header::CONTENT_TYPE);
    content_type.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

/// Milliseconds to the microsecond.
fn ms(wait: Duration) -> f64 {
    (wait.as_secs_f64() * 1e6).round() / 1_000.0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::recording::Recording;

    const KEY: &str = "sk-12345678";

    fn entry(bodies: bool) -> Entry {
        let body = json!({"model": "m", "stream": true, "key": KEY}).to_string();
        let headers: HeaderMap = [
            (http::header::AUTHORIZATION, format!("Bearer {KEY}").parse().unwrap()),
            (http::header::USER_AGENT, "test".parse().unwrap()),
        ]
        .into_iter()
        .collect();
        let answer: HeaderMap = [
            (http::header::CONTENT_TYPE, "text/event-stream; charset=utf-8".parse().unwrap()),
            (http::header::SET_COOKIE, "session=1".parse().unwrap()),
            (http::header::SERVER, format!("echo {KEY}").parse().unwrap()),
        ]
        .into_iter()
        .collect();
        let mut observed = Observer::new(true);
        let mut text = Text::default();
        for ms in [300, 340, 390] {
            let piece =
                format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{KEY}\"}}}}]}}\n\n");
            observed.read(piece.as_bytes(), Duration::from_millis(ms));
            text.add(piece.as_bytes());
        }
        Entry {
            started_at: "2026-10-10T12:00:00.5Z".parse().unwrap(),
            request: Asked {
                method: Method::POST,
                uri: format!("/v1/{KEY}/chat/completions?key={KEY}").parse().unwrap(),
                headers,
                body_bytes: body.len(),
                says: Says::read(body.as_bytes()),
                body: bodies.then(|| body.into()),
            },
            answer: Some((200, answer)),
            observed,
            latency: Duration::from_micros(400_250),
            error: None,
            text: bodies.then_some(text),
        }
    }

    #[test]
    fn a_line_has_times_and_no_key() {
        let line = entry(false).line();
        assert!(!line.contains(KEY), "{line}");
        let value: Value = serde_json::from_str(&line).unwrap();
        for (field, expected) in [
            ("started_at", json!("2026-10-10T12:00:00.500Z")),
            ("method", json!("POST")),
            ("path", json!("/v1/[redacted]/chat/completions")),
            ("model", json!("m")),
            ("stream", json!(true)),
            ("status", json!(200)),
            ("latency_ms", json!(400.25)),
            ("ttft_ms", json!(300.0)),
            ("gaps_ms", json!([40.0, 50.0])),
            ("coalesced_events", json!(0)),
            ("request_headers", json!({"user-agent": "test"})),
            ("error", Value::Null),
        ] {
            assert_eq!(value[field], expected, "{field}");
        }
        assert!(value["headers"].get("set-cookie").is_none());
        assert!(value.get("request_body").is_none() && value.get("response_body").is_none());
    }

    #[test]
    fn texts_are_written_when_asked_for_but_no_key() {
        let line = entry(true).line();
        assert!(!line.contains(KEY), "{line}");
        let value: Value = serde_json::from_str(&line).unwrap();
        assert!(value["request_body"].as_str().unwrap().contains("\"model\":\"m\""));
        assert!(value["response_body"].as_str().unwrap().contains("[redacted]"));
    }

    #[test]
    fn a_line_can_be_replayed() {
        let recording = Recording::read("r", entry(true).line().as_bytes()).unwrap();
        assert_eq!(recording.latency(0), Duration::from_micros(400_250));
        assert_eq!(recording.due(0, 2), Duration::from_millis(390));
        let error = || Some("the client left".to_owned());
        let broken = Entry { error: error(), ..entry(false) };
        let observed = Observer::default();
        let refused = Entry { answer: None, observed, error: error(), ..entry(false) };
        for failed in [&broken, &refused] {
            let lines = [entry(false).line(), failed.line()].concat();
            let recording = Recording::read("r", lines.as_bytes()).unwrap();
            assert_eq!((recording.replayable(), recording.failed()), (1, 1), "{lines}");
        }
    }

    #[test]
    fn long_texts_are_cut() {
        let mut text = Text::default();
        for _ in 0..3 {
            text.add(&vec![b'x'; MOST_TEXT_BYTES / 2]);
        }
        assert!(text.is_cut);
        assert_eq!(text.written(&Secrets::default()).len(), MOST_TEXT_BYTES);
    }

    #[test]
    fn bodies_say_what_they_ask_for() {
        for (body, model, stream) in [
            (r#"{"model": "m", "stream": true}"#, json!("m"), json!(true)),
            (r#"{"model": ["m"]}"#, json!(["m"]), Value::Null),
            ("[1, 2]", Value::Null, Value::Null),
            ("{", Value::Null, Value::Null),
            ("", Value::Null, Value::Null),
        ] {
            let says = Says::read(body.as_bytes());
            assert_eq!((says.model, says.stream), (model, stream), "{body}");
        }
    }
}
