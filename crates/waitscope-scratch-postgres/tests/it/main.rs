//! The real server: what survives what, and what is left behind.

#![expect(clippy::unwrap_used, reason = "a test fails with a panic, in its helpers too")]
#![expect(clippy::disallowed_methods, reason = "no event loop runs in these tests")]

mod fixture;
mod lifecycle;
