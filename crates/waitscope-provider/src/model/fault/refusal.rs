//! Errors instead of answers, and what they say about trying again.

use std::fmt;
use std::time::Duration;

use super::{FaultError, Kind, Value};
use crate::config::parse_wait;

/// See [`KINDS`].
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// `status`.
    Status(u16),
    /// `retry-after`, `retry-after-ms`, `should-retry`.
    RetryAfter(RetryAfter),
}

/// What an error says about trying again.
#[derive(Debug, Clone, PartialEq)]
pub enum RetryAfter {
    /// `retry-after` in seconds (RFC 9110, 10.2.3).
    Seconds(u64),
    /// `retry-after` as the date that is so far away.
    Date(Duration),
    /// `retry-after` that is neither.
    Malformed,
    /// `retry-after-ms`, which the official SDKs prefer.
    Ms(u64),
    /// `x-should-retry`, which the official SDKs obey.
    ShouldRetry(bool),
}

/// The status of an error that has only advice.
const DEFAULT_STATUS: u16 = 429;

pub(super) const KINDS: &[Kind] = &[
    Kind {
        name: "status",
        example: "503",
        meaning: "is this error, from 400 to 599",
        read: status_of,
    },
    Kind {
        name: "retry-after",
        example: "date:5s",
        meaning: "is an error (429 unless `status` says otherwise) whose Retry-After is so many \
                  seconds, a date so far away, or `malformed`",
        read: retry_after,
    },
    Kind {
        name: "retry-after-ms",
        example: "500",
        meaning: "is an error with this retry-after-ms",
        read: retry_after_ms,
    },
    Kind {
        name: "should-retry",
        example: "false",
        meaning: "is an error with this x-should-retry",
        read: should_retry,
    },
];

fn status_of(value: Value) -> Result<super::Fault, FaultError> {
    let status = value.read("an error's status", |text| {
        text.parse().ok().filter(|status| (400..=599).contains(status))
    })?;
    Ok(super::Fault::Refusal(Fault::Status(status)))
}

fn advice(advice: RetryAfter) -> super::Fault {
    super::Fault::Refusal(Fault::RetryAfter(advice))
}

fn retry_after(value: Value) -> Result<super::Fault, FaultError> {
    let takes = "seconds, date:DURATION or malformed";
    let read = |text: &str| match text.strip_prefix("date:") {
        Some(wait) => parse_wait(wait).ok().map(RetryAfter::Date),
        None if text == "malformed" => Some(RetryAfter::Malformed),
        None => text.parse().ok().map(RetryAfter::Seconds),
    };
    value.read(takes, read).map(advice)
}

fn retry_after_ms(value: Value) -> Result<super::Fault, FaultError> {
    let read = |text: &str| text.parse().ok().map(RetryAfter::Ms);
    value.read("milliseconds", read).map(advice)
}

fn should_retry(value: Value) -> Result<super::Fault, FaultError> {
    let read = |text: &str| text.parse().ok().map(RetryAfter::ShouldRetry);
    value.read("true or false", read).map(advice)
}

impl Fault {
    pub(super) fn retry_after(&self) -> Option<&RetryAfter> {
        match self {
            Self::Status(_) => None,
            Self::RetryAfter(advice) => Some(advice),
        }
    }
}

/// The status of the error that these make; `None` when there is none of them. The first
/// `status` counts.
pub(super) fn status<'a>(faults: impl Iterator<Item = &'a Fault>) -> Option<u16> {
    faults
        .fold(None, |status, fault| match (status, fault) {
            (None | Some((_, false)), Fault::Status(given)) => Some((*given, true)),
            (None, Fault::RetryAfter(_)) => Some((DEFAULT_STATUS, false)),
            _ => status,
        })
        .map(|(status, _)| status)
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Status(status) => write!(formatter, "status={status}"),
            Self::RetryAfter(RetryAfter::Seconds(seconds)) => {
                write!(formatter, "retry-after={seconds}")
            }
            Self::RetryAfter(RetryAfter::Date(wait)) => {
                write!(formatter, "retry-after=date:{}ms", wait.as_secs_f64() * 1_000.0)
            }
            Self::RetryAfter(RetryAfter::Malformed) => formatter.write_str("retry-after=malformed"),
            Self::RetryAfter(RetryAfter::Ms(ms)) => write!(formatter, "retry-after-ms={ms}"),
            Self::RetryAfter(RetryAfter::ShouldRetry(yes)) => {
                write!(formatter, "should-retry={yes}")
            }
        }
    }
}
