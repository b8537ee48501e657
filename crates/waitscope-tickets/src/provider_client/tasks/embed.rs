//! Where does it stand among the other tickets?

use waitscope_wire::openai::embeddings;

use super::{
    Endpoint, ProviderError, Task, TaskAnswer, bad_answer, from_json, ticket_text, to_json,
};
use crate::domain::{Embedding, NewTicket, TaskName};

/// Asks for a vector.
#[derive(Debug)]
pub(crate) struct Embed<'a>(pub(crate) &'a NewTicket);

impl Task for Embed<'_> {
    type Output = Embedding;

    const NAME: TaskName = TaskName::Embed;
    const PROMPT_VERSION: &'static str = "embed-1";
    const ENDPOINT: Endpoint = Endpoint::Embeddings;

    fn request(&self, model: &str) -> Result<Vec<u8>, ProviderError> {
        to_json(&embeddings::Request {
            model: model.to_owned(),
            input: embeddings::Input::Text(ticket_text(self.0)),
            // A fourth of the bytes of decimal numbers, and cheap to read.
            encoding_format: Some(embeddings::EncodingFormat::Base64),
            dimensions: None,
            user: None,
        })
    }

    fn read(&self, model: &str, body: &[u8]) -> Result<TaskAnswer<Embedding>, ProviderError> {
        let answer: embeddings::Response = from_json(body)?;
        let version = format!("{model}/{}", Self::PROMPT_VERSION);
        let output = answer
            .data
            .first()
            .and_then(|first| first.embedding.decode().ok())
            .and_then(|vector| Embedding::new(vector, version))
            .ok_or_else(|| bad_answer("holds no usable vector"))?;
        Ok(TaskAnswer { output, model: answer.model, usage: answer.usage.unwrap_or_default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Channel;
    use crate::domain::CustomerId;

    #[test]
    fn a_vector_is_read_in_both_encodings() {
        let ticket = NewTicket {
            customer_id: CustomerId::parse("C-0001").unwrap(),
            subject: "s".into(),
            body: String::new(),
            channel: Channel::Chat,
            idempotency_key: None,
        };
        let cases = [
            ("[1.0, -2.5]", true),
            (r#""AACAPwAAIMA=""#, true),
            (r#""AACA""#, false),
            (r#""?""#, false),
            ("[]", false),
            (r#"["a"]"#, false),
            ("null", false),
        ];
        for (vector, usable) in cases {
            let body = format!(
                r#"{{"data": [{{"embedding": {vector}}}], "model": "m",
                    "usage": {{"prompt_tokens": 3, "total_tokens": 3}}}}"#
            );
            match Embed(&ticket).read("asked", body.as_bytes()) {
                Ok(answer) => {
                    assert!(usable, "{vector}");
                    assert_eq!(answer.output.version, "asked/embed-1");
                    assert_eq!(answer.output.to_bytes(), [0, 0, 0x80, 0x3f, 0, 0, 0x20, 0xc0]);
                    assert_eq!(answer.usage.prompt_tokens, 3);
                }
                Err(error) => {
                    assert!(!usable, "{vector}: {error}");
                    assert!(matches!(error, ProviderError::Rejected(_)), "{error}");
                }
            }
        }
        assert!(Embed(&ticket).read("asked", br#"{"data": [], "model": "m"}"#).is_err());
    }
}
