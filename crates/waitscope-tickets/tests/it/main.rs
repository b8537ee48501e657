//! The ticket service from outside: real sockets, a real database file, a provider that waits.
//!
//! What holds in every intake mode is tested in every mode, and everything on every database.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails with a panic, in its helpers too"
)]

mod access;
mod api;
mod databases;
mod errors;
mod faults;
mod fixture;
mod idempotency;
mod lifecycle;
mod list;
mod modes;
mod openapi;
mod pool;
mod transactions;
