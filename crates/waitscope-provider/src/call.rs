//! One call: its place among those in flight, its quota, its faults, its waits, its count.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue};
use tokio::time::Instant;
use waitscope_serve::{CLIENT_LEFT, Wire};
use waitscope_stats::draw::Draws;

use crate::account::Account;
use crate::config::Mode;
use crate::edge::Limits;
use crate::error::ApiError;
use crate::model::fault::Faults;
use crate::model::latency::{Conditions, at_speed};
use crate::model::quota::LimitState;
use crate::server::App;
use crate::truth::Trace;

/// What a request asks to go wrong with its own answer.
const FAULT_HEADER: HeaderName = HeaderName::from_static("x-waitscope-fault");
/// What that header says when nothing should go wrong, whatever the provider was told.
const NO_FAULT: &str = "none";

/// What a request's head tells beside its protocol.
pub(crate) struct Visit {
    wire: Option<Wire>,
    faults: Option<Result<Faults, ApiError>>,
    chunked: bool,
}

impl Visit {
    /// Reads the head of a request.
    pub(crate) fn of(request: &Request) -> Self {
        let headers: Vec<&[u8]> =
            request.headers().get_all(FAULT_HEADER).iter().map(HeaderValue::as_bytes).collect();
        Self {
            wire: request.extensions().get::<Wire>().cloned(),
            // Several headers of one name mean the same as one with commas (RFC 9110, 5.3).
            faults: (!headers.is_empty()).then(|| asked_faults(&headers.join(&b','))),
            chunked: request.version() == http::Version::HTTP_11,
        }
    }
}

fn asked_faults(value: &[u8]) -> Result<Faults, ApiError> {
    let text = String::from_utf8_lossy(value);
    if text.trim() == NO_FAULT {
        return Ok(Faults::default());
    }
    text.parse().map_err(|error| {
        let message = format!("Invalid '{FAULT_HEADER}': {error}.");
        ApiError::bad_request("invalid_fault", message).about(FAULT_HEADER.as_str())
    })
}

/// A call in flight. Dropping it before it has ended means that its client left: hyper drops a
/// request's future, or its response's body, when the connection closes.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) app: Arc<App>,
    name: &'static str,
    arrived: Instant,
    /// How much later than planned everything is.
    late: Duration,
    account: Option<Account>,
    limits: Vec<LimitState>,
    /// What goes wrong; known once it is admitted.
    pub(crate) faults: Faults,
    asked_faults: Option<Result<Faults, ApiError>>,
    /// The socket, unless the router was called without one.
    pub(crate) wire: Option<Wire>,
    /// Whether a body of unknown length leaves in chunks (RFC 9112, 7.1).
    pub(crate) chunked: bool,
    trace: Option<Box<Trace>>,
    ended: bool,
}

/// What an admitted call is planned with.
#[derive(Debug)]
pub(crate) struct Admission {
    pub(crate) draws: Draws,
    pub(crate) conditions: Conditions,
}

impl Call {
    /// A call that arrives now.
    pub(crate) fn begin(app: &Arc<App>, name: &'static str, visit: Visit) -> Self {
        app.ledger().counts.begin();
        let arrived = Instant::now();
        Self {
            app: Arc::clone(app),
            name,
            arrived,
            late: Duration::ZERO,
            account: None,
            limits: Vec::new(),
            faults: Faults::default(),
            asked_faults: visit.faults,
            wire: visit.wire,
            chunked: visit.chunked,
            trace: app.truth.as_ref().map(|truth| Box::new(truth.begin(name, arrived.into_std()))),
            ended: false,
        }
    }

    /// Says what the call asks for, once it is known.
    pub(crate) fn rename(&mut self, name: &'static str) {
        self.name = name;
        if let Some(trace) = &mut self.trace {
            trace.task = name;
        }
    }

    /// Says whose quota the answer's headers tell.
    pub(crate) fn charge_to(&mut self, account: Account) {
        self.account = Some(account);
        self.limits = self.app.limits(account);
    }

    /// The mode it is answered in, unless that is an outage.
    pub(crate) fn mode(&self) -> Result<Mode, ApiError> {
        match self.app.mode() {
            Mode::Outage => Err(ApiError::outage()),
            mode => Ok(mode),
        }
    }

    /// Charges the account, if there is one, and draws for the call's content (see
    /// [`content_hash`](crate::model::attempts::content_hash)). A call that is refused is neither
    /// charged nor an attempt, so that refusals, which depend on time, do not change what is drawn.
    pub(crate) fn admit(
        &mut self,
        model: &str,
        charge: Option<(Account, u64)>,
        content: u64,
    ) -> Result<Admission, ApiError> {
        if let Some((account, _)) = charge {
            self.charge_to(account);
        }
        let mode = self.mode()?;
        let asked = self.asked_faults.take().transpose()?;
        let app = Arc::clone(&self.app);
        let now = app.now();
        let mut ledger = app.ledger();
        if let (Some(share), Some((account, tokens))) = (app.config.quota_share(mode), charge) {
            let admitted = ledger.accounts.admit(account, tokens, share, now);
            self.limits = ledger.accounts.states(account, share, now);
            admitted.map_err(|refusal| ApiError::refused(model, &refusal))?;
        }
        let attempt = ledger.attempts.next(content);
        let in_flight = ledger.counts.in_flight;
        drop(ledger);
        self.faults = asked.unwrap_or_else(|| app.config.faults_of(attempt, now));
        if let Some(trace) = &mut self.trace {
            trace.admitted(model, attempt.number, &self.faults);
        }
        let in_flight = u32::try_from(in_flight).unwrap_or(u32::MAX);
        Ok(Admission { draws: attempt.draws(), conditions: Conditions { mode, in_flight } })
    }

    /// When `planned` after the arrival is, at this provider's speed.
    pub(crate) fn deadline(&self, planned: Duration) -> Instant {
        self.arrived + self.late + at_speed(planned, self.app.config.speed)
    }

    /// Makes everything so much later.
    pub(crate) fn delay(&mut self, late: Duration) {
        self.late += at_speed(late, self.app.config.speed);
    }

    /// Waits until `planned` after the arrival.
    pub(crate) async fn wait(&self, planned: Duration) {
        // The timer has a resolution of 1 ms and would round a wait of nothing up to that.
        let deadline = self.deadline(planned);
        if deadline > Instant::now() {
            tokio::time::sleep_until(deadline).await;
        }
    }

    /// Charges one token of the answer, where those are counted as they are produced.
    pub(crate) fn produced(&self, tokens: u64) {
        let Some(account) = self.account.filter(|account| account.counts_output()) else { return };
        if let Some(share) = self.app.config.quota_share(self.app.mode()) {
            self.app.ledger().accounts.charge_output(account, tokens, share, self.app.now());
        }
    }

    /// Notes that bytes which were due at `due` were written at `written`.
    pub(crate) fn wrote(&mut self, due: Instant, written: Instant, bytes: usize) {
        self.app.lateness().record(written.saturating_duration_since(due));
        if let Some(trace) = &mut self.trace {
            let app = &self.app;
            let since = |time: Instant| time.saturating_duration_since(self.arrived);
            trace.wrote(since(due), since(written), bytes, app.truth.as_ref());
        }
    }

    /// Counts the call as ended; `tokens` are those of the prompt and of the answer.
    pub(crate) fn count(&mut self, status: u16, tokens: (u64, u64)) {
        if !std::mem::replace(&mut self.ended, true) {
            self.app.ledger().counts.end(self.name, status, tokens);
            if let Some(trace) = &mut self.trace {
                trace.status = status;
            }
        }
    }

    /// Counts the call as ended; its only write, of so many bytes and due at `planned`, follows.
    pub(crate) fn end(mut self, status: u16, tokens: (u64, u64), planned: Duration, bytes: usize) {
        self.count(status, tokens);
        let due = self.deadline(planned);
        if let Some(wire) = self.wire.take() {
            wire.when_flushed(move |written| self.wrote(due, written, bytes));
        }
    }

    /// Tells an error when it is due, and ends the call.
    pub(crate) async fn refuse(mut self, error: ApiError) -> Response {
        self.wait(error.after).await;
        let limits = self.limits();
        let (status, after) = (error.status.as_u16(), error.after);
        self.end(status, (0, 0), after, 0);
        let mut response = error.into_response();
        Limits::tell(limits, &mut response);
        response
    }

    /// The quota's state right after this call was judged, for the answer's headers.
    pub(crate) fn limits(&mut self) -> Vec<LimitState> {
        std::mem::take(&mut self.limits)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.count(CLIENT_LEFT, (0, 0));
        if let (Some(trace), Some(truth)) = (self.trace.take(), &self.app.truth) {
            truth.end(trace, self.arrived.into_std().elapsed());
        }
    }
}
