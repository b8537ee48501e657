//! The right events in unusual bytes: what every client should take.

use std::fmt;
use std::time::Duration;

use super::{FaultError, Kind, Value};
use crate::model::script::{Part, Piece, Script, Style};

/// See [`KINDS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// `one-byte`.
    OneByte,
    /// `split-utf8`.
    SplitUtf8,
    /// `crlf`.
    Crlf,
    /// `no-space`.
    NoSpace,
    /// `no-blank-end`.
    NoBlankEnd,
    /// `no-event-lines`.
    NoEventLines,
}

pub(super) const KINDS: &[Kind] = &[
    Kind {
        name: "one-byte",
        example: "",
        meaning: "leaves one byte at a time",
        read: |value| plain(value, Fault::OneByte),
    },
    Kind {
        name: "split-utf8",
        example: "",
        meaning: "is split inside each character of several bytes, 2 ms apart",
        read: |value| plain(value, Fault::SplitUtf8),
    },
    Kind {
        name: "crlf",
        example: "",
        meaning: "has CRLF line ends",
        read: |value| plain(value, Fault::Crlf),
    },
    Kind {
        name: "no-space",
        example: "",
        meaning: "has no space after `data:`",
        read: |value| plain(value, Fault::NoSpace),
    },
    Kind {
        name: "no-blank-end",
        example: "",
        meaning: "lacks the blank line after its last event",
        read: |value| plain(value, Fault::NoBlankEnd),
    },
    Kind {
        name: "no-event-lines",
        example: "",
        meaning: "lacks its `event:` lines",
        read: |value| plain(value, Fault::NoEventLines),
    },
];

/// Between the two halves of a character: enough for a segment of its own.
const BETWEEN_HALVES: Duration = Duration::from_millis(2);

fn plain(value: Value, fault: Fault) -> Result<super::Fault, FaultError> {
    value.none().map(|()| super::Fault::Bytes(fault))
}

impl Fault {
    pub(super) fn style(self, style: Style) -> Style {
        match self {
            Self::Crlf => Style { line_end: "\r\n", ..style },
            Self::NoSpace => Style { colon: ":", ..style },
            Self::NoEventLines => Style { names: false, ..style },
            _ => style,
        }
    }

    /// Whether it splits what is written, and so touches whole answers too.
    pub(super) fn splits(self) -> bool {
        matches!(self, Self::OneByte | Self::SplitUtf8)
    }

    pub(super) fn rewrite(self, script: Script) -> Script {
        let Script { pieces, ending } = script;
        match self {
            Self::OneByte => Script { pieces: Box::new(pieces.flat_map(bytes_of)), ending },
            Self::SplitUtf8 => Script { pieces: Box::new(pieces.flat_map(halves_of)), ending },
            Self::NoBlankEnd => Script { pieces: Box::new(NoBlankEnd(pieces.peekable())), ending },
            _ => Script { pieces, ending },
        }
    }
}

fn bytes_of(piece: Piece) -> impl Iterator<Item = Piece> {
    let Piece { due, bytes, part } = piece;
    bytes.into_iter().enumerate().map(move |(index, byte)| Piece {
        due,
        bytes: vec![byte],
        part: if index == 0 { part } else { Part::Noise },
    })
}

/// Splits after the first byte of each character of several bytes.
fn halves_of(piece: Piece) -> Vec<Piece> {
    let Piece { mut due, bytes, part } = piece;
    let mut halves = vec![Piece { due, bytes: Vec::new(), part }];
    for byte in bytes {
        let opens_character = byte >= 0b1100_0000;
        if let Some(last) = halves.last_mut() {
            last.bytes.push(byte);
        }
        if opens_character {
            due += BETWEEN_HALVES;
            halves.push(Piece { due, bytes: Vec::new(), part: Part::Noise });
        }
    }
    halves
}

/// Takes the last line end off the last piece.
struct NoBlankEnd<I: Iterator>(std::iter::Peekable<I>);

impl<I: Iterator<Item = Piece>> Iterator for NoBlankEnd<I> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let mut piece = self.0.next()?;
        if self.0.peek().is_none() {
            let end = if piece.bytes.ends_with(b"\r\n") { 2 } else { 1 };
            piece.bytes.truncate(piece.bytes.len().saturating_sub(end));
        }
        Some(piece)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(match self {
            Self::OneByte => "one-byte",
            Self::SplitUtf8 => "split-utf8",
            Self::Crlf => "crlf",
            Self::NoSpace => "no-space",
            Self::NoBlankEnd => "no-blank-end",
            Self::NoEventLines => "no-event-lines",
        })
    }
}
