//! `GET /v1/models` and `GET /v1/models/{id}`.

use serde::{Deserialize, Serialize};

/// The list of models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "AnthropicModelList")
)]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "AnthropicModel"))]
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
    /// `active`, `deprecated` or `retired`.
    #[serde(default)]
    pub lifecycle: String,
}

impl Model {
    /// The model of this name.
    pub fn new(id: &str, created_at: String) -> Self {
        Self {
            kind: "model".to_owned(),
            id: id.to_owned(),
            display_name: id.to_owned(),
            created_at,
            lifecycle: "active".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_its_first_and_last_model() {
        let model = |id| Model::new(id, "2026-10-10T00:00:00Z".to_owned());
        for (list, expected) in [
            (
                List::new(Vec::new()),
                r#"{"data":[],"has_more":false,"first_id":null,"last_id":null}"#,
            ),
            (
                List::new(vec![model("a"), model("b")]),
                concat!(
                    r#"{"data":[{"type":"model","id":"a","display_name":"a","#,
                    r#""created_at":"2026-10-10T00:00:00Z","lifecycle":"active"},{"type":"model","id":"b","#,
                    r#""display_name":"b","created_at":"2026-10-10T00:00:00Z","lifecycle":"active"}],"#,
                    r#""has_more":false,"first_id":"a","last_id":"b"}"#,
                ),
            ),
        ] {
            assert_eq!(serde_json::to_string(&list).unwrap(), expected);
            assert_eq!(serde_json::from_str::<List>(expected).unwrap(), list);
        }
    }
}
