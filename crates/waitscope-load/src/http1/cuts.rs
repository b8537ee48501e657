//! However an answer is cut, the same is seen of it. The fuzz target `http1_response` looks for the
//! same with a nightly toolchain.

use proptest::prelude::*;

use super::{Head, MAX_HEAD, Parsed, Receiver, ResponseError, ResponseParser};

type Headers = Vec<(String, Vec<u8>)>;

/// All that is seen of an answer: its heads, its body, and how it ended, which is after so many bytes
/// or with the connection.
#[derive(Debug, PartialEq)]
struct Seen {
    heads: Vec<(u16, Headers)>,
    body: Vec<u8>,
    end: Result<Option<(usize, bool)>, ResponseError>,
}

impl Receiver for Seen {
    fn head(&mut self, head: &Head<'_>) {
        let headers = head.headers.iter().map(|h| (h.name.to_owned(), h.value.to_vec()));
        self.heads.push((head.status, headers.collect()));
    }

    fn body(&mut self, bytes: &[u8]) {
        self.body.extend_from_slice(bytes);
    }
}

/// Reads these pieces, and then the connection's end.
fn seen<'a>(pieces: impl Iterator<Item = &'a [u8]>, to_head_request: bool) -> Seen {
    let mut parser = ResponseParser::default();
    let mut seen = Seen { heads: Vec::new(), body: Vec::new(), end: Ok(None) };
    let mut before = 0;
    parser.begin(to_head_request);
    for piece in pieces {
        let parsed = parser.take(piece, &mut seen);
        assert!(parser.kept_bytes() <= MAX_HEAD);
        match parsed {
            Ok(Parsed::More) => before += piece.len(),
            Ok(Parsed::Done { used, keep_alive }) => {
                assert!(used <= piece.len(), "{used} of {} bytes", piece.len());
                seen.end = Ok(Some((before + used, keep_alive)));
                return seen;
            }
            Err(error) => {
                assert_eq!(parser.take(GOOD.as_bytes(), &mut seen), Err(error), "no more is taken");
                seen.end = Err(error);
                return seen;
            }
        }
    }
    seen.end = parser.end().map(|()| None);
    seen
}

const GOOD: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Pieces of answers, good and bad.
const SCRAPS: [&str; 24] = [
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.1 204 No Content\r\n",
    "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.0 200 OK\n",
    "Content-Length: 5\r\n",
    "Content-Length: x\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Connection: close\r\n",
    "A: b\r\n",
    "\r\n",
    "\n",
    "\r",
    "5\r\nhello\r\n",
    "5;a=b\r\nhello\r\n",
    "0\r\n\r\n",
    "0\r\nX: y\r\n\r\n",
    "hello",
    "hel",
    "HTTP/1.1 2",
    ":",
    "\0",
    "\u{e9}",
    GOOD,
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a\r\nhello\r\n0\r\nX: y\r\n\r\n",
];

/// Anything made of scraps, or an answer with one byte that is another.
fn inputs() -> impl Strategy<Value = Vec<u8>> {
    let scraps = prop::collection::vec(prop::sample::select(&SCRAPS[..]), 0..12);
    let spoilt = (prop::sample::select(&SCRAPS[22..]), any::<prop::sample::Index>(), any::<u8>());
    prop_oneof![
        scraps.prop_map(|scraps| scraps.concat().into_bytes()),
        spoilt.prop_map(|(answer, at, byte)| {
            let mut answer = answer.as_bytes().to_vec();
            let at = at.index(answer.len());
            answer[at] = byte;
            answer
        }),
    ]
}

proptest! {
    #[test]
    fn cuts_do_not_matter(
        input in inputs(),
        lengths in prop::collection::vec(1_usize..9, 1..9),
        to_head_request: bool,
    ) {
        let at_once = seen(std::iter::once(input.as_slice()), to_head_request);
        let mut rest = input.as_slice();
        let pieces = lengths.iter().cycle().map_while(|length| {
            let (piece, after) = rest.split_at((*length).min(rest.len()));
            rest = after;
            (!piece.is_empty()).then_some(piece)
        });
        prop_assert_eq!(seen(pieces, to_head_request), at_once);
    }
}
