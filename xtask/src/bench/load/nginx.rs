//! nginx with one small file, on the server's core.

use std::fs;
use std::process::Command;

use tempfile::TempDir;

use crate::bench::processes::{SERVER_CORE, Server, free_port};

/// A server, and the folder that it serves.
pub(super) struct Nginx {
    pub(super) server: Server,
    _folder: TempDir,
}

impl Nginx {
    pub(super) fn start() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let root = folder.path();
        let port = free_port()?;
        fs::write(root.join("file.txt"), "a small static file\n".repeat(5))?;
        let config = format!(
            "daemon off; master_process off; worker_rlimit_nofile 20000; pid nginx.pid;
             error_log stderr crit;
             events {{ worker_connections 19000; }}
             http {{
               access_log off; keepalive_requests 1000000000; keepalive_timeout 1h;
               open_file_cache max=10;
               server {{ listen 127.0.0.1:{port} backlog=4096; root {root}; }}
             }}",
            root = root.display()
        );
        fs::write(root.join("nginx.conf"), config)?;
        let mut command = Command::new("taskset");
        command.args(["-c", SERVER_CORE, "setpriv", "--pdeathsig", "KILL", "nginx", "-p"]);
        command.arg(root).arg("-c").arg(root.join("nginx.conf"));
        Ok(Self { server: Server::start(command, port)?, _folder: folder })
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/file.txt", self.server.port)
    }
}
