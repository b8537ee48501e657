//! The draws of a call: seeded by (seed, request content, attempt number for that content).

use std::collections::{HashMap, VecDeque};

use waitscope_stats::draw::{Draws, StableHash};

/// Counts how often each content was admitted, in bounded memory: the contents that came first
/// are forgotten first, and a forgotten content starts again at its first attempt.
#[derive(Debug)]
pub struct Attempts {
    counts: HashMap<u64, u32>,
    oldest_first: VecDeque<u64>,
    capacity: usize,
}

impl Attempts {
    /// How many contents a provider remembers (about 3 MB).
    pub const CAPACITY: usize = 65_536;

    /// Nothing counted yet; remembers `capacity` contents.
    pub fn new(capacity: usize) -> Self {
        Self { counts: HashMap::new(), oldest_first: VecDeque::new(), capacity: capacity.max(1) }
    }

    /// The draws for the next attempt at this content (see [`content_hash`]).
    pub fn next(&mut self, content: u64) -> Draws {
        let attempt = self.count(content);
        Draws::new(StableHash::new(content).word(attempt.into()).finish())
    }

    fn count(&mut self, content: u64) -> u32 {
        if let Some(count) = self.counts.get_mut(&content) {
            *count = count.wrapping_add(1);
            return *count;
        }
        if self.counts.len() == self.capacity
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.counts.remove(&oldest);
        }
        self.counts.insert(content, 0);
        self.oldest_first.push_back(content);
        0
    }
}

/// What a call's draws depend on beside its attempt number: the seed, the path and the body's
/// bytes as they came.
pub fn content_hash(seed: u64, path: &str, body: &[u8]) -> u64 {
    StableHash::new(seed).bytes(path.as_bytes()).bytes(body).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_attempt_draws_anew_and_each_order_the_same() {
        let draw = |order: &[u64]| {
            let mut attempts = Attempts::new(10);
            let mut draws: Vec<(u64, u64)> =
                order.iter().map(|content| (*content, attempts.next(*content).bits())).collect();
            draws.sort_unstable();
            draws
        };
        let draws = draw(&[1, 1, 1, 2, 2, 3]);
        assert_eq!(draws, draw(&[3, 2, 1, 1, 2, 1]));
        let mut bits: Vec<u64> = draws.iter().map(|(_, bits)| *bits).collect();
        bits.sort_unstable();
        bits.dedup();
        assert_eq!(bits.len(), 6);
    }

    #[test]
    fn the_oldest_content_is_forgotten() {
        let mut attempts = Attempts::new(2);
        let counts: Vec<u32> = [1, 1, 2, 2, 3, 2, 1, 1].map(|c| attempts.count(c)).to_vec();
        assert_eq!(counts, [0, 1, 0, 1, 0, 2, 0, 1]);
        assert_eq!((attempts.counts.len(), attempts.oldest_first.len()), (2, 2));
    }

    #[test]
    fn seed_path_and_body_count() {
        let hash = content_hash(21, "/a", b"x");
        for other in [content_hash(22, "/a", b"x"), content_hash(21, "/b", b"x")] {
            assert_ne!(other, hash);
        }
        assert_ne!(content_hash(21, "/a", b"y"), hash);
        assert_eq!(content_hash(21, "/a", b"x"), hash);
    }
}
