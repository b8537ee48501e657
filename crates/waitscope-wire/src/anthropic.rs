//! The bodies of the Anthropic HTTP API, one file per endpoint.
//!
//! Source: the Anthropic API reference (docs.anthropic.com/en/api). Fields that waitscope neither
//! writes nor reads are left out; readers ignore fields they do not know.

pub mod error;
pub mod messages;
pub mod models;
pub mod stream;
