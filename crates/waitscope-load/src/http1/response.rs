//! Answers, read in whatever pieces they come.

use std::mem::MaybeUninit;

use super::chunked::Chunked;
use super::framing::{self, Ending, Framing};

/// The largest head that is read, in bytes.
pub const MAX_HEAD: usize = 64 * 1024;

/// The most headers of one head.
const MAX_HEADERS: usize = 128;

/// The most provisional answers before a final one.
const MAX_PROVISIONAL: u8 = 32;

/// Why bytes are no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ResponseError {
    /// The first bytes are no HTTP/1.
    #[error("what came is no HTTP/1.1 answer")]
    NotHttp,
    /// A head without end.
    #[error("the head has more than 64 KiB or 128 headers")]
    HeadTooLarge,
    /// A length that is no number, or two that differ.
    #[error("the Content-Length is no number, or there are two")]
    BadLength,
    /// A chunk without its size or its end.
    #[error("a chunk of the body is malformed")]
    BadChunk,
    /// Provisional answers without end.
    #[error("more than 32 provisional answers and no final one")]
    EndlessProvisional,
    /// The connection ended before the answer began.
    #[error("the connection was closed before an answer")]
    Closed,
    /// The connection ended within the head.
    #[error("the connection was closed within the head of the answer")]
    HeadCutShort,
    /// The connection ended within the body.
    #[error("the connection was closed within the body")]
    BodyCutShort,
}

/// The head of a final answer.
#[derive(Debug)]
pub struct Head<'a> {
    /// The status code.
    pub status: u16,
    /// The headers, as they came.
    pub headers: &'a [httparse::Header<'a>],
}

impl<'a> Head<'a> {
    /// The first value of a header.
    pub fn header(&self, name: &str) -> Option<&'a [u8]> {
        self.values(name).next()
    }

    /// All values of a header.
    pub fn values<'n>(&self, name: &'n str) -> impl Iterator<Item = &'a [u8]> + use<'a, 'n> {
        let named = |header: &&httparse::Header<'_>| header.name.len() == name.len();
        let headers = self.headers.iter().filter(named);
        headers.filter(|header| header.name.eq_ignore_ascii_case(name)).map(|header| header.value)
    }
}

/// Is told what an answer holds, as it is read.
pub trait Receiver {
    /// The head of the final answer; provisional ones are passed over.
    fn head(&mut self, head: &Head<'_>);

    /// The next bytes of the body, without the framing of chunks.
    fn body(&mut self, bytes: &[u8]);
}

/// How far an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parsed {
    /// All of the bytes belong to it, and more are to come.
    More,
    /// It is complete.
    Done {
        /// How many of the bytes belong to it. What follows was not asked for.
        used: usize,
        /// Whether its connection can be used again.
        keep_alive: bool,
    },
}

/// Reads one answer after another. Small while it waits: it keeps bytes only of a head that has
/// come in part.
#[derive(Debug, Default)]
pub struct ResponseParser {
    state: State,
    keep_alive: bool,
    provisional: u8,
    /// Whether the request was HEAD.
    to_head_request: bool,
    /// The bytes of a head that is not complete.
    partial: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Head,
    Length {
        left: u64,
    },
    Chunked(Chunked),
    UntilClose,
    /// It is no answer, whatever follows.
    Failed(ResponseError),
}

impl ResponseParser {
    /// Begins the answer to a request.
    pub fn begin(&mut self, to_head_request: bool) {
        self.state = State::Head;
        self.provisional = 0;
        self.to_head_request = to_head_request;
        self.partial = Vec::new();
    }

    /// Whether nothing of the answer has come.
    pub fn is_untouched(&self) -> bool {
        self.state == State::Head && self.partial.is_empty() && self.provisional == 0
    }

    /// Whether the head of the final answer has not come, or not all of it.
    pub fn is_in_head(&self) -> bool {
        self.state == State::Head
    }

    /// How many bytes of a head that has come in part are kept; [`MAX_HEAD`] at the most.
    pub fn kept_bytes(&self) -> usize {
        self.partial.len()
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// When they cannot be part of an answer; the connection is of no use then, and nothing more is
    /// taken until [`begin`](Self::begin).
    pub fn take(
        &mut self,
        input: &[u8],
        receiver: &mut impl Receiver,
    ) -> Result<Parsed, ResponseError> {
        let taken = self.take_good(input, receiver);
        if let Err(error) = taken {
            self.state = State::Failed(error);
        }
        taken
    }

    fn take_good(
        &mut self,
        input: &[u8],
        receiver: &mut impl Receiver,
    ) -> Result<Parsed, ResponseError> {
        let mut at = 0;
        while self.state == State::Head {
            match self.take_head(&input[at..], receiver)? {
                None => return Ok(Parsed::More),
                Some(used) => at += used,
            }
            if self.is_complete() {
                return Ok(Parsed::Done { used: at, keep_alive: self.keep_alive });
            }
        }
        let rest = &input[at..];
        match &mut self.state {
            State::Length { left } => {
                let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(rest.len());
                receiver.body(&rest[..taken]);
                *left -= taken as u64;
                at += taken;
            }
            State::Chunked(chunked) => at += chunked.take(rest, |data| receiver.body(data))?,
            State::UntilClose => {
                receiver.body(rest);
                at = input.len();
            }
            State::Failed(error) => return Err(*error),
            State::Head => {}
        }
        if self.is_complete() {
            Ok(Parsed::Done { used: at, keep_alive: self.keep_alive })
        } else {
            Ok(Parsed::More)
        }
    }

    /// The connection was closed: either that ends the answer, or it is cut short.
    ///
    /// # Errors
    /// When the answer is not complete.
    pub fn end(&self) -> Result<(), ResponseError> {
        match self.state {
            State::UntilClose => Ok(()),
            State::Failed(error) => Err(error),
            State::Head if self.is_untouched() => Err(ResponseError::Closed),
            // A head is read anew at the ends of its lines only.
            State::Head => {
                match parse(&self.partial, &mut [const { MaybeUninit::uninit() }; MAX_HEADERS]) {
                    Err(error) => Err(error),
                    Ok(_) => Err(ResponseError::HeadCutShort),
                }
            }
            State::Length { .. } | State::Chunked(_) => Err(ResponseError::BodyCutShort),
        }
    }

    fn is_complete(&self) -> bool {
        matches!(self.state, State::Length { left: 0 } | State::Chunked(Chunked::Done))
    }

    /// Takes one head; `None` when it goes on. The state stays at the head after a provisional one.
    fn take_head(
        &mut self,
        input: &[u8],
        receiver: &mut impl Receiver,
    ) -> Result<Option<usize>, ResponseError> {
        if self.partial.is_empty() {
            let used = self.parse_head(input, receiver)?;
            if used.is_none() {
                self.partial.extend_from_slice(input);
            }
            return Ok(used);
        }
        let before = self.partial.len();
        self.partial.extend_from_slice(input);
        // Only a line end can complete it: reading it anew for each byte would take forever.
        if !input.contains(&b'\n') && self.partial.len() <= MAX_HEAD {
            return Ok(None);
        }
        let partial = std::mem::take(&mut self.partial);
        let used = self.parse_head(&partial, receiver)?;
        if used.is_none() {
            self.partial = partial;
        }
        Ok(used.map(|used| used - before))
    }

    fn parse_head(
        &mut self,
        bytes: &[u8],
        receiver: &mut impl Receiver,
    ) -> Result<Option<usize>, ResponseError> {
        let mut headers = [const { MaybeUninit::uninit() }; MAX_HEADERS];
        let Some((used, response)) = parse(bytes, &mut headers)? else { return Ok(None) };
        let status = response.code.unwrap_or_default();
        match status {
            101 | 200.. => {}
            100..200 if self.provisional < MAX_PROVISIONAL => {
                self.provisional += 1;
                return Ok(Some(used));
            }
            100..200 => return Err(ResponseError::EndlessProvisional),
            _ => return Err(ResponseError::NotHttp),
        }
        let version = response.version.unwrap_or(1);
        let ending = framing::of_head(self.to_head_request, version, status, response.headers)?;
        self.enter_body(ending);
        receiver.head(&Head { status, headers: response.headers });
        Ok(Some(used))
    }

    fn enter_body(&mut self, ending: Ending) {
        self.keep_alive = ending.keep_alive;
        self.state = match ending.framing {
            Framing::None => State::Length { left: 0 },
            Framing::Length(left) => State::Length { left },
            Framing::Chunked => State::Chunked(Chunked::START),
            Framing::UntilClose => State::UntilClose,
        };
    }
}

/// The head that the bytes begin with, and its length; `None` when it goes on.
fn parse<'b, 'h>(
    bytes: &'b [u8],
    headers: &'h mut [MaybeUninit<httparse::Header<'b>>],
) -> Result<Option<(usize, httparse::Response<'h, 'b>)>, ResponseError> {
    let mut response = httparse::Response::new(&mut []);
    // One byte more than the largest head: whether it is too large does not depend on what follows.
    let bytes = &bytes[..bytes.len().min(MAX_HEAD + 1)];
    let parsed = httparse::ParserConfig::default().parse_response_with_uninit_headers(
        &mut response,
        bytes,
        headers,
    );
    match parsed {
        Ok(httparse::Status::Complete(used)) if used <= MAX_HEAD => Ok(Some((used, response))),
        Ok(httparse::Status::Partial) if bytes.len() <= MAX_HEAD => Ok(None),
        Ok(_) | Err(httparse::Error::TooManyHeaders) => Err(ResponseError::HeadTooLarge),
        Err(_) => Err(ResponseError::NotHttp),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq)]
    struct Got {
        statuses: Vec<u16>,
        body: Vec<u8>,
    }

    impl Receiver for Got {
        fn head(&mut self, head: &Head<'_>) {
            self.statuses.push(head.status);
        }

        fn body(&mut self, bytes: &[u8]) {
            self.body.extend_from_slice(bytes);
        }
    }

    /// How an answer in pieces, perhaps with the connection's end, comes out: status, body, whether
    /// the connection can be used again, and how many bytes were left over.
    fn read(
        input: &[u8],
        piece: usize,
        to_head_request: bool,
    ) -> Result<(u16, String, bool, usize), ResponseError> {
        let (mut parser, mut got) = (ResponseParser::default(), Got::default());
        parser.begin(to_head_request);
        let mut fed = 0;
        for piece in input.chunks(piece) {
            if let Parsed::Done { used, keep_alive } = parser.take(piece, &mut got)? {
                let left = input.len() - fed - used;
                let body = String::from_utf8(got.body).unwrap();
                assert_eq!(got.statuses.len(), 1, "one final head");
                return Ok((got.statuses[0], body, keep_alive, left));
            }
            fed += piece.len();
        }
        parser.end()?;
        Ok((got.statuses[0], String::from_utf8(got.body).unwrap(), false, 0))
    }

    #[test]
    fn answers_in_any_pieces() {
        let ok = "HTTP/1.1 200 OK\r\n";
        let cases = [
            (format!("{ok}Content-Length: 5\r\n\r\nhello"), (200, "hello", true, 0)),
            (format!("{ok}Content-Length: 5\r\n\r\nhelloHTTP"), (200, "hello", true, 4)),
            (format!("{ok}Content-Length: 0\r\n\r\n"), (200, "", true, 0)),
            (format!("{ok}\r\nall of it"), (200, "all of it", false, 0)),
            (format!("{ok}Connection: close\r\n\r\n"), (200, "", false, 0)),
            (
                format!("{ok}Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nT: v\r\n\r\n"),
                (200, "abc", true, 0),
            ),
            (
                format!(
                    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n\
                     {ok}Content-Length: 2\r\n\r\nok"
                ),
                (200, "ok", true, 0),
            ),
            ("HTTP/1.1 204 No Content\r\n\r\n".into(), (204, "", true, 0)),
            ("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n".into(), (304, "", true, 0)),
            ("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx".into(), (200, "x", false, 0)),
            ("HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx".into(), (200, "x", true, 0)),
        ];
        for (input, (status, body, keep_alive, left)) in cases {
            for piece in [1, 2, 7, input.len()] {
                let got = read(input.as_bytes(), piece, false);
                // Byte by byte, what follows the answer has not come yet.
                let left = if piece == input.len() { left } else { got.as_ref().unwrap().3 };
                assert_eq!(got, Ok((status, body.into(), keep_alive, left)), "{input:?} {piece}");
            }
        }
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n";
        assert_eq!(read(head.as_bytes(), 3, true), Ok((200, String::new(), true, 0)));
    }

    #[test]
    fn what_is_cut_short_is_an_error() {
        let cases = [
            ("", ResponseError::Closed),
            ("HTTP/1.1 200 OK\r\nContent-Le", ResponseError::HeadCutShort),
            ("HTTP/1.1 100 Continue\r\n\r\n", ResponseError::HeadCutShort),
            ("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello", ResponseError::BodyCutShort),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
                ResponseError::BodyCutShort,
            ),
        ];
        for (input, error) in cases {
            for piece in [1, 1000] {
                assert_eq!(read(input.as_bytes(), piece, false), Err(error), "{input:?}");
            }
        }
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        let large = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(70_000));
        let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: y\r\n".repeat(129));
        let endless = "HTTP/1.1 102 Processing\r\n\r\n".repeat(40);
        let cases = [
            ("SSH-2.0-OpenSSH_9.2\r\n", ResponseError::NotHttp),
            ("HTTP/1.1 099 Low\r\n\r\n", ResponseError::NotHttp),
            ("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", ResponseError::BadLength),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nhello", ResponseError::BadChunk),
            (&large, ResponseError::HeadTooLarge),
            (&many, ResponseError::HeadTooLarge),
            (&endless, ResponseError::EndlessProvisional),
        ];
        for (input, error) in cases {
            for piece in [100, 4096, input.len()] {
                let got = read(input.as_bytes(), piece, false);
                assert_eq!(got, Err(error), "{}", &input[..input.len().min(40)]);
            }
        }
    }

    #[test]
    fn after_an_error_nothing_is_taken() {
        let ok = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        let bad = [
            ("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", ResponseError::BadLength),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx", ResponseError::BadChunk),
            ("HTTP/1.1 099 Low\r\n\r\n", ResponseError::NotHttp),
        ];
        for (input, error) in bad {
            let (mut parser, mut got) = (ResponseParser::default(), Got::default());
            parser.begin(false);
            // In two pieces, so that some of it was kept.
            let (first, second) = input.as_bytes().split_at(10);
            assert_eq!(parser.take(first, &mut got), Ok(Parsed::More));
            assert_eq!(parser.take(second, &mut got), Err(error), "{input:?}");
            let heads = got.statuses.len();
            assert_eq!(parser.take(ok, &mut got), Err(error), "{input:?}");
            assert_eq!((parser.end(), parser.kept_bytes()), (Err(error), 0));
            assert!(got.body.is_empty() && got.statuses.len() == heads, "{got:?}");
            parser.begin(false);
            let done = Parsed::Done { used: ok.len(), keep_alive: true };
            assert_eq!(parser.take(ok, &mut got), Ok(done), "it begins anew");
        }
    }

    #[test]
    fn the_largest_head_has_64_kib_in_any_pieces() {
        let head = |length: usize| {
            let (start, end) = ("HTTP/1.1 204 X\r\nX: ", "\r\n\r\n");
            format!("{start}{}{end}", "x".repeat(length - start.len() - end.len()))
        };
        for piece in [1000, 4096, MAX_HEAD, MAX_HEAD + 1] {
            assert!(read(head(MAX_HEAD).as_bytes(), piece, false).is_ok(), "{piece}");
            let larger = read(head(MAX_HEAD + 1).as_bytes(), piece, false);
            assert_eq!(larger, Err(ResponseError::HeadTooLarge), "{piece}");
        }
    }

    #[test]
    fn a_parser_can_be_used_again() {
        let (mut parser, mut got) = (ResponseParser::default(), Got::default());
        for _ in 0..3 {
            parser.begin(false);
            assert!(parser.is_untouched());
            assert_eq!(parser.take(b"HTTP/1.1 200 OK\r\nContent-", &mut got), Ok(Parsed::More));
            assert!(!parser.is_untouched());
            let done = parser.take(b"Length: 2\r\n\r\nok", &mut got).unwrap();
            assert_eq!(done, Parsed::Done { used: 15, keep_alive: true });
        }
        assert_eq!(got.body, b"okokok");
    }
}
