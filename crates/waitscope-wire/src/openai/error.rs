//! The error body: `{"error": {"message", "type", "param", "code"}}`.

use serde::{Deserialize, Serialize};

/// The body of every answer that is an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "OpenAiErrorBody"))]
pub struct Body {
    /// What went wrong.
    pub error: Detail,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "OpenAiErrorDetail")
)]
pub struct Detail {
    /// For people.
    pub message: String,
    /// The class of the error, such as `invalid_request_error`.
    #[serde(rename = "type", default)]
    pub kind: String,
    /// The parameter it is about.
    #[serde(default)]
    pub param: Option<String>,
    /// For programs, such as `rate_limit_exceeded`.
    #[serde(default)]
    pub code: Option<String>,
}
