//! The provider over real sockets.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a helper of tests fails its test")]

mod admin;
mod chat;
mod determinism;
mod docs;
mod embeddings;
mod faults;
mod fixture;
mod fuzz_seeds;
mod hostile;
mod left;
mod pacing;
mod plain;
mod quota;
mod refusals;
mod truth;
