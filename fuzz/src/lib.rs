//! What holds for any bytes from outside, one function for each fuzz target.
//!
//! The provider's tests run the same functions over the committed inputs in `seeds/`.

mod bodies;
mod faults;
mod sse;

pub use bodies::{chat_body, embeddings_body, messages_body, responses_body};
pub use faults::fault_spec;
pub use sse::sse_reader;

/// A check that panics when something does not hold.
pub type Check = fn(&[u8]);

/// All targets by name.
pub const TARGETS: &[(&str, Check)] = &[
    ("sse_reader", sse_reader),
    ("chat_body", chat_body),
    ("responses_body", responses_body),
    ("messages_body", messages_body),
    ("embeddings_body", embeddings_body),
    ("fault_spec", fault_spec),
];
