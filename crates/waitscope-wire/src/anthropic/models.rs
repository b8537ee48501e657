//! `GET /v1/models` and `GET /v1/models/{id}`.

use serde::{Deserialize, Serialize};

/// The list of models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct List {
    /// The models.
    pub data: Vec<Model>,
    /// Whether there are more.
    pub has_more: bool,
    /// The first model's id.
    pub first_id: Option<String>,
    /// The last model's id.
    pub last_id: Option<String>,
}

impl List {
    /// A list of all models.
    pub fn new(data: Vec<Model>) -> Self {
        let id = |model: &Model| model.id.clone();
        let (first_id, last_id) = (data.first().map(id), data.last().map(id));
        Self { data, has_more: false, first_id, last_id }
    }
}

/// One model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Model {
    /// Always `model`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its name in requests.
    pub id: String,
    /// Its name for people.
    pub display_name: String,
    /// When it was made (RFC 3339).
    pub created_at: String,
}

impl Model {
    /// The model of this name.
    pub fn new(id: &str, created_at: String) -> Self {
        Self {
            kind: "model".to_owned(),
            id: id.to_owned(),
            display_name: id.to_owned(),
            created_at,
        }
    }
}
