//! Whose protocol an answer speaks.

use http::HeaderMap;
use waitscope_wire::anthropic;
use waitscope_wire::openai::error::{Body, Detail};

use crate::error::ApiError;

/// A provider's family of protocols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Chat completions, responses, embeddings; and whatever is no protocol's own.
    OpenAi,
    /// Messages.
    Anthropic,
}

impl Dialect {
    /// The dialect of a request: the paths are different but for the models', which both have.
    pub(crate) fn of(path: &str, headers: &HeaderMap) -> Self {
        let messages = path == "/v1/messages" || path.starts_with("/v1/messages/");
        let models = path == "/v1/models" || path.starts_with("/v1/models/");
        if messages || (models && headers.contains_key("anthropic-version")) {
            Self::Anthropic
        } else {
            Self::OpenAi
        }
    }

    /// The body of an answer that is an error, as JSON.
    pub(crate) fn error_body(self, error: &ApiError, request_id: &str) -> Vec<u8> {
        let body = match self {
            Self::OpenAi => serde_json::to_vec(&Body {
                error: Detail {
                    message: error.message.clone(),
                    kind: error.kind.to_owned(),
                    param: error.param.clone(),
                    code: Some(error.code.to_owned()),
                },
            }),
            Self::Anthropic => {
                let status = error.status.as_u16();
                serde_json::to_vec(&anthropic::error::Body::new(status, &error.message, request_id))
            }
        };
        // Writing strings to memory cannot fail.
        body.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_a_header_tell_the_dialect() {
        let mut versioned = HeaderMap::new();
        versioned.insert("anthropic-version", "2023-06-01".parse().unwrap());
        for (path, versioned_too, plain) in [
            ("/v1/messages", Dialect::Anthropic, Dialect::Anthropic),
            ("/v1/messages/count_tokens", Dialect::Anthropic, Dialect::Anthropic),
            ("/v1/messages2", Dialect::OpenAi, Dialect::OpenAi),
            ("/v1/models", Dialect::Anthropic, Dialect::OpenAi),
            ("/v1/models/chat-small", Dialect::Anthropic, Dialect::OpenAi),
            ("/v1/chat/completions", Dialect::OpenAi, Dialect::OpenAi),
            ("/health", Dialect::OpenAi, Dialect::OpenAi),
        ] {
            assert_eq!(Dialect::of(path, &versioned), versioned_too, "{path}");
            assert_eq!(Dialect::of(path, &HeaderMap::new()), plain, "{path}");
        }
    }
}
