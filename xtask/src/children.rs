//! The commands that the steps run. Each one has a process group of its own, so that Ctrl-C
//! reaches only this program, which passes it on once and then waits for the command to clean up.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use signal_hook::consts::{SIGCHLD, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::orphans;

/// Runs commands until a signal comes.
#[derive(Debug, Clone)]
pub(crate) struct Children {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    running: Option<Pid>,
    signals: usize,
}

impl Children {
    /// Listens for SIGINT and SIGTERM: the first one asks the running command to stop, the
    /// second one kills it. From here on, every other child of this process counts as an orphan.
    pub(crate) fn until_signalled() -> anyhow::Result<Self> {
        orphans::adopt().context("cannot become the parent of what commands leave behind")?;
        let children = Self { state: Arc::default() };
        let told = children.clone();
        let mut signals =
            Signals::new([SIGCHLD, SIGINT, SIGTERM]).context("cannot listen for signals")?;
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            for signal in signals.forever() {
                match signal {
                    SIGCHLD => told.collect_orphans(),
                    _ => told.pass_on(),
                }
            }
        })?;
        Ok(children)
    }

    /// Whether a signal came.
    pub(crate) fn interrupted(&self) -> bool {
        self.state().signals > 0
    }

    /// Runs a command to its end and stops what it leaves behind.
    ///
    /// # Errors
    /// When it cannot start, fails or is interrupted.
    pub(crate) fn run(&self, command: &mut Command) -> anyhow::Result<()> {
        println!("$ {}", shown(command));
        let status = self.wait(command)?;
        let left = {
            // Held, so that nothing is collected between being seen and being killed.
            let _state = self.state();
            orphans::end()
        };
        if left > 0 {
            // Not a failure: a compiler cache keeps its server running as well.
            println!("`{}` left {left} processes behind; they were killed", shown(command));
        }
        if self.interrupted() {
            bail!("interrupted");
        }
        if !status.success() {
            bail!("`{}` ended with {status}", shown(command));
        }
        Ok(())
    }

    /// Whether a command, whose output nobody wants, succeeds.
    pub(crate) fn succeeds(&self, command: &mut Command) -> bool {
        let silent = command.stdout(Stdio::null()).stderr(Stdio::null());
        self.wait(silent).is_ok_and(|status| status.success())
    }

    fn wait(&self, command: &mut Command) -> anyhow::Result<std::process::ExitStatus> {
        let mut child = {
            // Held over the start, so that a signal either finds the child or prevents it.
            let mut state = self.state();
            if state.signals > 0 {
                bail!("interrupted");
            }
            let child = command
                .stdin(Stdio::null())
                .process_group(0)
                .spawn()
                .with_context(|| format!("cannot start `{}`", shown(command)))?;
            state.running = Some(Pid::from_child(&child));
            child
        };
        let status = child.wait();
        self.state().running = None;
        Ok(status?)
    }

    fn collect_orphans(&self) {
        let state = self.state();
        orphans::collect(state.running);
    }

    fn pass_on(&self) {
        let mut state = self.state();
        state.signals += 1;
        let signal = if state.signals == 1 { Signal::INT } else { Signal::KILL };
        if let Some(group) = state.running {
            // It may have ended just now.
            let _ = kill_process_group(group, signal);
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The command as one would type it. The programs have short names in the steps; their folders
/// say little.
fn shown(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let name = program.file_name().unwrap_or(command.get_program()).to_string_lossy();
    let arguments = command.get_args().map(|argument| argument.to_string_lossy());
    std::iter::once(name).chain(arguments).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use rustix::process::test_kill_process;

    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    /// One test and not three: children that another thread starts would count as left behind.
    #[test]
    fn what_runs_is_judged_ended_and_interrupted() {
        let children = Children::until_signalled().unwrap();
        children.run(&mut shell("exit 0")).unwrap();
        let failed = children.run(&mut shell("exit 7")).unwrap_err();
        assert_eq!(failed.to_string(), "`sh -c exit 7` ended with exit status: 7");
        let missing = children.run(&mut Command::new("no-such-program")).unwrap_err();
        assert_eq!(missing.to_string(), "cannot start `no-such-program`");

        let pid_file = std::env::temp_dir().join(format!("xtask-{}", std::process::id()));
        // An orphan that ends is gone while the command still runs.
        let orphan = format!(
            "(sleep 0.1 & echo $! > {0})
            for _ in $(seq 100); do kill -0 $(cat {0}) || exit 0; sleep 0.1; done
            exit 1",
            pid_file.display()
        );
        children.run(&mut shell(&orphan)).unwrap();

        // A process group of its own does not save a daemon.
        let leave = format!("setsid sleep 600 & echo $! > {}", pid_file.display());
        children.run(&mut shell(&leave)).unwrap();
        let pid: i32 = std::fs::read_to_string(&pid_file).unwrap().trim().parse().unwrap();
        std::fs::remove_file(&pid_file).unwrap();
        assert!(test_kill_process(Pid::from_raw(pid).unwrap()).is_err(), "{pid} still runs");

        let other = children.clone();
        let waiter = std::thread::spawn(move || {
            while other.state().running.is_none() {
                std::thread::yield_now();
            }
            other.pass_on();
        });
        let error = children.run(&mut shell("exec sleep 600")).unwrap_err();
        waiter.join().unwrap();
        assert_eq!(error.to_string(), "interrupted");
        assert!(children.interrupted());
        assert!(children.run(&mut shell("exit 0")).is_err(), "nothing starts after a signal");
    }
}
