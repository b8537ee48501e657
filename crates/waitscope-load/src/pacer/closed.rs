//! The closed loop: so many users, each with one request at a time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use super::Start;

/// When a user asks again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// As soon as it has its answer.
    AtOnce,
    /// So long after its last intended start, or as soon as it has its answer if that is later.
    Every(Duration),
    /// So long after it got its answer.
    After(Duration),
}

/// Users of one worker. A request of theirs is intended when its user is free for it.
#[derive(Debug)]
pub struct Closed {
    pace: Pace,
    /// Users that will ask, by their time; those that wait for an answer are not here.
    ready: BinaryHeap<Reverse<(Duration, u32)>>,
    asked: Vec<bool>,
}

impl Closed {
    /// So many users, all of whom begin at once.
    pub fn new(users: u32, pace: Pace) -> Self {
        let ready = (0..users).map(|user| Reverse((Duration::ZERO, user))).collect();
        Self { pace, ready, asked: vec![false; users as usize] }
    }

    pub(super) fn take(&mut self, now: Duration) -> Option<Start> {
        let Reverse((intended, user)) = *self.ready.peek()?;
        if intended > now {
            return None;
        }
        self.ready.pop();
        let first = !std::mem::replace(&mut self.asked[user as usize], true);
        Some(Start { intended, user, first })
    }

    pub(super) fn next_due(&self) -> Option<Duration> {
        self.ready.peek().map(|Reverse((at, _))| *at)
    }

    pub(super) fn ended(&mut self, user: u32, intended: Duration, now: Duration) {
        let next = match self.pace {
            Pace::AtOnce => now,
            Pace::Every(pace) => now.max(intended.saturating_add(pace)),
            Pace::After(pause) => now.saturating_add(pause),
        };
        self.ready.push(Reverse((next, user)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_user_asks_again_when_its_pace_says_so() {
        // What one user intends when each answer takes 30, 250 and 30 ms.
        let cases = [
            (Pace::AtOnce, [0, 30, 280, 310]),
            (Pace::Every(at(100)), [0, 100, 350, 450]),
            (Pace::After(at(100)), [0, 130, 480, 610]),
        ];
        for (pace, expected) in cases {
            let mut closed = Closed::new(1, pace);
            let mut got = Vec::new();
            for latency in [30, 250, 30, 0] {
                let due = closed.next_due().unwrap();
                assert_eq!(due.checked_sub(at(1)).and_then(|before| closed.take(before)), None);
                let start = closed.take(due).unwrap();
                assert_eq!(start.first, got.is_empty());
                assert_eq!(closed.next_due(), None, "it waits for its answer");
                got.push(u64::try_from(start.intended.as_millis()).unwrap());
                closed.ended(start.user, start.intended, start.intended + at(latency));
            }
            assert_eq!(got, expected, "{pace:?}");
        }
    }

    #[test]
    fn all_users_begin_at_once() {
        let mut closed = Closed::new(3, Pace::AtOnce);
        let users: Vec<u32> = std::iter::from_fn(|| closed.take(at(0))).map(|s| s.user).collect();
        assert_eq!(users, [0, 1, 2]);
    }
}
