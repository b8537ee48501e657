//! Child servers that surely end.
//!
//! A child runs in a process group of its own, so that Ctrl-C in the terminal reaches only the
//! parent, which then ends its children in order. The child's standard input is a pipe held by the
//! parent: when the parent dies, however it dies, the pipe closes and the child ends by itself.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// What a server of ours says on stdout once it serves.
const READY: &str = "listening on ";

/// How long a child may take to end by itself before it is killed.
const GRACE: Duration = Duration::from_secs(15);

/// How much of what a child wrote on stderr is kept.
const KEPT_LINES: usize = 20;

/// Why a child server could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    /// The program could not be run.
    #[error("cannot start {program}: {source}")]
    Spawn {
        /// The program.
        program: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// It ended before it served.
    #[error("{program} ended ({status}) before it served; it said: {said}")]
    Ended {
        /// The program.
        program: String,
        /// How it ended.
        status: ExitStatus,
        /// Its last lines on stderr.
        said: String,
    },
    /// It did not say that it serves.
    #[error("{program} did not say `{READY}URL` within {within:?}; it said: {said}")]
    Silent {
        /// The program.
        program: String,
        /// How long it was waited for.
        within: Duration,
        /// Its last lines on stderr.
        said: String,
    },
}

/// A running child server. Dropping it stops it.
#[derive(Debug)]
pub struct ServerChild {
    child: Child,
    url: String,
    said: Said,
}

impl ServerChild {
    /// Starts `command` and waits until its stdout says `listening on URL`, at most `within`.
    pub fn start(mut command: Command, within: Duration) -> Result<Self, ChildError> {
        let program = command.get_program().to_string_lossy().into_owned();
        let spawned = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn();
        let mut child =
            spawned.map_err(|source| ChildError::Spawn { program: program.clone(), source })?;
        let said = Said::default();
        let follower = child.stderr.take().map(|stderr| said.follow(stderr));
        let ready = child.stdout.take().map(announced_url);
        let mut server = Self { child, url: String::new(), said };
        let url = ready.map_or(Err(RecvTimeoutError::Disconnected), |r| r.recv_timeout(within));
        match url {
            Ok(url) => server.url = url,
            Err(RecvTimeoutError::Timeout) => {
                let said = server.said.lines();
                return Err(ChildError::Silent { program, within, said });
            }
            Err(RecvTimeoutError::Disconnected) => {
                let status = server.stop();
                wait_for(follower.as_ref());
                let said = server.said.lines();
                return Err(match status {
                    Ok(status) => ChildError::Ended { program, status, said },
                    Err(source) => ChildError::Spawn { program, source },
                });
            }
        }
        Ok(server)
    }

    /// Where it serves, without a slash at the end.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The last lines that it wrote on stderr.
    pub fn said(&self) -> String {
        self.said.lines()
    }

    /// Asks it to end, waits, and kills it (and what it started in its group) after a grace time.
    ///
    /// # Errors
    /// When the system cannot say how it ended.
    pub fn stop(&mut self) -> std::io::Result<ExitStatus> {
        if let Some(status) = self.child.try_wait()? {
            return Ok(status);
        }
        self.signal(Signal::TERM);
        drop(self.child.stdin.take());
        let asked = Instant::now();
        while asked.elapsed() < GRACE {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            pause();
        }
        self.signal(Signal::KILL);
        self.child.wait()
    }

    /// Kills it, and what it started in its group, at once: for servers whose state nobody needs.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        // It may have ended before, and then there is nothing to wait for.
        let _ = self.child.wait();
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // It may have ended in this very moment, which is what the signal is for.
            let _ = kill_process_group(pid, signal);
        }
    }
}

impl Drop for ServerChild {
    fn drop(&mut self) {
        // Nobody is left to hear how it ended.
        let _ = self.stop();
    }
}

#[expect(clippy::disallowed_methods, reason = "a plain thread waits for a child process to end")]
fn pause() {
    thread::sleep(Duration::from_millis(5));
}

/// Waits for the last words of a child that has ended. Bounded: what the child started may hold
/// its stderr open.
fn wait_for(follower: Option<&JoinHandle<()>>) {
    for _ in 0..100 {
        if follower.is_none_or(JoinHandle::is_finished) {
            return;
        }
        pause();
    }
}

/// Reads stdout on a thread of its own: sends the URL of the first `listening on` line, then keeps
/// reading, so that the child never waits for a full pipe.
fn announced_url(stdout: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if let Some(url) = line.strip_prefix(READY) {
                // The receiver is gone once it has its answer.
                let _ = sender.send(url.trim().trim_end_matches('/').to_owned());
            }
        }
    });
    receiver
}

/// The last lines that a child wrote on stderr.
#[derive(Debug, Clone, Default)]
struct Said(Arc<Mutex<VecDeque<String>>>);

impl Said {
    fn follow(&self, stderr: impl Read + Send + 'static) -> JoinHandle<()> {
        let lines = Arc::clone(&self.0);
        thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let mut kept = lines.lock().unwrap_or_else(PoisonError::into_inner);
                if kept.len() == KEPT_LINES {
                    kept.pop_front();
                }
                kept.push_back(line);
            }
        })
    }

    fn lines(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.is_empty() {
            return "nothing".into();
        }
        kept.iter().map(String::as_str).collect::<Vec<_>>().join(" | ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    const WITHIN: Duration = Duration::from_secs(20);

    fn is_alive(pid: u32) -> bool {
        let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        rustix::process::test_kill_process(pid).is_ok()
    }

    #[test]
    fn it_starts_says_its_url_and_is_gone_after_stop() {
        let script = "echo noise; echo listening on http://127.0.0.1:1/; exec cat";
        let mut server = ServerChild::start(shell(script), WITHIN).unwrap();
        assert_eq!(server.url(), "http://127.0.0.1:1");
        let pid = server.pid();
        assert!(is_alive(pid));
        server.stop().unwrap();
        assert!(!is_alive(pid));
    }

    #[test]
    fn dropping_it_stops_it_even_if_it_ignores_its_input() {
        let server =
            ServerChild::start(shell("echo listening on x; exec sleep 100"), WITHIN).unwrap();
        let pid = server.pid();
        drop(server);
        assert!(!is_alive(pid));
    }

    #[test]
    fn what_goes_wrong_is_said() {
        let cases = [
            (shell("echo port is taken >&2; exit 3"), WITHIN, "port is taken"),
            (shell("exec sleep 100"), Duration::from_millis(50), "did not say"),
            (Command::new("/no/such/program"), WITHIN, "cannot start /no/such/program"),
        ];
        for (command, within, expected) in cases {
            let error = ServerChild::start(command, within).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
