//! Reading events, in whatever pieces they arrive.

/// One dispatched event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The event's type; `message` when the stream named none.
    pub event: String,
    /// The `data` lines, joined with line feeds.
    pub data: String,
    /// The last event id the stream has set so far; empty when none.
    pub id: String,
}

/// An event, or a line, grew beyond [`Decoder::MAX_EVENT_BYTES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event is longer than {} MiB", Decoder::MAX_EVENT_BYTES / (1024 * 1024))]
pub struct EventTooLong;

/// An incremental decoder: [`push`](Self::push) what arrived, then take
/// [`next_event`](Self::next_event) until there is none. It does no I/O, so it serves blocking,
/// async and recorded streams alike.
///
/// Rules: WHATWG HTML standard, section 9.2.6 "Interpreting an event stream". Lines end with LF,
/// CRLF or CR; a leading byte-order mark is dropped; invalid UTF-8 becomes U+FFFD; an event whose
/// blank line never comes is not dispatched. `retry` is for clients that reconnect; it is ignored.
#[derive(Debug, Default)]
pub struct Decoder {
    /// What arrived and is not interpreted yet starts at `start`; up to `scanned` it is known to
    /// hold no line end, so that a long line in small pieces is not searched again and again.
    buffer: Vec<u8>,
    start: usize,
    scanned: usize,
    /// The last line ended with CR: a LF that follows belongs to it.
    after_cr: bool,
    past_first_line: bool,
    event: String,
    data: String,
    id: String,
}

impl Decoder {
    /// The longest event taken: a stream that never ends its line must not fill the memory.
    pub const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

    /// A decoder at the start of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.start);
        self.scanned -= self.start;
        self.start = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// The next event that is complete, if any.
    ///
    /// # Errors
    /// [`EventTooLong`]; the stream is of no use afterwards.
    pub fn next_event(&mut self) -> Result<Option<Event>, EventTooLong> {
        while let Some(line) = self.next_line() {
            if self.data.len() + line.len() > Self::MAX_EVENT_BYTES {
                return Err(EventTooLong);
            }
            if !line.is_empty() {
                self.field(&line);
            } else if let Some(event) = self.dispatch() {
                return Ok(Some(event));
            }
        }
        if self.buffer.len() - self.start > Self::MAX_EVENT_BYTES {
            return Err(EventTooLong);
        }
        Ok(None)
    }

    /// Whether something is left that was not dispatched: a line without its end, or an event
    /// without its blank line. To be asked when the stream has ended and
    /// [`next_event`](Self::next_event) has none: the standard then drops what is left, and so a
    /// stream that broke off looks like one that ended.
    pub fn pending(&self) -> bool {
        self.start < self.buffer.len() || !self.data.is_empty() || !self.event.is_empty()
    }

    fn next_line(&mut self) -> Option<String> {
        if self.after_cr && self.start < self.buffer.len() {
            self.after_cr = false;
            if self.buffer[self.start] == b'\n' {
                self.start += 1;
                self.scanned = self.scanned.max(self.start);
            }
        }
        let unseen = &self.buffer[self.scanned..];
        let Some(length) = unseen.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
            self.scanned = self.buffer.len();
            return None;
        };
        let end = self.scanned + length;
        self.after_cr = self.buffer[end] == b'\r';
        let mut line = &self.buffer[self.start..end];
        if !std::mem::replace(&mut self.past_first_line, true) {
            line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        }
        self.start = end + 1;
        self.scanned = self.start;
        Some(String::from_utf8_lossy(line).into_owned())
    }

    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => value.clone_into(&mut self.event),
            "data" => {
                self.data.push_str(value);
                self.data.push('\n');
            }
            "id" if !value.contains('\0') => value.clone_into(&mut self.id),
            // A comment has the empty name; unknown fields are ignored.
            _ => {}
        }
    }

    fn dispatch(&mut self) -> Option<Event> {
        let event = std::mem::take(&mut self.event);
        let mut data = std::mem::take(&mut self.data);
        // Each data line ended with a line feed; without any there is nothing to dispatch.
        data.pop()?;
        let event = if event.is_empty() { "message".to_owned() } else { event };
        Some(Event { event, data, id: self.id.clone() })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sse::{encode, encode_named};

    fn decode(pieces: &[&[u8]]) -> Vec<Event> {
        let mut decoder = Decoder::new();
        let mut events = Vec::new();
        for piece in pieces {
            decoder.push(piece);
            while let Some(event) = decoder.next_event().unwrap() {
                events.push(event);
            }
        }
        events
    }

    fn event(event: &str, data: &str, id: &str) -> Event {
        Event { event: event.to_owned(), data: data.to_owned(), id: id.to_owned() }
    }

    #[track_caller]
    fn check(stream: &[u8], expected: &[Event]) {
        assert_eq!(decode(&[stream]), expected, "{:?}", String::from_utf8_lossy(stream));
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(decode(&bytes), expected, "one byte at a time");
    }

    #[test]
    fn streams_are_read_by_the_standard() {
        let message = |data| event("message", data, "");
        let cases: &[(&str, &[Event])] = &[
            ("", &[]),
            ("data: x\n\n", &[message("x")]),
            ("data:x\n\n", &[message("x")]),
            ("data:  x\n\n", &[message(" x")]),
            ("data: x\r\n\r\ndata: y\r\n\r\n", &[message("x"), message("y")]),
            ("data: x\r\rdata: y\r\r", &[message("x"), message("y")]),
            ("data: x\n\r\n\ndata: y\r\n\n", &[message("x"), message("y")]),
            ("data: a\ndata: b\ndata\n\n", &[message("a\nb\n")]),
            ("data\n\n", &[message("")]),
            ("data: x", &[]),
            ("data: x\n", &[]),
            (": ping\n\ndata: x\n: in between\n\n", &[message("x")]),
            ("data: : keepalive\n\n", &[message(": keepalive")]),
            ("event: add\ndata: 1\n\ndata: 2\n\n", &[event("add", "1", ""), message("2")]),
            ("event: lost\n\ndata: 2\n\n", &[message("2")]),
            ("id: 7\n: ping\n\ndata: x\n\n", &[event("message", "x", "7")]),
            ("id: 7\ndata: x\n\nid\ndata: y\n\n", &[event("message", "x", "7"), message("y")]),
            ("id: a\0b\ndata: x\n\n", &[message("x")]),
            ("\u{feff}data: x\n\n", &[message("x")]),
            ("\u{feff}\u{feff}data: x\n\ndata: y\n\n", &[message("y")]),
            (" data: x\nDATA: x\nretry: 10\nunknown: x\n\n", &[]),
            ("data: 漢字🎉\n\n", &[message("漢字🎉")]),
        ];
        for (stream, expected) in cases {
            check(stream.as_bytes(), expected);
        }
        check(b"data: \xff\xe2\x82\n\n", &[message("\u{fffd}\u{fffd}")]);
    }

    /// What is left at the end, whether it came at once or one byte at a time.
    fn is_pending(stream: &[u8]) -> bool {
        let [whole, in_bytes] = [stream.len().max(1), 1].map(|size| {
            let mut decoder = Decoder::new();
            for piece in stream.chunks(size) {
                decoder.push(piece);
                while decoder.next_event().unwrap().is_some() {}
            }
            decoder.pending()
        });
        assert_eq!(whole, in_bytes, "{:?}", String::from_utf8_lossy(stream));
        whole
    }

    #[test]
    fn what_is_left_at_the_end_is_told() {
        for (stream, expected) in [
            ("", false),
            ("data: x\n\n", false),
            ("data: x\r\n\r\n", false),
            ("data: x\r\r", false),
            ("data: x\n\n: ping\n", false),
            ("data: x\n\nid: 7\n\n", false),
            ("event: lost\n\n", false),
            ("data: x\n\nd", true),
            ("data: x\n\ndata: [DONE]", true),
            ("data: x\n\ndata: [DONE]\n", true),
            ("data: x\r\n\r\ndata: [DONE]\r\n", true),
            ("data: x\r\rdata\r", true),
            ("event: error\n", true),
            ("data: x\n\n: pi", true),
        ] {
            assert_eq!(is_pending(stream.as_bytes()), expected, "{stream:?}");
        }
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let mut decoder = Decoder::new();
        decoder.push(b"data: ok\n\n");
        decoder.push(&vec![b'x'; Decoder::MAX_EVENT_BYTES + 1]);
        assert_eq!(decoder.next_event(), Ok(Some(event("message", "ok", ""))));
        assert_eq!(decoder.next_event(), Err(EventTooLong));
    }

    #[test]
    fn many_lines_without_blank_line_are_refused() {
        let mut decoder = Decoder::new();
        let line = [b"data: ".as_slice(), &vec![b'x'; 1024 * 1024], b"\n"].concat();
        let taken = (0..32).take_while(|_| {
            decoder.push(&line);
            decoder.next_event() == Ok(None)
        });
        assert_eq!(taken.count(), 15);
    }

    fn stream() -> impl Strategy<Value = Vec<u8>> {
        let token = prop_oneof![
            Just(b"data".to_vec()),
            Just(b"event".to_vec()),
            Just(b"id".to_vec()),
            Just(b": ".to_vec()),
            Just(b":".to_vec()),
            Just(b"\n".to_vec()),
            Just(b"\r".to_vec()),
            Just(b"\r\n".to_vec()),
            Just(b"\n\n".to_vec()),
            Just("\u{feff}".as_bytes().to_vec()),
            Just("é漢🎉".as_bytes().to_vec()),
            proptest::collection::vec(any::<u8>(), 1..3),
        ];
        proptest::collection::vec(token, 0..40).prop_map(|tokens| tokens.concat())
    }

    proptest! {
        #[test]
        fn splits_do_not_matter(stream in stream(), cuts in proptest::collection::vec(0..200_usize, 0..6)) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(stream.len())).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &stream[cut[0]..cut[1]]).collect();
            prop_assert_eq!(decode(&pieces), decode(&[&stream]));
            is_pending(&stream);
        }

        #[test]
        fn what_is_written_is_read_back(data in "[a-c: \u{e9}\n]{0,20}") {
            let written = encode(&data);
            prop_assert_eq!(decode(&[written.as_bytes()]), [event("message", &data, "")]);
            let named = encode_named("ping", &data);
            prop_assert_eq!(decode(&[named.as_bytes()]), [event("ping", &data, "")]);
            prop_assert!(!is_pending(named.as_bytes()));
            prop_assert!(is_pending(&named.as_bytes()[..named.len() - 1]));
        }
    }
}
