//! What the load generator reads.

mod http1;

pub use http1::http1_response;

/// All targets by name.
pub const TARGETS: &[(&str, fn(&[u8]))] = &[("http1_response", http1_response)];
