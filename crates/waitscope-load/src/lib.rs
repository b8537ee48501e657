//! The load generator and the health probe of waitscope.
//!
//! A run is one blocking call with a typed config, a callback for progress and a token that stops
//! it; it knows no terminal. Three moments are kept apart: the intended start, the actual start
//! and the end, all on the monotonic clock.

pub mod engine;
mod error;
pub mod http1;
pub mod load;
pub mod pacer;
pub mod probe;
pub mod request;
pub mod server_timing;
pub mod stall;
pub mod target;
pub mod template;

pub use error::{ErrorClass, RequestError};
pub use request::RequestSpec;
pub use target::{Target, TargetError};
