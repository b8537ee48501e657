//! A simulated AI provider that waits like the real one.
//!
//! It speaks the `OpenAI` HTTP API (chat completions, whole and streamed, embeddings, models),
//! takes its latencies from recorded calls, limits its callers by a quota, and can be slow or out
//! of order on command. [`model`] decides all of that and is pure; [`router`] is the shell around
//! it.
//!
//! ```no_run
//! let provider = waitscope_provider::start(waitscope_provider::Config::default())?;
//! println!("{}/v1/chat/completions", provider.url());
//! # std::io::Result::Ok(())
//! ```

mod account;
mod body;
mod call;
mod config;
mod counts;
mod error;
mod limit_headers;
mod metrics;
pub mod model;
mod paced;
mod params;
mod request_log;
mod routes;
mod running;
mod server;

pub use config::{Config, ConfigError, Latency, MAX_WAIT, Mode, parse_speed};
pub use running::{Running, start};
pub use server::{router, serve};
