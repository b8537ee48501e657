//! `GET /openapi.json` and `GET /docs`: the API as a document, and the page that shows it.
//!
//! The schemas are made from the types that read requests and write answers.

mod operations;
mod problems;

use std::collections::BTreeMap;

use axum::Router;
use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};
use waitscope_serve::openapi::schema_settings;

use crate::state::State;
use operations::{Operation, Parameter};
use problems::{Problem, UNAUTHORIZED};

/// The routes for a service that asks for a key, or does not.
pub(super) fn routes(with_key: bool) -> Router<State> {
    waitscope_serve::openapi::routes(&document(with_key))
}

/// The whole document.
fn document(with_key: bool) -> Value {
    let mut generator = schema_settings().for_serialize().into_generator();
    let mut paths = Map::new();
    for operation in operations::all() {
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        path[operation.method] = describe(&operation, with_key, &mut generator);
    }
    let request_id = json!({"type": "string", "pattern": "^[0-9A-Za-z._-]{1,64}$"});
    let mut schemas = generator.take_definitions(true);
    schemas.insert("Error".to_owned(), problems::schema(&request_id));
    let mut components = json!({"schemas": schemas, "headers": headers(&request_id)});
    if with_key {
        components["securitySchemes"] =
            json!({"ApiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"}});
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "waitscope tickets",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "A help desk's intake that waits for an AI provider. Each path answers \
                a method that it does not have with 405 `method_not_allowed` and the header \
                `Allow`; all errors have one shape.",
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": components,
    })
}

fn describe(operation: &Operation, with_key: bool, generator: &mut SchemaGenerator) -> Value {
    let needs_key = with_key && operation.path.starts_with("/v1/");
    let mut by_status: BTreeMap<u16, Vec<Problem>> = BTreeMap::new();
    for problem in operation.problems.iter().chain(needs_key.then_some(&UNAUTHORIZED)) {
        by_status.entry(problem.status).or_default().push(*problem);
    }
    let success = &operation.success;
    let mut headers = common_headers();
    merge(&mut headers, &success.headers);
    let answer = json!({
        "description": success.about,
        "headers": headers,
        "content": {success.media_type: {"schema": (success.schema)(generator)}},
        "links": success.links,
    });
    let mut responses = Map::from_iter([(success.status.to_string(), answer)]);
    for (status, problems) in by_status {
        responses.insert(status.to_string(), problems::response(status, &problems));
    }
    let parameters: Vec<Value> =
        operation.parameters.iter().map(|it| parameter(it, generator)).collect();
    let mut described = json!({
        "operationId": operation.id,
        "tags": [operation.tag],
        "summary": operation.summary,
        "parameters": parameters,
        "responses": responses,
    });
    if let Some(request) = &operation.request {
        let content = json!({"schema": (request.schema)(generator), "examples": request.examples});
        described["requestBody"] =
            json!({"required": true, "content": {"application/json": content}});
    }
    if needs_key {
        described["security"] = json!([{"ApiKey": []}]);
    }
    described
}

fn parameter(parameter: &Parameter, generator: &mut SchemaGenerator) -> Value {
    json!({
        "name": parameter.name,
        "in": parameter.place,
        "required": parameter.place == "path",
        "description": parameter.about,
        "schema": (parameter.schema)(generator),
    })
}

fn merge(into: &mut Value, from: &Value) {
    if let (Value::Object(into), Value::Object(from)) = (into, from) {
        into.extend(from.clone());
    }
}

/// What every answer has.
fn common_headers() -> Value {
    json!({
        "X-Request-ID": {"$ref": "#/components/headers/RequestId"},
        "Server-Timing": {"$ref": "#/components/headers/ServerTiming"},
    })
}

fn headers(request_id: &Value) -> Value {
    json!({
        "RequestId": {
            "description": "The client's own, if it matches, or else a new one.",
            "required": true,
            "schema": request_id,
        },
        "ServerTiming": {
            "description": "Where the time went, in milliseconds (W3C Server Timing).",
            "required": true,
            "schema": {
                "type": "string",
                "pattern": r"^db;dur=[0-9]+\.[0-9](, (classify|draft_reply|embed);dur=[0-9]+\.[0-9])*$",
            },
        },
        "Location": {
            "description": "Where the ticket is.",
            "required": true,
            "schema": {"type": "string", "pattern": "^/v1/tickets/T-[0-9]{6,18}$"},
        },
        "RetryAfter": {
            "description": "Seconds until it may go better, where that is known.",
            "schema": {"type": "integer", "minimum": 1, "maximum": 3600},
        },
        "Challenge": {
            "description": "How to prove who one is.",
            "required": true,
            "schema": {"type": "string"},
        },
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use axum::response::IntoResponse;
    use http_body_util::BodyExt;
    use waitscope_serve::openapi::dangling_references;

    use super::*;
    use crate::domain::FieldErrors;
    use crate::routes::error::ApiError;
    use crate::trail::RequestId;

    type Kind = (u16, String);

    /// Every kind of error, one after the other.
    fn after(error: &ApiError) -> Option<ApiError> {
        let text = String::new;
        Some(match error {
            ApiError::Unauthorized => ApiError::NotFound(text()),
            ApiError::NotFound(_) => ApiError::MethodNotAllowed,
            ApiError::MethodNotAllowed => ApiError::BodyTooLarge,
            ApiError::BodyTooLarge => ApiError::UnsupportedMediaType,
            ApiError::UnsupportedMediaType => ApiError::InvalidRequest(FieldErrors::default()),
            ApiError::InvalidRequest(_) => ApiError::IdempotencyKeyReused,
            ApiError::IdempotencyKeyReused => ApiError::AiBadAnswer,
            ApiError::AiBadAnswer => ApiError::AiBusy { retry_after_s: 1 },
            ApiError::AiBusy { .. } => ApiError::AiUnavailable,
            ApiError::AiUnavailable => ApiError::DatabaseBusy(text()),
            ApiError::DatabaseBusy(_) => ApiError::DatabaseUnavailable(text()),
            ApiError::DatabaseUnavailable(_) => ApiError::Internal(text()),
            ApiError::Internal(_) => return None,
        })
    }

    async fn kind(error: ApiError) -> Kind {
        let response = error.clone().into_response();
        let response = error.render(&RequestId::from_random(1), response);
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap();
        (status, body["error"]["code"].as_str().unwrap().to_owned())
    }

    async fn kinds() -> BTreeSet<Kind> {
        let mut kinds = BTreeSet::new();
        let mut error = Some(ApiError::Unauthorized);
        while let Some(one) = error {
            error = after(&one);
            kinds.insert(kind(one).await);
        }
        kinds
    }

    #[tokio::test]
    async fn every_error_is_described_and_no_other() {
        let document = document(true);
        let mut described = BTreeSet::from([(405, "method_not_allowed".to_owned())]);
        for operation in document["paths"].as_object().unwrap().values().flat_map(methods) {
            for (status, response) in operation["responses"].as_object().unwrap() {
                let schema = &response["content"]["application/json"]["schema"];
                let codes = schema.pointer("/properties/error/properties/code/enum");
                for code in codes.and_then(Value::as_array).into_iter().flatten() {
                    described.insert((status.parse().unwrap(), code.as_str().unwrap().to_owned()));
                }
            }
        }
        assert_eq!(described, kinds().await);
    }

    fn methods(path: &Value) -> impl Iterator<Item = &Value> {
        path.as_object().into_iter().flat_map(Map::values)
    }

    /// The table of errors in the docs has a row for each one.
    #[tokio::test]
    async fn the_docs_know_every_error() {
        const DOCS: &str = include_str!("../../../../../docs/tickets.md");
        let row = |line: &str| -> Option<Kind> {
            let mut cells = line.strip_prefix("| ")?.split(" | ");
            let status = cells.next()?.parse().ok()?;
            Some((status, cells.next()?.trim_matches('`').to_owned()))
        };
        let documented: BTreeSet<Kind> = DOCS.lines().filter_map(row).collect();
        assert_eq!(documented, kinds().await);
    }

    #[test]
    fn the_document_holds_together() {
        for with_key in [false, true] {
            let document = document(with_key);
            assert_eq!(dangling_references(&document), [] as [&str; 0]);
        }
    }

    #[test]
    fn examples_are_valid() {
        let document = document(false);
        let content =
            &document["paths"]["/v1/tickets"]["post"]["requestBody"]["content"]["application/json"];
        let mut schema = content["schema"].clone();
        schema["components"] = document["components"].clone();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let examples = content["examples"].as_object().unwrap();
        assert_eq!(examples.len(), 4);
        for example in examples.values() {
            validator.validate(&example["value"]).unwrap();
        }
    }
}
