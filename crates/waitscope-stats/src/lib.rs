//! Pure maths of waitscope: quantiles, distributions, fits and seeded draws.
//!
//! Nothing here reads a clock, a file or a random source: every number comes in as an argument,
//! so the same arguments give the same result everywhere.

pub mod distribution;
pub mod draw;
pub mod fit;
pub mod latencies;
pub mod mixture;
