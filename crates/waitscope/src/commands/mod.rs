//! One file per command: flags -> typed config -> one call into a library -> render.

mod demo;
mod load;
mod provider;
mod request;
mod stall;
mod tickets;

use crate::exit::{Exit, Failure};

/// The commands, in the order of `--help`.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Demo(demo::Args),
    Stall(stall::Args),
    Load(Box<load::Args>),
    Provider(provider::Args),
    Tickets(tickets::Args),
}

/// Runs one command to its end.
pub(crate) fn run(command: Command) -> Result<Exit, Failure> {
    // Every connection is a file, of a server as of a client.
    waitscope_process::raise_open_files();
    match command {
        Command::Demo(args) => demo::run(&args),
        Command::Stall(args) => stall::run(&args),
        Command::Load(args) => load::run(&args),
        Command::Provider(args) => provider::run(args),
        Command::Tickets(args) => tickets::run(&args),
    }
}
