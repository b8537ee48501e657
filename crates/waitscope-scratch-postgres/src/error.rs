//! What can go wrong.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

/// Why there is no server or no database, in one line.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The programs are not there.
    #[error(
        "no PostgreSQL server is installed: neither on the PATH nor below /usr/lib/postgresql is a \
         folder with postgres, initdb and psql; install Debian's package postgresql"
    )]
    NotInstalled,
    /// This is root, and there is nobody else.
    #[error(
        "PostgreSQL refuses to run as root, and /etc/passwd has neither postgres nor nobody; run \
         this as another user"
    )]
    NoAccount,
    /// The address of the shared server is none.
    #[error(
        "WAITSCOPE_TEST_POSTGRES must be the address of a PostgreSQL server, such as \
         postgres://user:password@127.0.0.1:5432/postgres: {0}"
    )]
    Address(String),
    /// The system refused.
    #[error("cannot {what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// A program failed.
    #[error("{program} failed ({status}): {said}")]
    Failed {
        /// The program.
        program: String,
        /// How it ended.
        status: ExitStatus,
        /// Its last lines.
        said: String,
    },
    /// The server ended while it started.
    #[error("the PostgreSQL server ended ({status}) before it was ready: {said}")]
    Ended {
        /// How it ended.
        status: ExitStatus,
        /// The last lines of its log.
        said: String,
    },
    /// The server does not accept connections.
    #[error("the PostgreSQL server was not ready within {within:?}: {said}")]
    NotReady {
        /// How long it was waited for.
        within: Duration,
        /// The last lines of its log.
        said: String,
    },
    /// The server does not end.
    #[error("the PostgreSQL server still runs after {within:?}")]
    StillRunning {
        /// How long it was waited for.
        within: Duration,
    },
}

impl ServerError {
    /// For `map_err`.
    pub(crate) fn cannot(what: &str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { what: what.into(), source }
    }

    /// Whether somebody else has the port.
    pub(crate) fn is_port_taken(&self) -> bool {
        matches!(self, Self::Ended { said, .. } if said.contains("Address already in use"))
    }
}
