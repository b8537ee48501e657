//! When each token of a stream is due, counted from the call's arrival.

use std::sync::Arc;
use std::time::Duration;

use waitscope_stats::draw::Draws;

use super::gaps::Gaps;
use super::latency::scaled;
use super::recording::Recording;

/// When a call's tokens are due. Every time is counted from the call's arrival and computed from
/// it, not from the token before: rounding never adds up.
#[derive(Debug, Clone)]
pub struct Timing {
    /// The time to the full answer; the last token's too.
    pub total: Duration,
    /// The time to the first token. A single token comes last.
    pub first: Duration,
    tokens: u32,
    pace: Pace,
}

/// What lies between the first token and the last one.
#[derive(Debug, Clone)]
enum Pace {
    Equal,
    /// Microseconds from the first token to each of the later ones.
    Varied(Box<[u32]>),
    Replayed {
        recording: Arc<Recording>,
        call: u32,
        factor: f64,
    },
}

impl Timing {
    /// Spreads a call's total over its tokens: until the first one takes `first`, or half of the
    /// total, and the gaps take the rest.
    pub(super) fn spread(
        total: Duration,
        first: Option<Duration>,
        tokens: u32,
        gaps: Gaps,
        draws: Draws,
    ) -> Self {
        let count = tokens.saturating_sub(1);
        let first = if count == 0 { total } else { first.unwrap_or(total / 2).min(total) };
        let pace = match gaps {
            Gaps::Varied { sigma, rho } if count > 0 => {
                let micros = total.saturating_sub(first).as_secs_f64() * 1e6;
                let shares = Gaps::shares(sigma, rho, count, draws);
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a wait is an hour at most: 3.6e9 microseconds"
                )]
                let offsets = shares.into_iter().map(|share| (micros * share) as u32);
                Pace::Varied(offsets.collect())
            }
            _ => Pace::Equal,
        };
        Self { total, first, tokens, pace }
    }

    /// Replays a recorded stream; its gaps are repeated or cut to so many tokens (at least one).
    pub(super) fn replayed(recording: Arc<Recording>, call: u32, tokens: u32, factor: f64) -> Self {
        let due = |token| scaled(recording.due(call, token), factor);
        let (first, total) = (due(0), due(tokens.saturating_sub(1)));
        Self { total, first, tokens, pace: Pace::Replayed { recording, call, factor } }
    }

    /// When a token is due, the first one being 0; those after the last one with the last one.
    pub fn due(&self, token: u32) -> Duration {
        let gaps = self.tokens.saturating_sub(1);
        if token >= gaps {
            return self.total;
        }
        match &self.pace {
            _ if token == 0 => self.first,
            Pace::Equal => self.first + self.total.saturating_sub(self.first) * token / gaps,
            Pace::Varied(offsets) => {
                let offset = offsets.get(token as usize - 1).copied().unwrap_or(u32::MAX);
                (self.first + Duration::from_micros(offset.into())).min(self.total)
            }
            Pace::Replayed { recording, call, factor } => {
                scaled(recording.due(*call, token), *factor)
            }
        }
    }

    /// When each of the tokens is due.
    pub fn dues(self) -> impl Iterator<Item = Duration> + Send {
        (0..self.tokens).map(move |token| self.due(token))
    }
}

/// A token a `gap`, the first one after `first`.
pub fn steady(first: Duration, gap: Duration, tokens: u32) -> impl Iterator<Item = Duration> {
    (0..tokens).map(move |token| first + gap * token)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spread(total: Duration, tokens: u32) -> impl Iterator<Item = Duration> {
        Timing::spread(total, None, tokens, Gaps::Equal, Draws::new(0)).dues()
    }

    fn ms(schedule: impl Iterator<Item = Duration>) -> Vec<u128> {
        schedule.map(|due| due.as_millis()).collect()
    }

    #[test]
    fn tokens_are_due_at_absolute_times() {
        let ms_of = Duration::from_millis;
        for (actual, expected) in [
            (ms(steady(ms_of(400), ms_of(40), 3)), vec![400, 440, 480]),
            (ms(steady(ms_of(400), ms_of(40), 0)), vec![]),
            (ms(spread(ms_of(1_000), 6)), vec![500, 600, 700, 800, 900, 1_000]),
            (ms(spread(ms_of(1_000), 2)), vec![500, 1_000]),
            (ms(spread(ms_of(1_000), 1)), vec![1_000]),
            (ms(spread(ms_of(1_000), 0)), vec![]),
        ] {
            assert_eq!(actual, expected);
        }
        let last = spread(Duration::from_secs(1), 77).last();
        assert_eq!(last, Some(Duration::from_secs(1)));
    }

    fn varied(total: Duration, tokens: u32, seed: u64) -> Vec<Duration> {
        let gaps = Gaps::Varied { sigma: 0.5, rho: 0.9 };
        Timing::spread(total, None, tokens, gaps, Draws::new(seed)).dues().collect()
    }

    #[test]
    fn a_slow_stream_is_slow_throughout() {
        let (fast, slow) =
            (varied(Duration::from_secs(1), 50, 7), varied(Duration::from_secs(8), 50, 7));
        for (fast, slow) in fast.iter().zip(&slow) {
            let ratio = slow.as_secs_f64() / fast.as_secs_f64();
            assert!((ratio - 8.0).abs() < 0.001, "{ratio}");
        }
        assert_ne!(varied(Duration::from_secs(1), 50, 8), fast, "other draws, other gaps");
    }

    #[test]
    fn varied_gaps_differ_and_equal_ones_do_not() {
        let gaps = |dues: Vec<Duration>| -> Vec<Duration> {
            dues.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect()
        };
        let second = Duration::from_secs(1);
        let (varied, equal) = (gaps(varied(second, 50, 7)), gaps(spread(second, 50).collect()));
        let widest = |gaps: &[Duration]| *gaps.iter().max().unwrap();
        let closest = |gaps: &[Duration]| *gaps.iter().min().unwrap();
        assert!(widest(&varied) > closest(&varied) * 2);
        assert!(widest(&equal) <= closest(&equal) + Duration::from_nanos(1));
    }

    proptest! {
        #[test]
        fn every_stream_rises_to_its_total(
            micros in 0..3_600_000_000_u64,
            tokens in 1..200_u32,
            seed in any::<u64>(),
            sigma in 0.0..5.0_f64,
        ) {
            let total = Duration::from_micros(micros);
            for gaps in [Gaps::Equal, Gaps::Varied { sigma, rho: 0.9 }] {
                let timing = Timing::spread(total, None, tokens, gaps, Draws::new(seed));
                let dues: Vec<Duration> = timing.clone().dues().collect();
                prop_assert_eq!(dues.len(), tokens as usize);
                prop_assert!(dues.is_sorted());
                prop_assert_eq!(dues.first(), Some(&timing.first));
                prop_assert_eq!(dues.last(), Some(&total));
                prop_assert_eq!(timing.due(u32::MAX), total);
            }
        }
    }
}
