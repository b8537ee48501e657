//! The two sides: ours, and the peer on uvicorn.

use crate::bench::processes::{Programs, SERVER_CORE, Server, alone, free_port};

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

    /// Starts it. `options` are further ones of ours.
    pub(super) fn start(self, programs: &Programs, options: &[String]) -> anyhow::Result<Server> {
        let port = free_port()?;
        let command = match self {
            Self::Ours => {
                let mut command = alone(SERVER_CORE, &programs.waitscope);
                command.args(["provider", "--quota", "off", "--port", &port.to_string()]);
                command.args(options);
                command
            }
            Self::Peer => programs.peer(port),
        };
        Server::start(command, port)
    }
}
