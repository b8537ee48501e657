//! What the provider reads, and what reads its streams.

mod bodies;
mod faults;
mod sse;

pub use bodies::{chat_body, embeddings_body, messages_body, responses_body};
pub use faults::fault_spec;
pub use sse::sse_reader;

/// What is fed.
pub type Target = fn(&[u8]);

/// All targets by name.
pub const TARGETS: &[(&str, Target)] = &[
    ("sse_reader", sse_reader),
    ("chat_body", chat_body),
    ("responses_body", responses_body),
    ("messages_body", messages_body),
    ("embeddings_body", embeddings_body),
    ("fault_spec", fault_spec),
];
