//! What a client saw: how it tells it, as a line of JSON, to the benchmark that started it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::times::TimesSeen;

/// A client busier than this may itself be what is late.
const LIMIT: f64 = 0.9;

/// What a client saw.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Seen {
    /// Answers that came whole.
    pub(super) complete: u64,
    /// Answers that were cut short, or had not ended when the client gave up.
    pub(super) incomplete: u64,
    /// Answers that were errors, by status.
    pub(super) refused: BTreeMap<u16, u64>,
    /// Of a repeated request: complete answers a second, after the warm-up and before the end.
    pub(super) rate_per_second: f64,
    /// How long it took.
    pub(super) seconds: f64,
    /// The share of its time in which the client had something to do.
    pub(super) busy_share: f64,
    /// The client's own CPU time. One that polls without a pause takes a core.
    pub(super) cpu_seconds: f64,
    pub(super) times: TimesSeen,
}

impl Seen {
    /// Whether the client, rather than the server, may be what was measured.
    pub(super) fn client_limited(&self) -> bool {
        self.busy_share > LIMIT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_is_written_and_read_alike() {
        let mut seen = Seen { complete: 7, incomplete: 1, busy_share: 0.91, ..Seen::default() };
        seen.times.gap.p99_ms = 45.5;
        seen.refused.insert(503, 2);
        let text = serde_json::to_string(&seen).unwrap();
        assert_eq!(serde_json::from_str::<Seen>(&text).unwrap(), seen);
        assert!(seen.client_limited());
        assert!(!Seen { busy_share: 0.9, ..seen }.client_limited());
    }
}
