//! The axum shell: the router over one shared state, and the server that serves it.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use axum::Router;
use tokio_util::sync::CancellationToken;
use waitscope_serve::{Drained, Patience};

use crate::account::{Account, Accounts};
use crate::config::{Config, Mode};
use crate::counts::Counts;
use crate::model::attempts::Attempts;
use crate::model::quota::LimitState;
use crate::request_log::RequestLog;
use crate::routes;

/// All routes of a provider, as a service to be served or called directly.
pub fn router(config: Config) -> Router {
    routes::all(Arc::new(App::new(config)))
}

/// Serves a provider on `listener` until `stop` is cancelled; must be called inside a tokio
/// runtime with I/O and time enabled.
///
/// # Errors
/// When the runtime cannot register the listener.
pub async fn serve(
    listener: std::net::TcpListener,
    config: Config,
    stop: CancellationToken,
) -> io::Result<Drained> {
    waitscope_serve::serve(listener, router(config), stop, Patience::default()).await
}

/// What all requests share.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) config: Config,
    started: Instant,
    ledger: Mutex<Ledger>,
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
    fn new(config: Config) -> Self {
        let ledger = Ledger {
            mode: config.mode,
            accounts: Accounts::new(),
            attempts: Attempts::new(Attempts::CAPACITY),
            counts: Counts::default(),
            requests: RequestLog::default(),
        };
        Self { config, started: Instant::now(), ledger: Mutex::new(ledger) }
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        // A panic elsewhere leaves at worst one count wrong; the provider goes on.
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is left of a quota now; nothing when nothing is limited.
    pub(crate) fn limits(&self, account: Account) -> Vec<LimitState> {
        let ledger = self.ledger();
        let share = ledger.quota_share(&self.config);
        share.map_or_else(Vec::new, |share| ledger.accounts.states(account, share, self.now()))
    }

    /// The time since the start, by the monotonic clock.
    pub(crate) fn now(&self) -> Duration {
        self.started.elapsed()
    }
}

impl Ledger {
    /// What the limits are divided by, or `None` when nothing is limited.
    pub(crate) fn quota_share(&self, config: &Config) -> Option<u64> {
        match self.mode {
            Mode::Quota => Some(10),
            _ => config.quota.then_some(1),
        }
    }

    /// Back to a fresh start in normal mode, but for what is in flight.
    pub(crate) fn reset(&mut self) {
        self.mode = Mode::Normal;
        self.accounts = Accounts::new();
        self.attempts = Attempts::new(Attempts::CAPACITY);
        self.counts.reset();
    }
}

/// The wall clock in Unix seconds.
pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
