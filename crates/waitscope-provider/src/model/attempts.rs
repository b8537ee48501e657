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

    /// The next attempt at this content (see [`content_hash`]).
    pub fn next(&mut self, content: u64) -> Attempt {
        let attempts = self.0.get_or_insert(content, 0);
        let number = *attempts;
        *attempts = attempts.wrapping_add(1);
        Attempt { content, number }
    }
}

/// One attempt at some content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    content: u64,
    /// Counted from 0.
    pub number: u32,
}

impl Attempt {
    /// The draws for its latency and its answer.
    pub fn draws(self) -> Draws {
        Draws::new(self.hash().finish())
    }

    /// A uniform draw for something else, by its name, which does not change the draws above.
    pub fn draw_for(self, name: &str) -> f64 {
        Draws::new(self.hash().bytes(name.as_bytes()).finish()).uniform()
    }

    fn hash(self) -> StableHash {
        StableHash::new(self.content).word(self.number.into())
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
            let mut draws: Vec<(u64, u64)> = order
                .iter()
                .map(|content| (*content, attempts.next(*content).draws().bits()))
                .collect();
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
    fn named_draws_are_their_own() {
        let attempt = Attempts::new(1).next(7);
        let bits = |draw: f64| draw.to_bits();
        let (a, b) = (bits(attempt.draw_for("a")), bits(attempt.draw_for("b")));
        let own = bits(attempt.draws().uniform());
        assert_eq!(bits(attempt.draw_for("a")), a);
        assert!(a != b && b != own && a != own);
    }

    #[test]
    fn a_forgotten_content_starts_at_its_first_attempt() {
        let mut attempts = Attempts::new(1);
        let bits = [1, 1, 2, 1].map(|content| attempts.next(content).draws().bits());
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
