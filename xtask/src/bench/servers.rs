//! The servers that are measured, each alone on one core, and what the system counts of them.

use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::project::Project;

/// Where the server runs, and where the client does.
const SERVER_CORE: &str = "0";
pub(super) const CLIENT_CORE: &str = "1";
/// How long a server may take to listen.
const START: Duration = Duration::from_secs(20);

/// What can be started.
pub(super) struct Servers {
    waitscope: std::path::PathBuf,
    python: std::path::PathBuf,
    peer_folder: std::path::PathBuf,
}

/// One of the two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Ours,
    Peer,
}

/// A server that runs; dropping it kills it.
pub(super) struct Server {
    child: Child,
    pub(super) port: u16,
}

impl Servers {
    /// Builds ours and installs the peer.
    pub(super) fn prepare(project: &Project) -> anyhow::Result<Self> {
        allow_many_files()?;
        run(&mut project.cargo(&["build", "--release", "--package", "waitscope"]))?;
        let venv = project.target.join("bench-venv");
        let python = venv.join("bin").join("python");
        let requirements = project.root.join("benches/provider/requirements.txt");
        let wanted = fs::read_to_string(&requirements).context("cannot read the peer's pins")?;
        let stamp = venv.join("made-from.txt");
        if fs::read_to_string(&stamp).is_ok_and(|made_from| made_from == wanted) {
            eprintln!("{} is current", venv.display());
        } else {
            run(project.command("python3").args(["-m", "venv", "--clear"]).arg(&venv))?;
            let mut pip = project.command(&python);
            pip.args(["-m", "pip", "--disable-pip-version-check", "install", "--no-deps", "-r"]);
            run(pip.arg(&requirements))?;
            fs::write(&stamp, wanted).context("cannot note what the peer was made from")?;
        }
        Ok(Self {
            waitscope: project.target.join("release").join("waitscope"),
            python,
            peer_folder: project.root.join("benches/provider"),
        })
    }

    /// Starts one side. `ours` are options of ours.
    pub(super) fn start(&self, side: Side, ours: &[&str]) -> anyhow::Result<Server> {
        let port = free_port()?;
        let mut command = Command::new("taskset");
        command.args(["-c", SERVER_CORE]);
        match side {
            Side::Ours => {
                command.arg(&self.waitscope).args(["provider", "--quota", "off"]);
                command.args(["--port", &port.to_string()]).args(ours);
            }
            Side::Peer => {
                command.arg(&self.python).args(["-m", "uvicorn", "--app-dir"]);
                command.arg(&self.peer_folder).args(["peer:app", "--port", &port.to_string()]);
                command.args(["--loop", "uvloop", "--http", "httptools"]);
                command.args(["--no-access-log", "--log-level", "warning", "--backlog", "4096"]);
            }
        }
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let mut server = Server { child: child.context("cannot start taskset")?, port };
        server.await_listening()?;
        Ok(server)
    }
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

    /// User and system time of all threads, in seconds (`/proc/PID/stat`, proc(5)).
    pub(super) fn cpu_seconds(&self) -> anyhow::Result<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // The name, in brackets, may hold spaces; user time is the 12th field after it.
        let fields = stat.rsplit_once(')').context("no name in /proc/PID/stat")?.1;
        let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
        let ticks: f64 = ticks.sum::<Result<f64, _>>()?;
        Ok(ticks / rustix::param::clock_ticks_per_second() as f64)
    }

    /// A line of `/proc/PID/status` in MiB, such as `VmRSS`.
    pub(super) fn memory_mib(&self, line: &str) -> anyhow::Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let found = status.lines().find_map(|text| text.strip_prefix(line)?.strip_prefix(':'));
        let kib = found.and_then(|text| text.split_whitespace().next());
        let kib: f64 = kib.with_context(|| format!("no {line} in /proc/PID/status"))?.parse()?;
        Ok(kib / 1024.0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    eprintln!("$ {command:?}");
    let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
    if !status.success() {
        bail!("{command:?} failed: {status}");
    }
    Ok(())
}

fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// Lifts the soft limit on open files to the hard one; children inherit it.
fn allow_many_files() -> anyhow::Result<()> {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let limit = Rlimit { current: maximum, maximum };
    setrlimit(Resource::Nofile, limit).context("cannot allow many open files")
}
