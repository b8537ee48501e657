//! Project tasks. `cargo xtask test` sets up what the tests need and runs every check.
#![expect(clippy::disallowed_methods, reason = "a build tool: there is no event loop to hold")]

mod bench;
mod children;
mod fuzz;
mod orphans;
mod project;
mod steps;
mod summary;
mod test;
mod with_postgres;

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
    Bench(bench::Args),
    Fuzz(fuzz::Args),
    WithPostgres(with_postgres::Args),
    #[command(hide = true)]
    BenchClient(bench::ClientArgs),
}

fn main() -> ExitCode {
    let done = match Cli::parse().task {
        Task::Test(args) => test::run(&args),
        Task::Bench(args) => bench::run(&args),
        Task::Fuzz(args) => fuzz::run(&args),
        Task::WithPostgres(args) => with_postgres::run(&args),
        Task::BenchClient(args) => bench::run_client(&args),
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::from(3)
    })
}
