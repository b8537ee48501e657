//! `waitscope provider fit`: how well each latency model fits a recording.

use crate::exit::{Exit, Failure};

/// How well each latency model fits a recording
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Prints the table.
pub(crate) fn run(_args: &Args) -> Result<Exit, Failure> {
    Ok(Exit::Clean)
}
