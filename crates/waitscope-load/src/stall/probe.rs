//! The health probe: a fresh connection each time, as an orchestrator's probe has.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use waitscope_record::MAX_ROWS;
use waitscope_stats::latencies::Latencies;

use super::{Config, Event, OnEvent, ProbeMode, ProbeSample, StallError};
use crate::engine::{
    self, Cancel, Endpoint, Outcome, Progress, Sample, Schedule, Sink, Stop, Turns, Warmup,
};
use crate::error::ErrorClass;
use crate::pacer::{Arrivals, Pace, Profile};
use crate::template::Template;

/// Probes of the calm baseline, and the time between them.
const CALM_PROBES: u64 = 10;
const CALM_EVERY: Duration = Duration::from_millis(20);

/// The longest that a calm probe is waited for.
const CALM_TIMEOUT: Duration = Duration::from_secs(10);

/// What the engine runs for the probes of a [`Config`].
pub(super) fn engine_config(
    config: &Config,
    endpoint: &Endpoint,
    templates: Vec<Template>,
) -> engine::Config {
    let one_by_one = Schedule::Closed { users: 1, pace: Pace::After(config.every) };
    let schedule = match config.probe {
        ProbeMode::Sequential => one_by_one,
        ProbeMode::Scheduled => match Profile::constant(1.0 / config.every.as_secs_f64()) {
            Ok(profile) => Schedule::Open(Arrivals::Constant(profile)),
            // Not within the bounds of `every`.
            Err(_) => one_by_one,
        },
    };
    engine::Config {
        endpoints: vec![endpoint.clone()],
        templates,
        turns: Turns::InOrder,
        schedule,
        stop: Stop::default(),
        timeout: config.timeout,
        keep_alive: false,
        max_in_flight: None,
        warmup: Warmup::Off,
        threads: 1,
        seed: 0,
        details: true,
    }
}

/// Takes the baseline while nothing else is asked of the server. Says also whether the health
/// answer is HTML, which often means that a page answers everything.
///
/// # Errors
/// When one of the probes is not answered with 2xx: there is nothing to compare with then.
pub(super) fn calm(url: String, probes: &engine::Config) -> Result<(Latencies, bool), StallError> {
    let config = engine::Config {
        schedule: Schedule::Closed { users: 1, pace: Pace::Every(CALM_EVERY) },
        stop: Stop { requests: Some(CALM_PROBES), ..Stop::default() },
        timeout: probes.timeout.min(CALM_TIMEOUT),
        ..probes.clone()
    };
    let cancel = Cancel::new();
    let mut calm = Calm {
        latencies: Latencies::new(),
        is_page: false,
        failed: None,
        url,
        cancel: cancel.clone(),
    };
    engine::run(&config, &mut calm, &cancel)?;
    match calm.failed {
        None => Ok((calm.latencies, calm.is_page)),
        Some(error) => Err(error),
    }
}

struct Calm {
    latencies: Latencies,
    is_page: bool,
    failed: Option<StallError>,
    url: String,
    cancel: Cancel,
}

impl Sink for Calm {
    fn wants_samples(&self) -> bool {
        true
    }

    fn sample(&mut self, sample: &Sample) {
        let url = self.url.clone();
        let error = match &sample.outcome {
            Outcome::Answered(200..300) => {
                self.is_page |= sample.details.as_ref().is_some_and(|details| details.is_page);
                self.latencies.record(sample.service());
                return;
            }
            Outcome::Answered(status) => StallError::Unhealthy { url, status: *status },
            Outcome::Failed(error) => StallError::HealthFails { url, error: error.clone() },
            Outcome::Unfinished | Outcome::Unsent => return,
        };
        self.failed.get_or_insert(error);
        self.cancel.stop();
    }
}

/// Probes until `requests_done`, then waits for the probes that are still out.
///
/// # Errors
/// When the system gives no thread.
pub(super) fn beside(
    config: &engine::Config,
    begin: Instant,
    (limit, on_event): (Duration, OnEvent),
    (requests_done, stop): (&Cancel, CancellationToken),
) -> std::io::Result<Probes> {
    let probes = Probes::new(limit);
    let mut sink = Beside { probes, on_event, stop, cancel: requests_done.clone() };
    engine::run_since(begin, config, &mut sink, requests_done)?;
    Ok(sink.probes)
}

struct Beside {
    probes: Probes,
    on_event: OnEvent,
    stop: CancellationToken,
    cancel: Cancel,
}

impl Sink for Beside {
    fn wants_samples(&self) -> bool {
        true
    }

    fn sample(&mut self, sample: &Sample) {
        let (status, error) = match &sample.outcome {
            Outcome::Answered(status) => (Some(*status), None),
            Outcome::Failed(error) => (None, Some(error.clone())),
            Outcome::Unfinished => (None, None),
            // A probe that was due when the requests were done is one that nobody needs.
            Outcome::Unsent => return,
        };
        let Sample { intended, start, end, .. } = *sample;
        let sample = ProbeSample { intended, start, end, status, error };
        (self.on_event)(Event::Probe(&sample));
        self.probes.add(sample);
    }

    fn tick(&mut self, _progress: Progress) {
        if self.stop.is_cancelled() {
            self.cancel.stop();
        }
    }
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
    use crate::error::RequestError;

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
