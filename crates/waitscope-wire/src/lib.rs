//! AI-provider protocols: the bodies of the `OpenAI` and Anthropic HTTP APIs, and server-sent
//! events.
//!
//! Everything here is pure: bytes and values go in and come out, and no socket is touched. The
//! simulated provider writes these bodies; the ticket service and the load generator read them.

pub mod anthropic;
pub mod openai;
pub mod rate_limit;
#[cfg(feature = "schema")]
mod schema;
pub mod sse;
pub mod stream;
mod text_or_list;
pub mod tokens;
