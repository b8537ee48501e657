//! What must be there before anything is measured: our release builds, and the peer's environment.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::Subject;
use super::processes::Programs;
use crate::project::Project;

/// Builds ours, the client with it, and installs the peer.
pub(super) fn programs(project: &Project, subject: &Subject) -> anyhow::Result<Programs> {
    allow_many_files()?;
    run(&mut project.cargo(&["build", "--release", "-p", "waitscope", "-p", "xtask"]))?;
    let release = project.target.join("release");
    Ok(Programs {
        waitscope: release.join("waitscope"),
        client: release.join("xtask"),
        python: peer_python(project, subject)?,
        peer_folder: project.root.join(subject.peer),
    })
}

/// The Python of a virtual environment with exactly the pinned packages. What it was made from is
/// kept in it, so that it is made anew when the pins change, and only then.
fn peer_python(project: &Project, subject: &Subject) -> anyhow::Result<PathBuf> {
    let venv = project.target.join(format!("bench-{}-venv", subject.name));
    let python = venv.join("bin").join("python");
    let requirements = project.root.join(subject.peer).join("requirements.txt");
    let wanted = fs::read_to_string(&requirements).context("cannot read the peer's pins")?;
    let stamp = venv.join("made-from.txt");
    if fs::read_to_string(&stamp).is_ok_and(|made_from| made_from == wanted) {
        eprintln!("{} is current", venv.display());
        return Ok(python);
    }
    run(project.command("python3").args(["-m", "venv", "--clear"]).arg(&venv))?;
    let mut pip = project.command(&python);
    pip.args(["-m", "pip", "--disable-pip-version-check", "install", "--no-deps", "-r"]);
    run(pip.arg(&requirements))?;
    fs::write(&stamp, wanted).context("cannot note what the peer was made from")?;
    Ok(python)
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    eprintln!("$ {command:?}");
    let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
    if !status.success() {
        bail!("{command:?} failed: {status}");
    }
    Ok(())
}

/// Lifts the soft limit on open files to the hard one; children inherit it.
fn allow_many_files() -> anyhow::Result<()> {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let limit = Rlimit { current: maximum, maximum };
    setrlimit(Resource::Nofile, limit).context("cannot allow many open files")
}
