//! Where the body of an answer ends, and whether its connection can be used again.

use super::ResponseError;

/// How the end of a body is known (RFC 9112, section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// There is none, whatever the headers say.
    None,
    /// So many bytes.
    Length(u64),
    /// In chunks.
    Chunked,
    /// All until the connection is closed.
    UntilClose,
}

/// What the head of an answer says about its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ending {
    pub(super) framing: Framing,
    pub(super) keep_alive: bool,
}

/// Reads the head of a final answer. `version` is the minor one of HTTP/1.
pub(super) fn of_head(
    to_head_request: bool,
    version: u8,
    status: u16,
    headers: &[httparse::Header<'_>],
) -> Result<Ending, ResponseError> {
    let mut length = None;
    let mut coding = None;
    let (mut close, mut keep) = (false, false);
    for header in headers {
        // Compared by length first: most headers are none of these.
        match header.name.len() {
            10 if header.name.eq_ignore_ascii_case("connection") => {
                for option in tokens(header.value) {
                    close |= option.eq_ignore_ascii_case(b"close");
                    keep |= option.eq_ignore_ascii_case(b"keep-alive");
                }
            }
            14 if header.name.eq_ignore_ascii_case("content-length") => {
                for text in tokens(header.value) {
                    let number = decimal(text).ok_or(ResponseError::BadLength)?;
                    if length.replace(number).is_some_and(|before| before != number) {
                        return Err(ResponseError::BadLength);
                    }
                }
            }
            17 if header.name.eq_ignore_ascii_case("transfer-encoding") => {
                coding = tokens(header.value).last().or(coding);
            }
            _ => {}
        }
    }
    let framing = if to_head_request || matches!(status, 101 | 204 | 304) {
        Framing::None
    } else if let Some(last) = coding {
        // A length beside it is overridden.
        if last.eq_ignore_ascii_case(b"chunked") { Framing::Chunked } else { Framing::UntilClose }
    } else {
        length.map_or(Framing::UntilClose, Framing::Length)
    };
    let persistent = if version == 0 { keep } else { true };
    let keep_alive = persistent && !close && framing != Framing::UntilClose && status != 101;
    Ok(Ending { framing, keep_alive })
}

/// The members of a list, without white space and empty ones.
fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(|token| !token.is_empty())
}

fn decimal(text: &[u8]) -> Option<u64> {
    let digits = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text).ok().filter(|_| digits)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ending(version: u8, status: u16, headers: &[(&str, &str)]) -> Result<Ending, ResponseError> {
        let headers: Vec<httparse::Header<'_>> = headers
            .iter()
            .map(|(name, value)| httparse::Header { name, value: value.as_bytes() })
            .collect();
        of_head(false, version, status, &headers)
    }

    #[test]
    fn the_end_is_where_the_standard_says() {
        use Framing::{Chunked, Length, None, UntilClose};
        type Case = (u8, u16, &'static [(&'static str, &'static str)], Framing, bool);
        let cases: [Case; 15] = [
            (1, 200, &[("Content-Length", "5")], Length(5), true),
            (1, 200, &[("content-length", " 5 , 5")], Length(5), true),
            (1, 200, &[("Content-Length", "0")], Length(0), true),
            (1, 200, &[("Transfer-Encoding", "chunked")], Chunked, true),
            (1, 200, &[("Transfer-Encoding", "gzip, Chunked")], Chunked, true),
            (1, 200, &[("Transfer-Encoding", "chunked, gzip")], UntilClose, false),
            (1, 200, &[("Content-Length", "5"), ("Transfer-Encoding", "chunked")], Chunked, true),
            (1, 200, &[], UntilClose, false),
            (1, 204, &[], None, true),
            (1, 304, &[("Content-Length", "5")], None, true),
            (1, 200, &[("Content-Length", "5"), ("Connection", "Close")], Length(5), false),
            (1, 200, &[("Content-Length", "5"), ("Connection", "x, close")], Length(5), false),
            (0, 200, &[("Content-Length", "5")], Length(5), false),
            (0, 200, &[("Content-Length", "5"), ("Connection", "keep-alive")], Length(5), true),
            (1, 101, &[("Upgrade", "x")], None, false),
        ];
        for (version, status, headers, framing, keep_alive) in cases {
            let got = ending(version, status, headers).unwrap();
            assert_eq!(got, Ending { framing, keep_alive }, "{version} {status} {headers:?}");
        }
        let to_head = of_head(true, 1, 200, &[]).unwrap();
        assert_eq!(to_head, Ending { framing: Framing::None, keep_alive: true });
    }

    #[test]
    fn a_length_that_is_none_is_an_error() {
        for value in ["x", "-1", "+1", "5, 6", "1e3", "99999999999999999999999"] {
            let got = ending(1, 200, &[("Content-Length", value)]);
            assert_eq!(got, Err(ResponseError::BadLength), "{value}");
        }
    }
}
