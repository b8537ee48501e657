//! One request on a connection of its own, with the moments at which its parts were done.

mod error;
mod http1;
mod tls;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::HeaderMap;
use http::Request;
use http_body_util::Full;

use crate::target::Target;

pub use error::{ErrorClass, RequestError};

/// How long the first connection to a target may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How much of an answer's body is kept for a reader.
const KEPT_BYTES: usize = 300;

/// How much of it is shown.
const KEPT_CHARS: usize = 160;

/// Sends requests to one target.
#[derive(Debug, Clone)]
pub struct Client {
    addresses: Vec<SocketAddr>,
    tls: Option<tls::Tls>,
}

/// What came back for one request.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// When the request was begun: before its connection was opened.
    pub start: Instant,
    /// When the answer was complete, or when it was clear that none will be.
    pub end: Instant,
    /// The answer, or why there is none.
    pub answer: Result<Answer, RequestError>,
}

/// A complete answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// Headers.
    pub headers: HeaderMap,
    /// The first bytes of the body.
    pub body_start: Vec<u8>,
}

impl Answer {
    /// Whether the status is 2xx.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// What another status than 2xx says, in one short printable line: where a redirect leads, or
    /// the start of the body. Empty for 2xx.
    pub fn complaint(&self) -> String {
        let location = self.headers.get(http::header::LOCATION);
        let bytes = match (self.status, location) {
            (200..300, _) => return String::new(),
            (300..400, Some(location)) => location.as_bytes(),
            _ => &self.body_start,
        };
        let says = printable(&String::from_utf8_lossy(bytes));
        match self.headers.get(http::header::ALLOW).and_then(|allow| allow.to_str().ok()) {
            Some(allow) if self.status == 405 => format!("allowed is {}; {says}", printable(allow)),
            _ => says,
        }
    }

    /// Whether it is a page: HTML by its type, and by the look of it (some frameworks call any
    /// text HTML).
    pub fn is_page(&self) -> bool {
        let starts_as_markup = self.body_start.trim_ascii_start().starts_with(b"<");
        self.content_type().starts_with("text/html") && starts_as_markup
    }

    /// The value of `Content-Type`, in lower case.
    fn content_type(&self) -> String {
        let value = self.headers.get(http::header::CONTENT_TYPE);
        value.and_then(|value| value.to_str().ok()).unwrap_or_default().to_ascii_lowercase()
    }
}

/// One line without control characters: what a server sends must not move the user's terminal.
fn printable(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(KEPT_CHARS).collect()
}

impl Client {
    /// Looks the target up and prepares encryption.
    ///
    /// # Errors
    /// When the name is not known or the system's certificates cannot be used.
    pub async fn new(target: &Target) -> Result<Self, RequestError> {
        let addresses = target.resolve().await.map_err(|error| RequestError::lookup(&error))?;
        let tls = target.is_tls().then(|| tls::Tls::new(&target.host())).transpose()?;
        Ok(Self { addresses, tls })
    }

    /// The addresses that the target's name stands for.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Opens a connection, encryption included, and closes it again.
    ///
    /// # Errors
    /// When there is no connection to be had.
    pub async fn connect(&self) -> Result<(), RequestError> {
        let opened = async {
            let stream = http1::connect(&self.addresses).await?;
            match &self.tls {
                None => Ok(()),
                Some(tls) => tls.wrap(stream).await.map(drop),
            }
        };
        let timeout = tokio::time::timeout(CONNECT_TIMEOUT, opened).await;
        timeout.unwrap_or_else(|_elapsed| Err(RequestError::timeout(CONNECT_TIMEOUT)))
    }

    /// Sends one request on a fresh connection and reads the answer to its end.
    pub async fn send(&self, request: Request<Full<Bytes>>, timeout: Duration) -> Exchange {
        let start = Instant::now();
        let answer = match tokio::time::timeout(timeout, self.exchange(request)).await {
            Ok(answer) => answer,
            Err(_elapsed) => Err(RequestError::timeout(timeout)),
        };
        Exchange { start, end: Instant::now(), answer }
    }

    async fn exchange(&self, request: Request<Full<Bytes>>) -> Result<Answer, RequestError> {
        let stream = http1::connect(&self.addresses).await?;
        match &self.tls {
            None => http1::exchange(stream, request).await,
            Some(tls) => http1::exchange(tls.wrap(stream).await?, request).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, location: Option<&str>, body: &str) -> Answer {
        let mut headers = HeaderMap::new();
        if let Some(location) = location {
            headers.insert(http::header::LOCATION, location.parse().unwrap());
        }
        Answer { status, headers, body_start: body.into() }
    }

    #[test]
    fn a_page_is_told_by_its_type_and_its_look() {
        let with_type = |content_type: &str, body: &str| {
            let mut answer = answer(200, None, body);
            answer.headers.insert(http::header::CONTENT_TYPE, content_type.parse().unwrap());
            answer.is_page()
        };
        assert!(with_type("text/HTML; charset=utf-8", " \n<!doctype html>"));
        assert!(!with_type("text/html; charset=utf-8", "ok"));
        assert!(!with_type("application/json", "<"));
    }

    #[test]
    fn a_wrong_method_names_the_right_ones() {
        let mut refused = answer(405, None, "Method Not Allowed");
        refused.headers.insert(http::header::ALLOW, "POST".parse().unwrap());
        assert_eq!(refused.complaint(), "allowed is POST; Method Not Allowed");
    }

    #[test]
    fn an_unhappy_answer_says_why_in_one_printable_line() {
        let cases = [
            (answer(201, None, "created"), ""),
            (answer(307, Some("/v1/tickets/"), "moved"), "/v1/tickets/"),
            (answer(422, None, "{\n  \"error\": 1\n}"), "{ \"error\": 1 }"),
            (answer(500, None, "\u{1b}[2Jboom\u{7}"), "[2Jboom"),
        ];
        for (answer, expected) in cases {
            assert_eq!(answer.complaint(), expected);
        }
        assert!(answer(500, None, &"x".repeat(1000)).complaint().len() <= KEPT_CHARS);
    }
}
