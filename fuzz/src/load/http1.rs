//! The reader of HTTP/1.1 answers.

use std::borrow::Cow;

use waitscope_load::http1::{Head, MAX_HEAD, Parsed, Receiver, ResponseError, ResponseParser};

/// The first byte of an input says whether the request was HEAD, these ones how the rest is split.
const SPLITS: usize = 4;
/// This byte and the one after it stand for many of the latter, so that short inputs reach the
/// limits.
const MANY: u8 = 0x1f;
const HOW_MANY: usize = 8_000;
/// More than the largest head, twice.
const LONGEST: usize = 160_000;
/// Longer streams are not read byte by byte: that takes too long.
const LONGEST_BY_BYTES: usize = 8_192;

type Headers = Vec<(String, Vec<u8>)>;

/// All that is seen of an answer.
#[derive(Debug, PartialEq)]
struct Seen {
    heads: Vec<(u16, Headers)>,
    body: Vec<u8>,
    end: Result<End, ResponseError>,
}

/// How an answer ended that did.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    /// After so many bytes.
    Done { used: usize, keep_alive: bool },
    /// By the end of its connection.
    Closed,
}

impl Receiver for Seen {
    fn head(&mut self, head: &Head<'_>) {
        assert!(self.heads.is_empty() && self.body.is_empty(), "one head, and before the body");
        let headers = head.headers.iter().map(|h| (h.name.to_owned(), h.value.to_vec()));
        self.heads.push((head.status, headers.collect()));
    }

    fn body(&mut self, bytes: &[u8]) {
        assert_eq!(self.heads.len(), 1, "a body has a head");
        self.body.extend_from_slice(bytes);
    }
}

/// Any cuts of any bytes give the same answer; nothing is kept but a head that is not complete, and
/// nothing is taken after the end or an error.
pub fn http1_response(data: &[u8]) {
    let (method, rest) = data.split_at(data.len().min(1));
    let (splits, rest) = rest.split_at(rest.len().min(SPLITS));
    let to_head_request = method.first().is_some_and(|byte| byte % 2 == 1);
    let stream = &*expand(rest);
    let at_once = read(std::iter::once(stream), to_head_request);
    assert_eq!(read(pieces(splits, stream), to_head_request), at_once, "split");
    if stream.len() <= LONGEST_BY_BYTES {
        assert_eq!(read(stream.chunks(1), to_head_request), at_once, "byte by byte");
    }
    check(&at_once, stream, to_head_request);
}

/// What holds for the answer in these bytes.
fn check(seen: &Seen, stream: &[u8], to_head_request: bool) {
    assert!(seen.body.len() <= stream.len());
    if to_head_request {
        assert!(seen.body.is_empty(), "an answer to HEAD has no body");
    }
    let Ok(end) = seen.end else { return };
    assert_eq!(seen.heads.len(), 1, "an answer has a head");
    match end {
        End::Done { used, .. } => {
            // What follows the answer changes nothing.
            let alone = read(std::iter::once(&stream[..used]), to_head_request);
            assert_eq!(&alone, seen, "without what follows");
            // Without its last byte it is not complete.
            let cut = read(std::iter::once(&stream[..used - 1]), to_head_request);
            assert!(cut.end.is_err(), "without its last byte: {:?}", cut.end);
        }
        End::Closed => assert!(stream.ends_with(&seen.body), "all to the end"),
    }
}

fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>, to_head_request: bool) -> Seen {
    let mut parser = ResponseParser::default();
    let mut seen = Seen { heads: Vec::new(), body: Vec::new(), end: Ok(End::Closed) };
    let mut before = 0;
    parser.begin(to_head_request);
    for piece in pieces {
        let parsed = parser.take(piece, &mut seen);
        assert!(parser.kept_bytes() <= MAX_HEAD, "{} bytes are kept", parser.kept_bytes());
        match parsed {
            Ok(Parsed::More) => before += piece.len(),
            Ok(Parsed::Done { used, keep_alive }) => {
                assert!(used <= piece.len(), "{used} of {} bytes", piece.len());
                let more = parser.take(NEXT, &mut seen);
                assert_eq!(more, Ok(Parsed::Done { used: 0, keep_alive }), "after the end");
                seen.end = Ok(End::Done { used: before + used, keep_alive });
                return seen;
            }
            Err(error) => {
                refuses(&mut parser, &mut seen, error);
                return seen;
            }
        }
    }
    seen.end = parser.end().map(|()| End::Closed);
    seen
}

/// An answer that is not part of the one that is read.
const NEXT: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// After an error nothing is taken any more, however good it is.
fn refuses(parser: &mut ResponseParser, seen: &mut Seen, error: ResponseError) {
    let (heads, body) = (seen.heads.len(), seen.body.len());
    for more in [NEXT, b"\n", b""] {
        assert_eq!(parser.take(more, seen), Err(error), "after an error");
    }
    assert_eq!(parser.end(), Err(error), "after an error");
    assert_eq!((seen.heads.len(), seen.body.len(), parser.kept_bytes()), (heads, body, 0));
    seen.end = Err(error);
}

/// Pieces whose lengths go through the bytes of `splits` again and again, plus one. High ones stand
/// for many bytes.
fn pieces<'a>(splits: &'a [u8], stream: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let length = |split: &u8| match usize::from(*split) {
        low @ 0..128 => low + 1,
        high => (high - 127) * 1_000,
    };
    let mut lengths = splits.iter().cycle().map(length);
    let mut rest = stream;
    std::iter::from_fn(move || {
        let length = lengths.next()?.min(rest.len());
        let (piece, after) = rest.split_at(length);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

/// What an input's bytes stand for.
fn expand(input: &[u8]) -> Cow<'_, [u8]> {
    if !input.contains(&MANY) {
        return Cow::Borrowed(input);
    }
    let mut expanded = Vec::new();
    let mut bytes = input.iter();
    while let Some(byte) = bytes.next()
        && expanded.len() < LONGEST
    {
        match (*byte, bytes.as_slice().first()) {
            (MANY, Some(many)) => {
                expanded.resize(expanded.len() + HOW_MANY, *many);
                bytes.next();
            }
            _ => expanded.push(*byte),
        }
    }
    Cow::Owned(expanded)
}
