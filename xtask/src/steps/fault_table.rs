//! What real clients make of each fault of the provider: the page in the docs is still true.

use crate::children::Children;
use crate::project::Project;
use crate::steps::{Step, cargo_check, node, venv};

pub(super) const STEP: Step = Step {
    name: "fault-table",
    about: "docs/provider-faults.md says what clients make of each fault now",
    needs: &[venv::STEP.name, node::SETUP.name, cargo_check::BUILD.name],
    run,
};

fn run(project: &Project, children: &Children) -> anyhow::Result<()> {
    let mut measure = project.command(project.python());
    // Nothing is written beside the sources, and the clients' warnings about each other are theirs.
    measure.args(["-B", "-W", "ignore", "-m", "faults"]);
    measure.current_dir(project.root.join("tests").join("python"));
    children.run(measure.env("WAITSCOPE_BIN", project.waitscope()))
}
