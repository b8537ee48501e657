//! Every record that the binary writes keeps to the committed JSON Schema.

use serde_json::Value;

const SCHEMA: &str = include_str!("../../../waitscope-record/schema/waitscope-1.json");

/// Fails with every place where `record` breaks the schema.
#[track_caller]
pub(crate) fn keeps_to_the_schema(record: &Value) {
    let schema = serde_json::from_str(SCHEMA).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(record)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let text = record.to_string();
    waitscope_record::from_json(&text).unwrap();
}
