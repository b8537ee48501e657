//! The processes of a measurement, each alone on its core, and what the system counts of them.

use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use super::client::ClientArgs;
use super::seen::Seen;

/// Where the server runs, and where the client does.
const SERVER_CORE: &str = "0";
const CLIENT_CORE: &str = "1";
/// How long a server may take to listen.
const START: Duration = Duration::from_secs(20);

/// What can be started.
pub(super) struct Programs {
    pub(super) waitscope: PathBuf,
    pub(super) client: PathBuf,
    pub(super) python: PathBuf,
    pub(super) peer_folder: PathBuf,
}

/// One of the two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Ours,
    Peer,
}

impl Side {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ours => "waitscope provider",
            Self::Peer => "uvicorn",
        }
    }
}

/// A server that runs; dropping it kills it.
pub(super) struct Server {
    child: Child,
    pub(super) port: u16,
}

impl Programs {
    /// Starts one side. `options` are further ones of ours.
    pub(super) fn start(&self, side: Side, options: &[String]) -> anyhow::Result<Server> {
        let port = free_port()?;
        let mut command;
        match side {
            Side::Ours => {
                command = alone(SERVER_CORE, &self.waitscope);
                command.args(["provider", "--quota", "off", "--port", &port.to_string()]);
                command.args(options);
            }
            Side::Peer => {
                command = alone(SERVER_CORE, &self.python);
                command.args(["-m", "uvicorn", "--app-dir"]).arg(&self.peer_folder);
                command.args(["peer:app", "--port", &port.to_string()]);
                command.args(["--loop", "uvloop", "--http", "httptools"]);
                command.args(["--no-access-log", "--log-level", "warning", "--backlog", "4096"]);
            }
        }
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let mut server = Server { child: child.context("cannot start taskset")?, port };
        server.await_listening()?;
        Ok(server)
    }

    /// Runs the client to its end.
    pub(super) fn run_client(&self, args: &ClientArgs) -> anyhow::Result<Seen> {
        let mut command = alone(CLIENT_CORE, &self.client);
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
fn alone(core: &str, program: &Path) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", core, "setpriv", "--pdeathsig", "KILL"]).arg(program);
    command
}

impl Server {
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
fn memory_kib(status: &str, line: &str) -> anyhow::Result<f64> {
    let found = status.lines().find_map(|text| text.strip_prefix(line)?.strip_prefix(':'));
    let kib = found.and_then(|text| text.split_whitespace().next());
    Ok(kib.with_context(|| format!("no {line} in /proc/PID/status"))?.parse()?)
}

fn free_port() -> anyhow::Result<u16> {
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
