//! Set-up: the cargo subcommands that the checks use. One that is there already is used as it is;
//! a missing one is built at a fixed version, below the target directory.

use anyhow::Context;

use crate::children::Children;
use crate::project::Project;
use crate::steps::Step;

pub(super) const NEXTEST: Step = Step {
    name: "setup-nextest",
    about: "cargo-nextest, the test runner",
    needs: &[],
    run: |project, children| {
        // Without the code that updates itself, which is half of the build.
        let lean = ["--no-default-features", "--features", "default-no-update"];
        install(project, children, "nextest", "0.9.143", &lean)
    },
};

pub(super) const DENY: Step = Step {
    name: "setup-deny",
    about: "cargo-deny, which checks the dependencies",
    needs: &[],
    run: |project, children| install(project, children, "deny", "0.20.2", &[]),
};

pub(super) fn install(
    project: &Project,
    children: &Children,
    subcommand: &str,
    version: &str,
    features: &[&str],
) -> anyhow::Result<()> {
    if children.succeeds(&mut project.cargo(&[subcommand, "--version"])) {
        println!("cargo-{subcommand} is there");
        return Ok(());
    }
    let package = format!("cargo-{subcommand}@{version}");
    let build = project.tools().join("build");
    // A debug build takes half the time of a release build, and the tools have little to do.
    let mut install = project.cargo(&["install", "--locked", "--debug", &package]);
    install.args(features).arg("--root").arg(project.tools());
    install.env("CARGO_TARGET_DIR", &build).env("CARGO_PROFILE_DEV_DEBUG", "0");
    children.run(&mut install)?;
    std::fs::remove_dir_all(&build).with_context(|| format!("cannot remove {}", build.display()))
}
