//! The axum shell: the router over one shared state, and the server that serves it.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use waitscope_serve::{Drained, Patience};
use waitscope_stats::latencies::Latencies;

use crate::account::{Account, Accounts};
use crate::config::{Config, Mode};
use crate::counts::Counts;
use crate::edge::Ids;
use crate::model::attempts::Attempts;
use crate::model::latency::LatencyModel;
use crate::model::quota::LimitState;
use crate::request_log::RequestLog;
use crate::routes;
use crate::summary::Summary;
use crate::truth::{TruthLog, Writer};

/// A provider, ready to serve.
#[derive(Debug)]
pub struct Provider {
    app: Arc<App>,
    truth_writer: Option<Writer>,
}

impl Provider {
    /// A provider that does as `config` says.
    ///
    /// # Errors
    /// When the truth log cannot be created.
    pub fn new(config: Config) -> io::Result<Self> {
        let truth = config.log.as_deref().map(TruthLog::create).transpose()?;
        let (truth, truth_writer) = truth.unzip();
        Ok(Self { app: Arc::new(App::new(config, truth)), truth_writer })
    }

    /// Serves on `listener` until `stop` is cancelled, and writes what is left of the truth log;
    /// must be called inside a tokio runtime with I/O and time enabled.
    ///
    /// # Errors
    /// When the runtime cannot register the listener.
    pub async fn serve(
        self,
        listener: std::net::TcpListener,
        stop: CancellationToken,
        patience: Patience,
    ) -> io::Result<(Drained, Summary)> {
        let router = routes::all(Arc::clone(&self.app));
        let stopping = self.app.stop.clone();
        let stopped = stop.clone();
        // Calls that hang on purpose end when the server is told to stop.
        tokio::spawn(async move {
            stopped.cancelled().await;
            stopping.cancel();
        });
        let drained = waitscope_serve::serve(listener, router, stop, patience).await?;
        let summary = self.app.summary();
        if let (Some(truth), Some(writer)) = (&self.app.truth, self.truth_writer) {
            truth.close();
            writer.join();
        }
        Ok((drained, summary))
    }
}

/// What all requests share.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) config: Config,
    pub(crate) latency: LatencyModel,
    pub(crate) ids: Ids,
    pub(crate) truth: Option<TruthLog>,
    /// Cancelled when the server is told to stop.
    pub(crate) stop: CancellationToken,
    started: Instant,
    ledger: Mutex<Ledger>,
    /// How much later than planned bytes were written: the simulator's own fault.
    lateness: Mutex<Latencies>,
}

/// What changes while the provider runs. Nothing waits while it is locked.
#[derive(Debug)]
pub(crate) struct Ledger {
    pub(crate) mode: Mode,
    pub(crate) accounts: Accounts,
    pub(crate) attempts: Attempts,
    pub(crate) counts: Counts,
    pub(crate) requests: RequestLog,
}

impl App {
    pub(crate) fn new(config: Config, truth: Option<TruthLog>) -> Self {
        let ledger = Ledger {
            mode: config.mode,
            accounts: Accounts::new(),
            attempts: Attempts::new(Attempts::CAPACITY),
            counts: Counts::default(),
            requests: RequestLog::default(),
        };
        Self {
            latency: config.latency_model(),
            config,
            ids: Ids::new(),
            truth,
            stop: CancellationToken::new(),
            started: Instant::now(),
            ledger: Mutex::new(ledger),
            lateness: Mutex::new(Latencies::new()),
        }
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        // A panic elsewhere leaves at worst one count wrong; the provider goes on.
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn lateness(&self) -> MutexGuard<'_, Latencies> {
        self.lateness.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The mode that holds now: the timeline's, or else the one that was set.
    pub(crate) fn mode(&self) -> Mode {
        let told = self.config.timeline_mode(self.now());
        told.unwrap_or_else(|| self.ledger().mode)
    }

    /// What is left of a quota now; nothing when nothing is limited.
    pub(crate) fn limits(&self, account: Account) -> Vec<LimitState> {
        let share = self.config.quota_share(self.mode());
        share.map_or_else(Vec::new, |share| {
            self.ledger().accounts.states(account, share, self.now())
        })
    }

    /// The time since the start, by the monotonic clock.
    pub(crate) fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// What is known so far.
    pub(crate) fn summary(&self) -> Summary {
        let truth_lines_lost = self.truth.as_ref().map_or(0, TruthLog::lost);
        Summary::new(&self.ledger().counts, &self.lateness(), truth_lines_lost)
    }
}

impl Ledger {
    /// Back to a fresh start in normal mode, but for what is in flight.
    pub(crate) fn reset(&mut self) {
        self.mode = Mode::Normal;
        self.accounts = Accounts::new();
        self.attempts = Attempts::new(Attempts::CAPACITY);
        self.counts.reset();
    }
}
