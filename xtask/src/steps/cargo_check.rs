//! The checks that are one cargo command each.

use crate::children::Children;
use crate::project::Project;
use crate::steps::{Step, postgres, tool, venv};

pub(super) const FMT: Step = Step {
    name: "fmt",
    about: "the code is formatted",
    needs: &[],
    run: |project, children| cargo(project, children, &["fmt", "--all", "--check"]),
};

pub(super) const CLIPPY: Step = Step {
    name: "clippy",
    about: "no lint warns",
    needs: &[],
    run: |project, children| {
        let warnings_fail = ["--", "-D", "warnings"];
        let check = ["clippy", "--locked", "--workspace", "--all-targets"];
        cargo(project, children, &[&check[..], &warnings_fail].concat())
    },
};

pub(super) const BUILD: Step = Step {
    name: "build",
    about: "the debug build of the binary and of all tests",
    needs: &[],
    run: |project, children| {
        // All at once, with the features of the tests: otherwise the tests build everything anew.
        cargo(project, children, &["build", "--locked", "--workspace", "--all-targets"])
    },
};

/// The end-to-end tests start the Python example and fail without a Python for it.
pub(super) const NEXTEST: Step = Step {
    name: "nextest",
    about: "unit, integration and end-to-end tests",
    needs: &[venv::STEP.name, postgres::SETUP.name, tool::NEXTEST.name],
    run: |project, children| {
        let all = ["nextest", "run", "--locked", "--workspace", "--profile", "ci"];
        let mut nextest = project.cargo(&all);
        nextest.env("WAITSCOPE_PYTHON", project.python());
        children.run(&mut postgres::beside_server(&nextest))
    },
};

pub(super) const DOC_TESTS: Step = Step {
    name: "doc-tests",
    about: "the examples in the documentation",
    needs: &[],
    run: |project, children| {
        cargo(project, children, &["test", "--locked", "--workspace", "--doc"])
    },
};

pub(super) const DENY: Step = Step {
    name: "deny",
    about: "licences and sources of the dependencies",
    needs: &[tool::DENY.name],
    run: |project, children| {
        let check = ["deny", "--locked", "check", "--hide-inclusion-graph"];
        cargo(project, children, &[&check[..], &["bans", "licenses", "sources"]].concat())
    },
};

fn cargo(project: &Project, children: &Children, arguments: &[&str]) -> anyhow::Result<()> {
    children.run(&mut project.cargo(arguments))
}
