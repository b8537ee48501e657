//! The results format of waitscope: one versioned JSON record for every kind of run.
//!
//! Unknown fields are ignored by readers, a newer major schema is refused. Times in a series are
//! milliseconds since the start of the run on the monotonic clock; every number's field name ends
//! in its unit. The JSON Schema in `schema/` is generated from these types.

mod demo;
mod load;
mod machine;
mod read;
mod series;
mod stall;
mod verdict;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use demo::{DemoInputs, DemoSummary, ModeRow, SteadyRow};
pub use load::{
    ErrorKind, LatencyFigures, LoadHealth, LoadInputs, LoadPart, LoadStage, LoadSummary,
};
pub use machine::Machine;
pub use read::{ReadError, from_json};
pub use series::{Cell, MAX_ROWS, Series};
pub use stall::{Part, StallInputs, StallSummary};
pub use verdict::{Finding, Severity, Verdict};

/// The schema that this version writes.
pub const SCHEMA: &str = "waitscope/1";

/// One run of one command, with everything needed to show it again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// `waitscope/` and the major version of the format.
    pub schema: String,
    /// What ran, with what, and the figures that sum it up.
    #[serde(flatten)]
    pub body: Body,
    /// The version of waitscope that wrote the record.
    pub tool: String,
    /// Which run of several this is; only inside `runs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Wall-clock start, RFC 3339 in UTC.
    pub started_at: String,
    /// The machine it ran on; left out inside `runs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    /// Whether the run was stopped by the user: the figures hold for what was measured until then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// What happened over time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<Series>,
    /// Single things that were noticed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// What the figures mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Further causes found in the same run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_verdicts: Vec<Verdict>,
    /// The runs that this one is made of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<Record>,
}

/// The part of a record that differs from kind to kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Body {
    /// Does the server still answer while it waits?
    Stall {
        /// What was asked for.
        inputs: StallInputs,
        /// What came of it.
        summary: Box<StallSummary>,
    },
    /// How fast does the server answer under this load?
    Load {
        /// What was asked for.
        inputs: Box<LoadInputs>,
        /// What came of it.
        summary: Box<LoadSummary>,
    },
    /// The three intake modes of the reference service, one run each.
    Demo {
        /// What was asked for.
        inputs: DemoInputs,
        /// What came of it.
        summary: DemoSummary,
    },
}

impl Body {
    /// The value of the record's `kind` field.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Stall { .. } => "stall",
            Self::Load { .. } => "load",
            Self::Demo { .. } => "demo",
        }
    }
}

impl Record {
    /// A record with nothing but its body yet.
    ///
    /// `started_at` is RFC 3339 in UTC.
    pub fn new(body: Body, tool: &str, started_at: String) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            body,
            tool: tool.to_owned(),
            name: None,
            started_at,
            machine: None,
            interrupted: false,
            series: Vec::new(),
            findings: Vec::new(),
            verdict: None,
            other_verdicts: Vec::new(),
            runs: Vec::new(),
        }
    }

    /// The series called `name`.
    pub fn series(&self, name: &str) -> Option<&Series> {
        self.series.iter().find(|series| series.name == name)
    }

    /// The record as indented JSON with a line end.
    ///
    /// # Errors
    /// Never for the types of this crate; the signature is serde's.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self).map(|json| json + "\n")
    }
}

/// The JSON Schema of [`Record`] as indented JSON with a line end.
///
/// # Errors
/// Never for the types of this crate; the signature is serde's.
pub fn json_schema() -> serde_json::Result<String> {
    serde_json::to_string_pretty(&schemars::schema_for!(Record)).map(|json| json + "\n")
}
