//! `cargo xtask with-postgres`: a command beside a `PostgreSQL` server.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use signal_hook::consts::{SIGINT, SIGTERM};
use waitscope_scratch_postgres::{SHARED_SERVER, Setup};

/// Run a command beside a new `PostgreSQL` server for the tests
///
/// The tests take the address of the server from `WAITSCOPE_TEST_POSTGRES`. Without this, each of
/// them that needs a server starts its own. The server and its data are gone at the end. The exit
/// code is the command's.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// A signal is left to the command, which gets it from the terminal or from whoever signals this
/// process group; the server stays until the command has ended.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    let (program, arguments) = args.command.split_first().context("no command")?;
    let server = Setup::for_many_tests().start()?;
    if interrupted.load(Ordering::Relaxed) {
        return Ok(ExitCode::from(130));
    }
    let mut command = Command::new(program);
    command.args(arguments).env(SHARED_SERVER, server.url("postgres"));
    let status = command
        .status()
        .with_context(|| format!("cannot start `{}`", program.to_string_lossy()))?;
    Ok(exit_code(status))
}

/// As a shell says it: 128 and the signal that ended the command.
fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}
