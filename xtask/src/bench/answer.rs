//! Reading an HTTP/1.1 answer in pieces (RFC 9112): when it is complete, and how many tokens have
//! come.

use super::events::Events;

/// One answer under way.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// The head so far; emptied once it is complete.
    head: Vec<u8>,
    /// From the head.
    status: u16,
    body: Body,
    /// Of a body of server-sent events.
    events: Option<Events>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Body {
    #[default]
    NotYet,
    /// So many bytes are left.
    Length(usize),
    /// A chunk's size line, so far.
    Size(usize),
    /// So many bytes of a chunk are left.
    Chunk(usize),
    /// The line end after a chunk.
    ChunkEnd,
    /// The line end after the last chunk.
    LastLine,
    Complete,
}

/// What some bytes brought.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Progress {
    /// Tokens that ended in them.
    pub(super) tokens: u32,
    /// Whether the answer is complete.
    pub(super) complete: bool,
}

/// The head of an answer of unknown length, or of none that is HTTP.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unexpected(pub(super) String);

impl Answer {
    /// Takes the next bytes; those after the end of the answer are ignored.
    pub(super) fn read(&mut self, mut bytes: &[u8]) -> Result<Progress, Unexpected> {
        let mut progress = Progress::default();
        if self.body == Body::NotYet {
            self.head.extend_from_slice(bytes);
            let Some(end) = self.head.windows(4).position(|four| four == b"\r\n\r\n") else {
                return Ok(progress);
            };
            let after_head = self.head.len() - end - 4;
            bytes = &bytes[bytes.len() - after_head..];
            self.head.truncate(end);
            self.begin_body()?;
        }
        while !bytes.is_empty() && self.body != Body::Complete {
            bytes = self.step(bytes, &mut progress.tokens);
        }
        progress.complete = self.body == Body::Complete;
        Ok(progress)
    }

    /// The status, once the head is complete.
    pub(super) fn status(&self) -> u16 {
        self.status
    }

    fn begin_body(&mut self) -> Result<(), Unexpected> {
        let head = String::from_utf8_lossy(&std::mem::take(&mut self.head)).to_ascii_lowercase();
        let begun = status(&head).zip(framing(&head));
        (self.status, self.body) = begun.ok_or_else(|| Unexpected(head.clone()))?;
        self.events = head.contains("\r\ncontent-type: text/event-stream").then(Events::default);
        Ok(())
    }

    /// Handles the next part; the rest is returned.
    fn step<'a>(&mut self, bytes: &'a [u8], tokens: &mut u32) -> &'a [u8] {
        let (first, rest) = (bytes[0], &bytes[1..]);
        match self.body {
            Body::Length(left) | Body::Chunk(left) => {
                let (now, later) = bytes.split_at(left.min(bytes.len()));
                if let Some(events) = &mut self.events {
                    *tokens += events.read(now);
                }
                self.body = match (self.body, left - now.len()) {
                    (Body::Length(_), 0) => Body::Complete,
                    (Body::Length(_), left) => Body::Length(left),
                    (_, 0) => Body::ChunkEnd,
                    (_, left) => Body::Chunk(left),
                };
                return later;
            }
            Body::Size(size) => {
                self.body = match (first, char::from(first).to_digit(16)) {
                    (b'\n', _) if size == 0 => Body::LastLine,
                    (b'\n', _) => Body::Chunk(size),
                    (_, Some(digit)) => Body::Size(size * 16 + digit as usize),
                    _ => Body::Size(size),
                };
            }
            Body::ChunkEnd if first == b'\n' => self.body = Body::Size(0),
            Body::LastLine if first == b'\n' => self.body = Body::Complete,
            Body::ChunkEnd | Body::LastLine => {}
            Body::NotYet | Body::Complete => return &[],
        }
        rest
    }
}

fn status(head: &str) -> Option<u16> {
    head.strip_prefix("http/1.1 ")?.get(..3)?.parse().ok()
}

/// How the body's end is told, from a head in lower case.
fn framing(head: &str) -> Option<Body> {
    if head.contains("\r\ntransfer-encoding: chunked") {
        return Some(Body::Size(0));
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
    match length.trim().parse().ok()? {
        0 => Some(Body::Complete),
        length => Some(Body::Length(length)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
        transfer-encoding: chunked\r\n\r\n\
        15\r\ndata: {\"token\":\"a\"}\n\n\r\n\
        16\r\ndata: {\"token\": \"b\"}\n\n\r\n18\r\ndata: {\"token\":\"\xc3\xa4 c\"}\n\n\r\n\
        e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n";
    const WHOLE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{\"token\":\"a\"}\n\n";
    const EMPTY: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

    #[test]
    fn answers_are_read_in_any_pieces() {
        for (text, tokens) in [(STREAM, 3), (WHOLE, 0), (EMPTY, 0)] {
            for size in 1..=text.len() {
                let mut answer = Answer::default();
                let mut seen = 0;
                let mut complete = Vec::new();
                for piece in text.chunks(size) {
                    let progress = answer.read(piece).unwrap();
                    seen += progress.tokens;
                    complete.push(progress.complete);
                }
                assert_eq!(seen, tokens, "pieces of {size}");
                assert_eq!(complete.iter().filter(|complete| **complete).count(), 1);
                assert_eq!(complete.last(), Some(&true), "pieces of {size}");
            }
        }
    }

    #[test]
    fn an_answer_cut_short_is_not_complete() {
        for text in [STREAM, WHOLE, EMPTY] {
            let progress = Answer::default().read(&text[..text.len() - 1]).unwrap();
            assert!(!progress.complete);
        }
    }

    #[test]
    fn errors_are_answers_too() {
        for (line, status) in [("503 Service Unavailable", 503), ("404 ", 404), ("201 Made", 201)] {
            let text = format!("HTTP/1.1 {line}\r\ncontent-length: 2\r\n\r\nno");
            let mut answer = Answer::default();
            assert!(answer.read(text.as_bytes()).unwrap().complete);
            assert_eq!(answer.status(), status);
        }
    }

    #[test]
    fn other_answers_are_unexpected() {
        for head in ["HTTP/1.0 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n", "no\r\n\r\n"] {
            assert!(Answer::default().read(head.as_bytes()).is_err());
        }
    }
}
