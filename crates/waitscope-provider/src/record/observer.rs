//! When the pieces of an answer came. Pure: times come in as arguments, counted from the request's
//! sending.

use std::time::Duration;

use waitscope_wire::sse::Decoder;

use super::content::{Meaning, meaning};

/// Content that comes this soon after the last one came with it, in one packet or one read.
const TOGETHER: Duration = Duration::from_micros(100);
/// The most gaps that are kept of one answer.
const MOST_GAPS: usize = 200_000;

/// Watches an answer as it is read.
#[derive(Debug, Default)]
pub(super) struct Observer {
    /// Only for an event stream, and until it can no longer be read.
    events: Option<Decoder>,
    first: Option<Duration>,
    last: Duration,
    pub(super) gaps: Vec<Duration>,
    pub(super) coalesced_events: u64,
    pub(super) bytes: u64,
    /// The stream said that it is complete.
    pub(super) ended: bool,
    /// The stream reported an error.
    pub(super) failed: bool,
}

impl Observer {
    /// For an answer that is, or is not, an event stream.
    pub(super) fn new(is_event_stream: bool) -> Self {
        Self { events: is_event_stream.then(Decoder::new), ..Self::default() }
    }

    /// Takes bytes that were read at `now`.
    pub(super) fn read(&mut self, bytes: &[u8], now: Duration) {
        self.bytes += bytes.len() as u64;
        let Some(mut events) = self.events.take() else { return };
        events.push(bytes);
        loop {
            match events.next_event() {
                Ok(Some(event)) => self.note(meaning(&event.data), now),
                Ok(None) => break self.events = Some(events),
                // What follows an endless event cannot be told apart.
                Err(_) => break,
            }
        }
    }

    /// The time to the first piece of content.
    pub(super) fn ttft(&self) -> Option<Duration> {
        self.first
    }

    fn note(&mut self, meaning: Meaning, now: Duration) {
        match meaning {
            Meaning::Content if self.first.is_none() => {
                self.first = Some(now);
                self.last = now;
            }
            Meaning::Content => {
                let gap = now.saturating_sub(self.last);
                self.last = now;
                self.coalesced_events += u64::from(gap < TOGETHER);
                if self.gaps.len() < MOST_GAPS {
                    self.gaps.push(gap);
                }
            }
            Meaning::End => self.ended = true,
            Meaning::Error => self.failed = true,
            Meaning::Other => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(text: &str) -> String {
        format!("data: {{\"choices\": [{{\"delta\": {{\"content\": \"{text}\"}}}}]}}\n\n")
    }

    fn watch(reads: &[(u64, &str)]) -> Observer {
        let mut observer = Observer::new(true);
        for (ms, text) in reads {
            observer.read(text.as_bytes(), Duration::from_millis(*ms));
        }
        observer
    }

    #[test]
    fn content_is_timed_when_its_event_is_whole() {
        let (role, a) = (token(""), token("a"));
        let (head, tail) = a.split_at(20);
        let observer = watch(&[
            (100, ": hello\n\n"),
            (200, &role),
            (300, head),
            (400, tail),
            (450, &a),
            (450, &a),
            (500, &[&a, "data: [DONE]\n\n"].concat()),
        ]);
        assert_eq!(observer.ttft(), Some(Duration::from_millis(400)));
        let gaps: Vec<u128> = observer.gaps.iter().map(Duration::as_millis).collect();
        assert_eq!(gaps, [50, 0, 50]);
        assert_eq!(observer.coalesced_events, 1);
        assert!(observer.ended && !observer.failed);
    }

    #[test]
    fn events_of_one_read_are_counted() {
        let observer = watch(&[(100, &token("a").repeat(5))]);
        assert_eq!((observer.gaps.len(), observer.coalesced_events), (4, 4));
        assert!(!observer.ended);
    }

    #[test]
    fn an_error_in_mid_stream_is_noted() {
        let observer = watch(&[(1, &token("a")), (2, "data: {\"error\": {\"code\": 1}}\n\n")]);
        assert!(observer.failed && !observer.ended);
    }

    #[test]
    fn other_answers_are_only_counted() {
        let mut observer = Observer::new(false);
        observer.read(token("a").as_bytes(), Duration::from_millis(1));
        assert_eq!((observer.ttft(), observer.bytes), (None, token("a").len() as u64));
    }

    #[test]
    fn an_endless_event_ends_the_watching() {
        let mut observer = Observer::new(true);
        let chunk = vec![b'x'; 1024 * 1024];
        for _ in 0..20 {
            observer.read(&chunk, Duration::ZERO);
        }
        observer.read(token("a").as_bytes(), Duration::ZERO);
        assert_eq!((observer.ttft(), observer.bytes >> 20), (None, 20));
    }
}
