//! What the figures mean.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the figures mean, with the numbers that it rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// One word of the kind's list.
    pub name: String,
    /// The same as one sentence for a reader.
    pub sentence: String,
    /// The figures it rests on, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// What to look for or to run next, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<String>,
}

/// How much a finding matters.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Something the reader should mend or keep in mind when reading the figures.
    Warning,
    /// The fault looked for.
    Error,
}

/// One thing that was noticed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// A stable name of the kind of finding.
    pub name: String,
    /// How much it matters.
    pub severity: Severity,
    /// One sentence for a reader.
    pub message: String,
    /// How often it was seen.
    pub count: u64,
}
