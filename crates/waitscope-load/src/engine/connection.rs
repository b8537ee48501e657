//! One connection, and the request that is on it.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use super::sample::Details;
use super::socket;
use super::tls::Session;
use crate::http1::{Head, Receiver, ResponseParser};
use crate::pacer::Start;
use crate::server_timing;

/// A socket, how far it is, and what is on it.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) socket: OwnedFd,
    pub(super) tls: Option<Box<Session>>,
    /// Which of the run's targets it leads to, and which of that one's addresses.
    pub(super) endpoint: usize,
    pub(super) address: usize,
    /// Told apart from others that had the same place before.
    pub(super) generation: u32,
    pub(super) stage: Stage,
    pub(super) parser: ResponseParser,
    pub(super) request: Option<InFlight>,
    /// How much of the request was sent.
    pub(super) written: usize,
}

/// How far a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Connecting,
    /// Its encryption is being agreed on.
    Shaking,
    Open,
}

/// A request that was started and has not ended.
#[derive(Debug)]
pub(super) struct InFlight {
    pub(super) planned: Start,
    pub(super) seq: u64,
    pub(super) template: usize,
    /// Its bytes, when they differ from those of others of its template.
    pub(super) own_bytes: Option<Arc<[u8]>>,
    pub(super) warmup: bool,
    pub(super) start: Duration,
    pub(super) connect: Option<Duration>,
    pub(super) first_byte: Option<Duration>,
    pub(super) reused: bool,
    pub(super) resent: bool,
    /// Addresses that did not answer before the present one.
    pub(super) tried: usize,
    pub(super) bytes: u64,
    pub(super) status: u16,
    pub(super) encoded: bool,
    pub(super) details: Option<Box<Gathered>>,
}

/// What is kept of an answer when the run asks for it.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    details: Details,
    headers_say: Option<String>,
    is_html: bool,
    body_start: Vec<u8>,
}

/// How much of a body is kept, and how much of it is shown.
const KEPT_BYTES: usize = 300;
const KEPT_CHARS: usize = 160;

impl Receiver for InFlight {
    fn head(&mut self, head: &Head<'_>) {
        self.status = head.status;
        self.encoded = head.header("content-encoding").is_some_and(|coding| coding != b"identity");
        if let Some(gathered) = &mut self.details {
            gathered.head(head);
        }
    }

    fn body(&mut self, bytes: &[u8]) {
        if let Some(gathered) = &mut self.details {
            let wanted = KEPT_BYTES.saturating_sub(gathered.body_start.len()).min(bytes.len());
            gathered.body_start.extend_from_slice(&bytes[..wanted]);
        }
    }
}

impl Gathered {
    fn head(&mut self, head: &Head<'_>) {
        let values = head.values("server-timing");
        let values = values.filter_map(|value| std::str::from_utf8(value).ok());
        self.details.parts = server_timing::parse_all(values);
        let text = |name| head.header(name).map(|v| String::from_utf8_lossy(v).into_owned());
        self.headers_say = match head.status {
            300..400 => text("location"),
            405 => text("allow").map(|allow| format!("allowed is {allow};")),
            _ => None,
        };
        let content_type = text("content-type").unwrap_or_default();
        self.is_html = content_type.to_ascii_lowercase().starts_with("text/html");
    }

    /// All of the answer was seen.
    pub(super) fn finish(self, status: u16) -> Details {
        let mut details = self.details;
        details.is_page = self.is_html && self.body_start.trim_ascii_start().starts_with(b"<");
        if !(200..300).contains(&status) {
            let body = String::from_utf8_lossy(&self.body_start);
            let says = match self.headers_say {
                Some(says) if status == 405 => format!("{says} {body}"),
                Some(says) => says,
                None => body.into_owned(),
            };
            details.complaint = printable(&says);
        }
        details
    }
}

/// One line without control characters: what a server sends must not move the user's terminal.
fn printable(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(KEPT_CHARS).collect()
}

impl Connection {
    /// Sends what is left of a request's bytes, encrypted if need be, as far as it fits.
    pub(super) fn send_rest(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(session) = &mut self.tls {
            session.flush(&self.socket)?;
        }
        while self.written < bytes.len() {
            let rest = &bytes[self.written..];
            let sent = match &mut self.tls {
                None => socket::send(&self.socket, rest)?,
                Some(session) => session.send(&self.socket, rest)?,
            };
            if sent == 0 {
                // It goes on when there is room.
                break;
            }
            self.written += sent;
        }
        Ok(())
    }

    /// Receives bytes, decrypted if need be: `None` when none are there, 0 at the end.
    pub(super) fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match &mut self.tls {
            None => socket::receive(&self.socket, buffer),
            Some(session) => session.receive(&self.socket, buffer),
        }
    }

    /// Whether a receive that filled less than the buffer has emptied the socket.
    pub(super) fn is_plain(&self) -> bool {
        self.tls.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gathered(status: u16, headers: &[(&str, &str)], body: &str) -> Details {
        let headers: Vec<httparse::Header<'_>> = headers
            .iter()
            .map(|(name, value)| httparse::Header { name, value: value.as_bytes() })
            .collect();
        let mut gathered = Gathered::default();
        gathered.head(&Head { status, headers: &headers });
        gathered.body_start.extend_from_slice(body.as_bytes());
        gathered.finish(status)
    }

    #[test]
    fn an_unhappy_answer_says_why_in_one_printable_line() {
        type Case = (u16, &'static [(&'static str, &'static str)], &'static str, &'static str);
        let cases: [Case; 5] = [
            (201, &[], "created", ""),
            (307, &[("Location", "/v1/tickets/")], "moved", "/v1/tickets/"),
            (422, &[], "{\n  \"error\": 1\n}", "{ \"error\": 1 }"),
            (405, &[("allow", "POST")], "Not allowed", "allowed is POST; Not allowed"),
            (500, &[], "\u{1b}[2Jboom\u{7}", "[2Jboom"),
        ];
        for (status, headers, body, expected) in cases {
            assert_eq!(gathered(status, headers, body).complaint, expected);
        }
        assert!(gathered(500, &[], &"x".repeat(1000)).complaint.len() <= KEPT_CHARS);
    }

    #[test]
    fn a_page_is_told_by_its_type_and_its_look() {
        let cases = [
            ("text/HTML; charset=utf-8", " \n<!doctype html>", true),
            ("text/html; charset=utf-8", "ok", false),
            ("application/json", "<", false),
        ];
        for (content_type, body, expected) in cases {
            let details = gathered(200, &[("Content-Type", content_type)], body);
            assert_eq!(details.is_page, expected, "{content_type} {body}");
        }
    }

    #[test]
    fn parts_are_read_from_all_headers() {
        let headers = [("server-timing", "db;dur=1.5"), ("Server-Timing", "ai;dur=20, x")];
        let parts = gathered(200, &headers, "").parts;
        let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(names, ["db", "ai"]);
    }
}
