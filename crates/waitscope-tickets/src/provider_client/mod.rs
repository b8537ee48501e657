//! The client of the AI provider: one way of asking, two ways of waiting.

mod answer;
mod async_transport;
mod blocking_transport;
mod slots;
mod tasks;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::config::Config;
use crate::domain::{AiRun, Named};
use crate::state::Process;
use crate::trail::{Trail, milliseconds};
use async_transport::AsyncTransport;
use blocking_transport::BlockingTransport;
use slots::{AsyncSlots, BlockingSlots};
use tasks::{Models, Task, TaskAnswer};

pub(crate) use slots::Slots;
pub(crate) use tasks::{Classify, DraftReply, Embed};

/// How the service names itself.
const USER_AGENT: &str = concat!("waitscope-tickets/", env!("CARGO_PKG_VERSION"));

/// How long an unused connection is kept: less than servers keep theirs, so that a call does not
/// meet a connection that is just being closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15);

/// One event loop's client, with its own connections.
#[derive(Debug)]
pub(crate) struct ProviderClient {
    transport: Transport,
    models: Models,
    process: Arc<Process>,
}

/// Who waits: this is all that the intake modes change about a call.
#[derive(Debug)]
enum Transport {
    /// The task waits and the thread does other work.
    Async(AsyncTransport, AsyncSlots),
    /// The thread waits.
    Blocking(BlockingTransport, BlockingSlots),
}

impl ProviderClient {
    /// A client that has no connection yet.
    pub(crate) fn new(config: &Config, process: &Arc<Process>) -> Result<Self, ClientError> {
        let transport = match &process.slots {
            Slots::Async(slots) => Transport::Async(AsyncTransport::new(config)?, slots.clone()),
            Slots::Blocking(slots) => {
                Transport::Blocking(BlockingTransport::new(config), slots.clone())
            }
        };
        Ok(Self { transport, models: Models::new(config), process: Arc::clone(process) })
    }

    /// Asks the provider once and waits for its answer.
    pub(crate) async fn ask<T: Task>(
        &self,
        task: &T,
        trail: &Trail,
    ) -> Result<(T::Output, AiRun), ProviderError> {
        let started = Instant::now();
        let model = T::ENDPOINT.model(&self.models);
        let answer = self.exchange(task, model).await;
        let took = started.elapsed();
        self.note::<T>(started, took, answer.as_ref().err(), trail);
        let answer = answer?;
        let run = ai_run::<T>(&answer, model, took);
        Ok((answer.output, run))
    }

    async fn exchange<T: Task>(
        &self,
        task: &T,
        model: &str,
    ) -> Result<TaskAnswer<T::Output>, ProviderError> {
        let request = task.request(model)?;
        let answer = match &self.transport {
            Transport::Async(transport, slots) => {
                let _slot = slots.wait().await;
                let _in_flight = self.process.metrics.call_in_flight();
                transport.post(T::ENDPOINT.path(), request).await
            }
            Transport::Blocking(transport, slots) => {
                let _slot = slots.block();
                let _in_flight = self.process.metrics.call_in_flight();
                transport.post(T::ENDPOINT.path(), &request)
            }
        };
        task.read(model, &answer?.successful()?)
    }

    /// One line for each call, with its place in time: calls of a held event loop never overlap.
    fn note<T: Task>(
        &self,
        started: Instant,
        took: Duration,
        error: Option<&ProviderError>,
        trail: &Trail,
    ) {
        let outcome = error.map_or("ok", ProviderError::kind);
        trail.call(T::NAME, took);
        self.process.metrics.call(T::NAME, outcome, took);
        let from = started.duration_since(self.process.started);
        let line = format!(
            "provider {task} {outcome} from={from:.3}s to={to:.3}s {took:.0}ms id={id}",
            task = T::NAME.name(),
            from = from.as_secs_f64(),
            to = (from + took).as_secs_f64(),
            took = milliseconds(took),
            id = trail.id,
        );
        match error {
            None => tracing::info!("{line}"),
            Some(error) => tracing::warn!("{line}: {error}"),
        }
    }
}

/// Why an exchange with the provider failed. The texts hold nothing that the provider said: it
/// may have repeated the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProviderError {
    /// No whole answer in time.
    #[error("the provider did not answer in time")]
    Timeout,
    /// Too many calls (429).
    #[error("the provider is rate-limiting")]
    RateLimited {
        /// When it would take the call.
        retry_after: Option<Duration>,
    },
    /// It cannot be reached, or cannot work (5xx).
    #[error("the provider is unavailable: {0}")]
    Unavailable(String),
    /// It refused the request, or answered something that cannot be used.
    #[error("{0}")]
    Rejected(String),
}

impl ProviderError {
    /// The name in logs and metrics.
    fn kind(&self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::RateLimited { .. } => "rate_limited",
            Self::Unavailable(_) => "unavailable",
            Self::Rejected(_) => "rejected",
        }
    }
}

/// The HTTP client could not be built, for want of root certificates for instance.
#[derive(Debug, thiserror::Error)]
#[error("cannot set up the provider's client: {0}")]
pub struct ClientError(#[from] reqwest::Error);

fn ai_run<T: Task>(answer: &TaskAnswer<T::Output>, asked: &str, took: Duration) -> AiRun {
    let tokens_in = saturating(answer.usage.prompt_tokens);
    let tokens_out = saturating(answer.usage.completion_tokens.unwrap_or(0));
    let answered: String = answer.model.chars().filter(|c| !c.is_control()).take(100).collect();
    AiRun {
        task: T::NAME,
        model: if answered.is_empty() { asked.to_owned() } else { answered },
        prompt_version: T::PROMPT_VERSION.to_owned(),
        tokens_in,
        tokens_out,
        cost_usd: T::ENDPOINT.price().cost_usd(tokens_in, tokens_out),
        latency_ms: (milliseconds(took) * 10.0).round() / 10.0,
        status: "ok".to_owned(),
    }
}

fn saturating(tokens: u64) -> u32 {
    u32::try_from(tokens).unwrap_or(u32::MAX)
}
