//! What the provider counted.

use std::collections::BTreeMap;

/// The counts of all calls since the start or the last reset.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Ended calls by what they asked for and how they ended.
    pub(crate) calls: BTreeMap<&'static str, BTreeMap<u16, u64>>,
    pub(crate) in_flight: u64,
    pub(crate) max_in_flight: u64,
    pub(crate) tokens_in: u64,
    pub(crate) tokens_out: u64,
}

impl Counts {
    pub(crate) fn begin(&mut self) {
        self.in_flight += 1;
        self.max_in_flight = self.max_in_flight.max(self.in_flight);
    }

    pub(crate) fn end(&mut self, name: &'static str, status: u16, tokens: (u64, u64)) {
        self.in_flight -= 1;
        *self.calls.entry(name).or_default().entry(status).or_default() += 1;
        self.tokens_in += tokens.0;
        self.tokens_out += tokens.1;
    }

    /// Forgets everything but the calls that are in flight.
    pub(crate) fn reset(&mut self) {
        let in_flight = self.in_flight;
        *self = Self { in_flight, max_in_flight: in_flight, ..Self::default() };
    }
}

#[cfg(test)]
mod tests {
    use waitscope_serve::CLIENT_LEFT;

    use super::*;

    #[test]
    fn calls_are_counted_by_name_and_status() {
        let mut counts = Counts::default();
        counts.begin();
        counts.begin();
        counts.end("embed", 200, (5, 0));
        counts.begin();
        counts.end("embed", 200, (5, 0));
        counts.end("classify", CLIENT_LEFT, (0, 0));
        assert_eq!((counts.in_flight, counts.max_in_flight, counts.tokens_in), (0, 2, 10));
        assert_eq!(counts.calls["embed"], BTreeMap::from([(200, 2)]));
        assert_eq!(counts.calls["classify"], BTreeMap::from([(499, 1)]));
    }

    #[test]
    fn a_reset_keeps_what_is_in_flight() {
        let mut counts = Counts::default();
        counts.begin();
        counts.begin();
        counts.end("embed", 200, (5, 0));
        counts.reset();
        assert_eq!((counts.in_flight, counts.max_in_flight, counts.calls.len()), (1, 1, 0));
        counts.end("embed", 200, (5, 0));
        assert_eq!(counts.in_flight, 0);
    }
}
