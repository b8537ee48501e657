//! The binary under test, and the servers that it is pointed at.

use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use waitscope_process::ServerChild;

/// How long a server may take to start on a busy machine.
pub(crate) const START_TIMEOUT: Duration = Duration::from_mins(1);

/// One call of the binary.
pub(crate) struct Waitscope(Command);

/// What came of it.
#[derive(Debug)]
pub(crate) struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Waitscope {
    pub(crate) fn new(command: &str) -> Self {
        Self::bare().args([command])
    }

    /// Without a command.
    pub(crate) fn bare() -> Self {
        let mut waitscope = Command::new(env!("CARGO_BIN_EXE_waitscope"));
        waitscope.env("NO_COLOR", "1").env("LC_ALL", "C.UTF-8").stdin(Stdio::null());
        Self(waitscope)
    }

    pub(crate) fn args<S: AsRef<std::ffi::OsStr>>(
        mut self,
        args: impl IntoIterator<Item = S>,
    ) -> Self {
        self.0.args(args);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.0.env(name, value);
        self
    }

    pub(crate) fn directory(mut self, path: &std::path::Path) -> Self {
        self.0.current_dir(path);
        self
    }

    pub(crate) fn stdin(mut self, from: impl Into<Stdio>) -> Self {
        self.0.stdin(from);
        self
    }

    pub(crate) fn stdout(mut self, to: impl Into<Stdio>) -> Self {
        self.0.stdout(to);
        self
    }

    pub(crate) fn stderr(mut self, to: impl Into<Stdio>) -> Self {
        self.0.stderr(to);
        self
    }

    /// Starts it with captured output, and errors going where they were sent.
    pub(crate) fn spawn_as_is(mut self) -> Child {
        self.0.stdout(Stdio::piped()).spawn().unwrap()
    }

    pub(crate) fn run(mut self) -> Ran {
        Ran::of(self.0.output().unwrap())
    }

    /// Runs with a given standard output instead of a captured one.
    pub(crate) fn run_uncaptured(self) -> Ran {
        Ran::of(self.spawn_uncaptured().wait_with_output().unwrap())
    }

    /// Starts it with a given standard output instead of a captured one.
    pub(crate) fn spawn_uncaptured(mut self) -> Child {
        self.0.stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Starts it with captured output, for a test that signals it.
    pub(crate) fn spawn(mut self) -> Child {
        self.0.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Starts it as a server and waits until it listens.
    pub(crate) fn serve(self) -> ServerChild {
        ServerChild::start(self.0, START_TIMEOUT).unwrap()
    }
}

impl Ran {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The exit code is `code`; shows everything when it is not.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Exactly one line on stderr, which has all of `words`.
    #[track_caller]
    pub(crate) fn complains(self, words: &[&str]) -> Self {
        assert_eq!(self.stderr.lines().count(), 1, "{self:#?}");
        for word in words {
            assert!(self.stderr.contains(word), "`{word}` is missing: {self:#?}");
        }
        self
    }

    /// The record on stdout.
    #[track_caller]
    pub(crate) fn record(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// A provider that answers after `latency`, without a quota.
pub(crate) fn provider(latency: &str) -> ServerChild {
    Waitscope::new("provider").args(["--port", "0", "--quota", "off", "--latency", latency]).serve()
}

/// A ticket service in one mode, with its database.
pub(crate) struct Tickets {
    pub server: ServerChild,
    _directory: tempfile::TempDir,
}

impl Tickets {
    pub(crate) fn start(mode: &str, provider: &ServerChild) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let server = Waitscope::new("tickets")
            .args(["--port", "0", "--intake-mode", mode, "--provider-url", provider.url()])
            .args(["--database-url", "sqlite:tickets.db"])
            .directory(directory.path())
            .serve();
        Self { server, _directory: directory }
    }

    pub(crate) fn tickets_url(&self) -> String {
        format!("{}/v1/tickets", self.server.url())
    }
}

/// A ticket that every intake takes.
pub(crate) const TICKET: &str = r#"{"customer_id": "C-0001", "subject": "Charged twice",
    "body": "Two payments for one invoice.", "channel": "email"}"#;
