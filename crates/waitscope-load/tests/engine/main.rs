//! The engine against real sockets: what load tools are known to count wrongly or to hang on.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answers;
mod connections;
mod fixture;
mod fuzz_seeds;
mod million;
mod server;
mod starts;
mod times;
mod tls;
