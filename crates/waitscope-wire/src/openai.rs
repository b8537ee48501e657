//! The bodies of the `OpenAI` HTTP API, one file per endpoint.
//!
//! Source: the `OpenAI` API reference (platform.openai.com/docs/api-reference). Fields that
//! waitscope neither writes nor reads are left out; readers ignore fields they do not know.

pub mod chat;
pub mod embeddings;
pub mod error;
pub mod models;
pub mod responses;

use serde::{Deserialize, Serialize};

/// The token counts of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "OpenAiUsage"))]
pub struct Usage {
    /// Tokens of the request.
    pub prompt_tokens: u64,
    /// Tokens of the answer; embeddings have none and leave the field out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_tokens: Option<u64>,
    /// Both together.
    pub total_tokens: u64,
    /// What the prompt's tokens were; embeddings leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_tokens_details: Option<PromptTokensDetails>,
    /// What the answer's tokens were; embeddings leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_tokens_details: Option<CompletionTokensDetails>,
}

impl Usage {
    /// The usage of a chat call.
    pub fn of_chat(prompt_tokens: u64, completion_tokens: u64) -> Self {
        Self {
            prompt_tokens,
            completion_tokens: Some(completion_tokens),
            total_tokens: prompt_tokens + completion_tokens,
            prompt_tokens_details: Some(PromptTokensDetails::default()),
            completion_tokens_details: Some(CompletionTokensDetails::default()),
        }
    }

    /// The usage of an embeddings call.
    pub fn of_embeddings(prompt_tokens: u64) -> Self {
        Self { prompt_tokens, total_tokens: prompt_tokens, ..Self::default() }
    }
}

/// Kinds of prompt tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PromptTokensDetails {
    /// Tokens that the provider had cached.
    pub cached_tokens: u64,
}

/// Kinds of completion tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CompletionTokensDetails {
    /// Tokens the model thought with and did not show.
    pub reasoning_tokens: u64,
}
