//! Streams whose events, and whole answers whose JSON, are not what they should be.

use std::fmt;

use serde_json::Value as Json;

use super::{FaultError, Kind, Value};
use crate::model::script::{ErrorEvent, Event, Events, Part};

/// See [`KINDS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// `end-after`.
    EndAfter(u32),
    /// `no-done`.
    NoDone,
    /// `error-after`.
    ErrorAfter(u32),
    /// `bad-json-after`.
    BadJsonAfter(u32),
    /// `truncated-json-after`.
    TruncatedJsonAfter(u32),
    /// `delta-null`.
    DeltaNull,
    /// `usage-unasked`.
    UsageUnasked,
    /// `no-usage`.
    NoUsage,
    /// `no-message-start`.
    NoMessageStart,
    /// `comments`.
    Comments,
    /// `id-ping`.
    IdPing,
    /// `data-ping`.
    DataPing,
    /// `floats`.
    Floats,
}

pub(super) const KINDS: &[Kind] = &[
    Kind {
        name: "end-after",
        example: "5",
        meaning: "ends cleanly after so many tokens, without a finish and its last event",
        read: |value| value.tokens().map(|tokens| Fault::EndAfter(tokens).into()),
    },
    Kind {
        name: "no-done",
        example: "",
        meaning: "ends cleanly after its finish, without its last event (`[DONE]`, \
                  `message_stop`, `response.completed`)",
        read: |value| plain(value, Fault::NoDone),
    },
    Kind {
        name: "error-after",
        example: "5",
        meaning: "ends with an error event after so many tokens",
        read: |value| value.tokens().map(|tokens| Fault::ErrorAfter(tokens).into()),
    },
    Kind {
        name: "bad-json-after",
        example: "5",
        meaning: "has an event after so many tokens whose data is not JSON; a whole one is not \
                  JSON",
        read: |value| value.tokens().map(|tokens| Fault::BadJsonAfter(tokens).into()),
    },
    Kind {
        name: "truncated-json-after",
        example: "5",
        meaning: "has an event after so many tokens whose JSON is cut; a whole one ends in the \
                  middle",
        read: |value| value.tokens().map(|tokens| Fault::TruncatedJsonAfter(tokens).into()),
    },
    Kind {
        name: "delta-null",
        example: "",
        meaning: "has `\"delta\": null` in its finishing chunk",
        read: |value| plain(value, Fault::DeltaNull),
    },
    Kind {
        name: "usage-unasked",
        example: "",
        meaning: "ends with a usage chunk whose `choices` are empty, although nobody asked",
        read: |value| plain(value, Fault::UsageUnasked),
    },
    Kind {
        name: "no-usage",
        example: "",
        meaning: "does not tell its usage",
        read: |value| plain(value, Fault::NoUsage),
    },
    Kind {
        name: "no-message-start",
        example: "",
        meaning: "lacks the event that opens it",
        read: |value| plain(value, Fault::NoMessageStart),
    },
    Kind {
        name: "comments",
        example: "",
        meaning: "has a comment (`: ping`) before each event",
        read: |value| plain(value, Fault::Comments),
    },
    Kind {
        name: "id-ping",
        example: "",
        meaning: "has an id on each event, and after it a comment that is no event",
        read: |value| plain(value, Fault::IdPing),
    },
    Kind {
        name: "data-ping",
        example: "",
        meaning: "has pings sent as data (`data: : keepalive`)",
        read: |value| plain(value, Fault::DataPing),
    },
    Kind {
        name: "floats",
        example: "",
        meaning: "has embeddings as numbers although base64 was asked for",
        read: |value| plain(value, Fault::Floats),
    },
];

fn plain(value: Value, fault: Fault) -> Result<super::Fault, FaultError> {
    value.none().map(|()| fault.into())
}

impl From<Fault> for super::Fault {
    fn from(fault: Fault) -> Self {
        Self::Events(fault)
    }
}

impl Fault {
    pub(super) fn rewrite(self, events: Events, error: ErrorEvent) -> Events {
        match self {
            Self::EndAfter(tokens) => super::connection::up_to(events, tokens),
            Self::NoDone => without(events, Part::End),
            Self::ErrorAfter(tokens) => with_error(events, tokens, error),
            Self::BadJsonAfter(tokens) => spoiled(events, tokens, |_| BAD_JSON.to_owned()),
            Self::TruncatedJsonAfter(tokens) => {
                spoiled(events, tokens, |data| first_half(&data).to_owned())
            }
            Self::DeltaNull => Box::new(events.map(|event| match event.part {
                Part::Finish => Event { data: edit(&event.data, delta_null), ..event },
                _ => event,
            })),
            Self::NoUsage => Box::new(
                without(events, Part::Usage)
                    .map(|event| Event { data: edit(&event.data, remove_usage), ..event }),
            ),
            Self::NoMessageStart => without(events, Part::Open),
            Self::Comments => {
                Box::new(events.flat_map(|event| [Event::comment(event.due, "ping"), event]))
            }
            Self::IdPing => Box::new(events.zip(1..).flat_map(|(event, id)| {
                let ping = Event::comment(event.due, "ping");
                [Event { id: Some(id), ..event }, ping]
            })),
            Self::DataPing => Box::new(events.flat_map(|event| {
                let ping = (event.part == Part::Token)
                    .then(|| Event::new(event.due, Part::Noise, ": keepalive".to_owned()));
                ping.into_iter().chain([event])
            })),
            // These two are decided where the answer is planned.
            Self::UsageUnasked | Self::Floats => events,
        }
    }

    /// What becomes of a whole answer's JSON.
    pub(super) fn spoil(self, body: Vec<u8>) -> Vec<u8> {
        match self {
            Self::BadJsonAfter(_) => BAD_JSON.into(),
            Self::TruncatedJsonAfter(_) => body[..body.len() / 2].to_vec(),
            Self::NoUsage => match str::from_utf8(&body) {
                Ok(text) => edit(text, remove_usage).into_bytes(),
                Err(_) => body,
            },
            _ => body,
        }
    }
}

/// Looks like JSON to the eye.
const BAD_JSON: &str = r#"{"id": undefined, "choices": [}"#;

fn without(events: Events, part: Part) -> Events {
    Box::new(events.filter(move |event| event.part != part))
}

fn with_error(mut events: Events, tokens: u32, error: ErrorEvent) -> Events {
    // The error comes when the next event would have.
    let (mut place, mut seen, mut over) = (0, 0, false);
    Box::new(std::iter::from_fn(move || {
        if over {
            return None;
        }
        let next = events.next()?;
        let reached = seen >= tokens && !matches!(next.part, Part::Open | Part::Frame);
        over = reached || matches!(next.part, Part::Finish | Part::End);
        seen += u32::from(next.part == Part::Token);
        if !over {
            place += 1;
            return Some(next);
        }
        let (name, data) = error(place);
        Some(Event { name, ..Event::new(next.due, Part::Noise, data) })
    }))
}

/// Changes the data of the event after so many tokens.
fn spoiled(events: Events, tokens: u32, spoil: fn(String) -> String) -> Events {
    let mut seen = 0;
    Box::new(events.map(move |event| {
        seen += u32::from(event.part == Part::Token);
        if event.part == Part::Token && seen.checked_sub(1) == Some(tokens) {
            return Event { data: spoil(event.data), ..event };
        }
        event
    }))
}

fn first_half(text: &str) -> &str {
    &text[..text.floor_char_boundary(text.len() / 2)]
}

/// Changes JSON; what is none (`[DONE]`) stays as it is.
fn edit(data: &str, change: fn(&mut Json)) -> String {
    let Ok(mut json) = serde_json::from_str(data) else { return data.to_owned() };
    change(&mut json);
    json.to_string()
}

fn delta_null(json: &mut Json) {
    let choices = json.get_mut("choices").and_then(Json::as_array_mut);
    for choice in choices.into_iter().flatten() {
        choice["delta"] = Json::Null;
    }
}

fn remove_usage(json: &mut Json) {
    match json {
        Json::Object(fields) => {
            fields.remove("usage");
            fields.values_mut().for_each(remove_usage);
        }
        Json::Array(items) => items.iter_mut().for_each(remove_usage),
        _ => {}
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::EndAfter(tokens) => write!(formatter, "end-after={tokens}"),
            Self::NoDone => formatter.write_str("no-done"),
            Self::ErrorAfter(tokens) => write!(formatter, "error-after={tokens}"),
            Self::BadJsonAfter(tokens) => write!(formatter, "bad-json-after={tokens}"),
            Self::TruncatedJsonAfter(tokens) => write!(formatter, "truncated-json-after={tokens}"),
            Self::DeltaNull => formatter.write_str("delta-null"),
            Self::UsageUnasked => formatter.write_str("usage-unasked"),
            Self::NoUsage => formatter.write_str("no-usage"),
            Self::NoMessageStart => formatter.write_str("no-message-start"),
            Self::Comments => formatter.write_str("comments"),
            Self::IdPing => formatter.write_str("id-ping"),
            Self::DataPing => formatter.write_str("data-ping"),
            Self::Floats => formatter.write_str("floats"),
        }
    }
}
