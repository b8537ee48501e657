//! The health probe beside a load: a fresh connection each time, as an orchestrator's probe has.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

use waitscope_record::{Cell, MAX_ROWS, Series};
use waitscope_stats::latencies::Latencies;

use crate::engine::{
    self, Cancel, Endpoint, Outcome, Progress, Sample, Schedule, Sink, Stop, Turns, Warmup,
};
use crate::error::{ErrorClass, RequestError};
use crate::pacer::{Arrivals, Pace, Profile};
use crate::template::Template;

/// Probes of the calm baseline, and the time between them.
const CALM_PROBES: u64 = 10;
const CALM_EVERY: Duration = Duration::from_millis(20);

/// The longest that a calm probe is waited for.
const CALM_TIMEOUT: Duration = Duration::from_secs(10);

/// The shortest time between two probes.
pub const MIN_EVERY: Duration = Duration::from_millis(10);

/// How probes are paced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbeMode {
    /// Each probe starts on its intended time, whether or not the last one came back.
    Scheduled,
    /// Each probe waits for the one before: the naive way, which hides most of a stall.
    Sequential,
}

impl fmt::Display for ProbeMode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Scheduled => "scheduled",
            Self::Sequential => "sequential",
        })
    }
}

impl FromStr for ProbeMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "scheduled" => Ok(Self::Scheduled),
            "sequential" => Ok(Self::Sequential),
            _ => Err("known are scheduled and sequential".into()),
        }
    }
}

/// The slowest health answer that counts as healthy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaxHealth {
    /// The larger of 250 ms and ten times the calm median.
    Auto,
    /// This long.
    At(Duration),
}

impl MaxHealth {
    /// The limit, once the calm median is known.
    pub fn limit(self, calm_median: Duration) -> Duration {
        match self {
            Self::Auto => Duration::from_millis(250).max(calm_median * 10),
            Self::At(limit) => limit,
        }
    }
}

/// Why there is no calm baseline. The message says how to mend it.
#[derive(Debug, thiserror::Error)]
pub enum HealthError {
    /// The health endpoint answers, but with something else than 2xx.
    #[error(
        "GET {url} answered {status} before any request was sent: name a path that answers 2xx \
         with --health"
    )]
    Unhealthy {
        /// The health endpoint.
        url: String,
        /// The status that it answered with.
        status: u16,
    },
    /// The health endpoint does not answer.
    #[error(
        "GET {url} failed before any request was sent: {error}; name a path that answers 2xx with \
         --health, or look at the server first"
    )]
    HealthFails {
        /// The health endpoint.
        url: String,
        /// What went wrong.
        error: RequestError,
    },
    /// The system refuses a thread.
    #[error("cannot start measuring: {0}")]
    System(#[from] std::io::Error),
}

/// One health probe; times since the start of the run.
#[derive(Debug, Clone)]
pub struct ProbeSample {
    /// When it should have started.
    pub intended: Duration,
    /// When it did start.
    pub start: Duration,
    /// When its answer was complete, or when it was given up.
    pub end: Duration,
    /// Status, when there was an answer.
    pub status: Option<u16>,
    /// What went wrong, when there was none.
    pub error: Option<RequestError>,
}

impl ProbeSample {
    /// Response time: from the intended start to the end.
    pub fn latency(&self) -> Duration {
        self.end.saturating_sub(self.intended)
    }

    /// Whether it was answered with 2xx.
    pub fn is_answer(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status))
    }
}

/// What the engine runs for probes, one each `every`.
pub fn engine_config(
    (mode, every): (ProbeMode, Duration),
    timeout: Duration,
    endpoint: Endpoint,
    templates: Vec<Template>,
) -> engine::Config {
    let one_by_one = Schedule::Closed { users: 1, pace: Pace::After(every) };
    let schedule = match mode {
        ProbeMode::Sequential => one_by_one,
        ProbeMode::Scheduled => match Profile::constant(1.0 / every.as_secs_f64()) {
            Ok(profile) => Schedule::Open(Arrivals::Constant(profile)),
            // Not within the bounds of `every`.
            Err(_) => one_by_one,
        },
    };
    engine::Config {
        endpoints: vec![endpoint],
        templates,
        turns: Turns::InOrder,
        schedule,
        stop: Stop::default(),
        timeout,
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
pub fn calm(url: String, probes: &engine::Config) -> Result<(Latencies, bool), HealthError> {
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
    failed: Option<HealthError>,
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
            Outcome::Answered(status) => HealthError::Unhealthy { url, status: *status },
            Outcome::Failed(error) => HealthError::HealthFails { url, error: error.clone() },
            Outcome::Unfinished | Outcome::Unsent => return,
        };
        self.failed.get_or_insert(error);
        self.cancel.stop();
    }
}

/// Probes until `requests_done` is told to finish, then waits for the probes that are still out.
///
/// # Errors
/// When the system gives no thread.
pub fn beside(
    config: &engine::Config,
    begin: Instant,
    mut sink: Beside,
    requests_done: &Cancel,
) -> std::io::Result<Probes> {
    sink.cancel = requests_done.clone();
    engine::run_since(begin, config, &mut sink, requests_done)?;
    Ok(sink.probes)
}

/// Gathers the probes beside a load.
pub struct Beside {
    probes: Probes,
    on_probe: Box<dyn Fn(&ProbeSample) + Send>,
    is_over: Box<dyn Fn() -> bool + Send>,
    cancel: Cancel,
}

impl Beside {
    /// `limit` tells slow probes apart, `on_probe` hears of each one, `is_over` ends it at once.
    pub fn new(
        limit: Duration,
        on_probe: impl Fn(&ProbeSample) + Send + 'static,
        is_over: impl Fn() -> bool + Send + 'static,
    ) -> Self {
        Self {
            probes: Probes::new(limit),
            on_probe: Box::new(on_probe),
            is_over: Box::new(is_over),
            cancel: Cancel::new(),
        }
    }
}

impl fmt::Debug for Beside {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Beside").field("probes", &self.probes).finish_non_exhaustive()
    }
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
        (self.on_probe)(&sample);
        self.probes.add(sample);
    }

    fn tick(&mut self, _progress: Progress) {
        if (self.is_over)() {
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

    /// The same as a table, in ms since the start of the run.
    pub fn series(&self) -> Series {
        let columns = ["intended_ms", "start_ms", "end_ms", "status", "error", "ok"];
        let rows = self.rows().into_iter().map(|probe| {
            let unfinished = probe.status.is_none() && probe.error.is_none();
            let error = probe.error.as_ref().map(|error| Cell::Text(error.class.name().into()));
            vec![
                Cell::Number(ms(probe.intended)),
                Cell::Number(ms(probe.start)),
                Cell::maybe((!unfinished).then(|| ms(probe.end))),
                Cell::maybe(probe.status.map(f64::from)),
                error.unwrap_or(Cell::Missing(())),
                Cell::Number(f64::from(u8::from(probe.is_answer()))),
            ]
        });
        Series {
            name: "health".into(),
            unit: None,
            columns: columns.map(str::to_owned).into(),
            rows: rows.collect(),
        }
    }
}

/// To 1/1000 ms: finer digits are below what is measured here.
fn ms(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

fn slower(first: ProbeSample, second: ProbeSample) -> ProbeSample {
    if second.latency() > first.latency() { second } else { first }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn the_automatic_limit_is_ten_times_calm_but_not_under_250_ms() {
        let cases = [
            (MaxHealth::Auto, 1, 250),
            (MaxHealth::Auto, 25, 250),
            (MaxHealth::Auto, 100, 1000),
            (MaxHealth::At(Duration::from_millis(5)), 100, 5),
        ];
        for (max_health, calm_ms, limit_ms) in cases {
            let limit = max_health.limit(Duration::from_millis(calm_ms));
            assert_eq!(limit, Duration::from_millis(limit_ms), "{max_health:?} {calm_ms}");
        }
    }

    #[test]
    fn probe_modes_have_names() {
        for mode in [ProbeMode::Scheduled, ProbeMode::Sequential] {
            assert_eq!(mode.to_string().parse(), Ok(mode));
        }
        assert!("often".parse::<ProbeMode>().unwrap_err().contains("scheduled and sequential"));
    }
}
