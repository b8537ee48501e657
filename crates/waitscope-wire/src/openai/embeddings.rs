//! `POST /v1/embeddings`.

mod input;
mod vector;

pub use input::Input;
pub use vector::{EncodingFormat, Vector, VectorError};

use serde::{Deserialize, Serialize};

use super::Usage;

/// Embeddings to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "EmbeddingsRequest")
)]
pub struct Request {
    /// The model's name.
    pub model: String,
    /// What to embed.
    pub input: Input,
    /// How the vectors are written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding_format: Option<EncodingFormat>,
    /// The length of the vectors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dimensions: Option<u64>,
    /// The caller's name for its user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "EmbeddingsResponse")
)]
pub struct Response {
    /// `list`.
    #[serde(default)]
    pub object: String,
    /// One embedding per input, in its order.
    pub data: Vec<Embedding>,
    /// The model that answered.
    #[serde(default)]
    pub model: String,
    /// The tokens used.
    #[serde(default)]
    pub usage: Option<Usage>,
}

/// One input's embedding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Embedding {
    /// `embedding`.
    #[serde(default)]
    pub object: String,
    /// The input's place.
    #[serde(default)]
    pub index: u64,
    /// The vector.
    pub embedding: Vector,
}
