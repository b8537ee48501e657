//! Requests as bytes, made once before a run.

use std::fmt::Write as _;
use std::ops::Range;

use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, Method};
use waitscope_stats::draw::{Draws, StableHash};

use crate::request::AGENT;
use crate::target::Target;

/// One request: the bytes that are sent for it, but for what differs each time.
///
/// In the path, in values of headers and in the body, `{{seq}}` stands for the number of the
/// request in its run, `{{uuid}}` for a random UUID (RFC 9562, version 4) and `{{random}}` for 16
/// random hexadecimal digits; the same seed gives the same ones.
#[derive(Debug, Clone)]
pub struct Template {
    /// The target's place in the list of the run.
    pub endpoint: usize,
    to_head: bool,
    idempotent: bool,
    /// All bytes, placeholders left out, and what stands between them.
    bytes: Box<[u8]>,
    pieces: Vec<Piece>,
}

/// A part of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    /// These bytes.
    Fixed(Range<usize>),
    /// What differs.
    Slot(Slot),
    /// The length of the body, which depends on what its slots hold; the body begins with this
    /// piece.
    BodyLength { body_from: usize },
}

/// What differs from request to request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    Seq,
    Uuid,
    Random,
}

/// What the slots of one request hold.
#[derive(Debug, Clone, Copy)]
pub struct Filling {
    /// The number of the request in its run.
    pub seq: u64,
    /// The seed of the run.
    pub seed: u64,
}

/// What a template is made of.
#[derive(Debug, Clone, Copy)]
pub struct Parts<'a> {
    /// Where it goes.
    pub target: &'a Target,
    /// The target's place in the list of the run.
    pub endpoint: usize,
    /// Its method.
    pub method: &'a Method,
    /// Headers of the user; they win over those that are set here.
    pub headers: &'a HeaderMap,
    /// The body, empty for none.
    pub body: &'a [u8],
    /// Whether the connection may be used again.
    pub keep_alive: bool,
}

/// Why a request cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The framing of the body is ours.
    #[error("leave {0} out: it is set for the body")]
    Framing(http::HeaderName),
}

impl Template {
    /// Writes a request.
    ///
    /// # Errors
    /// When a header of the user's contradicts the body.
    pub fn new(parts: &Parts<'_>) -> Result<Self, TemplateError> {
        for name in [CONTENT_LENGTH, TRANSFER_ENCODING] {
            if parts.headers.contains_key(&name) {
                return Err(TemplateError::Framing(name));
            }
        }
        let mut writer = Writer::default();
        writer.text(format!("{} ", parts.method).as_bytes());
        writer.with_slots(parts.target.path_and_query().as_bytes());
        writer.text(b" HTTP/1.1\r\n");
        for (name, value) in own_headers(parts) {
            if !parts.headers.contains_key(name) {
                writer.text(format!("{name}: {value}\r\n").as_bytes());
            }
        }
        for (name, value) in parts.headers {
            writer.text(format!("{name}: ").as_bytes());
            writer.with_slots(value.as_bytes());
            writer.text(b"\r\n");
        }
        writer.body(parts.body, takes_body(parts.method));
        Ok(Self {
            endpoint: parts.endpoint,
            to_head: parts.method == Method::HEAD,
            idempotent: parts.method.is_idempotent(),
            bytes: writer.bytes.into(),
            pieces: writer.pieces,
        })
    }

    /// Whether its answer has no body (HEAD).
    pub fn is_to_head(&self) -> bool {
        self.to_head
    }

    /// Whether sending it twice does no more than sending it once, by its method (RFC 9110, section
    /// 9.2.2).
    pub fn is_idempotent(&self) -> bool {
        self.idempotent
    }

    /// All of its bytes, when nothing in it differs.
    pub fn fixed(&self) -> Option<&[u8]> {
        match self.pieces.as_slice() {
            [Piece::Fixed(_)] => Some(&self.bytes),
            _ => None,
        }
    }

    /// Its bytes for one request.
    pub fn render(&self, filling: Filling) -> Vec<u8> {
        let key = StableHash::new(filling.seed).word(filling.seq).finish();
        let mut draws = Draws::new(key);
        let mut values = self.pieces.iter().map(|piece| match piece {
            Piece::Slot(slot) => slot.value(filling.seq, &mut draws),
            Piece::Fixed(_) | Piece::BodyLength { .. } => String::new(),
        });
        let values: Vec<String> = values.by_ref().collect();
        let length_of = |index: usize| match &self.pieces[index] {
            Piece::Fixed(range) => range.len(),
            _ => values[index].len(),
        };
        let mut out = Vec::with_capacity(self.bytes.len() + 64);
        for (piece, value) in self.pieces.iter().zip(&values) {
            match piece {
                Piece::Fixed(range) => out.extend_from_slice(&self.bytes[range.clone()]),
                Piece::Slot(_) => out.extend_from_slice(value.as_bytes()),
                Piece::BodyLength { body_from } => {
                    let length: usize = (*body_from..self.pieces.len()).map(length_of).sum();
                    out.extend_from_slice(length.to_string().as_bytes());
                }
            }
        }
        out
    }
}

/// The headers that a request has unless the user says otherwise.
fn own_headers(parts: &Parts<'_>) -> Vec<(&'static str, String)> {
    let mut headers = vec![
        ("host", parts.target.host_header()),
        ("user-agent", AGENT.to_owned()),
        ("accept", "*/*".to_owned()),
    ];
    if !parts.keep_alive {
        headers.push(("connection", "close".to_owned()));
    }
    if !parts.body.is_empty() {
        headers.push(("content-type", "application/json".to_owned()));
    }
    if let Some(value) = parts.target.basic_authorization() {
        headers.push(("authorization", value));
    }
    headers
}

/// Methods whose requests say that their body is empty (RFC 9110, section 8.6).
fn takes_body(method: &Method) -> bool {
    [Method::POST, Method::PUT, Method::PATCH].contains(method)
}

/// Puts the pieces together.
#[derive(Debug, Default)]
struct Writer {
    bytes: Vec<u8>,
    pieces: Vec<Piece>,
}

impl Writer {
    fn text(&mut self, text: &[u8]) {
        let from = self.bytes.len();
        self.bytes.extend_from_slice(text);
        match self.pieces.last_mut() {
            Some(Piece::Fixed(range)) => range.end = self.bytes.len(),
            _ if text.is_empty() => {}
            _ => self.pieces.push(Piece::Fixed(from..self.bytes.len())),
        }
    }

    fn with_slots(&mut self, mut text: &[u8]) {
        while let Some((at, length, slot)) = Slot::first_in(text) {
            self.text(&text[..at]);
            self.pieces.push(Piece::Slot(slot));
            text = &text[at + length..];
        }
        self.text(text);
    }

    /// The length, the end of the head, and the body.
    fn body(&mut self, body: &[u8], always_with_length: bool) {
        let differs = Slot::first_in(body).is_some();
        if !differs {
            if !body.is_empty() || always_with_length {
                self.text(format!("{CONTENT_LENGTH}: {}\r\n", body.len()).as_bytes());
            }
            self.text(b"\r\n");
            self.text(body);
            return;
        }
        self.text(format!("{CONTENT_LENGTH}: ").as_bytes());
        // After the length comes one piece, the end of the head, and then the body.
        self.pieces.push(Piece::BodyLength { body_from: self.pieces.len() + 2 });
        self.text(b"\r\n\r\n");
        let from = self.bytes.len();
        self.pieces.push(Piece::Fixed(from..from));
        self.with_slots(body);
    }
}

impl Slot {
    /// As they are written, and as a URL's path has them.
    const NAMES: [(&'static str, Self); 6] = [
        ("{{seq}}", Self::Seq),
        ("{{uuid}}", Self::Uuid),
        ("{{random}}", Self::Random),
        ("%7B%7Bseq%7D%7D", Self::Seq),
        ("%7B%7Buuid%7D%7D", Self::Uuid),
        ("%7B%7Brandom%7D%7D", Self::Random),
    ];

    /// The first one: where it stands, and how long it is.
    fn first_in(text: &[u8]) -> Option<(usize, usize, Self)> {
        let find = |name: &str| text.windows(name.len()).position(|part| part == name.as_bytes());
        let found =
            Self::NAMES.iter().filter_map(|(name, slot)| Some((find(name)?, name.len(), *slot)));
        found.min_by_key(|(at, ..)| *at)
    }

    fn value(self, seq: u64, draws: &mut Draws) -> String {
        match self {
            Self::Seq => seq.to_string(),
            Self::Random => format!("{:016x}", draws.bits()),
            Self::Uuid => {
                let high = draws.bits() & 0xffff_ffff_ffff_0fff | 0x4000;
                let low = draws.bits() & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000;
                let mut text = String::new();
                // Writing to a string does not fail.
                let _ = write!(
                    text,
                    "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
                    high >> 32,
                    high >> 16 & 0xffff,
                    high & 0xffff,
                    low >> 48,
                    low & 0xffff_ffff_ffff
                );
                text
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(url: &str, method: &Method, headers: &[(&str, &str)], body: &str) -> Template {
        let map: HeaderMap = headers
            .iter()
            .map(|(name, value)| {
                (name.parse::<http::HeaderName>().unwrap(), value.parse().unwrap())
            })
            .collect();
        Template::new(&Parts {
            target: &Target::parse(url).unwrap(),
            endpoint: 0,
            method,
            headers: &map,
            body: body.as_bytes(),
            keep_alive: true,
        })
        .unwrap()
    }

    fn text(template: &Template, seq: u64) -> String {
        String::from_utf8(template.render(Filling { seq, seed: 7 })).unwrap()
    }

    #[test]
    fn a_request_without_slots_is_the_same_each_time() {
        let get = template("http://[::1]:8000/a?b=1", &Method::GET, &[], "");
        let expected = format!(
            "GET /a?b=1 HTTP/1.1\r\nhost: [::1]:8000\r\nuser-agent: {AGENT}\r\naccept: */*\r\n\r\n"
        );
        assert_eq!(get.fixed(), Some(expected.as_bytes()));
        assert_eq!(text(&get, 3), expected);
        let post = template("http://h/", &Method::POST, &[("Accept", "a/b")], "{}");
        let post = text(&post, 0);
        assert!(post.contains("accept: a/b\r\n") && !post.contains("*/*"), "{post}");
        assert!(post.ends_with("content-length: 2\r\n\r\n{}"), "{post}");
        assert!(post.contains("content-type: application/json\r\n"), "{post}");
        let empty = text(&template("http://h/", &Method::POST, &[], ""), 0);
        assert!(empty.ends_with("content-length: 0\r\n\r\n"), "{empty}");
    }

    #[test]
    fn slots_are_filled_and_the_length_follows() {
        let body = "{\"n\": {{seq}}, \"id\": \"{{uuid}}\", \"r\": \"{{random}}\"}";
        let url = "http://h/t/{{seq}}?x={{random}}";
        let template = template(url, &Method::POST, &[("x-id", "a-{{uuid}}")], body);
        assert_eq!(template.fixed(), None);
        for seq in [0, 7, 123_456] {
            let request = text(&template, seq);
            let (head, body) = request.split_once("\r\n\r\n").unwrap();
            assert!(head.starts_with(&format!("POST /t/{seq}?x=")), "{head}");
            assert!(head.contains(&format!("content-length: {}", body.len())), "{request}");
            let value: serde_json::Value = serde_json::from_str(body).unwrap();
            assert_eq!(value["n"], seq);
            let uuid = value["id"].as_str().unwrap();
            assert_eq!((uuid.len(), &uuid[14..15]), (36, "4"), "{uuid}");
            assert!("89ab".contains(&uuid[19..20]), "{uuid}");
            assert_eq!(value["r"].as_str().unwrap().len(), 16);
            assert_eq!(request, text(&template, seq), "the same seed and number, the same bytes");
            assert_ne!(uuid, text(&template, seq + 1).split('"').nth(5).unwrap());
        }
    }

    #[test]
    fn a_body_that_begins_and_ends_with_a_slot() {
        let request = text(&template("http://h/", &Method::POST, &[], "{{seq}}"), 42);
        assert!(request.ends_with("content-length: 2\r\n\r\n42"), "{request}");
    }

    #[test]
    fn the_framing_is_not_the_users() {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_LENGTH, "3".parse().unwrap());
        let error = Template::new(&Parts {
            target: &Target::parse("http://h/").unwrap(),
            endpoint: 0,
            method: &Method::POST,
            headers: &headers,
            body: b"abc",
            keep_alive: true,
        });
        assert_eq!(error.unwrap_err(), TemplateError::Framing(CONTENT_LENGTH));
    }
}
