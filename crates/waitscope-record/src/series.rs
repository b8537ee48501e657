//! Tables of what happened over time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most rows that one series holds.
pub const MAX_ROWS: usize = 10_000;

/// A table: one row per thing that happened, at most [`MAX_ROWS`] of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// What the rows are.
    pub name: String,
    /// The unit of the columns whose name does not end in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows, each as long as `columns`.
    pub rows: Vec<Vec<Cell>>,
}

/// One value of a series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Cell {
    /// A number in the unit that the column names.
    Number(f64),
    /// A word, such as an error class.
    Text(String),
    /// Not known or not there.
    Missing(()),
}

impl Cell {
    /// A cell that may be missing.
    pub fn maybe(number: Option<f64>) -> Self {
        number.map_or(Self::Missing(()), Self::Number)
    }

    /// The number in it.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(_) | Self::Missing(()) => None,
        }
    }

    /// The word in it.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Number(_) | Self::Missing(()) => None,
        }
    }
}

impl Series {
    /// The position of the column called `name`.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    /// The number in `row` under the column called `name`.
    pub fn number(&self, row: usize, name: &str) -> Option<f64> {
        self.rows.get(row)?.get(self.column(name)?)?.number()
    }

    /// The word in `row` under the column called `name`.
    pub fn text(&self, row: usize, name: &str) -> Option<&str> {
        self.rows.get(row)?.get(self.column(name)?)?.text()
    }
}
