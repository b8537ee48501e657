//! Faults: what can go wrong with an answer, by name, one file per family.
//!
//! `NAME` or `NAME=VALUE`, several joined by commas. Which calls a fault hits is decided by
//! [`rule`] (by rate) and [`timeline`] (by time), or by the request's own header.

pub mod bytes;
pub mod connection;
pub mod events;
pub mod refusal;
pub mod rule;
pub mod timeline;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::script::{Events, Script, Style};
use refusal::RetryAfter;

pub use rule::Rule;
pub use timeline::Phase;

/// One fault.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// An error instead of an answer.
    Refusal(refusal::Fault),
    /// The connection misbehaves.
    Connection(connection::Fault),
    /// A stream's events, or a whole answer's JSON, are not what they should be.
    Events(events::Fault),
    /// The right events in unusual bytes.
    Bytes(bytes::Fault),
}

/// How a fault is written, and what it does.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// An example of its value; empty when it takes none.
    pub example: &'static str,
    /// What happens, as the end of "the answer ...".
    pub meaning: &'static str,
    read: fn(Value) -> Result<Fault, FaultError>,
}

/// All kinds, family by family.
pub fn kinds() -> impl Iterator<Item = &'static Kind> {
    refusal::KINDS.iter().chain(connection::KINDS).chain(events::KINDS).chain(bytes::KINDS)
}

/// Why a text names no fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultError {
    /// No fault of this name.
    #[error("unknown fault `{0}`: use {names}", names = known_names())]
    Unknown(String),
    /// A value that this fault does not take.
    #[error("`{fault}` is no fault: {name} takes {takes}, such as {name}={example}")]
    Value {
        /// As it was written.
        fault: String,
        /// The fault's name.
        name: &'static str,
        /// What it takes.
        takes: &'static str,
        /// A value that it takes.
        example: &'static str,
    },
    /// A value that is not taken.
    #[error("`{0}` is no fault: {1} takes no value")]
    NoValue(String, &'static str),
    /// Nothing at all.
    #[error("a fault is missing: use {names}", names = known_names())]
    Missing,
    /// No rate.
    #[error("`{0}` is no rate: use a percentage above 0 up to 100, such as 2%")]
    Rate(String),
    /// No entry of a timeline.
    #[error(
        "`{0}` is no entry of a timeline: use at TIME for DURATION: MODE or FAULT, such as \
         'at 30s for 20s: outage' or 'at 1m for 10s: status=529@50%'"
    )]
    Timeline(String),
}

fn known_names() -> String {
    kinds().map(|kind| kind.name).collect::<Vec<_>>().join(", ")
}

/// A fault's value as it was written.
#[derive(Clone, Copy)]
pub(crate) struct Value<'a> {
    fault: &'a str,
    kind: &'static Kind,
    text: Option<&'a str>,
}

impl<'a> Value<'a> {
    fn wrong(self, takes: &'static str) -> FaultError {
        let Kind { name, example, .. } = self.kind;
        FaultError::Value { fault: self.fault.to_owned(), name, takes, example }
    }

    /// For a fault that takes none.
    fn none(self) -> Result<(), FaultError> {
        match self.text {
            None => Ok(()),
            Some(_) => Err(FaultError::NoValue(self.fault.to_owned(), self.kind.name)),
        }
    }

    /// Reads a value that must be there.
    fn read<T>(
        self,
        takes: &'static str,
        read: impl FnOnce(&'a str) -> Option<T>,
    ) -> Result<T, FaultError> {
        self.text.and_then(read).ok_or_else(|| self.wrong(takes))
    }

    /// Reads a number of tokens.
    fn tokens(self) -> Result<u32, FaultError> {
        self.read("a number of tokens", |text| text.parse().ok())
    }
}

impl FromStr for Fault {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        let text = text.trim();
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (text, None),
        };
        if name.is_empty() {
            return Err(FaultError::Missing);
        }
        let kind = kinds().find(|kind| kind.name == name);
        let kind = kind.ok_or_else(|| FaultError::Unknown(name.to_owned()))?;
        (kind.read)(Value { fault: text, kind, text: value })
    }
}

/// The faults of one call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Faults(Vec<Fault>);

impl FromStr for Faults {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        text.split(',').map(str::parse).collect::<Result<_, _>>().map(Self)
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        for (index, fault) in self.0.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(formatter, "{comma}{fault}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Refusal(fault) => fault.fmt(formatter),
            Self::Connection(fault) => fault.fmt(formatter),
            Self::Events(fault) => fault.fmt(formatter),
            Self::Bytes(fault) => fault.fmt(formatter),
        }
    }
}

/// What happens before the head of an answer is sent.
#[derive(Debug, Clone, PartialEq)]
pub enum Before {
    /// The connection stays open and silent.
    Hang(connection::Hang),
    /// The connection is reset.
    Reset,
    /// An error is answered, with what it says about trying again.
    Refuse(u16, Vec<RetryAfter>),
}

impl Faults {
    /// Adds more.
    pub fn extend(&mut self, more: &Self) {
        self.0.extend_from_slice(&more.0);
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What happens instead of an answer, or before it.
    pub fn before(&self) -> Option<Before> {
        self.connection().find_map(connection::Fault::before).or_else(|| {
            let refusals = || {
                self.0.iter().filter_map(|fault| match fault {
                    Fault::Refusal(fault) => Some(fault),
                    _ => None,
                })
            };
            refusal::status(refusals()).map(|status| {
                let advice = refusals().filter_map(|fault| fault.retry_after().cloned());
                Before::Refuse(status, advice.collect())
            })
        })
    }

    /// Whether this is among them.
    pub fn has(&self, fault: &events::Fault) -> bool {
        self.events().any(|other| other == fault)
    }

    /// The script of a stream. `error` makes the protocol's error event.
    pub fn stream(&self, events: Events, error: fn() -> (Option<&'static str>, String)) -> Script {
        let mut events = events;
        for fault in self.events() {
            events = fault.rewrite(events, error);
        }
        for fault in self.connection() {
            events = fault.rewrite(events);
        }
        let style = self.bytes().fold(Style::default(), |style, fault| fault.style(style));
        let mut script = Script::stream(events, style);
        for fault in self.connection() {
            script.ending = fault.ending().unwrap_or(script.ending);
        }
        for fault in self.bytes() {
            script = fault.rewrite(script);
        }
        script
    }

    /// What becomes of a whole answer's JSON.
    pub fn spoil(&self, body: Vec<u8>) -> Vec<u8> {
        self.events().fold(body, |body, fault| fault.spoil(body))
    }

    /// Whether a whole answer leaves in parts, or not all of it.
    pub fn splits_whole(&self) -> bool {
        self.connection().any(connection::Fault::splits_whole) || self.bytes().any(|f| f.splits())
    }

    /// The script of a whole answer.
    pub fn whole(&self, due: Duration, body: Vec<u8>) -> Script {
        let script = self
            .connection()
            .fold(Script::whole(due, body), |script, fault| fault.rewrite_whole(script));
        self.bytes()
            .filter(|fault| fault.splits())
            .fold(script, |script, fault| fault.rewrite(script))
    }

    fn connection(&self) -> impl Iterator<Item = &connection::Fault> {
        self.0.iter().filter_map(|fault| match fault {
            Fault::Connection(fault) => Some(fault),
            _ => None,
        })
    }

    fn events(&self) -> impl Iterator<Item = &events::Fault> {
        self.0.iter().filter_map(|fault| match fault {
            Fault::Events(fault) => Some(fault),
            _ => None,
        })
    }

    fn bytes(&self) -> impl Iterator<Item = &bytes::Fault> {
        self.0.iter().filter_map(|fault| match fault {
            Fault::Bytes(fault) => Some(fault),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::script::{Ending, Event, Part, Piece};
    use super::*;

    /// A stream of three tokens, one each 10 ms.
    fn events() -> Events {
        let event = |ms: u64, part, data: &str| {
            Event::new(Duration::from_millis(ms), part, data.to_owned())
        };
        Box::new(
            [
                event(10, Part::Open, r#"{"role":1}"#),
                event(10, Part::Token, r#"{"a":"x"}"#),
                event(20, Part::Token, r#"{"b":"é"}"#),
                event(30, Part::Token, r#"{"c":"z"}"#),
                event(30, Part::Finish, r#"{"choices":[{"delta":{}}],"usage":1}"#),
                event(30, Part::End, "[DONE]"),
            ]
            .into_iter(),
        )
    }

    fn error() -> (Option<&'static str>, String) {
        (Some("error"), "boom".to_owned())
    }

    fn pieces(faults: &str) -> (Vec<Piece>, Ending) {
        let faults: Faults = faults.parse().unwrap();
        let script = faults.stream(events(), error);
        (script.pieces.collect(), script.ending)
    }

    /// What a client would read, with `|` for the end of each event.
    fn read(faults: &str) -> String {
        let (pieces, _) = pieces(faults);
        let bytes: Vec<u8> = pieces.into_iter().flat_map(|piece| piece.bytes).collect();
        String::from_utf8(bytes).unwrap().replace("\r\n", "\\").replace("\n\n", "|")
    }

    const WHOLE: &str = "data: {\"role\":1}|data: {\"a\":\"x\"}|data: {\"b\":\"é\"}|\
                         data: {\"c\":\"z\"}|data: {\"choices\":[{\"delta\":{}}],\"usage\":1}|\
                         data: [DONE]|";
    const UP_TO_TWO: &str = "data: {\"role\":1}|data: {\"a\":\"x\"}|data: {\"b\":\"é\"}|";

    #[test]
    fn streams_are_rewritten() {
        let whole = WHOLE.to_owned();
        let without_done = whole.replace("data: [DONE]|", "");
        for (faults, expected) in [
            ("reset-after=9", whole.clone()),
            ("reset-after=2", UP_TO_TWO.to_owned()),
            ("cut-after=2", UP_TO_TWO.to_owned()),
            ("cut-after=0", "data: {\"role\":1}|".to_owned()),
            ("end-after=2", UP_TO_TWO.to_owned()),
            ("pause-after=1:5s", whole.clone()),
            ("no-done", without_done.clone()),
            ("stay-open", without_done),
            ("open-after-done", whole.clone()),
            ("error-after=2", format!("{UP_TO_TWO}event: error\ndata: boom|")),
            (
                "error-after=9",
                format!("{UP_TO_TWO}data: {{\"c\":\"z\"}}|event: error\ndata: boom|"),
            ),
            (
                "bad-json-after=1",
                whole.replace("{\"b\":\"é\"}", r#"{"id": undefined, "choices": [}"#),
            ),
            ("truncated-json-after=1", whole.replace("{\"b\":\"é\"}", "{\"b\":")),
            ("delta-null", whole.replace("\"delta\":{}", "\"delta\":null")),
            ("no-usage", whole.replace(",\"usage\":1", "")),
            ("no-message-start", whole.replace("data: {\"role\":1}|", "")),
            ("comments", whole.replace("data:", ": ping|data:")),
            (
                "data-ping",
                whole
                    .replace("data: {\"a", "data: : keepalive|data: {\"a")
                    .replace("data: {\"b", "data: : keepalive|data: {\"b")
                    .replace("data: {\"c\":", "data: : keepalive|data: {\"c\":"),
            ),
            ("crlf", whole.replace('|', "\\\\")),
            ("no-space", whole.replace("data: ", "data:")),
            ("no-blank-end", whole.strip_suffix('|').unwrap().to_owned() + "\n"),
            ("no-event-lines,error-after=0", "data: {\"role\":1}|data: boom|".to_owned()),
            ("one-byte", whole.clone()),
            ("split-utf8", whole.clone()),
            ("floats", whole.clone()),
            (
                "crlf, no-space,no-done",
                WHOLE.replace("data: [DONE]|", "").replace("data: ", "data:").replace('|', "\\\\"),
            ),
        ] {
            assert_eq!(read(faults), expected, "{faults}");
        }
        assert!(read("id-ping").starts_with("id: 1\ndata: {\"role\":1}|: ping|id: 2\n"));
    }

    #[test]
    fn bytes_leave_in_odd_pieces() {
        let (singles, _) = pieces("one-byte");
        assert!(singles.iter().all(|piece| piece.bytes.len() == 1));
        assert_eq!(singles.iter().filter(|piece| piece.part == Part::Token).count(), 3);
        let (halves, _) = pieces("split-utf8");
        assert_eq!(halves.len(), 7, "one event has one such character");
        let split = &halves[2..4];
        assert!(split.iter().all(|half| str::from_utf8(&half.bytes).is_err()));
        assert!(split[0].due < split[1].due);
    }

    #[test]
    fn streams_end_as_told() {
        for (faults, ending) in [
            ("crlf", Ending::Complete),
            ("end-after=2", Ending::Complete),
            ("reset-after=2", Ending::Reset),
            ("cut-after=2", Ending::Cut),
            ("stay-open", Ending::Open),
            ("open-after-done", Ending::Open),
        ] {
            assert_eq!(pieces(faults).1, ending, "{faults}");
        }
    }

    #[test]
    fn a_pause_delays_what_follows() {
        let dues = |faults| -> Vec<u128> {
            pieces(faults).0.iter().map(|piece| piece.due.as_millis()).collect()
        };
        assert_eq!(dues("crlf"), [10, 10, 20, 30, 30, 30]);
        assert_eq!(dues("pause-after=2:1s"), [10, 10, 20, 1_030, 1_030, 1_030]);
        assert_eq!(dues("pause-after=0:1s"), [10, 1_010, 1_020, 1_030, 1_030, 1_030]);
        assert_eq!(dues("pause-after=0")[1], 30_010);
    }

    #[test]
    fn whole_answers_are_split_or_spoiled() {
        let whole = |faults: &str| {
            let faults: Faults = faults.parse().unwrap();
            let body = faults.spoil(br#"{"usage":1}"#.to_vec());
            assert!(faults.splits_whole(), "{faults}");
            let script = faults.whole(Duration::ZERO, body);
            let pieces: Vec<Vec<u8>> = script.pieces.map(|piece| piece.bytes).collect();
            (pieces, script.ending)
        };
        let half = br#"{"usa"#.to_vec();
        assert_eq!(whole("reset-after=1"), (vec![half.clone()], Ending::Reset));
        assert_eq!(whole("cut-after=1"), (vec![half.clone()], Ending::Cut));
        let (pieces, ending) = whole("pause-after=1:1s");
        assert_eq!((pieces.len(), &pieces[0], ending), (2, &half, Ending::Complete));
        assert_eq!(whole("one-byte").0.len(), 11);
        let spoiled = |faults: &str| {
            let faults: Faults = faults.parse().unwrap();
            assert!(!faults.splits_whole(), "{faults}");
            String::from_utf8(faults.spoil(br#"{"usage":1}"#.to_vec())).unwrap()
        };
        assert_eq!(spoiled("truncated-json-after=0"), "{\"usa");
        assert_eq!(spoiled("no-usage"), "{}");
        assert!(serde_json::from_str::<serde_json::Value>(&spoiled("bad-json-after=0")).is_err());
        assert_eq!(spoiled("crlf,no-done"), "{\"usage\":1}");
    }

    #[test]
    fn what_comes_before_an_answer() {
        let before = |faults: &str| faults.parse::<Faults>().unwrap().before();
        for (faults, expected) in [
            ("crlf", None),
            ("hang", Some(Before::Hang(connection::Hang::Endless))),
            ("hang=5s", Some(Before::Hang(connection::Hang::For(Duration::from_secs(5))))),
            ("reset", Some(Before::Reset)),
            ("status=503,reset", Some(Before::Reset)),
            ("status=503", Some(Before::Refuse(503, vec![]))),
            ("status=503,status=500", Some(Before::Refuse(503, vec![]))),
            ("retry-after=7", Some(Before::Refuse(429, vec![RetryAfter::Seconds(7)]))),
            (
                "retry-after=malformed, status=529, should-retry=false, retry-after-ms=3",
                Some(Before::Refuse(
                    529,
                    vec![RetryAfter::Malformed, RetryAfter::ShouldRetry(false), RetryAfter::Ms(3)],
                )),
            ),
            (
                "retry-after=date:2s",
                Some(Before::Refuse(429, vec![RetryAfter::Date(Duration::from_secs(2))])),
            ),
        ] {
            assert_eq!(before(faults), expected, "{faults}");
        }
    }

    #[test]
    fn every_kind_is_read_with_its_example_and_read_back() {
        for kind in kinds() {
            let text = match kind.example {
                "" => kind.name.to_owned(),
                example => format!("{}={example}", kind.name),
            };
            let faults: Faults = text.parse().unwrap();
            assert_eq!(faults.to_string().parse(), Ok(faults.clone()), "{text}");
            let wrong = format!("{}=?", kind.name).parse::<Fault>().unwrap_err().to_string();
            assert!(wrong.contains(kind.name), "{wrong}");
        }
        let mut names: Vec<&str> = kinds().map(|kind| kind.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), kinds().count());
    }

    #[test]
    fn senseless_faults_are_refused() {
        for (text, hint) in [
            ("", "missing"),
            ("crlf,", "missing"),
            ("reset-after", "such as reset-after=5"),
            ("reset-after=-1", "such as reset-after=5"),
            ("status=200", "such as status=503"),
            ("status=600", "such as status=503"),
            ("crlf=1", "takes no value"),
            ("pause-after=1:2", "such as pause-after=5:10s"),
            ("retry-after=soon", "date:DURATION"),
            ("RESET", "unknown fault"),
        ] {
            let error = text.parse::<Faults>().unwrap_err().to_string();
            assert!(error.contains(hint), "{text}: {error}");
        }
    }

    #[test]
    fn rules_hit_at_their_rate() {
        let rule: Rule = "crlf,no-done@25%".parse().unwrap();
        assert_eq!((rule.hit(0.249).is_some(), rule.hit(0.25)), (true, None));
        assert_eq!(rule.to_string().parse(), Ok(rule));
        assert!("crlf".parse::<Rule>().unwrap().hit(0.999_999).is_some());
        for rate in ["0%", "101%", "-1%", "NaN%", "2", "", "x%"] {
            let error = format!("crlf@{rate}").parse::<Rule>().unwrap_err();
            assert!(error.to_string().contains("2%"), "{error}");
        }
    }

    #[test]
    fn phases_hold_in_their_time() {
        let phase: Phase = "at 30s for 20s: outage".parse().unwrap();
        let seconds = Duration::from_secs;
        let holds = [29, 30, 49, 50].map(|second| phase.holds(seconds(second)));
        assert_eq!(holds, [false, true, true, false]);
        assert_eq!(phase.effect.mode(), Some(crate::Mode::Outage));
        let open: Phase = "at 1m: status=529,retry-after=date:1s@50%".parse().unwrap();
        assert!(open.holds(seconds(1_000_000)) && !open.holds(seconds(59)));
        assert!(open.effect.faults().is_some() && open.effect.mode().is_none());
        for text in ["", "outage", "at 30s", "at 30: outage", "at 1s for: x", "for 1s: slow"] {
            let error = text.parse::<Phase>().unwrap_err().to_string();
            assert!(error.contains("at 30s for 20s: outage"), "{text}: {error}");
        }
        assert!("at 1s: explode".parse::<Phase>().unwrap_err().to_string().contains("explode"));
    }
}
