//! What the JSON Schemas of the bodies need beyond what is derived from their types.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

/// A variant `other` that serde reads for every unknown name: the derived schema has its own name
/// only.
pub(crate) fn other_is_any(schema: &mut Schema) {
    let Some(Value::Array(variants)) = schema.get_mut("oneOf") else { return };
    let mut names: Vec<&mut Map<String, Value>> = variants.iter_mut().filter_map(name).collect();
    let known: Vec<Value> = names
        .iter()
        .filter_map(|name| name.get("const").filter(|it| *it != "other"))
        .cloned()
        .collect();
    for name in names.iter_mut().filter(|name| name.get("const") == Some(&json!("other"))) {
        name.remove("const");
        name.insert("not".to_owned(), json!({"enum": known}));
    }
}

/// Where a variant's name is: in the field `type` of an object, or else it is the variant itself.
fn name(variant: &mut Value) -> Option<&mut Map<String, Value>> {
    let is_object = variant.get("properties").is_some();
    let name = if is_object { variant.pointer_mut("/properties/type")? } else { variant };
    name.as_object_mut()
}

/// A struct that serde reads and writes with `"type": "function"`.
pub(crate) fn tagged_function(schema: &mut Schema) {
    let tag = json!({"type": "string", "const": "function"});
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.insert("type".to_owned(), tag);
    }
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.push(json!("type"));
    }
}

/// An input item: the first variant is a message, which may leave its type out.
pub(crate) fn message_needs_no_type(schema: &mut Schema) {
    if let Some(Value::Object(message)) = schema.pointer_mut("/anyOf/0") {
        message.remove("required");
    }
}

/// An object whose type is none of those of an input item that are known.
pub(crate) fn other_item(_: &mut SchemaGenerator) -> Schema {
    of_other_type(&["message", "function_call", "function_call_output"])
}

/// An object whose type is not `function`.
pub(crate) fn other_than_function(_: &mut SchemaGenerator) -> Schema {
    of_other_type(&["function"])
}

fn of_other_type(known: &[&str]) -> Schema {
    json_schema!({
        "type": "object",
        "properties": {"type": {"type": "string", "not": {"enum": known}}},
        "required": ["type"],
    })
}
