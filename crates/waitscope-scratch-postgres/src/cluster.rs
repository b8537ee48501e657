//! A cluster: the folder with all data of one server, and how its programs run.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::account::{self, Account};
use crate::postmaster::Postmaster;
use crate::programs::{self, Programs};
use crate::{ServerError, Setup, random};

/// A lost operating system loses the data, a killed server does not: nothing here waits for a disk.
/// There is no socket beside the port, and no shared memory that a killed server would leave in
/// `/dev/shm`.
const SETTINGS: [&str; 5] = [
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "fsync=off",
    "full_page_writes=off",
    "dynamic_shared_memory_type=mmap",
];

/// A cluster in a folder of its own, which goes with the value.
#[derive(Debug)]
pub(crate) struct Cluster {
    folder: TempDir,
    pub(crate) programs: Programs,
    /// Who runs the server, if not we ourselves.
    account: Option<Account>,
    pub(crate) password: String,
    settings: Vec<String>,
}

impl Cluster {
    /// Makes the folder and, in it, a cluster whose superuser is `postgres`.
    pub(crate) fn create(programs: Programs, setup: &Setup) -> Result<Self, ServerError> {
        let account = account::for_server()?;
        let folder = tempfile::Builder::new()
            .prefix("scratch-postgres-")
            .tempdir_in(&setup.parent)
            .map_err(ServerError::cannot("make the folder of a PostgreSQL server"))?;
        let password = random::word()?;
        let settings = setup.settings.clone();
        let cluster = Self { folder, programs, account, password, settings };
        cluster.hand_over(cluster.folder.path())?;
        cluster.init()?;
        Ok(cluster)
    }

    /// Runs `initdb`. The password goes over the loopback in the clear: with SCRAM, a debug build of
    /// a client would spend more on each connection than on what it is there for.
    fn init(&self) -> Result<(), ServerError> {
        let password_file = self.folder.path().join("password");
        fs::write(&password_file, &self.password)
            .map_err(ServerError::cannot("write the password of a PostgreSQL server"))?;
        self.hand_over(&password_file)?;
        let mut initdb = self.command(self.programs.initdb());
        initdb.args(["--no-sync", "--auth=password", "--username=postgres"]);
        initdb.args(["--encoding=UTF8", "--locale=C", "--pwfile"]).arg(password_file);
        programs::run(initdb.arg("--pgdata").arg(self.data()))
    }

    /// Starts the server and waits until it accepts connections.
    pub(crate) fn start(&self, port: u16) -> Result<Postmaster, ServerError> {
        let log = self.folder.path().join("log");
        let output = File::create(&log)
            .and_then(|file| Ok((file.try_clone()?, file)))
            .map_err(ServerError::cannot("make the log of a PostgreSQL server"))?;
        // It ends with this process, however that ends: SIGQUIT is its immediate shutdown. The
        // command becomes the server, and it sets this after the change of user, which resets it.
        let mut server = self.command("setpriv");
        server.args(["--pdeathsig", "QUIT"]).arg(self.programs.postgres());
        server.arg("-D").arg(self.data()).args(["-p", &port.to_string()]);
        for setting in SETTINGS.iter().copied().chain(self.settings.iter().map(String::as_str)) {
            server.args(["-c", setting]);
        }
        // Ctrl-C in the terminal is for whoever uses the server.
        server.stdin(Stdio::null()).stdout(output.0).stderr(output.1).process_group(0);
        Postmaster::start(server, self.data(), &log)
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A command that runs as the server's user, in a folder that this user may enter.
    fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = programs::command(program);
        command.current_dir(self.folder.path());
        if let Some(account) = self.account {
            // The groups of root are dropped along with these.
            command.uid(account.user).gid(account.group);
        }
        command
    }

    fn hand_over(&self, path: &Path) -> Result<(), ServerError> {
        let Some(account) = self.account else { return Ok(()) };
        chown(path, Some(account.user), Some(account.group))
            .map_err(ServerError::cannot("hand a folder over to the user of the PostgreSQL server"))
    }
}
