//! `GET /v1/models` and `GET /v1/models/{id}`.

use serde::{Deserialize, Serialize};

/// The list of models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "OpenAiModelList"))]
pub struct List {
    /// Always `list`.
    pub object: String,
    /// The models.
    pub data: Vec<Model>,
}

impl List {
    /// A list of these models.
    pub fn new(data: Vec<Model>) -> Self {
        Self { object: "list".to_owned(), data }
    }
}

/// One model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "OpenAiModel"))]
pub struct Model {
    /// Its name in requests.
    pub id: String,
    /// Always `model`.
    pub object: String,
    /// When it was made, in Unix seconds.
    pub created: u64,
    /// Who owns it.
    pub owned_by: String,
}

impl Model {
    /// The model of this name.
    pub fn new(id: &str, created: u64, owned_by: &str) -> Self {
        Self {
            id: id.to_owned(),
            object: "model".to_owned(),
            created,
            owned_by: owned_by.to_owned(),
        }
    }
}
