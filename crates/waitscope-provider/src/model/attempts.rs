//! The draws of a call: seeded by (seed, request content, attempt number for that content).

use waitscope_stats::draw::{Draws, StableHash};

use super::recent::Recent;

/// Counts how often each content was admitted, in bounded memory: the contents that came first
/// are forgotten first, and a forgotten content starts again at its first attempt.
#[derive(Debug)]
pub struct Attempts(Recent<u32>);

impl Attempts {
    /// How many contents a provider remembers (about 3 MB).
    pub const CAPACITY: usize = 65_536;

    /// Nothing counted yet; remembers `capacity` contents.
    pub fn new(capacity: usize) -> Self {
        Self(Recent::new(capacity))
    }

    /// The draws for the next attempt at this content (see [`content_hash`]).
    pub fn next(&mut self, content: u64) -> Draws {
        let attempts = self.0.get_or_insert(content, 0);
        let attempt = *attempts;
        *attempts = attempts.wrapping_add(1);
        Draws::new(StableHash::new(content).word(attempt.into()).finish())
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
    fn a_forgotten_content_starts_at_its_first_attempt() {
        let mut attempts = Attempts::new(1);
        let bits = [1, 1, 2, 1].map(|content| attempts.next(content).bits());
        assert_eq!((bits[0] == bits[1], bits[0] == bits[3]), (false, true));
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
