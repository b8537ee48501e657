//! The two services, and the provider that both wait for.

use std::process::Command;

use crate::bench::processes::{OTHER_CORE, Programs, SERVER_CORE, Server, alone, free_port};

/// One of the two services.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Service {
    Ours,
    /// The example as it is: its HTTP client has at most 100 connections, httpx's default.
    Peer,
    /// The example with a client that opens as many as there are calls.
    PeerUnbounded,
}

impl Service {
    pub(super) const BOTH: [Self; 2] = [Self::Ours, Self::Peer];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ours => "waitscope tickets",
            Self::Peer => "FastAPI",
            Self::PeerUnbounded => "FastAPI, client's pool unbounded",
        }
    }

    /// Starts it. Neither writes a log of its requests.
    pub(super) fn start(
        self,
        programs: &Programs,
        mode: &str,
        database_url: &str,
        provider: &Server,
    ) -> anyhow::Result<Server> {
        let port = free_port()?;
        let mut command = match self {
            Self::Ours => ours(programs, port),
            Self::Peer => programs.peer(port),
            Self::PeerUnbounded => {
                let mut command = programs.peer(port);
                command.env("PROVIDER_POOL", "unbounded");
                command
            }
        };
        command.env("PROVIDER_URL", format!("http://127.0.0.1:{}", provider.port));
        command.env("INTAKE_MODE", mode);
        command.env("DATABASE_URL", database_url);
        Server::start(command, port)
    }
}

/// As many connections as threads: in `thread` each holds one for the whole of its request, as in
/// the example, which has no pool.
fn ours(programs: &Programs, port: u16) -> Command {
    let mut command = alone(SERVER_CORE, &programs.waitscope);
    command.args(["tickets", "--port", &port.to_string(), "--db-pool-size", "40"]);
    command.env("RUST_LOG", "warn");
    command
}

/// Starts the provider, with further options.
pub(super) fn provider(programs: &Programs, options: &[String]) -> anyhow::Result<Server> {
    let port = free_port()?;
    let mut command = alone(OTHER_CORE, &programs.waitscope);
    command.args(["provider", "--quota", "off", "--port", &port.to_string()]).args(options);
    Server::start(command, port)
}
