//! The processes of a measurement, each on its core, and what the system counts of them.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};

use super::client::ClientArgs;
use super::seen::Seen;

/// Where the server runs that is measured.
pub(super) const SERVER_CORE: &str = "0";
/// Where the client runs, and all else that the server needs.
pub(super) const OTHER_CORE: &str = "1";
/// How long a server may take to listen.
const START: Duration = Duration::from_secs(20);
/// How long one may take to end that was asked to.
const END: Duration = Duration::from_secs(20);

/// What can be started.
pub(super) struct Programs {
    pub(super) waitscope: PathBuf,
    pub(super) client: PathBuf,
    /// The peer's Python.
    pub(super) python: PathBuf,
    /// The peer and its pins.
    pub(super) peer_folder: PathBuf,
}

impl Programs {
    /// uvicorn with the peer, as fast as it gets, before its further settings.
    pub(super) fn peer(&self, port: u16) -> Command {
        let mut command = alone(SERVER_CORE, &self.python);
        command.args(["-m", "uvicorn", "--app-dir"]).arg(&self.peer_folder);
        command.args(["peer:app", "--port", &port.to_string()]);
        command.args(["--loop", "uvloop", "--http", "httptools"]);
        command.args(["--no-access-log", "--log-level", "warning", "--backlog", "4096"]);
        command
    }

    /// Runs the client to its end.
    pub(super) fn run_client(&self, args: &ClientArgs) -> anyhow::Result<Seen> {
        let mut command = alone(OTHER_CORE, &self.client);
        command.arg("bench-client").args(args.to_arguments()).stderr(Stdio::inherit());
        let output = command.output().context("cannot start taskset")?;
        if !output.status.success() {
            bail!("the client failed: {}", output.status);
        }
        serde_json::from_slice(&output.stdout).context("cannot read what the client says")
    }
}

/// A program on one core, which ends with this process, however that ends (taskset and setpriv, of
/// util-linux, replace themselves by the program, so the child is the program).
pub(super) fn alone(core: &str, program: &Path) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", core, "setpriv", "--pdeathsig", "KILL"]).arg(program);
    command
}

/// Moves the main thread of this process, and so the processes that it starts from now on.
pub(super) fn move_to_core(core: &str) -> anyhow::Result<()> {
    let mut command = Command::new("taskset");
    command.args(["-cp", core, &std::process::id().to_string()]).stdout(Stdio::null());
    ensure!(command.status()?.success(), "{command:?} failed");
    Ok(())
}

/// A server that runs; dropping it kills it.
pub(super) struct Server {
    child: Child,
    pub(super) port: u16,
}

impl Server {
    /// Starts a command that will listen on a port, and waits until it does.
    pub(super) fn start(mut command: Command, port: u16) -> anyhow::Result<Self> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let mut server = Self { child: child.context("cannot start taskset")?, port };
        server.await_listening()?;
        Ok(server)
    }

    fn await_listening(&mut self) -> anyhow::Result<()> {
        let start = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_err() {
            if let Some(status) = self.child.try_wait()? {
                bail!("a server ended at once: {status}");
            }
            if start.elapsed() > START {
                bail!("a server did not listen within {} s", START.as_secs());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// User and system time of all threads, in seconds.
    pub(super) fn cpu_seconds(&self) -> anyhow::Result<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        Ok(cpu_ticks(&stat)? / ticks_per_second())
    }

    /// A line of `/proc/PID/status` in MiB, such as `VmRSS`.
    pub(super) fn memory_mib(&self, line: &str) -> anyhow::Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        memory_kib(&status, line).map(|kib| kib / 1024.0)
    }

    /// The body of its answer to a GET (RFC 9112, without chunks).
    pub(super) fn get(&self, path: &str) -> anyhow::Result<String> {
        let mut socket = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        let head = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
        socket.write_all(head.as_bytes())?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer)?;
        let parts = answer.split_once("\r\n\r\n").filter(|_| answer.starts_with("HTTP/1.1 200 "));
        parts.map(|(_, body)| body.to_owned()).with_context(|| format!("{path}: {answer}"))
    }

    /// Asks it to end, and waits until it has.
    pub(super) fn end(mut self) -> anyhow::Result<()> {
        kill_process(Pid::from_child(&self.child), Signal::TERM)?;
        let start = Instant::now();
        while self.child.try_wait()?.is_none() {
            if start.elapsed() > END {
                bail!("a server did not end within {} s", END.as_secs());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) fn ticks_per_second() -> f64 {
    rustix::param::clock_ticks_per_second() as f64
}

/// User and system time from `/proc/PID/stat` (proc(5)): fields 14 and 15, the 12th and 13th after
/// the name, which is in brackets and may hold anything.
fn cpu_ticks(stat: &str) -> anyhow::Result<f64> {
    let (_, fields) = stat.rsplit_once(')').context("no name in /proc/PID/stat")?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let times = fields.get(11..13).context("/proc/PID/stat is short")?;
    Ok(times.iter().map(|ticks| ticks.parse::<f64>()).sum::<Result<f64, _>>()?)
}

/// A line of `/proc/PID/status` (proc(5)).
pub(super) fn memory_kib(status: &str, line: &str) -> anyhow::Result<f64> {
    let found = status.lines().find_map(|text| text.strip_prefix(line)?.strip_prefix(':'));
    let kib = found.and_then(|text| text.split_whitespace().next());
    Ok(kib.with_context(|| format!("no {line} in /proc/PID/status"))?.parse()?)
}

pub(super) fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_and_memory_are_read_from_proc() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 90 0 0 0 123 45 6 7 20 0 1 0 99";
        assert!((cpu_ticks(stat).unwrap() - 168.0).abs() < 1e-9);
        assert!(cpu_ticks("7 (a) S 1").is_err());
        let status = "Name:\ta\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n";
        assert!((memory_kib(status, "VmRSS").unwrap() - 1024.0).abs() < 1e-9);
        assert!(memory_kib(status, "VmR").is_err());
    }
}
