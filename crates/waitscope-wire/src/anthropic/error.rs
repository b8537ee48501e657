//! The error body: `{"type": "error", "error": {"type", "message"}, "request_id"}`.

use serde::{Deserialize, Serialize};

/// The body of every answer that is an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "AnthropicErrorBody")
)]
pub struct Body {
    /// Always `error`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What went wrong.
    pub error: Detail,
    /// The id of the request, which is in the header `request-id` as well.
    #[serde(default)]
    pub request_id: Option<String>,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "AnthropicErrorDetail")
)]
pub struct Detail {
    /// The class of the error, such as `overloaded_error`.
    #[serde(rename = "type")]
    pub kind: String,
    /// For people.
    pub message: String,
}

impl Body {
    /// The body of an answer with this status.
    pub fn new(status: u16, message: &str, request_id: &str) -> Self {
        Self {
            kind: "error".to_owned(),
            error: Detail { kind: kind_of(status).to_owned(), message: message.to_owned() },
            request_id: Some(request_id.to_owned()),
        }
    }
}

/// The class of an error with this status (the API's page "Errors").
pub fn kind_of(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        409 => "conflict_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_tells_the_class() {
        for (status, kind) in [
            (400, "invalid_request_error"),
            (401, "authentication_error"),
            (402, "billing_error"),
            (403, "permission_error"),
            (404, "not_found_error"),
            (405, "invalid_request_error"),
            (413, "request_too_large"),
            (429, "rate_limit_error"),
            (500, "api_error"),
            (503, "api_error"),
            (504, "timeout_error"),
            (529, "overloaded_error"),
        ] {
            let json = serde_json::to_string(&Body::new(status, "m", "req_1")).unwrap();
            let expected = format!(
                r#"{{"type":"error","error":{{"type":"{kind}","message":"m"}},"request_id":"req_1"}}"#
            );
            assert_eq!(json, expected);
        }
    }
}
