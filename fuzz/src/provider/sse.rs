//! The reader of server-sent events.

use waitscope_wire::sse::{Decoder, Event};

/// The first bytes of an input say how the others are split.
const SPLITS: usize = 4;
/// An invalid byte becomes U+FFFD, which has three.
const MOST_BYTES_PER_BYTE: usize = 3;

/// Any split of any bytes gives the events that they give at once, and no more text than came.
pub fn sse_reader(data: &[u8]) {
    let (splits, stream) = data.split_at(data.len().min(SPLITS));
    let at_once = read([stream]);
    assert_eq!(read(pieces(splits, stream)), at_once, "split");
    assert_eq!(read(stream.chunks(1)), at_once, "byte by byte");
    let (at_once, _pending) = at_once;
    let text: usize = at_once.iter().map(|event| event.data.len() + event.event.len()).sum();
    let named_by_us = at_once.len() * "message".len();
    assert!(text <= MOST_BYTES_PER_BYTE * stream.len() + named_by_us, "{text} bytes of text");
}

/// Pieces whose lengths go through the bytes of `splits` again and again, plus one.
fn pieces<'a>(splits: &'a [u8], stream: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let mut lengths = splits.iter().cycle().map(|split| usize::from(*split) + 1);
    let mut rest = stream;
    std::iter::from_fn(move || {
        let length = lengths.next()?.min(rest.len());
        let (piece, after) = rest.split_at(length);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

/// All events, and whether something was left that no blank line ended.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Event>, bool) {
    let mut decoder = Decoder::new();
    let mut events = Vec::new();
    for piece in pieces {
        decoder.push(piece);
        // Inputs are far shorter than the longest event.
        while let Some(event) = decoder.next_event().unwrap() {
            events.push(event);
        }
    }
    (events, decoder.pending())
}
