//! When the next thing is due. Pure: the time comes in as an argument.

use std::time::Duration;

/// Intended starts at a fixed distance: 0, `every`, 2 x `every`, ... since the start of the run.
/// A late start does not shift the ones after it.
#[derive(Debug, Clone, Copy)]
pub struct Constant {
    every: Duration,
    next: u32,
}

impl Constant {
    /// One start per `every`, which must be above zero.
    pub fn new(every: Duration) -> Self {
        Self { every, next: 0 }
    }

    /// The next intended start, in time since the start of the run.
    pub fn take(&mut self) -> Duration {
        let intended = self.every.saturating_mul(self.next);
        self.next = self.next.saturating_add(1);
        intended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intended_starts_do_not_drift() {
        let mut pacer = Constant::new(Duration::from_millis(100));
        let starts: Vec<u128> = (0..4).map(|_| pacer.take().as_millis()).collect();
        assert_eq!(starts, [0, 100, 200, 300]);
    }
}
