//! `cargo xtask test`: the steps one after the other, and what came of them.

use std::process::ExitCode;
use std::time::Instant;

use clap::builder::PossibleValuesParser;

use crate::children::Children;
use crate::project::Project;
use crate::steps::{self, Step};
use crate::summary::{Outcome, Summary};

/// Set up what the tests need and run every check
///
/// All steps run, also after one has failed, and everything that they start is stopped. What
/// they install goes below the target directory, except for the packages of Node, which are beside
/// the Node tests, and for Debian's python3-venv, nodejs, npm and postgresql, which are installed
/// when they are missing and this is root.
#[derive(Debug, clap::Args)]
#[command(after_help = steps::help())]
pub(crate) struct Args {
    /// Run only this step and the set-up that it needs (may be repeated)
    #[arg(long, value_name = "STEP", value_parser = PossibleValuesParser::new(steps::names()))]
    only: Vec<String>,
}

/// Runs the steps. The exit code is 0 when all of them passed, 1 when one failed and 130 when
/// somebody interrupted them.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let project = Project::find()?;
    let children = Children::until_signalled()?;
    let (chosen, left_out) = steps::choose(&args.only);
    let mut summary = Summary::new(left_out);
    for step in chosen {
        if children.interrupted() {
            summary.interrupted();
            break;
        }
        println!("\n=== {}: {}", step.name, step.about);
        let start = Instant::now();
        let outcome = attempt(step, &summary, &project, &children);
        if let Outcome::Failed(why) = &outcome {
            println!("=== {} failed: {why}", step.name);
        }
        summary.add(step.name, start.elapsed(), outcome);
    }
    println!("\n{summary}");
    Ok(ExitCode::from(match (children.interrupted(), summary.failed()) {
        (true, _) => 130,
        (false, 0) => 0,
        (false, _) => 1,
    }))
}

/// A step whose set-up failed is not run, and that is a failure too.
fn attempt(step: &Step, so_far: &Summary, project: &Project, children: &Children) -> Outcome {
    if let Some(need) = step.needs.iter().find(|need| so_far.has_failed(need)) {
        return Outcome::Failed(format!("not run, because {need} failed"));
    }
    match (step.run)(project, children) {
        Ok(()) => Outcome::Passed,
        Err(error) => Outcome::Failed(format!("{error:#}")),
    }
}
