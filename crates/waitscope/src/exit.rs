//! How a command ends: the exit codes, the same for all commands, and the failures behind them.

use std::process::ExitCode;

use crate::console;

/// The exit codes. When several hold, [`Exit::Interrupted`] comes before
/// [`Exit::CannotMeasure`] before [`Exit::Found`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done, and nothing wrong was found.
    Clean,
    /// Done, and the fault looked for was found.
    Found,
    /// The command line or a file is wrong.
    Usage,
    /// Could not measure: target unreachable, permission, no resources.
    CannotMeasure,
    /// Stopped by the user; what was measured so far was printed and written.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Clean => 0,
            Exit::Found => 1,
            Exit::Usage => 2,
            Exit::CannotMeasure => 3,
            Exit::Interrupted => 130,
        })
    }
}

/// Why a command could not do its work. The message says what is wrong and how to mend it.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line or a file is wrong (exit 2).
    Usage(anyhow::Error),
    /// The target, the system or a permission is in the way (exit 3).
    CannotMeasure(anyhow::Error),
    /// The user stopped it before there was anything to show (exit 130).
    Interrupted,
}

impl Failure {
    /// A [`Failure::Usage`] from anything that can be shown.
    pub(crate) fn usage(message: impl std::fmt::Display) -> Self {
        Self::Usage(anyhow::anyhow!("{message}"))
    }

    /// A [`Failure::CannotMeasure`] from anything that can be shown.
    pub(crate) fn cannot_measure(message: impl std::fmt::Display) -> Self {
        Self::CannotMeasure(anyhow::anyhow!("{message}"))
    }

    /// Says it in one line on stderr and names the exit code.
    pub(crate) fn report(&self) -> Exit {
        match self {
            Self::Usage(error) => {
                console::error(&format!("{error:#}"));
                Exit::Usage
            }
            Self::CannotMeasure(error) => {
                console::error(&format!("{error:#}"));
                Exit::CannotMeasure
            }
            Self::Interrupted => {
                console::error("interrupted before anything was measured");
                Exit::Interrupted
            }
        }
    }
}
