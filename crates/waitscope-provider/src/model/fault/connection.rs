//! Connections that hang, break off or fall silent.

use std::fmt;
use std::time::Duration;

use super::{Before, FaultError, Kind, Value};
use crate::config::parse_wait;
use crate::model::script::{Ending, Event, Events, Part, Piece, Script};

/// See [`KINDS`].
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// `hang`.
    Hang(Hang),
    /// `reset`.
    Reset,
    /// `reset-after`.
    ResetAfter(u32),
    /// `cut-after`.
    CutAfter(u32),
    /// `pause-after`.
    PauseAfter(u32, Duration),
    /// `stay-open`.
    StayOpen,
    /// `open-after-done`.
    OpenAfterDone,
}

/// How long nothing comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hang {
    /// Until the client leaves.
    Endless,
    /// So much longer than planned.
    For(Duration),
}

pub(super) const KINDS: &[Kind] = &[
    Kind {
        name: "hang",
        example: "5s",
        meaning: "never comes, not even its head; with a duration it comes so much later",
        read: |value| {
            if value.text.is_none() {
                return Ok(Fault::Hang(Hang::Endless).into());
            }
            let wait = value.read("nothing or a duration", |text| parse_wait(text).ok())?;
            Ok(Fault::Hang(Hang::For(wait)).into())
        },
    },
    Kind {
        name: "reset",
        example: "",
        meaning: "is a reset of the connection (RST), before its head",
        read: |value| value.none().map(|()| Fault::Reset.into()),
    },
    Kind {
        name: "reset-after",
        example: "5",
        meaning: "is cut by a reset (RST) after so many tokens; a whole one within its body",
        read: |value| value.tokens().map(|tokens| Fault::ResetAfter(tokens).into()),
    },
    Kind {
        name: "cut-after",
        example: "5",
        meaning: "is cut by a close (FIN) after so many tokens, its body incomplete; a whole one \
                  within its body",
        read: |value| value.tokens().map(|tokens| Fault::CutAfter(tokens).into()),
    },
    Kind {
        name: "pause-after",
        example: "5:10s",
        meaning: "falls silent for so long after so many tokens (30 s unless said); a whole one \
                  within its body",
        read: pause_after,
    },
    Kind {
        name: "stay-open",
        example: "",
        meaning: "stays open after its finish, without its last event",
        read: |value| value.none().map(|()| Fault::StayOpen.into()),
    },
    Kind {
        name: "open-after-done",
        example: "",
        meaning: "stays open after its last event",
        read: |value| value.none().map(|()| Fault::OpenAfterDone.into()),
    },
];

/// How long a pause is that does not say.
const PAUSE: Duration = Duration::from_secs(30);

fn pause_after(value: Value) -> Result<super::Fault, FaultError> {
    let (tokens, pause) = value.read("TOKENS or TOKENS:DURATION", |text| {
        let (tokens, pause) = match text.split_once(':') {
            Some((tokens, pause)) => (tokens, parse_wait(pause).ok()?),
            None => (text, PAUSE),
        };
        Some((tokens.parse().ok()?, pause))
    })?;
    Ok(Fault::PauseAfter(tokens, pause).into())
}

impl From<Fault> for super::Fault {
    fn from(fault: Fault) -> Self {
        Self::Connection(fault)
    }
}

impl Fault {
    pub(super) fn before(&self) -> Option<Before> {
        match self {
            Self::Hang(Hang::Endless) => Some(Before::Hang),
            Self::Reset => Some(Before::Reset),
            _ => None,
        }
    }

    pub(super) fn delay(&self) -> Option<Duration> {
        match self {
            Self::Hang(Hang::For(wait)) => Some(*wait),
            _ => None,
        }
    }

    pub(super) fn rewrite(&self, events: Events) -> Events {
        match *self {
            Self::ResetAfter(tokens) | Self::CutAfter(tokens) => up_to(events, tokens),
            Self::PauseAfter(tokens, pause) => delayed(events, tokens, pause),
            Self::StayOpen => Box::new(events.filter(|event| event.part != Part::End)),
            Self::Hang(_) | Self::Reset | Self::OpenAfterDone => events,
        }
    }

    pub(super) fn ending(&self) -> Option<Ending> {
        match self {
            Self::ResetAfter(_) => Some(Ending::Reset),
            Self::CutAfter(_) => Some(Ending::Cut),
            Self::StayOpen | Self::OpenAfterDone => Some(Ending::Open),
            Self::Hang(_) | Self::Reset | Self::PauseAfter(..) => None,
        }
    }

    pub(super) fn splits_whole(&self) -> bool {
        matches!(self, Self::ResetAfter(_) | Self::CutAfter(_) | Self::PauseAfter(..))
    }

    /// What becomes of a whole answer: its first half stands for "so many tokens".
    pub(super) fn rewrite_whole(&self, script: Script) -> Script {
        let Script { pieces, ending } = script;
        match *self {
            Self::ResetAfter(_) => Script { pieces: halves(pieces, None), ending: Ending::Reset },
            Self::CutAfter(_) => Script { pieces: halves(pieces, None), ending: Ending::Cut },
            Self::PauseAfter(_, pause) => Script { pieces: halves(pieces, Some(pause)), ending },
            _ => Script { pieces, ending },
        }
    }
}

/// All events up to the one with this token, counted from 1.
pub(super) fn up_to(events: Events, tokens: u32) -> Events {
    let mut seen = 0;
    Box::new(events.take_while(move |event| {
        seen += u32::from(event.part == Part::Token);
        // What follows the last token belongs to the end that does not come.
        seen <= tokens && !(seen == tokens && event.part != Part::Token && event.part != Part::Open)
    }))
}

fn delayed(events: Events, tokens: u32, pause: Duration) -> Events {
    let mut seen = 0;
    Box::new(events.map(move |event| {
        let late = seen >= tokens && event.part != Part::Open;
        seen += u32::from(event.part == Part::Token);
        Event { due: if late { event.due + pause } else { event.due }, ..event }
    }))
}

/// The first half of each piece, and the second one after a pause, if it comes at all.
fn halves(
    pieces: Box<dyn Iterator<Item = Piece> + Send>,
    pause: Option<Duration>,
) -> Box<dyn Iterator<Item = Piece> + Send> {
    Box::new(pieces.flat_map(move |mut first| {
        let rest = first.bytes.split_off(first.bytes.len() / 2);
        let second =
            pause.map(|pause| Piece { due: first.due + pause, bytes: rest, part: Part::Noise });
        std::iter::once(first).chain(second)
    }))
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let ms = |wait: &Duration| wait.as_secs_f64() * 1_000.0;
        match self {
            Self::Hang(Hang::Endless) => formatter.write_str("hang"),
            Self::Hang(Hang::For(wait)) => write!(formatter, "hang={}ms", ms(wait)),
            Self::Reset => formatter.write_str("reset"),
            Self::ResetAfter(tokens) => write!(formatter, "reset-after={tokens}"),
            Self::CutAfter(tokens) => write!(formatter, "cut-after={tokens}"),
            Self::PauseAfter(tokens, pause) => {
                write!(formatter, "pause-after={tokens}:{}ms", ms(pause))
            }
            Self::StayOpen => formatter.write_str("stay-open"),
            Self::OpenAfterDone => formatter.write_str("open-after-done"),
        }
    }
}
