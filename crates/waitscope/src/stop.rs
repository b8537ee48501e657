//! Told to stop: Ctrl-C, SIGTERM, a terminal that vanishes, or, for a child of ours, the end of its standard input.

use std::io::Read;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tokio_util::sync::CancellationToken;

/// Signals that follow the first one this soon are no second wish.
const SAME_WISH: Duration = Duration::from_millis(500);

/// Whether a server also ends when its standard input closes.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct StopArgs {
    /// End when standard input closes (for a parent that starts this server as a child)
    #[arg(long, hide = true)]
    pub exit_with_stdin: bool,
}

/// Says when to stop.
#[derive(Debug, Clone)]
pub(crate) struct Stop {
    /// Cancelled on the first signal.
    pub token: CancellationToken,
}

impl Stop {
    /// Listens for SIGINT, SIGTERM and SIGHUP on a thread of its own: an event loop that is held runs no
    /// signal handler. The first signal asks to stop, the second one ends the process at once with
    /// `impatient` (children notice by their standard input and end too).
    pub(crate) fn on_signals(impatient: i32) -> std::io::Result<Self> {
        let stop = Self { token: CancellationToken::new() };
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
        let token = stop.token.clone();
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            let mut first: Option<Instant> = None;
            for _signal in signals.forever() {
                match first {
                    // timeout(1) signals the process and then its group: that is one wish.
                    Some(asked) if asked.elapsed() < SAME_WISH => {}
                    Some(_) => std::process::exit(impatient),
                    None => {
                        first = Some(Instant::now());
                        token.cancel();
                    }
                }
            }
        })?;
        Ok(stop)
    }

    /// Asks to stop when standard input closes as well.
    pub(crate) fn or_with_stdin(self, args: StopArgs) -> std::io::Result<Self> {
        if args.exit_with_stdin {
            let token = self.token.clone();
            std::thread::Builder::new().name("stdin".into()).spawn(move || {
                let mut buffer = [0; 512];
                while matches!(std::io::stdin().read(&mut buffer), Ok(n) if n > 0) {}
                token.cancel();
            })?;
        }
        Ok(self)
    }
}
