//! Questions to a server, asked by `psql`, and to the system about it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// Debian's `psql` on the path wants clusters of Debian's, so the one beside the server is taken.
fn psql(url: &str, sql: &str) -> Command {
    let folders = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let beside = folders.map(|folder| folder.path().join("bin/psql")).find(|file| file.exists());
    let mut psql = Command::new(beside.unwrap_or_else(|| "psql".into()));
    psql.args(["-X", "-q", "-t", "-A", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", sql]);
    psql
}

/// What the server answers, or what `psql` says instead.
pub(crate) fn ask(url: &str, sql: &str) -> Result<String, String> {
    let Output { status, stdout, stderr } = psql(url, sql).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().trim().to_owned();
    if status.success() { Ok(text(stdout)) } else { Err(text(stderr)) }
}

/// A session that runs `sql` meanwhile.
pub(crate) fn session(url: &str, sql: &str) -> Child {
    psql(url, sql).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// The temporary folder of a server.
pub(crate) fn folder(url: &str) -> PathBuf {
    let data = PathBuf::from(ask(url, "SHOW data_directory").unwrap());
    data.parent().unwrap().to_path_buf()
}

/// The processes that have the folder's data as their working directory: all of a server's.
pub(crate) fn processes(folder: &Path) -> Vec<PathBuf> {
    let data = folder.join("data");
    let entries = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    entries
        .filter(|process| fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == data))
        .collect()
}

/// The System V shared memory segment of a server, as ipcs(1) lists them all.
pub(crate) fn has_shared_memory(id: &str) -> bool {
    let list = fs::read_to_string("/proc/sysvipc/shm").unwrap();
    list.lines().any(|line| line.split_whitespace().nth(1) == Some(id))
}
