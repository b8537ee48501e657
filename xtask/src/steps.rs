//! The steps: one registry, in the order in which they run.

mod cargo_check;
mod debian;
mod fault_table;
mod node;
mod postgres;
mod pytest;
mod tool;
mod venv;

use std::fmt::Write;

use crate::children::Children;
use crate::project::Project;

/// One step.
#[derive(Debug)]
pub(crate) struct Step {
    /// What `--only` takes and the summary shows.
    pub(crate) name: &'static str,
    /// What it shows or sets up.
    pub(crate) about: &'static str,
    /// The steps that must have passed before.
    pub(crate) needs: &'static [&'static str],
    /// An error is a failure, in one line.
    pub(crate) run: fn(&Project, &Children) -> anyhow::Result<()>,
}

/// What fails early and needs little comes first; a step comes after what it needs.
const STEPS: &[Step] = &[
    cargo_check::FMT,
    cargo_check::CLIPPY,
    venv::STEP,
    node::SETUP,
    postgres::SETUP,
    cargo_check::BUILD,
    node::TESTS,
    pytest::STEP,
    fault_table::STEP,
    tool::NEXTEST,
    cargo_check::NEXTEST,
    cargo_check::DOC_TESTS,
    tool::DENY,
    cargo_check::DENY,
];

/// Builds a cargo subcommand unless it is there.
pub(crate) fn install_tool(
    project: &Project,
    children: &Children,
    subcommand: &str,
    version: &str,
) -> anyhow::Result<()> {
    tool::install(project, children, subcommand, version, &[])
}

/// All names.
pub(crate) fn names() -> Vec<&'static str> {
    STEPS.iter().map(|step| step.name).collect()
}

/// The list for `--help`.
pub(crate) fn help() -> String {
    STEPS.iter().fold("Steps:".to_owned(), |mut text, step| {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n  {:<14} {}", step.name, step.about);
        text
    })
}

/// The steps to run, and the names of those left out. `only` and what it needs; all when it is
/// empty.
pub(crate) fn choose(only: &[String]) -> (Vec<&'static Step>, Vec<&'static str>) {
    let asked = |step: &Step| only.is_empty() || only.iter().any(|name| name == step.name);
    let needed =
        |step: &Step| STEPS.iter().any(|other| asked(other) && other.needs.contains(&step.name));
    let (chosen, rest): (Vec<_>, Vec<_>) =
        STEPS.iter().partition(|step| asked(step) || needed(step));
    (chosen, rest.into_iter().map(|step| step.name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_needs_come_first() {
        for (index, step) in STEPS.iter().enumerate() {
            let before: Vec<_> = STEPS[..index].iter().map(|step| step.name).collect();
            assert!(!before.contains(&step.name), "{} stands twice", step.name);
            for need in step.needs {
                assert!(before.contains(need), "{} needs {need}", step.name);
                let of_need = STEPS.iter().find(|other| other.name == *need).unwrap();
                // `choose` looks one level deep.
                assert!(of_need.needs.is_empty(), "{need} needs something itself");
            }
        }
    }

    #[test]
    fn only_takes_what_it_needs_along() {
        let check = |only: &[&str], expected: &[&str]| {
            let only: Vec<String> = only.iter().map(ToString::to_string).collect();
            let (chosen, left_out) = choose(&only);
            let chosen: Vec<_> = chosen.iter().map(|step| step.name).collect();
            assert_eq!(chosen, expected);
            assert_eq!(chosen.len() + left_out.len(), STEPS.len());
        };
        check(&[], &names());
        check(&["fmt"], &["fmt"]);
        check(&["pytest"], &["setup-venv", "setup-postgres", "build", "pytest"]);
        check(&["node-tests"], &["setup-node", "build", "node-tests"]);
        check(&["deny", "fmt"], &["fmt", "setup-deny", "deny"]);
    }
}
