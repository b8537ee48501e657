//! A simulated AI provider that waits like the real one.
//!
//! It speaks the `OpenAI` HTTP API (chat completions, whole and streamed, embeddings, models),
//! takes its latencies from recorded calls, limits its callers by a quota, and can be slow or out
//! of order on command. [`model`] decides all of that and is pure; [`Provider`] is the shell around
//! it.
//!
//! ```
//! let provider = waitscope_provider::Provider::builder().seed(7).start()?;
//! println!("{}/v1/chat/completions", provider.url());
//! # std::io::Result::Ok(())
//! ```

mod account;
mod answer;
mod body;
mod builder;
mod call;
mod config;
mod counts;
mod dialect;
mod edge;
mod error;
mod latency_option;
mod limit_headers;
mod metrics;
pub mod model;
mod openapi;
mod params;
pub mod record;
mod request_log;
mod routes;
mod running;
mod script_body;
mod server;
mod summary;
mod truth;

pub use builder::Builder;
pub use config::{Config, ConfigError, MAX_WAIT, Mode, parse_speed};
pub use latency_option::{LatencyError, open_recording, parse_slowdown};
pub use model::fault;
pub use model::gaps::Gaps;
pub use model::latency::Latency;
pub use running::{Running, start};
pub use server::Provider;
pub use summary::{Lateness, Summary};
