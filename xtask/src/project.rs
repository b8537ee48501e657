//! Where things are, and how the commands that the steps run are put together.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Context;
use cargo_metadata::MetadataCommand;

/// The checkout and its target directory.
#[derive(Debug)]
pub(crate) struct Project {
    /// The folder of the root manifest.
    pub(crate) root: PathBuf,
    /// Where cargo builds, and where the set-up installs.
    pub(crate) target: PathBuf,
}

impl Project {
    /// Asks cargo.
    pub(crate) fn find() -> anyhow::Result<Self> {
        let metadata =
            MetadataCommand::new().no_deps().exec().context("cannot read the project")?;
        Ok(Self {
            root: metadata.workspace_root.into_std_path_buf(),
            target: metadata.target_directory.into_std_path_buf(),
        })
    }

    /// The debug build of the binary.
    pub(crate) fn waitscope(&self) -> PathBuf {
        self.target.join("debug").join(format!("waitscope{}", env::consts::EXE_SUFFIX))
    }

    /// The Python virtual environment.
    pub(crate) fn venv(&self) -> PathBuf {
        self.target.join("venv")
    }

    /// The Python in it.
    pub(crate) fn python(&self) -> PathBuf {
        self.venv().join("bin").join("python")
    }

    /// Cargo's `--root` for the tools that were missing.
    pub(crate) fn tools(&self) -> PathBuf {
        self.target.join("tools")
    }

    /// A command that runs in the root.
    pub(crate) fn command(&self, program: impl Into<OsString>) -> Command {
        let mut command = Command::new(program.into());
        command.current_dir(&self.root);
        // `cargo run` describes this very package in the environment. Build scripts that look at
        // it would be run again, here and at the next plain `cargo build`.
        for (name, _) in env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
                command.env_remove(name);
            }
        }
        command
    }

    /// Cargo, which also finds the tools that the set-up installed.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = self.with_tools(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(arguments);
        command
    }

    /// A command that finds the tools that the set-up installed.
    pub(crate) fn with_tools(&self, program: impl Into<OsString>) -> Command {
        let mut command = self.command(program);
        let others = env::var_os("PATH").unwrap_or_default();
        let tools = self.tools().join("bin");
        let folders = std::iter::once(tools).chain(env::split_paths(&others));
        if let Ok(path) = env::join_paths(folders) {
            command.env("PATH", path);
        }
        command
    }
}
