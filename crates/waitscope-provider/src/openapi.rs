//! The `OpenAPI` document, made from the same types that read requests and write answers.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use waitscope_serve::openapi::schema_settings;
use waitscope_wire::{anthropic, openai};

use crate::model::fault::kinds;

/// Makes the schema of one type, and notes those that it is made of.
type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// One operation.
struct Operation {
    path: &'static str,
    method: &'static str,
    tag: &'static str,
    summary: &'static str,
    request: Option<SchemaOf>,
    /// What it answers with 200; any JSON when no type is told.
    answer: Option<SchemaOf>,
    /// Whether it may also, or only, answer with a stream of events.
    stream: bool,
    /// Query parameters: name, type and meaning.
    query: &'static [(&'static str, &'static str, &'static str)],
    error: SchemaOf,
}

const WAITS: &[(&str, &str, &str)] = &[
    ("ttft", "number", "Seconds until the first token; 0.4 unless told"),
    ("tokens", "integer", "How many tokens; 40 unless told"),
    ("tok_ms", "number", "Milliseconds between tokens; 40 unless told"),
];
const DELAY: &[(&str, &str, &str)] = &[
    ("delay", "number", "Milliseconds to wait; 0 unless told"),
    ("name", "string", "What the request is called in the log"),
];

fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

const fn call(
    path: &'static str,
    tag: &'static str,
    summary: &'static str,
    request: SchemaOf,
    answer: SchemaOf,
    error: SchemaOf,
) -> Operation {
    let (request, answer) = (Some(request), Some(answer));
    Operation {
        path,
        method: "post",
        tag,
        summary,
        request,
        answer,
        stream: true,
        query: &[],
        error,
    }
}

const fn get(
    path: &'static str,
    tag: &'static str,
    summary: &'static str,
    answer: Option<SchemaOf>,
    query: &'static [(&'static str, &'static str, &'static str)],
) -> Operation {
    let error = schema::<openai::error::Body>;
    let method = "get";
    Operation { path, method, tag, summary, request: None, answer, stream: false, query, error }
}

fn operations() -> Vec<Operation> {
    let openai_error = schema::<openai::error::Body>;
    let anthropic_error = schema::<anthropic::error::Body>;
    let without_stream = |operation| Operation { stream: false, ..operation };
    let post = |operation| Operation { method: "post", ..operation };
    vec![
        call(
            "/v1/chat/completions",
            "OpenAI",
            "Chat",
            schema::<openai::chat::Request>,
            schema::<openai::chat::Completion>,
            openai_error,
        ),
        call(
            "/v1/responses",
            "OpenAI",
            "Responses",
            schema::<openai::responses::Request>,
            schema::<openai::responses::Response>,
            openai_error,
        ),
        without_stream(call(
            "/v1/embeddings",
            "OpenAI",
            "Embeddings",
            schema::<openai::embeddings::Request>,
            schema::<openai::embeddings::Response>,
            openai_error,
        )),
        get("/v1/models", "OpenAI", "The models", Some(schema::<openai::models::List>), &[]),
        get("/v1/models/{id}", "OpenAI", "One model", Some(schema::<openai::models::Model>), &[]),
        call(
            "/v1/messages",
            "Anthropic",
            "Messages",
            schema::<anthropic::messages::Request>,
            schema::<anthropic::messages::Answer>,
            anthropic_error,
        ),
        without_stream(call(
            "/v1/messages/count_tokens",
            "Anthropic",
            "The tokens of a message",
            schema::<anthropic::messages::Request>,
            schema::<anthropic::messages::Counted>,
            anthropic_error,
        )),
        get("/v1/complete", "Waits without a protocol", "One answer after a wait", None, WAITS),
        Operation {
            stream: true,
            ..get("/v1/stream", "Waits without a protocol", "A token at a time", None, WAITS)
        },
        get("/get", "Waits without a protocol", "Waits, then answers", None, DELAY),
        post(get("/add", "Waits without a protocol", "Reads, waits, answers", None, DELAY)),
        get("/stats", "Waits without a protocol", "The log of /get and /add", None, &[]),
        post(get("/reset", "Waits without a protocol", "Empties that log", None, &[])),
        get("/health", "The provider itself", "Liveness", None, &[]),
        get("/metrics", "The provider itself", "Counts and lateness, for Prometheus", None, &[]),
        get("/admin/stats", "The provider itself", "Counts", None, &[]),
        Operation {
            request: Some(mode_schema),
            ..post(get("/admin/mode", "The provider itself", "Changes the mode", None, &[]))
        },
        post(get("/admin/reset", "The provider itself", "Back to a fresh start", None, &[])),
    ]
}

fn mode_schema(_: &mut SchemaGenerator) -> Schema {
    let modes = crate::config::Mode::ALL.map(crate::config::Mode::name);
    schemars::json_schema!({
        "type": "object",
        "required": ["mode"],
        "properties": {"mode": {"enum": modes}},
    })
}

/// The whole document.
pub(crate) fn document() -> Value {
    let mut generator = schema_settings().into_generator();
    let mut paths = Map::new();
    for operation in operations() {
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        path[operation.method] = describe(&operation, &mut generator);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "waitscope provider",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "A simulated AI provider that waits, limits and breaks like the real \
                ones, the same way every time. Any API key is taken.",
        },
        "paths": paths,
        "components": {"schemas": generator.take_definitions(true)},
    })
}

fn describe(operation: &Operation, generator: &mut SchemaGenerator) -> Value {
    let mut content = Map::new();
    if operation.path == "/metrics" {
        content.insert("application/openmetrics-text".to_owned(), json!({}));
    } else if operation.stream {
        content.insert("text/event-stream".to_owned(), json!({}));
    }
    match operation.answer {
        Some(answer) => {
            let schema = answer(generator);
            content.insert("application/json".to_owned(), json!({"schema": schema}));
        }
        None if content.is_empty() => {
            content.insert("application/json".to_owned(), json!({"schema": {"type": "object"}}));
        }
        None => {}
    }
    let error = json!({"application/json": {"schema": (operation.error)(generator)}});
    let mut described = json!({
        "tags": [operation.tag],
        "summary": operation.summary,
        "parameters": parameters(operation),
        "responses": {
            "200": {"description": "The answer", "content": content},
            "default": {"description": "An error", "content": error},
        },
    });
    if let Some(request) = operation.request {
        let schema = request(generator);
        described["requestBody"] =
            json!({"required": true, "content": {"application/json": {"schema": schema}}});
    }
    described
}

fn parameters(operation: &Operation) -> Vec<Value> {
    let query = operation.query.iter().map(|(name, kind, meaning)| {
        json!({"name": name, "in": "query", "description": meaning, "schema": {"type": kind}})
    });
    let id = operation.path.contains("{id}").then(
        || json!({"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}),
    );
    let takes_faults = operation.request.is_some() || operation.query == WAITS;
    let fault = (takes_faults && operation.path.starts_with("/v1/")).then(|| {
        let names: Vec<&str> = kinds().map(|kind| kind.name).collect();
        let meaning = format!("What goes wrong with this call: {}", names.join(", "));
        json!({"name": "x-waitscope-fault", "in": "header", "description": meaning,
            "schema": {"type": "string"}})
    });
    query.chain(id).chain(fault).collect()
}

#[cfg(test)]
mod tests {
    use waitscope_serve::openapi::dangling_references;

    use super::*;

    #[test]
    fn the_document_holds_together() {
        let document = document();
        assert_eq!(dangling_references(&document), [] as [&str; 0]);
        let chat = &document["paths"]["/v1/chat/completions"]["post"];
        let request = &chat["requestBody"]["content"]["application/json"]["schema"];
        let name = request["$ref"].as_str().unwrap().rsplit('/').next().unwrap();
        let schema = &document["components"]["schemas"][name];
        assert_eq!(schema["required"], json!(["model", "messages"]));
        let header = &chat["parameters"][0];
        assert_eq!(header["name"], "x-waitscope-fault");
        assert!(header["description"].as_str().unwrap().contains("reset-after"));
    }
}
