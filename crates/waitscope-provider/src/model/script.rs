//! The script of an answer: which bytes leave when, and how it ends. Faults rewrite it.

use std::time::Duration;

/// What an event of a stream is for, in every protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// It opens the stream: the role, or the empty message.
    Open,
    /// It frames content: a block's or an item's begin and end.
    Frame,
    /// One token of an answer.
    Token,
    /// It says why the answer ended.
    Finish,
    /// It only counts tokens.
    Usage,
    /// The last one: `[DONE]`, `message_stop`, `response.completed`.
    End,
    /// It is no part of the answer: a ping, or what a fault put in.
    Noise,
}

/// One event of a stream, before it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// When it is due, counted from the call's arrival.
    pub due: Duration,
    /// What it is for.
    pub part: Part,
    /// Its name, for the `event:` line.
    pub name: Option<&'static str>,
    /// Its id, for the `id:` line.
    pub id: Option<u64>,
    /// Its data; empty for one that is only a comment.
    pub data: String,
    /// A comment before its other lines.
    pub comment: Option<&'static str>,
}

impl Event {
    /// An event without a name.
    pub const fn new(due: Duration, part: Part, data: String) -> Self {
        Self { due, part, name: None, id: None, data, comment: None }
    }

    /// The same with a name.
    #[must_use]
    pub fn named(self, name: &'static str) -> Self {
        Self { name: Some(name), ..self }
    }

    /// A comment that is no event.
    pub const fn comment(due: Duration, comment: &'static str) -> Self {
        let data = String::new();
        Self { due, part: Part::Noise, name: None, id: None, data, comment: Some(comment) }
    }
}

/// The events of a stream, in the order in which they are due.
pub type Events = Box<dyn Iterator<Item = Event> + Send>;

/// Makes a protocol's error event: its name and its data. Told its place among the stream's events,
/// counted from 0.
pub type ErrorEvent = fn(u64) -> (Option<&'static str>, String);

/// How events are written. The default is what the real APIs send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// What ends a line.
    pub line_end: &'static str,
    /// What stands between a field's name and its value.
    pub colon: &'static str,
    /// Whether names are written.
    pub names: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self { line_end: "\n", colon: ": ", names: true }
    }
}

impl Style {
    /// Writes one event (WHATWG HTML, 9.2.5). The data is JSON and has no line breaks.
    pub fn write(self, event: &Event) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(event.data.len() + 48);
        let mut line = |parts: [&str; 3]| {
            for part in parts {
                bytes.extend_from_slice(part.as_bytes());
            }
            bytes.extend_from_slice(self.line_end.as_bytes());
        };
        if let Some(comment) = event.comment {
            line([": ", comment, ""]);
        }
        if let Some(id) = event.id {
            line(["id", self.colon, &id.to_string()]);
        }
        if let Some(name) = event.name.filter(|_| self.names) {
            line(["event", self.colon, name]);
        }
        if !event.data.is_empty() {
            line(["data", self.colon, &event.data]);
        }
        line(["", "", ""]);
        bytes
    }
}

/// Bytes and when they are due, counted from the call's arrival.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// When they are due.
    pub due: Duration,
    /// What is written, in one write.
    pub bytes: Vec<u8>,
    /// What it is for; the first piece of an event that leaves in several stands for it.
    pub part: Part,
}

/// How an answer ends, after its last piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ending {
    /// As it should.
    #[default]
    Complete,
    /// The connection is closed (FIN) before the body is complete.
    Cut,
    /// The connection is reset (RST).
    Reset,
    /// Never: the connection stays open and silent until its client leaves.
    Open,
}

/// An answer's bytes and its ending.
pub struct Script {
    /// In the order in which they are due.
    pub pieces: Box<dyn Iterator<Item = Piece> + Send>,
    /// What follows the last one.
    pub ending: Ending,
}

impl Script {
    /// All of a body at once.
    pub fn whole(due: Duration, bytes: Vec<u8>) -> Self {
        let piece = Piece { due, bytes, part: Part::Token };
        Self { pieces: Box::new(std::iter::once(piece)), ending: Ending::Complete }
    }

    /// Events, one piece each.
    pub fn stream(events: Events, style: Style) -> Self {
        let pieces = events.map(move |event| Piece {
            due: event.due,
            bytes: style.write(&event),
            part: event.part,
        });
        Self { pieces: Box::new(pieces), ending: Ending::Complete }
    }
}

impl std::fmt::Debug for Script {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.debug_struct("Script").field("ending", &self.ending).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_written_in_every_style() {
        let event = Event {
            id: Some(7),
            comment: Some("ping"),
            ..Event::new(Duration::ZERO, Part::Token, "{}".to_owned()).named("x")
        };
        let plain = Style::default();
        for (style, expected) in [
            (plain, ": ping\nid: 7\nevent: x\ndata: {}\n\n"),
            (
                Style { line_end: "\r\n", ..plain },
                ": ping\r\nid: 7\r\nevent: x\r\ndata: {}\r\n\r\n",
            ),
            (Style { colon: ":", ..plain }, ": ping\nid:7\nevent:x\ndata:{}\n\n"),
            (Style { names: false, ..plain }, ": ping\nid: 7\ndata: {}\n\n"),
        ] {
            assert_eq!(String::from_utf8(style.write(&event)).unwrap(), expected);
        }
        let comment = Event::comment(Duration::ZERO, "ping");
        assert_eq!(plain.write(&comment), b": ping\n\n");
    }
}
