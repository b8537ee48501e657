//! The log of the plain `/get` and `/add` requests, from which a test sees what overlapped.

use std::collections::VecDeque;
use std::time::Duration;

use http::Method;
use serde::Serialize;
use waitscope_serve::CLIENT_LEFT;

/// How many ended requests are kept; the oldest go first.
const KEPT: usize = 10_000;

/// The requests since the start or the last reset.
#[derive(Debug, Default, Serialize)]
pub(crate) struct RequestLog {
    requests: u64,
    in_flight: u64,
    max_in_flight: u64,
    log: VecDeque<Entry>,
}

/// One ended request. Times count from the provider's start.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Entry {
    pub(crate) method: &'static str,
    pub(crate) name: String,
    pub(crate) delay_ms: f64,
    pub(crate) body_bytes: usize,
    pub(crate) arrived_ms: f64,
    pub(crate) finished_ms: f64,
    pub(crate) status: u16,
}

impl Entry {
    /// A request that arrives; counted as left by its client until it ends otherwise.
    pub(crate) fn arriving(method: &Method, now: Duration) -> Self {
        Self {
            method: if method == Method::POST { "POST" } else { "GET" },
            name: String::new(),
            delay_ms: 0.0,
            body_bytes: 0,
            arrived_ms: milliseconds(now),
            finished_ms: 0.0,
            status: CLIENT_LEFT,
        }
    }
}

impl RequestLog {
    pub(crate) fn begin(&mut self) {
        self.requests += 1;
        self.in_flight += 1;
        self.max_in_flight = self.max_in_flight.max(self.in_flight);
    }

    pub(crate) fn end(&mut self, mut entry: Entry, now: Duration) {
        self.in_flight -= 1;
        entry.finished_ms = milliseconds(now);
        if self.log.len() == KEPT {
            self.log.pop_front();
        }
        self.log.push_back(entry);
    }

    /// Forgets everything but the requests that are in flight.
    pub(crate) fn reset(&mut self) {
        let in_flight = self.in_flight;
        *self =
            Self { requests: in_flight, in_flight, max_in_flight: in_flight, ..Self::default() };
    }
}

fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_bounded() {
        let mut log = RequestLog::default();
        for ms in 0..KEPT as u64 + 5 {
            log.begin();
            let arrived = Duration::from_millis(ms);
            log.end(Entry::arriving(&Method::GET, arrived), arrived + Duration::from_micros(500));
        }
        assert_eq!(log.log.len(), KEPT);
        assert_eq!((log.requests, log.in_flight, log.max_in_flight), (KEPT as u64 + 5, 0, 1));
        let json = serde_json::json!(log.log[0]);
        assert_eq!((&json["arrived_ms"], &json["finished_ms"]), (&5.0.into(), &5.5.into()));
    }
}
