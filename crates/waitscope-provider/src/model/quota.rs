//! The quota: per model, a bucket of requests and buckets of tokens, each refilled continuously.
//!
//! A bucket is kept as the time at which it will be full again (the generic cell rate algorithm's
//! theoretical arrival time, ITU-T I.371), so that it needs no timer, and waits are exact.

use std::time::Duration;

/// The time in which an empty bucket fills: it holds this much of its rate as a burst.
const WINDOW: Duration = Duration::from_mins(1);

/// A model's quota.
#[derive(Debug, Clone)]
pub struct Quota {
    requests: Option<Bucket>,
    /// Of the prompt and, unless those are counted apart, of the answer.
    tokens: Bucket,
    /// Of the answer, charged as they are produced.
    output: Option<Bucket>,
}

/// One of the limits, as the rate-limit headers tell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitState {
    /// `requests`, `tokens`, `input-tokens` or `output-tokens`.
    pub name: &'static str,
    /// The units per minute.
    pub limit: u64,
    /// The whole units left.
    pub remaining: u64,
    /// The time until the bucket is full.
    pub reset: Duration,
}

/// A call that the quota has no room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// The limit that refused; the one that takes longer when both do.
    pub limit: LimitState,
    /// What the call would have taken of it.
    pub requested: u64,
    /// How long until it would fit; `None` when even a full bucket is too small.
    pub fits_after: Option<Duration>,
}

impl Quota {
    /// A full quota of so many requests (if they are limited) and tokens per minute.
    pub const fn new(requests_per_minute: Option<u64>, tokens_per_minute: u64) -> Self {
        let requests = match requests_per_minute {
            Some(per_minute) => Some(Bucket::new(per_minute)),
            None => None,
        };
        Self { requests, tokens: Bucket::new(tokens_per_minute), output: None }
    }

    /// The same with the answers' tokens counted apart.
    #[must_use]
    pub const fn with_output(self, tokens_per_minute: u64) -> Self {
        Self { output: Some(Bucket::new(tokens_per_minute)), ..self }
    }

    /// Charges a call of so many tokens at `now`, if all buckets have room; else charges nothing. Of output tokens one
    /// must be left.
    ///
    /// `now` counts from any fixed point. `share` divides the limits; a bucket that was used keeps
    /// the share of it that is left when `share` changes.
    pub fn admit(&mut self, tokens: u64, share: u64, now: Duration) -> Result<(), Refusal> {
        let refused = self
            .buckets()
            .filter_map(|(name, bucket)| {
                let requested = if matches!(name, REQUESTS | OUTPUT) { 1 } else { tokens };
                let fits_after = bucket.fits_after(requested, share, now);
                (fits_after != Some(Duration::ZERO)).then(|| Refusal {
                    limit: bucket.state(name, share, now),
                    requested,
                    fits_after,
                })
            })
            // "Never" is the longest wait.
            .max_by_key(|refusal| refusal.fits_after.unwrap_or(Duration::MAX));
        if let Some(refusal) = refused {
            return Err(refusal);
        }
        if let Some(requests) = &mut self.requests {
            requests.charge(1, share, now);
        }
        self.tokens.charge(tokens, share, now);
        Ok(())
    }

    /// Charges tokens of an answer as they are produced.
    pub fn charge_output(&mut self, tokens: u64, share: u64, now: Duration) {
        if let Some(output) = &mut self.output {
            output.charge(tokens, share, now);
        }
    }

    /// All limits at `now`.
    pub fn states(&self, share: u64, now: Duration) -> Vec<LimitState> {
        self.buckets().map(|(name, bucket)| bucket.state(name, share, now)).collect()
    }

    fn buckets(&self) -> impl Iterator<Item = (&'static str, &Bucket)> {
        let requests = self.requests.as_ref().map(|bucket| (REQUESTS, bucket));
        let output = self.output.as_ref().map(|bucket| (OUTPUT, bucket));
        let tokens = if output.is_some() { INPUT } else { TOKENS };
        requests.into_iter().chain([(tokens, &self.tokens)]).chain(output)
    }
}

const REQUESTS: &str = "requests";
const TOKENS: &str = "tokens";
const INPUT: &str = "input-tokens";
const OUTPUT: &str = "output-tokens";

#[derive(Debug, Clone)]
struct Bucket {
    per_minute: u64,
    full_at: Duration,
}

impl Bucket {
    const fn new(per_minute: u64) -> Self {
        Self { per_minute, full_at: Duration::ZERO }
    }

    fn state(&self, name: &'static str, share: u64, now: Duration) -> LimitState {
        let reset = self.full_at.saturating_sub(now);
        let left = WINDOW.saturating_sub(reset);
        let remaining = left.as_nanos() / self.time_of(1, share).as_nanos();
        LimitState {
            name,
            limit: self.limit(share),
            remaining: u64::try_from(remaining).unwrap_or(u64::MAX),
            reset,
        }
    }

    /// Zero when it fits now.
    fn fits_after(&self, units: u64, share: u64, now: Duration) -> Option<Duration> {
        let needed = self.time_of(units, share);
        if needed > WINDOW {
            return None;
        }
        Some((self.full_at.saturating_sub(now) + needed).saturating_sub(WINDOW))
    }

    fn charge(&mut self, units: u64, share: u64, now: Duration) {
        self.full_at = self.full_at.max(now) + self.time_of(units, share);
    }

    fn limit(&self, share: u64) -> u64 {
        (self.per_minute / share).max(1)
    }

    /// The time in which so many units are refilled.
    fn time_of(&self, units: u64, share: u64) -> Duration {
        let nanos = u128::from(units) * WINDOW.as_nanos() / u128::from(self.limit(share));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CHAT: Quota = Quota::new(Some(100), 100_000);

    fn remaining(quota: &Quota, share: u64, now_ms: u64) -> Vec<u64> {
        let states = quota.states(share, Duration::from_millis(now_ms));
        states.iter().map(|state| state.remaining).collect()
    }

    fn resets_ms(quota: &Quota, share: u64, now_ms: u64) -> Vec<u128> {
        let states = quota.states(share, Duration::from_millis(now_ms));
        states.iter().map(|state| state.reset.as_millis()).collect()
    }

    #[test]
    fn a_charge_empties_and_time_refills() {
        let mut quota = CHAT;
        assert_eq!(remaining(&quota, 1, 0), [100, 100_000]);
        assert_eq!(resets_ms(&quota, 1, 0), [0, 0]);
        quota.admit(50_000, 1, Duration::ZERO).unwrap();
        // 1 of 100 requests x 60 s, 50,000 of 100,000 tokens x 60 s.
        assert_eq!(remaining(&quota, 1, 0), [99, 50_000]);
        assert_eq!(resets_ms(&quota, 1, 0), [600, 30_000]);
        assert_eq!(remaining(&quota, 1, 599), [99, 50_998]);
        assert_eq!(remaining(&quota, 1, 600), [100, 51_000]);
        assert_eq!(remaining(&quota, 1, 3_600_000), [100, 100_000]);
    }

    #[test]
    fn embeddings_have_no_request_limit() {
        let quota = Quota::new(None, 100_000);
        assert_eq!(remaining(&quota, 1, 0), [100_000]);
    }

    #[test]
    fn output_is_charged_as_it_is_produced() {
        let mut quota = Quota::new(Some(100), 100_000).with_output(600);
        quota.admit(1_000, 1, Duration::ZERO).unwrap();
        assert_eq!(remaining(&quota, 1, 0), [99, 99_000, 600]);
        quota.charge_output(600, 1, Duration::ZERO);
        let refusal = quota.admit(1, 1, Duration::ZERO).unwrap_err();
        assert_eq!((refusal.limit.name, refusal.requested), ("output-tokens", 1));
        assert_eq!(refusal.fits_after, Some(Duration::from_millis(100)));
        // An answer that goes on beyond the limit is paid for by the next ones.
        quota.charge_output(600, 1, Duration::ZERO);
        assert!(quota.admit(1, 1, Duration::from_mins(1)).is_err());
        assert!(quota.admit(1, 1, Duration::from_millis(60_100)).is_ok());
    }

    #[test]
    fn the_burst_is_a_minute_and_the_rest_waits() {
        let mut quota = CHAT;
        let now = Duration::from_secs(1);
        let admitted = (0..150).filter(|_| quota.admit(10, 1, now).is_ok()).count();
        assert_eq!(admitted, 100);
        let refusal = quota.admit(10, 1, now).unwrap_err();
        assert_eq!((refusal.limit.name, refusal.requested), ("requests", 1));
        assert_eq!((refusal.limit.limit, refusal.limit.remaining), (100, 0));
        assert_eq!(refusal.fits_after, Some(Duration::from_millis(600)));
    }

    #[test]
    fn the_longer_wait_is_told() {
        let mut quota = CHAT;
        for _ in 0..100 {
            quota.admit(900, 1, Duration::ZERO).unwrap();
        }
        // Requests: 0.6 s. Tokens: 10,000 of 100,000 left, 40,000 more needed, 24 s.
        let refusal = quota.admit(50_000, 1, Duration::ZERO).unwrap_err();
        assert_eq!((refusal.limit.name, refusal.requested), ("tokens", 50_000));
        assert_eq!(refusal.fits_after, Some(Duration::from_secs(24)));
    }

    #[test]
    fn a_call_larger_than_the_bucket_never_fits() {
        let refusal = CHAT.clone().admit(100_001, 1, Duration::ZERO).unwrap_err();
        assert_eq!((refusal.limit.name, refusal.fits_after), ("tokens", None));
        assert!(CHAT.clone().admit(100_000, 1, Duration::ZERO).is_ok());
        assert!(CHAT.clone().admit(u64::MAX, 1, Duration::ZERO).is_err());
    }

    #[test]
    fn a_tenth_of_the_quota_keeps_the_share_left() {
        let mut quota = CHAT;
        quota.admit(50_000, 1, Duration::ZERO).unwrap();
        assert_eq!(remaining(&quota, 10, 0), [9, 5_000]);
        let limits: Vec<u64> =
            quota.states(10, Duration::ZERO).iter().map(|state| state.limit).collect();
        assert_eq!(limits, [10, 10_000]);
    }

    proptest! {
        /// Who waits exactly as long as told fits, and who comes 1 ns sooner does not.
        #[test]
        fn the_told_wait_is_exact(calls in proptest::collection::vec((0..2_000_u64, 1..20_000_u64), 1..100)) {
            let mut quota = CHAT;
            let mut now = Duration::ZERO;
            for (pause_ms, tokens) in calls {
                now += Duration::from_millis(pause_ms);
                let Err(refusal) = quota.admit(tokens, 1, now) else { continue };
                let wait = refusal.fits_after.unwrap();
                let too_soon = (now + wait).saturating_sub(Duration::from_nanos(1));
                prop_assert!(quota.clone().admit(tokens, 1, too_soon).is_err());
                prop_assert_eq!(quota.clone().admit(tokens, 1, now + wait), Ok(()));
            }
        }

        /// Over any run, no more is admitted than a burst and the refill since.
        #[test]
        fn no_more_is_admitted_than_was_refilled(pauses_ms in proptest::collection::vec(0..900_u64, 1..400)) {
            let mut quota = CHAT;
            let (mut now, mut admitted) = (Duration::ZERO, 0_u32);
            for pause_ms in pauses_ms {
                now += Duration::from_millis(pause_ms);
                admitted += u32::from(quota.admit(1, 1, now).is_ok());
            }
            prop_assert!(f64::from(admitted) <= 100.0 + now.as_secs_f64() / 0.6);
        }
    }
}
