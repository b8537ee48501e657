//! Set-up: a Python virtual environment with exactly the pinned packages.

use std::fs;

use anyhow::Context;

use crate::children::Children;
use crate::project::Project;
use crate::steps::{Step, debian};

pub(super) const STEP: Step = Step {
    name: "setup-venv",
    about: "a Python virtual environment with the pinned packages",
    needs: &[],
    run,
};

/// The second one includes the first one: both decide what is installed.
const REQUIREMENTS: [&str; 2] =
    ["examples/python/requirements.txt", "tests/python/requirements.txt"];

/// What the virtual environment was made from is kept in it, so that it is made anew when the
/// pins change, and only then.
fn run(project: &Project, children: &Children) -> anyhow::Result<()> {
    let wanted = requirements(project)?;
    let stamp = project.venv().join("made-from.txt");
    let is_current = fs::read_to_string(&stamp).is_ok_and(|made_from| made_from == wanted);
    if is_current && children.succeeds(project.command(project.python()).arg("--version")) {
        println!("{} is current", project.venv().display());
        return Ok(());
    }
    let python = interpreter(project, children)?;
    ensure_pip(project, children, python)?;
    let mut make = project.command(python);
    children.run(make.args(["-m", "venv", "--clear"]).arg(project.venv()))?;
    // Every package is pinned, so pip has nothing to resolve, and the check finds a missing pin.
    let pip = || {
        let mut command = project.command(project.python());
        command.args(["-m", "pip", "--disable-pip-version-check"]);
        command
    };
    children.run(pip().args(["install", "--no-deps", "--requirement", REQUIREMENTS[1]]))?;
    children.run(pip().arg("check"))?;
    fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))
}

fn requirements(project: &Project) -> anyhow::Result<String> {
    let read = |path| {
        fs::read_to_string(project.root.join(path)).with_context(|| format!("cannot read {path}"))
    };
    REQUIREMENTS.into_iter().map(read).collect()
}

/// The first Python on the path that is new enough for the pinned packages.
fn interpreter(project: &Project, children: &Children) -> anyhow::Result<&'static str> {
    const IS_NEW_ENOUGH: &str = "import sys; sys.exit(sys.version_info < (3, 11))";
    let found = ["python3", "python3.11", "python3.12", "python3.13"]
        .into_iter()
        .find(|python| children.succeeds(project.command(*python).args(["-c", IS_NEW_ENOUGH])));
    found.context("Python 3.11 or newer is needed and not on the PATH; install it and try again")
}

/// Debian leaves out of its Python what `venv` needs.
fn ensure_pip(project: &Project, children: &Children, python: &str) -> anyhow::Result<()> {
    if children.succeeds(project.command(python).args(["-c", "import ensurepip, venv"])) {
        return Ok(());
    }
    let missing = format!("{python} cannot make virtual environments");
    debian::install(project, children, &missing, &["python3-venv"])
}
