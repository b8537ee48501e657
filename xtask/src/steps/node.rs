//! The Node tests: a real client of Node against the real binary, and its set-up.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, bail};

use crate::children::Children;
use crate::project::Project;
use crate::steps::{Step, cargo_check, debian};

pub(super) const SETUP: Step = Step {
    name: "setup-node",
    about: "the pinned packages for Node, beside the Node tests",
    needs: &[],
    run: set_up,
};

pub(super) const TESTS: Step = Step {
    name: "node-tests",
    about: "openai-node against the binary",
    needs: &[SETUP.name, cargo_check::BUILD.name],
    run: |project, children| {
        let mut npm = project.command("npm");
        npm.args(["test"]).current_dir(folder(project));
        children.run(npm.env("WAITSCOPE_BIN", project.waitscope()))
    },
};

fn folder(project: &Project) -> PathBuf {
    project.root.join("tests").join("node")
}

/// What the packages were installed from is kept beside them, so that they are installed anew
/// when the pins change, and only then.
fn set_up(project: &Project, children: &Children) -> anyhow::Result<()> {
    ensure_node(project, children)?;
    let folder = folder(project);
    let pins = folder.join("package.json");
    let wanted =
        fs::read_to_string(&pins).with_context(|| format!("cannot read {}", pins.display()))?;
    let stamp = folder.join("node_modules").join("made-from.json");
    if fs::read_to_string(&stamp).is_ok_and(|made_from| made_from == wanted) {
        println!("{} is current", folder.join("node_modules").display());
        return Ok(());
    }
    children.run(project.command("npm").arg("install").current_dir(&folder))?;
    fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))
}

/// Debian has Node and its package manager as two packages.
fn ensure_node(project: &Project, children: &Children) -> anyhow::Result<()> {
    const IS_NEW_ENOUGH: &str = "process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)";
    let runs = |program| children.succeeds(project.command(program).arg("--version"));
    let missing: Vec<&str> = [("node", "nodejs"), ("npm", "npm")]
        .iter()
        .filter(|(program, _)| !runs(program))
        .map(|(_, package)| *package)
        .collect();
    if !missing.is_empty() {
        let what = format!("missing for the Node tests: {}", missing.join(" and "));
        debian::install(project, children, &what, &missing)?;
    }
    if !children.succeeds(project.command("node").args(["-e", IS_NEW_ENOUGH])) {
        bail!("Node 18 or newer is needed, and the one on the PATH is older; install a newer one");
    }
    Ok(())
}
