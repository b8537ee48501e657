//! The health probe: a fresh connection each time, as an orchestrator's probe has.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use waitscope_record::MAX_ROWS;
use waitscope_stats::latencies::Latencies;

use super::ticker::{self, Ticks};
use super::{Event, ProbeMode, ProbeSample, Run, StallError};
use crate::client::{Client, ErrorClass, Exchange};
use crate::request::RequestSpec;

/// Probes of the calm baseline, and the time between them.
const CALM_PROBES: u32 = 10;
const CALM_EVERY: Duration = Duration::from_millis(20);

/// The longest that a calm probe is waited for.
const CALM_TIMEOUT: Duration = Duration::from_secs(10);

/// Takes the baseline while nothing else is asked of the server. Says also whether the health
/// answer is HTML, which often means that a page answers everything.
///
/// # Errors
/// When one of the probes is not answered with 2xx: there is nothing to compare with then.
pub(super) async fn calm(
    client: &Client,
    health: &RequestSpec,
    timeout: Duration,
) -> Result<(Latencies, bool), StallError> {
    let mut calm = Latencies::new();
    let mut is_page = false;
    let mut ticks = ticker::start(Instant::now(), CALM_EVERY)?;
    for _ in 0..CALM_PROBES {
        let exchange = send(client, health, timeout.min(CALM_TIMEOUT)).await?;
        let url = health.target.display();
        let answer =
            exchange.answer.map_err(|error| StallError::HealthFails { url: url.clone(), error })?;
        if !answer.is_success() {
            return Err(StallError::Unhealthy { url, status: answer.status });
        }
        is_page |= answer.is_page();
        calm.record(exchange.end - exchange.start);
        // Whatever was due meanwhile is past.
        while ticks.try_recv().is_ok() {}
        ticks.recv().await;
    }
    Ok((calm, is_page))
}

async fn send(client: &Client, health: &RequestSpec, timeout: Duration) -> http::Result<Exchange> {
    Ok(client.send(health.build(0)?, timeout).await)
}

/// Probes until the requests are done, then waits for the probes that are still out.
pub(super) async fn beside(run: Arc<Run>, ticks: Ticks) -> Probes {
    match run.config.probe {
        ProbeMode::Scheduled => scheduled(&run, ticks).await,
        ProbeMode::Sequential => sequential(&run).await,
    }
}

async fn scheduled(run: &Arc<Run>, mut ticks: Ticks) -> Probes {
    let mut probes = Probes::new(run.limit);
    let mut out = JoinSet::new();
    // The first one is sent whatever happens: requests may be done before it is due.
    out.spawn(one(Arc::clone(run), ticks.recv().await.unwrap_or_default()));
    loop {
        tokio::select! {
            biased;
            () = run.requests_done.cancelled() => break,
            () = run.stop.cancelled() => break,
            Some(intended) = ticks.recv() => drop(out.spawn(one(Arc::clone(run), intended))),
            Some(ended) = out.join_next() => probes.add_joined(ended),
        }
    }
    while let Some(ended) = out.join_next().await {
        probes.add_joined(ended);
    }
    probes
}

async fn sequential(run: &Arc<Run>) -> Probes {
    let mut probes = Probes::new(run.limit);
    loop {
        // Nothing is intended here: the next probe starts some time after the last one came back.
        probes.add(one(Arc::clone(run), run.begin.elapsed()).await);
        tokio::select! {
            () = run.requests_done.cancelled() => break,
            () = run.stop.cancelled() => break,
            () = tokio::time::sleep(run.config.every) => {}
        }
    }
    probes
}

async fn one(run: Arc<Run>, intended: Duration) -> ProbeSample {
    let start = Instant::now();
    let (end, answer) = tokio::select! {
        sent = send(&run.health, &run.config.health, run.config.timeout) => match sent {
            Ok(exchange) => (exchange.end, Some(exchange.answer)),
            Err(_invalid) => (Instant::now(), None),
        },
        () = run.stop.cancelled() => (Instant::now(), None),
    };
    let (status, error) = match answer {
        Some(Ok(answer)) => (Some(answer.status), None),
        Some(Err(error)) => (None, Some(error)),
        None => (None, None),
    };
    let since_begin = |moment: Instant| moment.saturating_duration_since(run.begin);
    let sample =
        ProbeSample { intended, start: since_begin(start), end: since_begin(end), status, error };
    (run.on_event)(Event::Probe(&sample));
    sample
}

/// The probes of a run, in bounded memory however long it lasts.
#[derive(Debug, Clone)]
pub struct Probes {
    /// Response times of the answers, and the ages of probes that were given up.
    pub latencies: Latencies,
    /// Actual minus intended start.
    pub lag: Latencies,
    /// Probes answered with 2xx.
    pub answered: u64,
    /// Probes that failed: other statuses, errors, timeouts.
    pub failed: u64,
    /// Probes still out when the run was interrupted.
    pub unfinished: u64,
    /// Probes without an answer that are in `latencies` with their age: the unfinished ones, and
    /// those of the failed ones that ran into the timeout.
    pub censored: u64,
    /// Answers and given-up probes that took longer than the limit.
    pub slow: u64,
    /// What failed: how often, and the first example.
    pub failures: BTreeMap<String, (u64, String)>,
    limit: Duration,
    rows: Vec<ProbeSample>,
    /// How many probes one row stands for.
    stride: u64,
    pending: Option<(ProbeSample, u64)>,
}

impl Probes {
    /// No probe yet. `limit` tells the slow ones apart.
    pub fn new(limit: Duration) -> Self {
        Self {
            latencies: Latencies::new(),
            lag: Latencies::new(),
            answered: 0,
            failed: 0,
            unfinished: 0,
            censored: 0,
            slow: 0,
            failures: BTreeMap::new(),
            limit,
            rows: Vec::new(),
            stride: 1,
            pending: None,
        }
    }

    /// Counts one probe.
    pub fn add(&mut self, sample: ProbeSample) {
        self.lag.record(sample.start.saturating_sub(sample.intended));
        if sample.is_answer() {
            self.answered += 1;
            self.count_latency(sample.latency());
        } else {
            self.add_failure(&sample);
        }
        self.add_row(sample);
    }

    /// All probes that were sent.
    pub fn sent(&self) -> u64 {
        self.answered + self.failed + self.unfinished
    }

    fn add_joined(&mut self, ended: Result<ProbeSample, tokio::task::JoinError>) {
        // A probe does not panic and is not aborted; if it were, it would be missing, not wrong.
        if let Ok(sample) = ended {
            self.add(sample);
        }
    }

    fn add_failure(&mut self, sample: &ProbeSample) {
        let timed_out = matches!(&sample.error, Some(error) if error.class == ErrorClass::Timeout);
        let failure = match (&sample.status, &sample.error) {
            (Some(status), _) => Some((format!("status {status}"), format!("status {status}"))),
            (None, Some(error)) => Some((error.class.name().to_owned(), error.to_string())),
            // Still out at an interruption: slow perhaps, but not failed.
            (None, None) => None,
        };
        let unfinished = failure.is_none();
        self.unfinished += u64::from(unfinished);
        if let Some((class, example)) = failure {
            self.failed += 1;
            self.failures.entry(class).or_insert((0, example)).0 += 1;
        }
        if timed_out || unfinished {
            self.censored += 1;
            self.count_latency(sample.latency());
        }
    }

    fn count_latency(&mut self, latency: Duration) {
        self.latencies.record(latency);
        self.slow += u64::from(latency > self.limit);
    }

    /// Keeps at most [`MAX_ROWS`] rows: when they are full, of each two the slower one stays.
    fn add_row(&mut self, sample: ProbeSample) {
        let (slowest, merged) = match self.pending.take() {
            Some((kept, merged)) => (slower(kept, sample), merged + 1),
            None => (sample, 1),
        };
        if merged < self.stride {
            self.pending = Some((slowest, merged));
            return;
        }
        self.rows.push(slowest);
        if self.rows.len() == MAX_ROWS {
            self.stride *= 2;
            let rows = std::mem::take(&mut self.rows);
            let mut rows = rows.into_iter();
            while let (Some(first), second) = (rows.next(), rows.next()) {
                self.rows.push(match second {
                    Some(second) => slower(first, second),
                    None => first,
                });
            }
        }
    }

    /// The probes by intended start; of a long run, the slowest of each few.
    pub fn rows(&self) -> Vec<&ProbeSample> {
        let pending = self.pending.as_ref().map(|(sample, _merged)| sample);
        let mut rows: Vec<&ProbeSample> = self.rows.iter().chain(pending).collect();
        rows.sort_by_key(|sample| sample.intended);
        rows
    }
}

fn slower(first: ProbeSample, second: ProbeSample) -> ProbeSample {
    if second.latency() > first.latency() { second } else { first }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::RequestError;

    fn sample(intended_ms: u64, latency_ms: u64, status: Option<u16>) -> ProbeSample {
        let intended = Duration::from_millis(intended_ms);
        let end = intended + Duration::from_millis(latency_ms);
        ProbeSample { intended, start: intended, end, status, error: None }
    }

    #[test]
    fn each_kind_of_probe_is_counted_apart() {
        let error = |class| Some(RequestError { class, detail: "as it was said".into() });
        let mut probes = Probes::new(Duration::from_millis(250));
        probes.add(sample(0, 1, Some(200)));
        probes.add(sample(100, 251, Some(204)));
        probes.add(sample(200, 1, Some(503)));
        probes.add(ProbeSample { error: error(ErrorClass::Refused), ..sample(300, 2, None) });
        probes.add(ProbeSample { error: error(ErrorClass::Timeout), ..sample(400, 9000, None) });
        probes.add(sample(500, 8000, None));
        assert_eq!((probes.answered, probes.failed, probes.censored), (2, 3, 2));
        assert_eq!((probes.unfinished, probes.sent()), (1, 6));
        // A fast failure is no fast answer: it is in no latency.
        assert_eq!(probes.latencies.count(), 4);
        assert_eq!(probes.slow, 3);
        assert_eq!(probes.latencies.slowest(), Some(Duration::from_secs(9)));
        let classes: Vec<(&str, u64)> =
            probes.failures.iter().map(|(name, (count, _))| (name.as_str(), *count)).collect();
        assert_eq!(classes, [("connection refused", 1), ("status 503", 1), ("timeout", 1)]);
    }

    #[test]
    fn rows_are_bounded_and_keep_the_slowest() {
        let mut probes = Probes::new(Duration::from_millis(250));
        let count = 5 * MAX_ROWS as u64;
        for i in 0..count {
            probes.add(sample(i * 10, if i == 12_345 { 7777 } else { 1 }, Some(200)));
        }
        assert_eq!(probes.answered, count);
        let rows = probes.rows();
        assert!(rows.len() <= MAX_ROWS && rows.len() >= MAX_ROWS / 4, "{}", rows.len());
        assert!(rows.iter().any(|row| row.latency() == Duration::from_millis(7777)));
        assert!(rows.is_sorted_by_key(|row| row.intended));
    }
}
