//! Tickets as they are kept and shown.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use super::new_ticket::SUBJECT_CHARACTERS;
use super::{AiRun, AiWork, CustomerId, NewTicket, Status, Team};

/// A ticket as the API shows it. The seeded ones are older than the AI intake: they have no draft
/// reply, no embedding and no AI runs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Ticket {
    #[serde(flatten)]
    pub(crate) summary: TicketSummary,
    pub(crate) draft_reply: Option<String>,
    pub(crate) embedding_version: Option<String>,
    /// One for each task, in the order of the calls.
    #[schemars(length(max = 3))]
    pub(crate) ai_runs: Vec<AiRun>,
}

impl Ticket {
    /// A new ticket, once it is saved.
    pub(crate) fn open(id: TicketId, created_at: String, new: &NewTicket, work: &AiWork) -> Self {
        let summary = TicketSummary {
            ticket_id: id,
            customer_id: new.customer_id.clone(),
            subject: new.subject.clone(),
            team: work.classification.team,
            priority: work.classification.priority,
            status: Status::Open,
            created_at,
        };
        Self {
            summary,
            draft_reply: Some(work.draft_reply.clone()),
            embedding_version: Some(work.embedding.version.clone()),
            ai_runs: work.runs.to_vec(),
        }
    }
}

/// A ticket in a list.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct TicketSummary {
    pub(crate) ticket_id: TicketId,
    pub(crate) customer_id: CustomerId,
    #[schemars(length(min = *SUBJECT_CHARACTERS.start(), max = *SUBJECT_CHARACTERS.end()))]
    pub(crate) subject: String,
    pub(crate) team: Team,
    pub(crate) priority: Priority,
    pub(crate) status: Status,
    /// RFC 3339, UTC.
    #[schemars(extend("format" = "date-time"), regex(pattern = "Z$"))]
    pub(crate) created_at: String,
}

/// The number of a ticket, written `T-500001`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TicketId(i64);

impl TicketId {
    /// The rule, as the API documents it. So many digits are a number that the database can keep.
    pub(crate) const PATTERN: &str = "^T-([0-9]{6}|[1-9][0-9]{6,17})$";

    /// The ticket with this number.
    pub(crate) fn new(number: i64) -> Self {
        Self(number)
    }

    /// Reads `T-500001`; only the text that [`fmt::Display`] writes is taken.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("T-").filter(|digits| digits.len() <= 18)?;
        let id = Self(digits.parse().ok()?);
        (id.0 >= 0 && id.to_string() == text).then_some(id)
    }

    /// The number alone, as the database knows it.
    pub(crate) fn number(self) -> i64 {
        self.0
    }
}

impl fmt::Display for TicketId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "T-{:06}", self.0)
    }
}

impl Serialize for TicketId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for TicketId {
    fn schema_name() -> Cow<'static, str> {
        "TicketId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The number of a ticket.",
            "type": "string",
            "pattern": Self::PATTERN,
            "examples": ["T-400001"],
        })
    }
}

/// How urgent a ticket is: 1 (now) to 3 (when there is time).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct Priority(u8);

impl Priority {
    /// The least and the greatest number.
    pub(crate) const RANGE: std::ops::RangeInclusive<u8> = 1..=3;

    /// When there is time.
    pub(crate) const LOWEST: Self = Self(*Self::RANGE.end());

    /// A number in the range.
    pub(crate) fn new(number: i64) -> Option<Self> {
        u8::try_from(number).ok().filter(|number| Self::RANGE.contains(number)).map(Self)
    }

    /// The number.
    pub(crate) fn number(self) -> i64 {
        i64::from(self.0)
    }
}

impl JsonSchema for Priority {
    fn schema_name() -> Cow<'static, str> {
        "Priority".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "How urgent a ticket is: 1 (now) to 3 (when there is time).",
            "type": "integer",
            "minimum": Self::RANGE.start(),
            "maximum": Self::RANGE.end(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticket_ids_are_read_as_they_are_written() {
        for (number, text) in [(500_001, "T-500001"), (7, "T-000007"), (12_345_678, "T-12345678")] {
            assert_eq!(TicketId::new(number).to_string(), text);
            assert_eq!(TicketId::parse(text), Some(TicketId::new(number)));
        }
        for bad in
            ["", "T-", "500001", "T-7", "T-0500001", "T-+500001", "t-500001", "T-5e5", "T--00001"]
        {
            assert_eq!(TicketId::parse(bad), None, "{bad}");
        }
        assert_eq!(TicketId::parse("T-9000000000000000000"), None, "19 digits");
    }

    #[test]
    fn priorities_are_1_to_3() {
        let valid: Vec<i64> = (-1..=260).filter(|n| Priority::new(*n).is_some()).collect();
        assert_eq!(valid, [1, 2, 3]);
    }
}
