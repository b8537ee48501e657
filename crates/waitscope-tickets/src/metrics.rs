//! What the service counts for `/metrics` (`OpenMetrics` 1.0 text). One set for all event loops.

use std::fmt;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::domain::{Named, TaskName};

/// Upper bounds of the histogram buckets, in seconds: from a database's answer to a slow provider.
const BUCKETS_S: [f64; 12] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

type Labels<const N: usize> = [(&'static str, String); N];
type Counters<const N: usize> = Family<Labels<N>, Counter>;
type Histograms<const N: usize> = Family<Labels<N>, Histogram, fn() -> Histogram>;

/// All metrics and the registry that prints them.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Counters<3>,
    request_seconds: Histograms<1>,
    requests_in_flight: Gauge,
    statements: Counter,
    calls: Counters<2>,
    call_seconds: Histograms<1>,
    calls_in_flight: Gauge,
}

impl Metrics {
    /// A set that has counted nothing yet.
    pub(crate) fn new() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("tickets"),
            requests: Counters::default(),
            request_seconds: Histograms::new_with_constructor(histogram),
            requests_in_flight: Gauge::default(),
            statements: Counter::default(),
            calls: Counters::default(),
            call_seconds: Histograms::new_with_constructor(histogram),
            calls_in_flight: Gauge::default(),
        };
        metrics.register();
        metrics
    }

    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register(
            "http_requests",
            "Requests answered; status 499: the client left first",
            self.requests.clone(),
        );
        registry.register_with_unit(
            "http_request",
            "Time until the answer was ready",
            Unit::Seconds,
            self.request_seconds.clone(),
        );
        registry.register(
            "http_requests_in_flight",
            "Requests not answered yet",
            self.requests_in_flight.clone(),
        );
        registry.register(
            "database_statements",
            "Trips to the database for requests",
            self.statements.clone(),
        );
        registry.register("provider_calls", "Calls to the AI provider", self.calls.clone());
        registry.register_with_unit(
            "provider_call",
            "Time of a call to the AI provider, the wait for a slot included",
            Unit::Seconds,
            self.call_seconds.clone(),
        );
        registry.register(
            "provider_calls_in_flight",
            "Calls that the AI provider is working on",
            self.calls_in_flight.clone(),
        );
    }

    /// Counts one request as in flight for as long as the guard lives.
    pub(crate) fn request_in_flight(&self) -> InFlight {
        InFlight::in_gauge(&self.requests_in_flight)
    }

    /// Counts one provider call as in flight for as long as the guard lives.
    pub(crate) fn call_in_flight(&self) -> InFlight {
        InFlight::in_gauge(&self.calls_in_flight)
    }

    /// Counts one request that is over.
    pub(crate) fn request(&self, request: &FinishedRequest<'_>) {
        let labels = [
            ("method", request.method.to_owned()),
            ("route", request.route.to_owned()),
            ("status", request.status.to_string()),
        ];
        self.requests.get_or_create(&labels).inc();
        self.request_seconds
            .get_or_create(&[("route", request.route.to_owned())])
            .observe(request.took.as_secs_f64());
        self.statements.inc_by(u64::from(request.statements));
    }

    /// Counts one provider call that is over.
    pub(crate) fn call(&self, task: TaskName, outcome: &str, took: Duration) {
        let task = task.name().to_owned();
        self.calls.get_or_create(&[("task", task.clone()), ("outcome", outcome.to_owned())]).inc();
        self.call_seconds.get_or_create(&[("task", task)]).observe(took.as_secs_f64());
    }

    /// The text for `/metrics`.
    pub(crate) fn text(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

/// What there is to count about one request. `method` and `route` come from short lists, so that
/// clients cannot make up labels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FinishedRequest<'a> {
    pub(crate) method: &'a str,
    pub(crate) route: &'a str,
    pub(crate) status: u16,
    pub(crate) took: Duration,
    pub(crate) statements: u32,
}

/// Keeps a gauge one higher while it lives.
#[derive(Debug)]
pub(crate) struct InFlight(Gauge);

impl InFlight {
    fn in_gauge(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}

fn histogram() -> Histogram {
    Histogram::new(BUCKETS_S)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_counted_is_printed() {
        let metrics = Metrics::new();
        metrics.request(&FinishedRequest {
            method: "POST",
            route: "/v1/tickets",
            status: 201,
            took: Duration::from_millis(2147),
            statements: 7,
        });
        metrics.call(TaskName::Classify, "ok", Duration::from_millis(912));
        let request = metrics.request_in_flight();
        let call = metrics.call_in_flight();
        let text = metrics.text().unwrap();
        for line in [
            "tickets_http_requests_total{method=\"POST\",route=\"/v1/tickets\",status=\"201\"} 1",
            "tickets_http_request_seconds_sum{route=\"/v1/tickets\"} 2.147",
            "tickets_database_statements_total 7",
            "tickets_provider_calls_total{task=\"classify\",outcome=\"ok\"} 1",
            "tickets_provider_call_seconds_count{task=\"classify\"} 1",
            "tickets_http_requests_in_flight 1",
            "tickets_provider_calls_in_flight 1",
        ] {
            assert!(text.lines().any(|found| found == line), "no line {line} in\n{text}");
        }
        drop((request, call));
        assert!(metrics.text().unwrap().contains("tickets_provider_calls_in_flight 0"));
    }
}
