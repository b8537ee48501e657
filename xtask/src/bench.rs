//! `cargo xtask bench`: what the programs cost, beside a peer in the same run.

mod answer;
mod client;
mod events;
mod load;
mod machine;
mod measure;
mod prepare;
mod processes;
mod provider;
mod seen;
mod table;
mod tickets;
mod times;

pub(crate) use client::{ClientArgs, run as run_client};

use std::process::ExitCode;

use anyhow::ensure;
use clap::builder::PossibleValuesParser;

use crate::project::Project;
use processes::Programs;
use table::Table;

/// Measure what the programs cost, beside a peer in the same run
///
/// `provider`: the simulated provider against the same endpoints on uvicorn (uvloop, httptools,
/// FastAPI; see benches/provider). `tickets`: the reference service against the FastAPI example
/// (see benches/tickets). `load`: the load generator against wrk, oha, hey and Python's clients (see
/// benches/load). The server has one core, the client another. The two sides take turns;
/// the tables, in Markdown, show medians, and the range behind them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What is measured
    #[arg(
        value_name = "SUBJECT",
        value_parser = PossibleValuesParser::new(SUBJECTS.map(|subject| subject.name)),
    )]
    subject: String,
    /// Run only this scenario (may be repeated)
    #[arg(long, value_name = "SCENARIO")]
    only: Vec<String>,
    /// How often each side is measured
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=99))]
    passes: u32,
}

/// What can be measured.
struct Subject {
    name: &'static str,
    /// The folder of the peer and of its pins.
    peer: &'static str,
    scenarios: &'static [Scenario],
}

/// One scenario.
struct Scenario {
    name: &'static str,
    run: fn(&Programs, u32) -> anyhow::Result<Vec<Table>>,
}

const SUBJECTS: [Subject; 3] = [provider::SUBJECT, tickets::SUBJECT, load::SUBJECT];

/// Builds, runs the scenarios one after the other and prints their tables as Markdown.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    for subject in SUBJECTS.iter().filter(|subject| subject.name == args.subject) {
        let scenarios = subject.choose(&args.only)?;
        let programs = prepare::programs(&Project::find()?, subject)?;
        println!("{}\n", machine::describe(&programs)?);
        for scenario in scenarios {
            eprintln!("=== {}", scenario.name);
            for table in (scenario.run)(&programs, args.passes)? {
                println!("{table}");
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

impl Subject {
    /// The scenarios of these names; all when there are none.
    fn choose(&self, only: &[String]) -> anyhow::Result<Vec<&Scenario>> {
        let names: Vec<_> = self.scenarios.iter().map(|scenario| scenario.name).collect();
        for name in only {
            let of = self.name;
            ensure!(
                names.contains(&name.as_str()),
                "{of} has no scenario {name}; it has {names:?}"
            );
        }
        let wanted =
            |scenario: &&Scenario| only.is_empty() || only.iter().any(|name| name == scenario.name);
        Ok(self.scenarios.iter().filter(wanted).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_are_chosen_by_name() {
        let check = |only: &[&str], expected: Option<&[&str]>| {
            let only: Vec<String> = only.iter().map(ToString::to_string).collect();
            let chosen = provider::SUBJECT.choose(&only).ok();
            let names = chosen.map(|chosen| chosen.iter().map(|s| s.name).collect::<Vec<_>>());
            assert_eq!(names.as_deref(), expected, "{only:?}");
        };
        check(&[], Some(&["requests", "gaps", "open"]));
        check(&["open", "gaps"], Some(&["gaps", "open"]));
        check(&["users"], None);
    }
}
