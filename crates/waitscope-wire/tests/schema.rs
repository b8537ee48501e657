//! The JSON Schemas say what the types read and write.

use schemars::{JsonSchema, SchemaGenerator, schema_for};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use waitscope_wire::{anthropic, openai};

/// The schema takes exactly the documents that the type reads.
#[track_caller]
#[expect(clippy::unwrap_used, reason = "a helper of tests")]
fn check<T: JsonSchema + DeserializeOwned>(good: &[Value], bad: &[Value]) {
    let schema = serde_json::to_value(schema_for!(T)).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for (documents, expected) in [(good, true), (bad, false)] {
        for document in documents {
            let errors: Vec<String> =
                validator.iter_errors(document).map(|error| error.to_string()).collect();
            assert_eq!(errors.is_empty(), expected, "{document}: {errors:?}");
            let read = serde_json::from_value::<T>(document.clone());
            assert_eq!(read.is_ok(), expected, "{document}");
        }
    }
}

#[test]
fn chat() {
    let request = |field: &str, value: Value| {
        let mut request = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
        request[field] = value;
        request
    };
    check::<openai::chat::Request>(
        &[
            request("stream", Value::Null),
            request("tools", json!([{"type": "function", "function": {"name": "f"}}])),
            request("tools", json!([{"type": "custom", "custom": {"name": "c"}}])),
            request("tool_choice", json!("required")),
            request("tool_choice", json!({"type": "function", "function": {"name": "f"}})),
            request("tool_choice", json!({"type": "allowed_tools"})),
            request("stop", json!(["a"])),
            request("messages", json!([{"role": "user", "content": [{"type": "image_url"}]}])),
        ],
        &[
            json!({"model": "m"}),
            request("stream", json!(1)),
            request("tools", json!([{"type": "function"}])),
            request("tools", json!([{"function": {"name": "f"}}])),
            request("tool_choice", json!("any")),
            request("messages", json!([{"role": "who", "content": "x"}])),
            request("messages", json!([{"role": "user", "content": [{"type": "smell"}]}])),
        ],
    );
    check::<openai::chat::Completion>(
        &[json!({"choices": [{"message": {"role": "assistant"}, "finish_reason": "eos"}]})],
        &[json!({}), json!({"choices": [{"message": {"role": "assistant"}, "finish_reason": 1}]})],
    );
    check::<openai::chat::Chunk>(
        &[json!({"choices": [{"delta": null}], "usage": null}), json!({"choices": []})],
        &[json!({"choices": [{"delta": 1}]})],
    );
}

#[test]
fn embeddings() {
    let request = |input: Value| json!({"model": "m", "input": input});
    check::<openai::embeddings::Request>(
        &[json!("a"), json!(["a", "b"]), json!([1]), json!([[1], [2]]), json!([])].map(request),
        &[json!(1), json!(["a", 1]), json!([-1]), Value::Null].map(request),
    );
    check::<openai::embeddings::Response>(
        &[json!({"data": [{"embedding": [0.5]}, {"embedding": "AAAAAA=="}]})],
        &[json!({"data": [{"embedding": 1}]})],
    );
}

#[test]
fn responses() {
    let request = |field: &str, value: Value| {
        let mut request = json!({"model": "m", "input": "hi"});
        request[field] = value;
        request
    };
    let input = |item: Value| request("input", json!([item]));
    let tools = |tool: Value| request("tools", json!([tool]));
    check::<openai::responses::Request>(
        &[
            request("metadata", json!({"a": "b"})),
            input(json!({"role": "user", "content": "x"})),
            input(json!({"type": "message", "role": "user", "content": [{"type": "input_text"}]})),
            input(json!({"type": "function_call_output", "call_id": "c", "output": "5"})),
            input(json!({"type": "reasoning", "summary": []})),
            tools(json!({"type": "function", "name": "f"})),
            tools(json!({"type": "web_search"})),
            request("tool_choice", json!("none")),
            request("tool_choice", json!({"type": "function", "name": "f"})),
            request("tool_choice", json!({"type": "mcp"})),
        ],
        &[
            request("input", json!(5)),
            input(json!({"role": "user"})),
            input(json!({"type": "message", "role": "user"})),
            input(json!({"type": "function_call", "call_id": "c"})),
            input(json!({"type": 5})),
            tools(json!({"type": "function"})),
            tools(json!({"name": "f"})),
            request("tool_choice", json!("any")),
            request("tool_choice", json!({"type": "function"})),
        ],
    );
    check::<openai::responses::Response>(
        &[json!({"status": "queued", "output": [{"type": "reasoning"}]}), json!({})],
        &[json!({"output": [{"type": "message"}]}), json!({"status": 5})],
    );
    check::<openai::responses::StreamEvent>(
        &[json!({"type": "error", "sequence_number": 1, "message": "m"}), json!({"type": "new"})],
        &[json!({"type": "error"}), json!({}), json!({"type": "response.created"})],
    );
}

#[test]
fn messages() {
    let request = |content: Value| {
        let messages = json!([{"role": "user", "content": content}]);
        json!({"model": "m", "max_tokens": 5, "messages": messages})
    };
    check::<anthropic::messages::Request>(
        &[
            json!("x"),
            json!([{"type": "image", "source": {}}, {"type": "new"}]),
            json!([{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "image"}]}]),
        ]
        .map(request),
        &[
            json!(5),
            json!([{"type": "text"}]),
            json!([{"text": "x"}]),
            json!([{"type": "tool_result", "tool_use_id": "t", "content": 5}]),
        ]
        .map(request),
    );
    check::<anthropic::messages::Answer>(
        &[json!({"role": "assistant", "content": [{"type": "thinking"}], "stop_reason": "refusal",
                 "usage": {"cache_read_input_tokens": null, "service_tier": null}})],
        &[json!({"role": "assistant", "content": [{"type": "text"}]})],
    );
    check::<anthropic::stream::StreamEvent>(
        &[json!({"type": "ping"}), json!({"type": "new"})],
        &[json!({"type": "content_block_stop"}), json!({})],
    );
}

/// An `OpenAPI` document holds them all side by side: no name may mean two things.
#[test]
fn every_schema_has_a_name_of_its_own() {
    let mut generator = SchemaGenerator::default();
    generator.subschema_for::<openai::chat::Request>();
    generator.subschema_for::<openai::chat::Completion>();
    generator.subschema_for::<openai::chat::Chunk>();
    generator.subschema_for::<openai::embeddings::Request>();
    generator.subschema_for::<openai::embeddings::Response>();
    generator.subschema_for::<openai::responses::Request>();
    generator.subschema_for::<openai::responses::Response>();
    generator.subschema_for::<openai::responses::StreamEvent>();
    generator.subschema_for::<openai::models::List>();
    generator.subschema_for::<openai::error::Body>();
    generator.subschema_for::<anthropic::messages::Request>();
    generator.subschema_for::<anthropic::messages::Answer>();
    generator.subschema_for::<anthropic::messages::Counted>();
    generator.subschema_for::<anthropic::stream::StreamEvent>();
    generator.subschema_for::<anthropic::models::List>();
    generator.subschema_for::<anthropic::error::Body>();
    let definitions = generator.take_definitions(true);
    // A name that was taken gets a number.
    let numbered: Vec<&String> =
        definitions.keys().filter(|name| name.ends_with(|end: char| end.is_numeric())).collect();
    assert!(numbered.is_empty(), "{numbered:?}");
    for name in ["FunctionTool", "NamedFunction"] {
        let tag = &definitions[name]["properties"]["type"];
        assert_eq!(tag, &json!({"type": "string", "const": "function"}), "{name}");
    }
    assert!(definitions["FunctionTool"]["properties"].get("parameters").is_some());
}
