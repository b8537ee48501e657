//! From the bytes of a stream to what its events say.

use super::{Dialect, Says};
use crate::sse::{Decoder, EventTooLong};

/// Reads a stream in whatever pieces it arrives. It does no I/O.
#[derive(Debug)]
pub struct Reader {
    dialect: Dialect,
    /// The dialect is a guess by the content type: the data may tell more.
    guess: bool,
    framing: Framing,
}

#[derive(Debug)]
enum Framing {
    Events(Decoder),
    Lines(Vec<u8>),
}

/// An event, and what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// What it says.
    pub says: Says,
    /// The bytes of its data.
    pub data_bytes: usize,
}

/// The stream cannot be read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is longer than {} MiB", Decoder::MAX_EVENT_BYTES / (1024 * 1024))]
pub struct Broken;

impl From<EventTooLong> for Broken {
    fn from(_: EventTooLong) -> Self {
        Self
    }
}

impl Reader {
    /// A reader of a stream whose dialect is known.
    pub fn new(dialect: Dialect) -> Self {
        let framing = match dialect {
            Dialect::Ndjson => Framing::Lines(Vec::new()),
            _ => Framing::Events(Decoder::new()),
        };
        Self { dialect, guess: false, framing }
    }

    /// A reader of an answer with this content type; `None` when it is no stream.
    pub fn for_content_type(content_type: &str) -> Option<Self> {
        let dialect = Dialect::of_content_type(content_type)?;
        Some(Self { guess: dialect == Dialect::Sse, ..Self::new(dialect) })
    }

    /// How the events are understood.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Takes the next bytes, and says of each event that they complete what it says.
    ///
    /// # Errors
    /// [`Broken`]; the stream is of no use afterwards.
    pub fn push(&mut self, bytes: &[u8], each: &mut dyn FnMut(Piece)) -> Result<(), Broken> {
        match &mut self.framing {
            Framing::Events(decoder) => {
                decoder.push(bytes);
                while let Some(event) = decoder.next_event()? {
                    if self.guess {
                        self.dialect = Dialect::of_data(&event.data);
                        self.guess = self.dialect == Dialect::Sse;
                    }
                    let says = self.dialect.read(&event.data);
                    each(Piece { says, data_bytes: event.data.len() });
                }
            }
            Framing::Lines(line) => {
                let mut rest = bytes;
                while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                    line.extend_from_slice(&rest[..end]);
                    rest = &rest[end + 1..];
                    let text = String::from_utf8_lossy(line);
                    let text = text.trim();
                    if !text.is_empty() {
                        each(Piece { says: self.dialect.read(text), data_bytes: text.len() });
                    }
                    line.clear();
                }
                line.extend_from_slice(rest);
                if line.len() > Decoder::MAX_EVENT_BYTES {
                    return Err(Broken);
                }
            }
        }
        Ok(())
    }

    /// Whether something is left that never became an event: to be asked at the end.
    pub fn pending(&self) -> bool {
        match &self.framing {
            Framing::Events(decoder) => decoder.pending(),
            Framing::Lines(line) => !line.trim_ascii().is_empty(),
        }
    }
}
