//! What the load generator reads.

mod http1;

pub use http1::http1_response;

/// What is fed.
pub type Target = fn(&[u8]);

/// All targets by name.
pub const TARGETS: &[(&str, Target)] = &[("http1_response", http1_response)];
