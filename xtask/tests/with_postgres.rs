//! `cargo xtask with-postgres`: how it ends, and that its server ends with it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "no event loop runs in these tests")]

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

/// Says where the server is.
const SAY: &str = "echo $WAITSCOPE_TEST_POSTGRES";

/// A shell script that runs beside a server, in a process group of its own.
struct Beside {
    xtask: Child,
    server: SocketAddr,
    folder: TempDir,
}

impl Beside {
    /// Returns when the script has said where the server is.
    fn start(script: &str) -> Self {
        // The server's user must be able to enter it.
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
        command.args(["with-postgres", "--", "sh", "-c", script]).process_group(0);
        let mut xtask =
            command.env("TMPDIR", folder.path()).stdout(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(xtask.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let (_, host_and_path) = url.rsplit_once('@').unwrap_or_else(|| panic!("no URL: {url}"));
        let server = host_and_path.split('/').next().unwrap().parse().unwrap();
        Self { xtask, server, folder }
    }

    fn signal(&self, signal: Signal) {
        kill_process_group(Pid::from_child(&self.xtask), signal).unwrap();
    }

    fn wait(&mut self) -> ExitStatus {
        self.xtask.wait().unwrap()
    }

    fn server_runs(&self) -> bool {
        TcpStream::connect(self.server).is_ok()
    }

    fn left_files(&self) -> usize {
        fs::read_dir(self.folder.path()).unwrap().count()
    }
}

#[test]
fn the_exit_code_is_the_commands() {
    for (end, expected) in [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143)] {
        let mut beside = Beside::start(&format!("{SAY}; {end}"));
        assert_eq!(beside.wait().code(), Some(expected), "{end}");
        assert!(!beside.server_runs());
        assert_eq!(beside.left_files(), 0);
    }
}

#[test]
fn a_command_that_cannot_start_is_named() {
    let mut xtask = Command::new(env!("CARGO_BIN_EXE_xtask"));
    let output = xtask.args(["with-postgres", "--", "/nowhere/program"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.starts_with("error: cannot start `/nowhere/program`: No such file"), "{error}");
}

#[test]
fn the_server_stays_until_an_interrupted_command_has_ended() {
    for (signal, name) in [(Signal::INT, "INT"), (Signal::TERM, "TERM")] {
        let clean_up = "until [ -e $TMPDIR/go ]; do sleep 0.1; done; exit 5";
        let script = format!("trap '{clean_up}' {name}; {SAY}; while :; do sleep 0.1; done");
        let mut beside = Beside::start(&script);
        beside.signal(signal);
        // Time enough to stop the server too early.
        thread::sleep(Duration::from_millis(300));
        assert!(beside.server_runs(), "{name}");
        let go = beside.folder.path().join("go");
        fs::write(&go, "").unwrap();
        assert_eq!(beside.wait().code(), Some(5), "{name}");
        assert!(!beside.server_runs(), "{name}");
        fs::remove_file(go).unwrap();
        assert_eq!(beside.left_files(), 0, "{name}");
    }
}

#[test]
fn the_server_ends_even_if_this_is_killed() {
    let mut beside = Beside::start(&format!("{SAY}; exec sleep 600"));
    assert!(beside.server_runs());
    beside.signal(Signal::KILL);
    assert_eq!(beside.wait().code(), None);
    let killed = Instant::now();
    while beside.server_runs() {
        assert!(killed.elapsed() < Duration::from_mins(1), "it still runs");
        thread::sleep(Duration::from_millis(20));
    }
}
