//! Requests that are malformed, each the same in every run.

use super::bodies::BODIES;
use crate::fixture::ticket;

/// A request that must not be taken.
pub(super) struct Malformed {
    /// What is wrong with it.
    pub(super) name: &'static str,
    pub(super) bytes: Vec<u8>,
    /// Whether its client closes its sending side, so that nobody waits for the rest.
    pub(super) ends: bool,
    pub(super) expected: Expected,
}

/// What becomes of it.
pub(super) enum Expected {
    /// An answer with this status and this code.
    Refused(u16, &'static str),
    /// Some status of 4xx, or the end of the connection: HTTP itself is broken.
    RefusedOrCut,
}

/// The request of a number: bodies of all kinds in turn, and each third time a broken request.
pub(super) fn malformed(number: usize) -> Malformed {
    let mut random = Random::of(number);
    let turn = number / 3;
    if number % 3 == 2 {
        return broken(turn, &mut random);
    }
    let turn = turn * 2 + number % 3;
    if turn % 8 == 7 {
        return refused_unread(turn / 8, &mut random);
    }
    let (name, make) = BODIES[turn % BODIES.len()];
    let bytes = whole("", &make(&mut random));
    Malformed { name, bytes, ends: false, expected: Expected::Refused(422, "invalid_request") }
}

/// The first line and the headers that all have.
const POST: &str = "POST /v1/tickets HTTP/1.1\r\nhost: x\r\nconnection: close\r\n";

/// A request that keeps to HTTP.
fn whole(headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("{POST}{headers}content-length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// A request whose head or size is enough to refuse it.
fn refused_unread(turn: usize, random: &mut Random) -> Malformed {
    let good = ticket().to_string();
    let large = format!("{good}{}", " ".repeat(65_536 + random.below(100_000)));
    let long_key = format!("idempotency-key: {}\r\n", "x".repeat(256 + random.below(5000)));
    let media = (415, "unsupported_media_type");
    let invalid = (422, "invalid_request");
    let cases = [
        ("a body that is too large", "", &large, (413, "body_too_large")),
        ("XML", "content-type: text/xml\r\n", &good, media),
        ("a form", "content-type: multipart/form-data; boundary=x\r\n", &good, media),
        ("no type at all", "content-type: \r\n", &good, media),
        ("a body that says it is packed", "content-encoding: gzip\r\n", &good, media),
        ("an empty key", "idempotency-key: \r\n", &good, invalid),
        ("a key that is too long", &long_key, &good, invalid),
        ("a key beyond ASCII", "idempotency-key: schlüssel\r\n", &good, invalid),
        ("two keys", "idempotency-key: a\r\nidempotency-key: b\r\n", &good, invalid),
    ];
    let (name, headers, body, (status, code)) = cases[turn % cases.len()];
    let bytes = whole(headers, body.as_bytes());
    Malformed { name, bytes, ends: false, expected: Expected::Refused(status, code) }
}

/// A request that breaks HTTP.
fn broken(turn: usize, random: &mut Random) -> Malformed {
    let lengths = ["x", "-1", "+5", "5,6", "0x10", "1e2", "99999999999999999999999", "5 5", ""];
    let chunks = [
        "zz\r\n",
        "-1\r\n{}",
        "5\r\n{}",
        "2\r\n{}x\r\n0\r\n\r\n",
        "2{}",
        "\r\n\r\n",
        "fffffffffffffffff\r\n{}\r\n",
        "2;\n{}\r\n0\r\n",
        "2\r\n{}\r\n",
    ];
    let heads = [
        "no colon\r\n",
        "bad name: x\r\n",
        "name : x\r\n",
        "name: a\0b\r\n",
        ": x\r\n",
        "na\u{e4}me: x\r\n",
        "name: x\r y\r\n",
        "transfer-encoding: gzip\r\n",
        "transfer-encoding: chunked, gzip\r\n",
        "content-length: 2\r\ncontent-length: 3\r\n",
    ];
    let lines = [
        "GARBAGE",
        "POST",
        "POST /v1/tickets",
        "POST /v1/tickets HTTP/9.9",
        "PO ST / HTTP/1.1",
        "POST /v1/tick ets HTTP/1.1",
        "\u{16}\u{3}\u{1}\u{2}",
        "PRI * HTTP/2.0",
        "{\"subject\": 1}",
    ];
    let good = ticket().to_string();
    let (name, text) = match turn % 7 {
        0 => (
            "a length that is none",
            format!("{POST}content-length: {}\r\n\r\n{good}", random.one_of(&lengths)),
        ),
        1 => {
            let more = good.len() + 1 + random.below(100_000);
            ("a length beyond the body", format!("{POST}content-length: {more}\r\n\r\n{good}"))
        }
        2 => {
            let less = random.below(good.len());
            ("a length within the body", format!("{POST}content-length: {less}\r\n\r\n{good}"))
        }
        3 => {
            let nonsense = random.one_of(&chunks);
            ("chunks that are none", format!("{POST}transfer-encoding: chunked\r\n\r\n{nonsense}"))
        }
        4 => ("a head that is none", format!("{POST}{}\r\n{good}", random.one_of(&heads))),
        5 => {
            let filling = "x".repeat(500_000 + random.below(500_000));
            ("a head without end", format!("{POST}filling: {filling}\r\n\r\n{good}"))
        }
        _ => {
            let line = random.one_of(&lines);
            ("a first line that is none", format!("{line}\r\nhost: x\r\n\r\n{good}"))
        }
    };
    // More could come after these two.
    let ends = [1, 3].contains(&(turn % 7));
    Malformed { name, bytes: text.into(), ends, expected: Expected::RefusedOrCut }
}

/// Numbers that look random and are the same in every run (Marsaglia, "Xorshift RNGs", 2003).
pub(super) struct Random(u64);

impl Random {
    /// A sequence for each request.
    fn of(number: usize) -> Self {
        let seed = u64::try_from(number).unwrap().wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut random = Self(seed);
        random.next();
        random.next();
        random
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Less than `bound`, which is not zero.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        let high = u128::from(self.next()) * u128::try_from(bound).unwrap();
        usize::try_from(high >> 64).unwrap()
    }

    pub(super) fn one_of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }
}
