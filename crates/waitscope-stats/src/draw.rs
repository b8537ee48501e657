//! Seeded draws: a stable hash of what a draw depends on, and uniform numbers from it.
//!
//! Both rest on one bit mixer and use integer arithmetic only, so their results are the same on
//! every platform and stay the same from version to version. They are no cryptography.

/// The increment of `SplitMix64`: 2^64 divided by the golden ratio, made odd.
const GOLDEN_GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// Uniform draws that depend on nothing but a seed: the generator `SplitMix64`.
///
/// Source: G. L. Steele, D. Lea and C. H. Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draws {
    state: u64,
}

impl Draws {
    /// Draws from `seed`; see [`StableHash`] for a seed that stands for some content.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN_GAMMA);
        mix(self.state)
    }

    /// The next uniform number, never exactly 0 or 1, so that every quantile function takes it.
    pub fn uniform(&mut self) -> f64 {
        // 52 bits and a half: exact in a double, and the largest is still below 1.
        let bits = self.bits() >> 12;
        (bits as f64 + 0.5) / (1_u64 << 52) as f64
    }
}

/// A hash with a fixed definition: unlike the standard library's, it never changes.
///
/// Each 8-byte little-endian word, and the length of each byte string, is mixed into the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StableHash {
    state: u64,
}

impl StableHash {
    /// An empty hash; different seeds give unrelated hashes of the same content.
    pub fn new(seed: u64) -> Self {
        Self { state: mix(seed.wrapping_add(GOLDEN_GAMMA)) }
    }

    /// Adds a number.
    #[must_use]
    pub fn word(self, word: u64) -> Self {
        Self { state: mix(self.state.wrapping_add(GOLDEN_GAMMA) ^ word) }
    }

    /// Adds a byte string. Its length counts, so "ab" and "c" differ from "a" and "bc".
    #[must_use]
    pub fn bytes(self, bytes: &[u8]) -> Self {
        let (words, rest) = bytes.as_chunks::<8>();
        let hash = words.iter().fold(self, |hash, word| hash.word(u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        hash.word(u64::from_le_bytes(last)).word(bytes.len() as u64)
    }

    /// The hash of all that was added.
    pub fn finish(&self) -> u64 {
        self.state
    }
}

/// Spreads every input bit over all 64 output bits (the finaliser of `SplitMix64`: variant 13 of
/// D. Stafford's mixers, 2011). A bijection.
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// The published first outputs for seed 1234567 (they are the same in every implementation).
    #[test]
    fn draws_are_splitmix64() {
        let mut draws = Draws::new(1_234_567);
        for expected in [
            6_457_827_717_110_365_317_u64,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ] {
            assert_eq!(draws.bits(), expected);
        }
    }

    /// Pinned: a change here changes every latency of every user's recorded test.
    #[test]
    fn the_hash_never_changes() {
        for (seed, content, expected) in PINNED {
            assert_eq!(StableHash::new(seed).bytes(content).finish(), expected, "{content:?}");
        }
    }

    const PINNED: [(u64, &[u8], u64); 4] = [
        (0, b"", 2_558_736_989_570_252_433),
        (21, b"", 18_018_237_845_989_467_086),
        (21, b"a", 4_817_849_671_604_969_423),
        (21, b"hello, provider", 14_371_625_809_956_552_592),
    ];

    #[test]
    fn every_part_of_the_content_counts() {
        let hashes: HashSet<u64> = [
            StableHash::new(1),
            StableHash::new(2),
            StableHash::new(1).bytes(b""),
            StableHash::new(1).bytes(b"\0"),
            StableHash::new(1).bytes(b"ab").bytes(b"c"),
            StableHash::new(1).bytes(b"a").bytes(b"bc"),
            StableHash::new(1).bytes(b"abcdefgh"),
            StableHash::new(1).bytes(b"abcdefgh\0"),
            StableHash::new(1).bytes(b"bbcdefgh"),
            StableHash::new(1).word(1).word(2),
            StableHash::new(1).word(2).word(1),
        ]
        .iter()
        .map(StableHash::finish)
        .collect();
        assert_eq!(hashes.len(), 11);
    }

    #[test]
    fn uniform_draws_fill_the_unit_interval_evenly() {
        let mut tenths = [0_u32; 10];
        let mut sum = 0.0;
        for content in 0..20_000_u64 {
            let seed = StableHash::new(21).word(content).finish();
            let draw = Draws::new(seed).uniform();
            assert!(draw > 0.0 && draw < 1.0);
            sum += draw;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 9")]
            let tenth = (draw * 10.0) as usize;
            tenths[tenth] += 1;
        }
        // 2,000 expected per tenth with a standard deviation of 42.
        assert!(tenths.iter().all(|count| (1_800..2_200).contains(count)), "{tenths:?}");
        assert!((sum / 20_000.0 - 0.5).abs() < 0.01);
    }
}
