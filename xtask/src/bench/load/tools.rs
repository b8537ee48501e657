//! The load generators: how each is started, and how its words are read.

mod hey;
mod oha;
mod ours;
mod python;
mod wrk;

use std::process::Command;

use crate::bench::processes::Programs;

/// What a load generator is to do.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) url: String,
    pub(super) connections: usize,
    /// For so many seconds; otherwise one request on each connection.
    pub(super) seconds: Option<u32>,
}

/// What it said at its end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Said {
    /// Complete answers with a good status.
    pub(super) requests: f64,
    pub(super) errors: f64,
    pub(super) slowest_ms: f64,
}

/// A load generator.
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) command: fn(&Programs, &Asked) -> anyhow::Result<Command>,
    pub(super) read: fn(&str) -> anyhow::Result<Said>,
}

pub(super) const OURS: Tool = ours::TOOL;
pub(super) const WRK: Tool = wrk::TOOL;
pub(super) const OHA: Tool = oha::TOOL;
pub(super) const HEY: Tool = hey::TOOL;
pub(super) const AIOHTTP: Tool = python::AIOHTTP;
pub(super) const HTTPX: Tool = python::HTTPX;
