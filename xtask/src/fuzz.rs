//! `cargo xtask fuzz`: what reads bytes from outside, fed with anything.

use std::process::{Command, ExitCode};

use anyhow::{Context, bail};
use clap::builder::PossibleValuesParser;

use crate::children::Children;
use crate::project::Project;
use crate::steps;

/// One program each in `fuzz/targets`.
const TARGETS: [&str; 7] = [
    "sse_reader",
    "chat_body",
    "responses_body",
    "messages_body",
    "embeddings_body",
    "fault_spec",
    "http1_response",
];
const TOOLCHAIN: &str = "nightly";

/// Fuzz what reads bytes from outside
///
/// Needs rustup with a nightly toolchain; cargo-fuzz is built when it is missing. What is learnt
/// stays below the target directory. An input that fails stays in fuzz/artifacts: mend the fault
/// and put the input into fuzz/seeds, which the tests run.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Fuzz only this (may be repeated)
    #[arg(value_name = "TARGET", value_parser = PossibleValuesParser::new(TARGETS))]
    targets: Vec<String>,
    /// How long each is fuzzed
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    seconds: u32,
}

/// Fuzzes one target after the other. The exit code is 0 when none failed, 1 when one did and 130
/// when somebody interrupted it.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let project = Project::find()?;
    let children = Children::until_signalled()?;
    if !children.succeeds(&mut nightly(&project, &["cargo", "--version"])) {
        bail!(
            "a {TOOLCHAIN} toolchain is needed, and rustup has none; run: rustup toolchain install \
             {TOOLCHAIN}"
        );
    }
    steps::install_tool(&project, &children, "fuzz", "0.13.2")?;
    let mut failed = Vec::new();
    for target in chosen(&args.targets) {
        if let Err(error) = fuzz(&project, &children, target, args.seconds) {
            if children.interrupted() {
                return Ok(ExitCode::from(130));
            }
            failed.push(format!("{target}: {error:#}"));
        }
    }
    for failure in &failed {
        println!("FAILED {failure}");
    }
    println!("{} failed", failed.len());
    Ok(ExitCode::from(u8::from(!failed.is_empty())))
}

fn chosen(targets: &[String]) -> Vec<&'static str> {
    let is_chosen = |target: &&str| targets.is_empty() || targets.iter().any(|name| name == target);
    TARGETS.into_iter().filter(is_chosen).collect()
}

fn fuzz(project: &Project, children: &Children, target: &str, seconds: u32) -> anyhow::Result<()> {
    let built = project.target.join("fuzz");
    // New inputs go into the first folder, the second one is only read.
    let learnt = built.join("corpus").join(target);
    std::fs::create_dir_all(&learnt)
        .with_context(|| format!("cannot make {}", learnt.display()))?;
    let mut run = nightly(project, &["cargo", "fuzz", "run", "--target-dir"]);
    run.arg(&built).arg(target).arg(&learnt).arg(format!("fuzz/seeds/{target}"));
    run.args(["--", "-rss_limit_mb=1024", "-max_len=8192", "-print_final_stats=1"]);
    children.run(run.arg(format!("-max_total_time={seconds}")))
}

/// A command of the nightly toolchain, whatever toolchain runs this.
fn nightly(project: &Project, arguments: &[&str]) -> Command {
    let mut command = project.with_tools("rustup");
    command.args(["run", TOOLCHAIN]).args(arguments);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_is_listed() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/targets");
        let mut programs: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
            .collect();
        let mut listed: Vec<_> = TARGETS.to_vec();
        programs.sort_unstable();
        listed.sort_unstable();
        assert_eq!(programs, listed);
    }

    #[test]
    fn those_asked_for_are_chosen() {
        assert_eq!(chosen(&[]), TARGETS);
        assert_eq!(chosen(&["chat_body".to_owned()]), ["chat_body"]);
    }
}
