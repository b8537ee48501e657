//! The open loop: requests come when they come, answered or not.

use std::sync::Arc;
use std::time::Duration;

use waitscope_stats::draw::Draws;

use super::{Profile, Start};

/// What the intended starts of an open loop are.
#[derive(Debug, Clone)]
pub enum Arrivals {
    /// At equal distances, as the profile's rate has it.
    Constant(Profile),
    /// A Poisson process with the profile's rate, the same for the same seed.
    Poisson {
        /// The rate over time.
        profile: Profile,
        /// Where the randomness comes from.
        seed: u64,
    },
    /// These times, in ascending order.
    Trace(Arc<[Duration]>),
}

/// The share of one worker: of the arrivals of the whole run, each `of`-th.
#[derive(Debug)]
pub struct Open {
    arrivals: Arrivals,
    draws: Draws,
    /// The number of the next arrival of the whole run, and how many expected arrivals the Poisson
    /// process has gone on.
    number: u64,
    gone: f64,
    worker: u64,
    of: u64,
    next: Option<Duration>,
}

impl Open {
    /// The share of worker `worker`, counted from 0, of `of`.
    pub fn new(arrivals: Arrivals, worker: u32, of: u32) -> Self {
        let seed = match &arrivals {
            Arrivals::Poisson { seed, .. } => *seed,
            Arrivals::Constant(_) | Arrivals::Trace(_) => 0,
        };
        let mut open = Self {
            arrivals,
            draws: Draws::new(seed),
            number: 0,
            gone: 0.0,
            worker: worker.into(),
            of: u64::from(of).max(1),
            next: None,
        };
        open.next = open.following();
        open
    }

    pub(super) fn take(&mut self, now: Duration) -> Option<Start> {
        let intended = self.next.filter(|next| *next <= now)?;
        self.next = self.following();
        Some(Start { intended, user: 0, first: false })
    }

    pub(super) fn next_due(&self) -> Option<Duration> {
        self.next
    }

    /// The next arrival of this worker.
    fn following(&mut self) -> Option<Duration> {
        loop {
            let number = self.number;
            let time = self.time_of(number)?;
            self.number += 1;
            if number % self.of == self.worker {
                return Some(time);
            }
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a run has fewer than 2^52 requests")]
    fn time_of(&mut self, number: u64) -> Option<Duration> {
        match &self.arrivals {
            Arrivals::Constant(profile) => profile.time_of(number as f64),
            Arrivals::Poisson { profile, .. } => {
                // Exponential distances in expected arrivals, which the profile turns into time: a
                // Poisson process whose rate changes (time rescaling theorem).
                self.gone -= (1.0 - self.draws.uniform()).max(f64::MIN_POSITIVE).ln();
                profile.time_of(self.gone)
            }
            Arrivals::Trace(times) => times.get(usize::try_from(number).ok()?).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(arrivals: &Arrivals, worker: u32, of: u32, until_s: u64) -> Vec<Duration> {
        let mut open = Open::new(arrivals.clone(), worker, of);
        std::iter::from_fn(|| open.take(Duration::from_secs(until_s))).map(|s| s.intended).collect()
    }

    fn poisson(seed: u64) -> Arrivals {
        Arrivals::Poisson { profile: Profile::constant(1000.0).unwrap(), seed }
    }

    #[test]
    fn workers_share_the_same_arrivals() {
        let trace: Arc<[Duration]> = (0..7).map(Duration::from_secs).collect();
        let constant = Arrivals::Constant(Profile::constant(100.0).unwrap());
        for arrivals in [constant, poisson(7), Arrivals::Trace(trace)] {
            let all = times(&arrivals, 0, 1, 20);
            assert!(all.is_sorted());
            let mut shared: Vec<Duration> =
                (0..3).flat_map(|worker| times(&arrivals, worker, 3, 20)).collect();
            shared.sort();
            assert_eq!(shared, all, "{arrivals:?}");
        }
    }

    #[test]
    fn nothing_is_due_before_its_time() {
        let mut open = Open::new(Arrivals::Constant(Profile::constant(10.0).unwrap()), 0, 1);
        assert_eq!(open.take(Duration::ZERO).map(|start| start.intended), Some(Duration::ZERO));
        assert_eq!(open.next_due(), Some(Duration::from_millis(100)));
        assert_eq!(open.take(Duration::from_millis(99)), None);
        let late = open.take(Duration::from_millis(350)).unwrap();
        assert_eq!(late.intended, Duration::from_millis(100), "late, and with its own time");
    }

    #[test]
    fn poisson_arrivals_have_their_rate_and_their_spread() {
        let all = times(&poisson(7), 0, 1, 20);
        // 20,000 expected with a standard deviation of 141: seven of them at most.
        assert!((19_000..21_000).contains(&all.len()), "{}", all.len());
        assert_eq!(all, times(&poisson(7), 0, 1, 20));
        assert_ne!(all, times(&poisson(8), 0, 1, 20));
        // Of exponential gaps, a share of 1 - 1/e is shorter than the mean.
        let gap = |w: &&[Duration]| w[1].saturating_sub(w[0]);
        let gaps = all.windows(2).filter(|w| gap(w) < Duration::from_millis(1)).count();
        let share = gaps as f64 / all.len() as f64;
        assert!((0.61..0.66).contains(&share), "{share}");
    }
}
