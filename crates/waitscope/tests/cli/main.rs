//! End to end: the binary as a user starts it, against real servers.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]
#![expect(clippy::disallowed_methods, reason = "no event loop runs in these tests")]

mod architecture;
mod curl;
mod demo;
mod fixture;
mod help;
mod interrupt;
mod killed;
mod load;
mod load_health;
mod provider;
mod provider_record;
mod python;
mod records;
mod servers;
mod stall;
mod tls;
