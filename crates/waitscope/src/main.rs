//! The `waitscope` command: is the code waiting or working, and who else waits with it?

mod args;
mod commands;
mod console;
mod exit;
mod output;
mod progress;
mod serving;
mod stop;
mod units;

use std::process::ExitCode;

/// For the simulated provider, which allocates for every call and holds thousands of streams. Huge
/// pages are off (feature `no_thp`): with them each of 15,000 open streams takes 20 KiB, without 16.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let exit = match args::parse() {
        Ok(cli) => commands::run(cli.command).unwrap_or_else(|failure| failure.report()),
        Err(exit) => exit,
    };
    ExitCode::from(exit)
}
