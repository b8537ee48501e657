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

use super::script::{ErrorEvent, Events, Script, Style};
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
    /// The same fault again: it would only be nested in itself.
    #[error("the fault `{0}` is given twice: once is enough")]
    Twice(String),
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
        let mut faults = Self::default();
        for fault in text.split(',') {
            let fault: Fault = fault.parse()?;
            if faults.has_kind_of(&fault) {
                return Err(FaultError::Twice(fault.name()));
            }
            faults.0.push(fault);
        }
        Ok(faults)
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

impl Fault {
    /// Its name, without its value.
    fn name(&self) -> String {
        let text = self.to_string();
        text.split('=').next().unwrap_or_default().to_owned()
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
    Hang,
    /// The connection is reset.
    Reset,
    /// An error is answered, with what it says about trying again.
    Refuse(u16, Vec<RetryAfter>),
}

impl Faults {
    /// Adds more; of one kind the first one counts.
    pub fn extend(&mut self, more: &Self) {
        for fault in &more.0 {
            if !self.has_kind_of(fault) {
                self.0.push(fault.clone());
            }
        }
    }

    fn has_kind_of(&self, fault: &Fault) -> bool {
        self.0.iter().any(|other| other.name() == fault.name())
    }

    /// How much later than planned everything is.
    pub fn delay(&self) -> Duration {
        self.connection().filter_map(connection::Fault::delay).sum()
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
    pub fn stream(&self, events: Events, error: ErrorEvent) -> Script {
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
mod tests;
