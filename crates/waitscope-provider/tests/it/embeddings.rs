use serde_json::{Value, json};
use waitscope_wire::openai::embeddings::Response;

use crate::fixture::{Provider, embeddings, instant};

async fn embed(provider: &Provider, extra: &Value) -> Response {
    let answer = provider.post("/v1/embeddings", &embeddings(extra)).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let body = answer.json();
    assert_eq!(
        (&body["object"], &body["data"][0]["object"]),
        (&json!("list"), &json!("embedding"))
    );
    assert_eq!(body["usage"]["prompt_tokens"], body["usage"]["total_tokens"]);
    serde_json::from_value(body).unwrap()
}

#[tokio::test]
async fn both_encodings_hold_the_same_vector() {
    let provider = Provider::start(instant());
    let float = embed(&provider, &json!({})).await;
    let base64 = embed(&provider, &json!({"encoding_format": "base64"})).await;
    let vector = float.data[0].embedding.decode().unwrap();
    assert_eq!(vector.len(), 384);
    assert_eq!(base64.data[0].embedding.decode().unwrap(), vector);
    assert_ne!(base64.data[0].embedding, float.data[0].embedding);
    let short = embed(&provider, &json!({"dimensions": 7})).await;
    assert_eq!(short.data[0].embedding.decode().unwrap().len(), 7);
}

#[tokio::test]
async fn every_form_of_input_is_taken() {
    let provider = Provider::start(instant());
    for (input, count) in [
        (json!("a"), 1),
        (json!(["a", "b", "c"]), 3),
        (json!([1, 2, 3]), 1),
        (json!([[1, 2], [3]]), 2),
    ] {
        let answer = embed(&provider, &json!({"input": input})).await;
        let indexes: Vec<u64> = answer.data.iter().map(|embedding| embedding.index).collect();
        assert_eq!(indexes, (0..count).collect::<Vec<u64>>(), "{input}");
        assert_eq!(answer.usage.unwrap().prompt_tokens, 3.min(input.as_array().map_or(1, |_| 3)));
    }
}
