//! Runs of the engine, in few words.

use std::time::Duration;

use http::{HeaderMap, Method};
use waitscope_load::engine::{
    Address, Cancel, Config, Endpoint, Measured, Outcome, Sample, Schedule, Sink, Stop, Turns,
    Warmup, run,
};
use waitscope_load::pacer::{Arrivals, Pace, Profile};
use waitscope_load::template::{Parts, Template};
use waitscope_load::{ErrorClass, Target};

use crate::server::Server;

/// A run to be.
#[derive(Debug, Clone)]
pub(crate) struct Run(pub(crate) Config);

/// What came of it.
pub(crate) struct Ran {
    pub(crate) measured: Measured,
    /// In the order of their ends.
    pub(crate) samples: Vec<Sample>,
}

/// A request to the endpoint with this place.
pub(crate) fn template(endpoint: usize, method: &Method, url: &str, body: &[u8]) -> Template {
    let (target, headers) = (Target::parse(url).unwrap(), HeaderMap::new());
    let (target, headers) = (&target, &headers);
    Template::new(&Parts { target, endpoint, method, headers, body, keep_alive: true }).unwrap()
}

impl Run {
    /// One user who asks once.
    pub(crate) fn get(url: &str) -> Self {
        Self::request(&Method::GET, url, b"")
    }

    pub(crate) fn request(method: &Method, url: &str, body: &[u8]) -> Self {
        Self(Config {
            endpoints: vec![Endpoint::of(&Target::parse(url).unwrap()).unwrap()],
            templates: vec![template(0, method, url, body)],
            turns: Turns::InOrder,
            schedule: Schedule::Closed { users: 1, pace: Pace::AtOnce },
            stop: Stop { requests: Some(1), ..Stop::default() },
            timeout: Duration::from_secs(20),
            keep_alive: true,
            max_in_flight: None,
            warmup: Warmup::Off,
            threads: 1,
            seed: 7,
            details: false,
        })
    }

    /// Requests go to these addresses, whatever the URL says.
    pub(crate) fn to(mut self, addresses: Vec<Address>) -> Self {
        self.0.endpoints[0].addresses = addresses;
        self
    }

    pub(crate) fn and(mut self, server: &Server) -> Self {
        let url = server.url("/");
        self.0.endpoints.push(Endpoint::of(&Target::parse(&url).unwrap()).unwrap());
        self.0.templates.push(template(self.0.endpoints.len() - 1, &Method::GET, &url, b""));
        self
    }

    pub(crate) fn users(mut self, users: u32) -> Self {
        self.0.schedule = Schedule::Closed { users, pace: Pace::AtOnce };
        self
    }

    pub(crate) fn pace(mut self, pace: Pace) -> Self {
        self.0.schedule = Schedule::Closed { users: 1, pace };
        self
    }

    pub(crate) fn requests(mut self, requests: u64) -> Self {
        self.0.stop.requests = Some(requests);
        self
    }

    /// As many requests as there are time for.
    pub(crate) fn millis(mut self, millis: u64) -> Self {
        self.0.stop = Stop { after: Some(Duration::from_millis(millis)), ..Stop::default() };
        self
    }

    /// So many requests per second, answered or not.
    pub(crate) fn rate(self, per_s: f64) -> Self {
        self.arrivals(Arrivals::Constant(Profile::constant(per_s).unwrap()))
    }

    pub(crate) fn arrivals(mut self, arrivals: Arrivals) -> Self {
        self.0.schedule = Schedule::Open(arrivals);
        self
    }

    pub(crate) fn drain(mut self, millis: u64) -> Self {
        self.0.stop.drain = Duration::from_millis(millis);
        self
    }

    pub(crate) fn timeout(mut self, timeout: Duration) -> Self {
        self.0.timeout = timeout;
        self
    }

    pub(crate) fn threads(mut self, threads: u32) -> Self {
        self.0.threads = threads;
        self
    }

    pub(crate) fn max_in_flight(mut self, most: u64) -> Self {
        self.0.max_in_flight = Some(most);
        self
    }

    pub(crate) fn warmup(mut self, warmup: Warmup) -> Self {
        self.0.warmup = warmup;
        self
    }

    pub(crate) fn without_keep_alive(mut self) -> Self {
        self.0.keep_alive = false;
        self
    }

    pub(crate) fn run(&self) -> Ran {
        self.run_until(&Cancel::new())
    }

    pub(crate) fn run_until(&self, cancel: &Cancel) -> Ran {
        let mut samples = Samples::default();
        let measured = run(&self.0, &mut samples, cancel).unwrap();
        let samples = samples.0;
        let all = measured.tally.requests() + measured.tally.warmup;
        assert_eq!(samples.len() as u64, all, "every request is counted once");
        assert!(samples.iter().all(|s| s.intended <= s.start && s.start <= s.end));
        Ran { measured, samples }
    }
}

#[derive(Default)]
struct Samples(Vec<Sample>);

impl Sink for Samples {
    fn wants_samples(&self) -> bool {
        true
    }

    fn sample(&mut self, sample: &Sample) {
        self.0.push(sample.clone());
    }
}

/// How a request ended, in short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Status(u16),
    Error(ErrorClass),
    Unfinished,
    Unsent,
}

impl Ran {
    pub(crate) fn ends(&self) -> Vec<End> {
        self.samples.iter().map(|sample| end(&sample.outcome)).collect()
    }

    /// How many requests failed in this way.
    pub(crate) fn errors(&self, class: ErrorClass) -> u64 {
        self.measured.tally.errors.get(&class).map_or(0, |(count, _)| *count)
    }

    /// That each request was answered with 200.
    pub(crate) fn all_well(&self, requests: u64) {
        let tally = &self.measured.tally;
        assert_eq!(tally.statuses.get(&200), Some(&requests), "{:?}", tally.errors);
        assert_eq!(tally.requests(), requests, "{:?} {:?}", tally.errors, tally.statuses);
    }
}

fn end(outcome: &Outcome) -> End {
    match outcome {
        Outcome::Answered(status) => End::Status(*status),
        Outcome::Failed(error) => End::Error(error.class),
        Outcome::Unfinished => End::Unfinished,
        Outcome::Unsent => End::Unsent,
    }
}

pub(crate) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
