//! What the AI provider contributes to a ticket.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Named, Priority, TaskName, Team};

/// Everything that the provider was asked for. A ticket is saved with the whole of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AiWork {
    pub(crate) classification: Classification,
    pub(crate) draft_reply: String,
    pub(crate) embedding: Embedding,
    /// One for each call, in the order of the calls.
    pub(crate) runs: [AiRun; TaskName::ALL.len()],
}

/// Who should work on a ticket, and how soon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Classification {
    pub(crate) team: Team,
    pub(crate) priority: Priority,
}

/// A ticket's text as a vector.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Embedding {
    vector: Vec<f32>,
    /// Vectors are comparable only within one version: a model and a way of writing the input.
    pub(crate) version: String,
}

impl Embedding {
    /// More dimensions than any model in use has; a longer vector is a wrong answer.
    const MAX_DIMENSIONS: usize = 16_384;

    /// A vector of at least one number, all of them finite.
    pub(crate) fn new(vector: Vec<f32>, version: String) -> Option<Self> {
        let usable = (1..=Self::MAX_DIMENSIONS).contains(&vector.len())
            && vector.iter().all(|number| number.is_finite());
        usable.then_some(Self { vector, version })
    }

    /// The numbers as little-endian f32, four bytes each.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        self.vector.iter().flat_map(|number| number.to_le_bytes()).collect()
    }
}

/// One call to the provider, as it is billed and kept.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct AiRun {
    pub(crate) task: TaskName,
    /// The model that answered.
    #[schemars(length(min = 1))]
    pub(crate) model: String,
    #[schemars(length(min = 1))]
    pub(crate) prompt_version: String,
    pub(crate) tokens_in: u32,
    pub(crate) tokens_out: u32,
    #[schemars(range(min = 0))]
    pub(crate) cost_usd: f64,
    /// From the wish to call until the whole answer was there: the wait for a slot is in it.
    #[schemars(range(min = 0))]
    pub(crate) latency_ms: f64,
    /// A ticket is kept with the runs that went well, and with no other.
    #[schemars(extend("const" = "ok"))]
    pub(crate) status: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_embedding_is_finite_and_not_empty() {
        let make = |vector: Vec<f32>| Embedding::new(vector, "v".into());
        assert!(make(vec![]).is_none());
        assert!(make(vec![1.0, f32::NAN]).is_none());
        assert!(make(vec![f32::INFINITY]).is_none());
        assert!(make(vec![0.0; Embedding::MAX_DIMENSIONS + 1]).is_none());
        let bytes = make(vec![1.0, -2.0]).unwrap().to_bytes();
        assert_eq!(bytes, [0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0]);
    }
}
