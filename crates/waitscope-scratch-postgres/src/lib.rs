//! A `PostgreSQL` server of one's own, for tests and benchmarks.
//!
//! [`Server`] is a new, empty cluster in a temporary folder with a server on a loopback port. It can
//! be killed as by a power cut, stopped and started again, and it is gone with the value, or with
//! the process, however that ends. [`Database`] is a test's own database: on the server that
//! [`SHARED_SERVER`] names, or on one started for it.
//!
//! Everything here blocks. It needs Linux with util-linux and an installed `PostgreSQL` 13 or newer.
#![expect(clippy::disallowed_methods, reason = "for tests and tools, which may wait")]

mod account;
mod address;
mod cluster;
mod database;
mod error;
mod postmaster;
mod process;
mod programs;
mod random;
mod server;

pub use database::{Database, SHARED_SERVER};
pub use error::ServerError;
pub use programs::is_installed;
pub use server::{Server, Setup};
