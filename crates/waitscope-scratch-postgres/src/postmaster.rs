//! The server's first process, the postmaster, and the others that it starts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::{ServerError, process, programs};

/// How long it may take until it accepts connections. After a kill it works off its log first.
const START: Duration = Duration::from_mins(1);
/// How long it may take to end.
const END: Duration = Duration::from_secs(30);

/// A running server. When it is dropped, it is shut down at once.
#[derive(Debug)]
pub(crate) struct Postmaster {
    child: Child,
    data: PathBuf,
    /// Keeps the thread that started it.
    _parent: Sender<()>,
}

impl Postmaster {
    /// Starts `command`, which becomes the server of the cluster in `data`, and waits until it
    /// accepts connections.
    pub(crate) fn start(command: Command, data: PathBuf, log: &Path) -> Result<Self, ServerError> {
        let (child, parent) =
            spawn(command).map_err(ServerError::cannot("start setpriv (of util-linux)"))?;
        let mut server = Self { child, data, _parent: parent };
        let said = || programs::last_lines(&fs::read(log).unwrap_or_default());
        let asked = Instant::now();
        while !server.is_ready() {
            if let Some(status) = server.try_wait()? {
                return Err(ServerError::Ended { status, said: said() });
            }
            if asked.elapsed() > START {
                return Err(ServerError::NotReady { within: START, said: said() });
            }
            thread::sleep(Duration::from_millis(10));
        }
        Ok(server)
    }

    /// Asks it to end in order (SIGINT, its "fast shutdown").
    pub(crate) fn stop(mut self) -> Result<(), ServerError> {
        self.end(Signal::INT)
    }

    /// Kills it and all its processes, and removes the shared memory that only it would remove.
    pub(crate) fn kill(mut self) -> Result<(), ServerError> {
        let shared_memory = shared_memory(&self.pid_file());
        self.kill_all()?;
        if let Some(id) = shared_memory {
            // It would remain for ever if the server never started again. It is a few bytes, and
            // gone in some systems' containers already.
            let _ = programs::run(programs::command("ipcrm").args(["--shmem-id", &id]));
        }
        Ok(())
    }

    /// Kills the others first, while their parent stands still: it can neither start new ones nor
    /// collect the dead, so that no number is given to another process meanwhile.
    fn kill_all(&mut self) -> Result<(), ServerError> {
        if self.try_wait()?.is_some() {
            return Ok(());
        }
        let pid = Pid::from_child(&self.child);
        self.signal(Signal::STOP);
        until(|| process::state(pid).is_none_or(|state| "TtZX".contains(state)))?;
        let others = process::children(pid)
            .map_err(ServerError::cannot("list the processes of the PostgreSQL server"))?;
        for other in &others {
            // It may have ended by itself.
            let _ = kill_process(*other, Signal::KILL);
        }
        for other in others {
            until(|| process::state(other).is_none_or(|state| "ZX".contains(state)))?;
        }
        self.end(Signal::KILL)
    }

    fn end(&mut self, signal: Signal) -> Result<(), ServerError> {
        self.signal(signal);
        until(|| matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)))
    }

    fn signal(&self, signal: Signal) {
        // It may have ended in this very moment. Its number is its own until `child` is waited for.
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }

    fn try_wait(&mut self) -> Result<Option<std::process::ExitStatus>, ServerError> {
        self.child.try_wait().map_err(ServerError::cannot("watch the PostgreSQL server"))
    }

    fn is_ready(&self) -> bool {
        is_ready(&self.pid_file(), self.child.id())
    }

    fn pid_file(&self) -> String {
        // There is none before it starts and after it ended.
        fs::read_to_string(self.data.join("postmaster.pid")).unwrap_or_default()
    }
}

impl Drop for Postmaster {
    fn drop(&mut self) {
        let has_ended = matches!(self.child.try_wait(), Ok(Some(_)));
        // SIGQUIT is its "immediate shutdown": it ends all its processes and writes nothing.
        if !has_ended && self.end(Signal::QUIT).is_err() {
            // There is nobody left to tell.
            let _ = self.kill_all();
        }
    }
}

/// Starts a child on a thread that lives until the sender is dropped: the system takes the end of
/// the thread that started a child for the end of its parent (`PR_SET_PDEATHSIG`).
fn spawn(mut command: Command) -> std::io::Result<(Child, Sender<()>)> {
    let (parent, dropped) = channel();
    let (started, child) = channel();
    thread::Builder::new().name("postgres-parent".into()).spawn(move || {
        // The other side waits for it.
        let _ = started.send(command.spawn());
        // An error: the sender is gone, as it should be.
        let _ = dropped.recv();
    })?;
    let child = child.recv().map_err(std::io::Error::other)??;
    Ok((child, parent))
}

/// Waits, for a bounded time.
fn until(mut is_done: impl FnMut() -> bool) -> Result<(), ServerError> {
    let asked = Instant::now();
    while !is_done() {
        if asked.elapsed() > END {
            return Err(ServerError::StillRunning { within: END });
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Whether `postmaster.pid` says that this process accepts connections. Its lines are, in this
/// order: process, folder, start time, port, socket folder, address, shared memory, status (the
/// source of `PostgreSQL`, `src/include/utils/pidfile.h`).
fn is_ready(pid_file: &str, pid: u32) -> bool {
    let mut lines = pid_file.lines().map(str::trim);
    lines.next() == Some(&pid.to_string()) && lines.nth(6) == Some("ready")
}

/// The number of the System V shared memory in `postmaster.pid`; its line has a key and the number.
fn shared_memory(pid_file: &str) -> Option<String> {
    pid_file.lines().nth(6)?.split_whitespace().nth(1).map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pid_file_is_read_as_far_as_it_is_written() {
        let whole =
            "42\n/tmp/x/data\n1800000000\n20001\n\n127.0.0.1\n  1234567        8\nready   \n";
        let cases = [
            (whole.to_owned(), true, Some("8")),
            (whole.replace("ready   ", "starting"), false, Some("8")),
            (whole.replace("42\n", "43\n"), false, Some("8")),
            (whole.replace("ready   \n", ""), false, Some("8")),
            (whole.replace("  1234567        8\nready   \n", ""), false, None),
            (String::new(), false, None),
        ];
        for (file, ready, memory) in cases {
            assert_eq!(is_ready(&file, 42), ready, "{file}");
            assert_eq!(shared_memory(&file).as_deref(), memory, "{file}");
        }
    }
}
