//! The bodies of requests: read, checked, planned, and answered whole and as a stream.

use std::time::Duration;

use serde_json::Value;
use waitscope_provider::Mode;
use waitscope_provider::model::attempts::{Attempts, content_hash};
use waitscope_provider::model::gaps::Gaps;
use waitscope_provider::model::latency::{Conditions, Latency, LatencyModel};
use waitscope_provider::model::reply::{Ask, Reply};
use waitscope_provider::model::script::{Event, Style};
use waitscope_provider::model::validity::{
    check_chat, check_embeddings, check_message, check_response, input_tokens,
};
use waitscope_provider::model::{chat, embedding, messages, responses};
use waitscope_wire::openai::embeddings::{EncodingFormat, Input, Vector};
use waitscope_wire::{anthropic, openai, sse};

/// The time of a call, in Unix seconds.
const CREATED: u64 = 1_800_000_000;

/// A chat call's body.
pub fn chat_body(data: &[u8]) {
    let Ok(request) = serde_json::from_slice::<openai::chat::Request>(data) else { return };
    if check_chat(&request).is_err() {
        return;
    }
    let plan = chat::Plan::new(&request, reply(data, &chat::ask(&request)), CREATED);
    let whole = json(&plan.completion());
    let choices = whole["choices"].as_array().unwrap().clone();
    let streamed = read_back(plan.events());
    for choice in choices {
        let deltas = streamed.iter().flat_map(|chunk| {
            let of_chunk = chunk["choices"].as_array().unwrap().iter();
            of_chunk.filter(|other| other["index"] == choice["index"]).map(|other| &other["delta"])
        });
        let message = &choice["message"];
        let expected = message["content"].as_str();
        let expected = expected.or(message["tool_calls"][0]["function"]["arguments"].as_str());
        let text = deltas.filter_map(|delta| {
            let arguments = delta["tool_calls"][0]["function"]["arguments"].as_str();
            delta["content"].as_str().or(arguments)
        });
        assert_eq!(text.collect::<String>(), expected.unwrap());
    }
}

/// The body of a call for a response.
pub fn responses_body(data: &[u8]) {
    let Ok(request) = serde_json::from_slice::<openai::responses::Request>(data) else { return };
    if check_response(&request).is_err() {
        return;
    }
    let plan = responses::Plan::new(&request, reply(data, &responses::ask(&request)), CREATED);
    let whole = json(&plan.response());
    let streamed = read_back(plan.events());
    for (event, number) in streamed.iter().zip(0..) {
        assert_eq!(event["sequence_number"], number);
    }
    assert_eq!(streamed.last().unwrap()["response"], whole);
    let item = &whole["output"][0];
    let expected = item["content"][0]["text"].as_str().or(item["arguments"].as_str());
    let text = streamed.iter().filter_map(|event| event["delta"].as_str());
    assert_eq!(text.collect::<String>(), expected.unwrap());
}

/// A message call's body.
pub fn messages_body(data: &[u8]) {
    let Ok(request) = serde_json::from_slice::<anthropic::messages::Request>(data) else { return };
    if check_message(&request).is_err() {
        return;
    }
    let plan = messages::Plan::new(&request, reply(data, &messages::ask(&request)));
    let whole = json(&plan.answer());
    let streamed = read_back(plan.events());
    let pieces = streamed.iter().filter_map(|event| {
        let delta = &event["delta"];
        delta["text"].as_str().or(delta["partial_json"].as_str())
    });
    let text: String = pieces.collect();
    match whole["content"].as_array().unwrap().as_slice() {
        [] => assert_eq!(text, ""),
        [block] if block["type"] == "text" => assert_eq!(text, block["text"].as_str().unwrap()),
        [block] => check_input(&text, &block["input"]),
        blocks => panic!("{} blocks", blocks.len()),
    }
}

/// A call's input is whole JSON, or nothing that can be read when it was cut off.
fn check_input(streamed: &str, whole: &Value) {
    match serde_json::from_str::<Value>(streamed) {
        Ok(input) => assert_eq!(&input, whole),
        Err(_) => assert!(whole.is_object(), "{whole}"),
    }
}

/// An embeddings call's body.
pub fn embeddings_body(data: &[u8]) {
    let Ok(request) = serde_json::from_slice::<openai::embeddings::Request>(data) else { return };
    if check_embeddings(&request).is_err() {
        return;
    }
    let wanted = request.dimensions.map(|dimensions| usize::try_from(dimensions).unwrap());
    let dimensions = wanted.unwrap_or(embedding::DIMENSIONS);
    let of_text = |text: &String| embedding::of_text(text, dimensions);
    let of_tokens = |tokens: &Vec<u32>| embedding::of_tokens(tokens, dimensions);
    let vectors: Vec<Vec<f32>> = match &request.input {
        Input::Text(text) => vec![of_text(text)],
        Input::Texts(texts) => texts.iter().map(of_text).collect(),
        Input::Tokens(tokens) => vec![of_tokens(tokens)],
        Input::TokenLists(lists) => lists.iter().map(of_tokens).collect(),
    };
    assert_eq!(vectors.len(), input_tokens(&request.input).len());
    for vector in vectors {
        assert_eq!(vector.len(), dimensions);
        let length: f32 = vector.iter().map(|number| number * number).sum();
        assert!((length - 1.0).abs() < 1e-3, "the square of its length is {length}");
        let encoded = json(&Vector::encode(vector, EncodingFormat::Base64));
        // Four characters for each three bytes, and four bytes for each number.
        assert_eq!(encoded.as_str().unwrap().len(), (dimensions * 4).div_ceil(3) * 4);
    }
}

/// The reply that a call with this body gets at its first attempt.
fn reply(body: &[u8], ask: &Ask) -> Reply {
    let attempt = || Attempts::new(1).next(content_hash(21, "/", body));
    let latency = LatencyModel {
        latency: Latency::Recorded,
        gaps: Gaps::Varied { sigma: 0.6, rho: 0.9 },
        slowdown_per_in_flight: 0.0,
    };
    let conditions = Conditions { mode: Mode::Normal, in_flight: 1 };
    let plan = || Reply::plan(ask, &latency, conditions, attempt().draws());
    let (first, second) = (plan(), plan());
    assert_eq!((first.text(), first.total()), (second.text(), second.total()), "drawn anew");
    assert!(ask.max_tokens.is_none_or(|most| u64::from(first.len()) <= most));
    first
}

/// A stream's data in JSON, after it was written and read again. `[DONE]` is left out.
fn read_back(events: impl Iterator<Item = Event>) -> Vec<Value> {
    let mut decoder = sse::Decoder::new();
    let mut due = Duration::ZERO;
    let mut read = Vec::new();
    for event in events {
        assert!(event.due >= due, "events are due in their order");
        due = event.due;
        decoder.push(&Style::default().write(&event));
        let back = decoder.next_event().unwrap().unwrap();
        assert_eq!(back.data, event.data);
        assert_eq!(back.event, event.name.unwrap_or("message"));
        if event.data != sse::DONE {
            read.push(serde_json::from_str(&event.data).unwrap());
        }
    }
    assert!(!decoder.pending());
    assert_eq!(read.iter().filter(|value: &&Value| !value.is_object()).count(), 0);
    read
}

fn json(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}
