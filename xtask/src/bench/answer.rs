//! Reading an HTTP/1.1 answer incrementally: when it is complete, and how many events it has had.

/// One answer under way.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// The head so far; emptied once it is complete.
    head: Vec<u8>,
    body: Body,
    /// The last byte of the body was a line feed: another one ends an event.
    after_line_feed: bool,
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
    /// The line ends after the last chunk.
    LastLine,
    Complete,
}

/// What some bytes brought.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Progress {
    /// Events that ended in them.
    pub(super) events: u32,
    /// Whether the answer is complete.
    pub(super) complete: bool,
}

/// An answer that is not a success, or not HTTP.
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
            let head = String::from_utf8_lossy(&self.head[..end]).into_owned();
            let in_this_read = self.head.len() - end - 4;
            bytes = &bytes[bytes.len() - in_this_read.min(bytes.len())..];
            self.head = Vec::new();
            self.body = framing(&head)?;
        }
        while !bytes.is_empty() && self.body != Body::Complete {
            bytes = self.step(bytes, &mut progress);
        }
        progress.complete = self.body == Body::Complete;
        Ok(progress)
    }

    /// Handles the next part; the rest is returned.
    fn step<'a>(&mut self, bytes: &'a [u8], progress: &mut Progress) -> &'a [u8] {
        let (first, rest) = (bytes[0], &bytes[1..]);
        match self.body {
            Body::Length(left) | Body::Chunk(left) => {
                let (now, later) = bytes.split_at(left.min(bytes.len()));
                progress.events += self.events_in(now);
                self.body = match (self.body, left - now.len()) {
                    (Body::Length(_), 0) => Body::Complete,
                    (Body::Length(_), left) => Body::Length(left),
                    (_, 0) => Body::ChunkEnd,
                    (_, left) => Body::Chunk(left),
                };
                later
            }
            Body::Size(size) => {
                self.body = match (first, char::from(first).to_digit(16)) {
                    (b'\n', _) if size == 0 => Body::LastLine,
                    (b'\n', _) => Body::Chunk(size),
                    (_, Some(digit)) => Body::Size(size * 16 + digit as usize),
                    _ => Body::Size(size),
                };
                rest
            }
            Body::ChunkEnd => {
                if first == b'\n' {
                    self.body = Body::Size(0);
                }
                rest
            }
            Body::LastLine => {
                if first == b'\n' {
                    self.body = Body::Complete;
                }
                rest
            }
            Body::NotYet | Body::Complete => &[],
        }
    }

    fn events_in(&mut self, bytes: &[u8]) -> u32 {
        let mut events = 0;
        for byte in bytes {
            events += u32::from(*byte == b'\n' && self.after_line_feed);
            self.after_line_feed = *byte == b'\n';
        }
        events
    }
}

fn framing(head: &str) -> Result<Body, Unexpected> {
    let head = head.to_ascii_lowercase();
    if !head.starts_with("http/1.1 200 ") {
        return Err(Unexpected(head));
    }
    if head.contains("\r\ntransfer-encoding: chunked") {
        return Ok(Body::Size(0));
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    match length.and_then(|length| length.trim().parse().ok()) {
        Some(0) => Ok(Body::Complete),
        Some(length) => Ok(Body::Length(length)),
        None => Err(Unexpected(head)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &[u8] = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
        9\r\ndata: a\n\n\r\n1A\r\ndata: b\n\ndata: cccccccc\n\n\r\n0\r\n\r\n";
    const WHOLE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab\n\nc";

    #[test]
    fn answers_are_read_in_any_pieces() {
        for (text, events) in [(STREAM, 3), (WHOLE, 1)] {
            for size in 1..=text.len() {
                let mut answer = Answer::default();
                let mut seen = 0;
                let mut complete = Vec::new();
                for piece in text.chunks(size) {
                    let progress = answer.read(piece).unwrap();
                    seen += progress.events;
                    complete.push(progress.complete);
                }
                assert_eq!(seen, events, "pieces of {size}");
                assert_eq!(complete.iter().filter(|complete| **complete).count(), 1);
                assert_eq!(complete.last(), Some(&true), "pieces of {size}");
            }
        }
    }

    #[test]
    fn other_answers_are_unexpected() {
        for head in ["HTTP/1.1 404 Not Found\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"] {
            assert!(Answer::default().read(head.as_bytes()).is_err());
        }
    }
}
