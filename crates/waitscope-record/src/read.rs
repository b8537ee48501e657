//! Reading records of any version.

use serde::Deserialize;

use crate::{Record, SCHEMA};

/// Why a text is not a record that this version can read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// No JSON, or no record at all.
    #[error("not a waitscope record: {0}")]
    Malformed(#[from] serde_json::Error),
    /// Written by a later version with another major schema.
    #[error(
        "the record has schema `{found}`, this version reads `{SCHEMA}`: use a newer waitscope"
    )]
    Newer {
        /// The schema that the record names.
        found: String,
    },
    /// Some other schema.
    #[error("not a waitscope record: its schema is `{found}`, not `{SCHEMA}`")]
    Foreign {
        /// The schema that the record names.
        found: String,
    },
}

/// Reads one record. Unknown fields are ignored, a newer major schema is refused.
pub fn from_json(text: &str) -> Result<Record, ReadError> {
    #[derive(Deserialize)]
    struct Head {
        schema: String,
    }
    let head: Head = serde_json::from_str(text)?;
    if head.schema != SCHEMA {
        return Err(wrong_schema(head.schema));
    }
    Ok(serde_json::from_str(text)?)
}

fn wrong_schema(found: String) -> ReadError {
    let major = |schema: &str| schema.strip_prefix("waitscope/")?.parse::<u32>().ok();
    match (major(&found), major(SCHEMA)) {
        (Some(theirs), Some(ours)) if theirs > ours => ReadError::Newer { found },
        _ => ReadError::Foreign { found },
    }
}
