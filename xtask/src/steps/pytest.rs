//! The Python tests: real clients and the example, against the real binary.

use crate::children::Children;
use crate::project::Project;
use crate::steps::{Step, cargo_check, postgres, venv};

pub(super) const STEP: Step = Step {
    name: "pytest",
    about: "the Python clients and the FastAPI example against the binary",
    needs: &[venv::STEP.name, postgres::SETUP.name, cargo_check::BUILD.name],
    run,
};

fn run(project: &Project, children: &Children) -> anyhow::Result<()> {
    let mut pytest = project.command(project.python());
    // Nothing is written beside the sources.
    pytest.args(["-B", "-m", "pytest", "-p", "no:cacheprovider", "--durations=5", "tests/python"]);
    pytest.env("WAITSCOPE_BIN", project.waitscope());
    children.run(&mut postgres::beside_server(&pytest))
}
