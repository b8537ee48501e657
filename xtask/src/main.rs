//! Project tasks. `cargo xtask test` sets up what the tests need and runs every check.
#![expect(clippy::disallowed_methods, reason = "a build tool: there is no event loop to hold")]

mod children;
mod orphans;
mod project;
mod steps;
mod summary;
mod test;

use std::process::ExitCode;

use clap::Parser;

/// Project tasks
#[derive(Debug, Parser)]
#[command(name = "xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, clap::Subcommand)]
enum Task {
    Test(test::Args),
}

fn main() -> ExitCode {
    let Task::Test(args) = Cli::parse().task;
    test::run(&args).unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::from(3)
    })
}
