//! The peers that are programs: Debian's wrk and hey, and oha at a fixed version.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use crate::project::Project;

const OHA: &str = "oha@1.16.0";

/// Checks that Debian's programs are there.
pub(super) fn check(programs: &[&str]) -> anyhow::Result<()> {
    for program in programs {
        let found = Command::new("which").arg(program).stdout(Stdio::null()).status()?.success();
        ensure!(found, "{program} is not installed; run: sudo apt-get install wrk hey nginx-light");
    }
    Ok(())
}

/// Builds oha below the target directory unless it is there.
pub(super) fn oha() -> anyhow::Result<PathBuf> {
    let project = Project::find()?;
    let tools = project.tools();
    let oha = tools.join("bin").join("oha");
    let mut install = project.cargo(&["install", "--locked", OHA, "--root"]);
    install.arg(&tools).env("CARGO_TARGET_DIR", tools.join("build-oha"));
    // It says that the version is there already, or builds it.
    let status = install.status().with_context(|| format!("cannot run {install:?}"))?;
    ensure!(status.success(), "{install:?} failed: {status}");
    Ok(oha)
}
