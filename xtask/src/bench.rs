//! `cargo xtask bench`: what the programs cost, beside a peer in the same run.

mod answer;
mod client;
mod events;
mod gaps;
mod machine;
mod measure;
mod open;
mod prepare;
mod requests;
mod seen;
mod servers;
mod table;
mod times;

pub(crate) use client::{ClientArgs, run as run_client};

use std::process::ExitCode;

use clap::builder::PossibleValuesParser;

use crate::project::Project;
use servers::Programs;
use table::Table;

/// Measure what the programs cost, beside a peer in the same run
///
/// The simulated provider against the same endpoints on uvicorn (uvloop, httptools, FastAPI; see
/// benches/provider). The server has one core, the client another. The two sides take turns; the
/// tables, in Markdown, show medians, and the range behind them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What is measured
    #[arg(value_name = "SUBJECT", value_parser = ["provider"])]
    subject: String,
    /// Run only this scenario (may be repeated)
    #[arg(long, value_name = "SCENARIO", value_parser = PossibleValuesParser::new(names()))]
    only: Vec<String>,
    /// How often each side is measured
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=99))]
    passes: u32,
}

/// One scenario.
struct Scenario {
    name: &'static str,
    run: fn(&Programs, u32) -> anyhow::Result<Vec<Table>>,
}

const SCENARIOS: [Scenario; 3] = [requests::SCENARIO, gaps::SCENARIO, open::SCENARIO];

fn names() -> [&'static str; SCENARIOS.len()] {
    SCENARIOS.map(|scenario| scenario.name)
}

/// Builds, runs the scenarios one after the other and prints their tables as Markdown.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let programs = prepare::programs(&Project::find()?)?;
    println!("{}\n", machine::describe(&programs)?);
    let wanted = |name: &str| args.only.is_empty() || args.only.iter().any(|only| only == name);
    for scenario in SCENARIOS.iter().filter(|scenario| wanted(scenario.name)) {
        eprintln!("=== {}", scenario.name);
        for table in (scenario.run)(&programs, args.passes)? {
            println!("{table}");
        }
    }
    Ok(ExitCode::SUCCESS)
}
