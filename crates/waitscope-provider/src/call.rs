//! One call: its place among those in flight, its quota, its waits, its count.

use std::sync::Arc;
use std::time::Duration;

use axum::response::{IntoResponse, Response};
use http::HeaderMap;
use tokio::time::Instant;
use waitscope_serve::CLIENT_LEFT;
use waitscope_stats::draw::Draws;

use crate::account::Account;
use crate::config::Mode;
use crate::error::ApiError;
use crate::limit_headers::limit_headers;
use crate::model::latency::at_speed;
use crate::model::quota::LimitState;
use crate::server::App;

/// A call in flight. Dropping it before it has ended means that its client left: hyper drops a
/// request's future, or its response's body, when the connection closes.
#[derive(Debug)]
pub(crate) struct Call {
    app: Arc<App>,
    name: &'static str,
    arrived: Instant,
    limits: Vec<LimitState>,
    ended: bool,
}

/// What an admitted call is planned with.
#[derive(Debug)]
pub(crate) struct Admission {
    pub(crate) draws: Draws,
    pub(crate) mode: Mode,
}

impl Call {
    /// A call that arrives now.
    pub(crate) fn begin(app: &Arc<App>, name: &'static str) -> Self {
        app.ledger().counts.begin();
        let arrived = Instant::now();
        Self { app: Arc::clone(app), name, arrived, limits: Vec::new(), ended: false }
    }

    /// Says what the call asks for, once it is known.
    pub(crate) fn rename(&mut self, name: &'static str) {
        self.name = name;
    }

    /// Says whose quota the answer's headers tell.
    pub(crate) fn charge_to(&mut self, account: Account) {
        self.limits = self.app.limits(account);
    }

    /// The mode it is answered in, unless that is an outage.
    pub(crate) fn mode(&self) -> Result<Mode, ApiError> {
        match self.app.ledger().mode {
            Mode::Outage => Err(ApiError::outage()),
            mode => Ok(mode),
        }
    }

    /// Charges the account for the call and draws for its content (see
    /// [`content_hash`](crate::model::attempts::content_hash)). A call that is refused is neither
    /// charged nor an attempt, so that refusals, which depend on time, do not change what is drawn.
    pub(crate) fn admit(
        &mut self,
        model: &str,
        account: Account,
        tokens: u64,
        content: u64,
    ) -> Result<Admission, ApiError> {
        self.charge_to(account);
        let mode = self.mode()?;
        let mut ledger = self.app.ledger();
        if let Some(share) = ledger.quota_share(&self.app.config) {
            let now = self.app.now();
            let admitted = ledger.accounts.admit(account, tokens, share, now);
            self.limits = ledger.accounts.states(account, share, now);
            admitted.map_err(|refusal| ApiError::refused(model, &refusal))?;
        }
        Ok(Admission { draws: ledger.attempts.next(content), mode })
    }

    /// When `planned` after the arrival is, at this provider's speed.
    pub(crate) fn deadline(&self, planned: Duration) -> Instant {
        self.arrived + at_speed(planned, self.app.config.speed)
    }

    /// Waits until `planned` after the arrival.
    pub(crate) async fn wait(&self, planned: Duration) {
        // The timer has a resolution of 1 ms and would round a wait of nothing up to that.
        let deadline = self.deadline(planned);
        if deadline > Instant::now() {
            tokio::time::sleep_until(deadline).await;
        }
    }

    /// Counts the call as ended; `tokens` are those of the prompt and of the answer.
    pub(crate) fn end(mut self, status: u16, tokens: (u64, u64)) {
        self.count(status, tokens);
    }

    /// Tells an error when it is due, and ends the call.
    pub(crate) async fn refuse(self, error: ApiError) -> Response {
        self.wait(error.after).await;
        let headers = self.limit_headers();
        self.end(error.status.as_u16(), (0, 0));
        (headers, error).into_response()
    }

    /// The `x-ratelimit-*` headers: the quota's state right after this call was judged.
    pub(crate) fn limit_headers(&self) -> HeaderMap {
        limit_headers(&self.limits)
    }

    fn count(&mut self, status: u16, tokens: (u64, u64)) {
        if !std::mem::replace(&mut self.ended, true) {
            self.app.ledger().counts.end(self.name, status, tokens);
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.count(CLIENT_LEFT, (0, 0));
    }
}
