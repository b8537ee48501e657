//! Set-up: `PostgreSQL`, and the server that the tests of one step share.

use std::process::Command;

use waitscope_scratch_postgres::is_installed;

use crate::children::Children;
use crate::project::Project;
use crate::steps::{Step, debian};

pub(super) const SETUP: Step = Step {
    name: "setup-postgres",
    about: "PostgreSQL, whose programs the tests start",
    needs: &[],
    run,
};

fn run(project: &Project, children: &Children) -> anyhow::Result<()> {
    if is_installed() {
        println!("PostgreSQL is there");
        return Ok(());
    }
    // A server that the package itself starts is not used.
    let missing = "no PostgreSQL server is installed";
    debian::install(project, children, missing, &["postgresql"])
}

/// The command with a server beside it. The server is started by a process between this one and the
/// command: every other child of this one counts as left behind.
pub(super) fn beside_server(command: &Command) -> Command {
    // The running program: the file that it was started from may have been built anew.
    let mut beside = Command::new("/proc/self/exe");
    beside.args(["with-postgres", "--"]).arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        beside.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => beside.env(name, value),
            None => beside.env_remove(name),
        };
    }
    beside
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::path::Path;

    use super::*;

    #[test]
    fn the_command_keeps_its_arguments_folder_and_environment() {
        let mut command = Command::new("cargo");
        command.args(["nextest", "run"]).current_dir("/src").env("A", "1").env_remove("B");
        let beside = beside_server(&command);
        let arguments: Vec<_> = beside.get_args().collect();
        assert_eq!(arguments, ["with-postgres", "--", "cargo", "nextest", "run"]);
        assert_eq!(beside.get_current_dir(), Some(Path::new("/src")));
        let environment: Vec<_> = beside.get_envs().collect();
        let expected = [(OsStr::new("A"), Some(OsStr::new("1"))), (OsStr::new("B"), None)];
        assert_eq!(environment, expected);
    }
}
