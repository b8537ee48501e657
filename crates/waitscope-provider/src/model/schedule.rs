//! When each token of a stream is due, counted from the call's arrival.

use std::time::Duration;

/// A token a `gap`, the first one after `first`.
pub fn steady(first: Duration, gap: Duration, tokens: u32) -> impl Iterator<Item = Duration> {
    (0..tokens).map(move |token| first + gap * token)
}

/// Spreads a call's total over its tokens: half of it until the first one, the rest in equal gaps,
/// so that the last one is due when the whole answer would have been. A single token comes last.
pub fn spread(total: Duration, tokens: u32) -> impl Iterator<Item = Duration> {
    let gaps = tokens.saturating_sub(1);
    let first = if gaps == 0 { total } else { total / 2 };
    // Each from the total, not from the one before: rounding never adds up.
    (0..tokens).map(move |token| match gaps {
        0 => first,
        _ => first + total.saturating_sub(first) * token / gaps,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
