//! What the servers of ours have in common at the edge: when to stop, the first line on stdout,
//! the log, and the last word.

use std::io;
use std::net::SocketAddr;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::EnvFilter;
use waitscope_serve::Drained;

use crate::console;
use crate::exit::{Exit, Failure};
use crate::stop::{Stop, StopArgs};

/// Takes signals and starts the log on stderr (`RUST_LOG` chooses what). Comes before the first
/// line is out, so that a parent that has read it may stop us.
pub(crate) fn prepare(args: StopArgs) -> Result<Stop, Failure> {
    let filter =
        EnvFilter::builder().with_default_directive(LevelFilter::INFO.into()).from_env_lossy();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        .with_ansi(console::may_color(&io::stderr()))
        .with_writer(io::stderr)
        // A log that cannot be written is lost; the subscriber would panic over it.
        .log_internal_errors(false)
        .init();
    // A server that is told twice is cut short, and that is no error either.
    Stop::on_signals(0).and_then(|stop| stop.or_with_stdin(args)).map_err(Failure::cannot_measure)
}

/// The first line on stdout. A full disk under it is no reason not to serve.
pub(crate) fn announce(address: SocketAddr) {
    if let Err(error) = console::print(&format!("listening on http://{address}\n")) {
        console::warn(&format!("cannot write to stdout: {error}"));
    }
}

/// What a server did, on stdout.
pub(crate) fn last_word(summary: &str) {
    // Who reads the first line and leaves misses nothing that matters.
    let _ = console::print(&format!("{summary}\n"));
}

/// The exit of a server that was told to stop.
pub(crate) fn farewell(drained: Drained) -> Exit {
    match drained {
        Drained::Clean => {}
        Drained::Cut => console::warn("some requests took too long to finish and were cut"),
    }
    Exit::Clean
}
