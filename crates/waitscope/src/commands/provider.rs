//! Stub: the command's own file says what it is.

use crate::exit::{Exit, Failure};

/// Placeholder flags.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The port to listen on; 0 takes any free one
    #[arg(long, default_value_t = 8300)]
    pub port: u16,
    #[command(flatten)]
    stop: crate::stop::StopArgs,
}

/// Serves until it is told to stop.
pub fn run(_args: &Args) -> Result<Exit, Failure> {
    Err(Failure::usage("not built"))
}
