//! One file per command: flags -> typed config -> one call into a library -> render.

mod provider;
mod tickets;

use crate::exit::{Exit, Failure};

/// The commands, in the order of `--help`.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    Provider(provider::Args),
    Tickets(tickets::Args),
}

/// Runs one command to its end.
pub fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Provider(args) => provider::run(&args),
        Command::Tickets(args) => tickets::run(&args),
    }
}
