//! Bodies in chunks (RFC 9112, section 7.1).

use super::ResponseError;

/// The longest line with a chunk's size and extensions, and the longest trailer section.
const MAX_LINE: u32 = 16 * 1024;

/// Where in a chunked body the next byte belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chunked {
    /// In the digits of a size; so many bytes of the line were read.
    Size { size: u64, digits: u8 },
    /// After the size, up to the end of its line: extensions, which mean nothing here.
    Extension { size: u64, length: u32 },
    /// In the data of a chunk.
    Data { left: u64 },
    /// At the line end after the data.
    DataEnd,
    /// In the trailer section; so many bytes of its present line and of the whole were read.
    Trailer { line: u32, length: u32 },
    /// Behind the body.
    Done,
}

impl Chunked {
    pub(super) const START: Self = Self::Size { size: 0, digits: 0 };

    /// Takes bytes until the body ends or they do, gives data to `body`, and returns how many were
    /// taken.
    pub(super) fn take(
        &mut self,
        input: &[u8],
        mut body: impl FnMut(&[u8]),
    ) -> Result<usize, ResponseError> {
        let mut at = 0;
        while at < input.len() && *self != Self::Done {
            if let Self::Data { left } = *self {
                let have = input.len() - at;
                let taken = usize::try_from(left).unwrap_or(usize::MAX).min(have);
                body(&input[at..at + taken]);
                at += taken;
                let left = left - taken as u64;
                *self = if left == 0 { Self::DataEnd } else { Self::Data { left } };
            } else {
                *self = self.after(input[at])?;
                at += 1;
            }
        }
        Ok(at)
    }

    /// The place after one byte that is no data. Lines may end without a carriage return.
    fn after(self, byte: u8) -> Result<Self, ResponseError> {
        match (self, byte) {
            (Self::Size { size, digits }, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                // 16 digits fill a u64.
                if digits == 16 {
                    return Err(ResponseError::BadChunk);
                }
                let digit = char::from(byte).to_digit(16).unwrap_or_default();
                Ok(Self::Size { size: size << 4 | u64::from(digit), digits: digits + 1 })
            }
            (Self::Size { digits: 0, .. }, _) => Err(ResponseError::BadChunk),
            (Self::Size { size, .. } | Self::Extension { size, .. }, b'\n') => Ok(match size {
                0 => Self::Trailer { line: 0, length: 0 },
                left => Self::Data { left },
            }),
            (Self::Size { size, .. }, b'\r' | b';' | b' ' | b'\t') => {
                Ok(Self::Extension { size, length: 0 })
            }
            (Self::Extension { size, length }, _) if length < MAX_LINE => {
                Ok(Self::Extension { size, length: length + 1 })
            }
            (Self::DataEnd, b'\r') => Ok(Self::DataEnd),
            (Self::DataEnd, b'\n') => Ok(Self::START),
            (Self::Trailer { line: 0, .. }, b'\n') => Ok(Self::Done),
            (Self::Trailer { length, .. }, b'\n') => Ok(Self::Trailer { line: 0, length }),
            (Self::Trailer { .. }, b'\r') => Ok(self),
            (Self::Trailer { line, length }, _) if length < MAX_LINE => {
                Ok(Self::Trailer { line: line + 1, length: length + 1 })
            }
            _ => Err(ResponseError::BadChunk),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The body, what is left of the input, and whether the body ended; fed in pieces.
    fn read(input: &[u8], piece: usize) -> Result<(Vec<u8>, usize, bool), ResponseError> {
        let (mut state, mut body, mut used) = (Chunked::START, Vec::new(), 0);
        for piece in input.chunks(piece) {
            used += state.take(piece, |data| body.extend_from_slice(data))?;
            if state == Chunked::Done {
                break;
            }
        }
        Ok((body, input.len() - used, state == Chunked::Done))
    }

    #[test]
    fn chunks_extensions_and_trailers() {
        let cases: [(&str, &str, usize); 6] = [
            ("0\r\n\r\n", "", 0),
            ("5\r\nhello\r\n0\r\n\r\n", "hello", 0),
            ("5;a=\"b\";c\r\nhello\r\n6 \r\n world\r\n0;x\r\n\r\nrest", "hello world", 4),
            ("A\r\n0123456789\r\n000\r\nX: 1\r\nY: 2\r\n\r\n", "0123456789", 0),
            ("2\r\n\r\n\r\n0\r\n\r\n", "\r\n", 0),
            ("3\nabc\n0\n\nx", "abc", 1),
        ];
        for (input, body, left) in cases {
            for piece in [1, 2, 3, input.len()] {
                let got = read(input.as_bytes(), piece).unwrap();
                assert_eq!(got, (body.into(), left, true), "{input:?} in pieces of {piece}");
            }
        }
    }

    #[test]
    fn what_ends_early_has_not_ended() {
        for input in ["", "5", "5\r\nhel", "5\r\nhello", "5\r\nhello\r\n", "0\r\n", "0\r\nX: 1\r\n"]
        {
            assert!(!read(input.as_bytes(), 1).unwrap().2, "{input:?}");
        }
    }

    #[test]
    fn what_is_no_chunk_is_an_error() {
        let endless = format!("1;{}\r\n", "x".repeat(20_000));
        let trailers = format!("0\r\n{}", "a: b\r\n".repeat(5_000));
        let bad = ["g\r\n", "\r\n", "-1\r\n", "5x\r\n", "2\r\nabc\r\n", "11112222333344445\r\n"];
        for input in bad.into_iter().chain([endless.as_str(), trailers.as_str()]) {
            let got = read(input.as_bytes(), 4096);
            assert_eq!(got, Err(ResponseError::BadChunk), "{}", &input[..input.len().min(20)]);
        }
    }
}
