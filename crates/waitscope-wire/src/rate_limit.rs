//! The durations in `x-ratelimit-reset-*` headers.

use std::fmt::Write as _;
use std::time::Duration;

/// Writes a duration as rate-limit headers have it: `12ms`, `1s`, `4m12.172s`, `1h0m0.5s`.
///
/// A part of a millisecond counts as a whole one, so that who waits that long has waited enough.
pub fn format_reset(duration: Duration) -> String {
    let total_ms = duration.as_nanos().div_ceil(1_000_000);
    if total_ms == 0 {
        return "0s".to_owned();
    }
    if total_ms < 1_000 {
        return format!("{total_ms}ms");
    }
    let (total_seconds, ms) = (total_ms / 1_000, total_ms % 1_000);
    let (hours, minutes, seconds) =
        (total_seconds / 3_600, total_seconds / 60 % 60, total_seconds % 60);
    let mut text = String::new();
    if hours > 0 {
        let _ = write!(text, "{hours}h");
    }
    if total_seconds >= 60 {
        let _ = write!(text, "{minutes}m");
    }
    let _ = write!(text, "{seconds}");
    if ms > 0 {
        let _ = write!(text, ".{}", format!("{ms:03}").trim_end_matches('0'));
    }
    text.push('s');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resets_are_written_like_the_real_ones() {
        for (microseconds, expected) in [
            (0, "0s"),
            (1, "1ms"),
            (12_000, "12ms"),
            (999_001, "1s"),
            (1_000_000, "1s"),
            (1_500_000, "1.5s"),
            (8_640_000, "8.64s"),
            (59_700_000, "59.7s"),
            (60_000_000, "1m0s"),
            (252_172_000, "4m12.172s"),
            (360_000_000, "6m0s"),
            (3_600_500_000, "1h0m0.5s"),
        ] {
            assert_eq!(format_reset(Duration::from_micros(microseconds)), expected);
        }
        assert!(format_reset(Duration::MAX).ends_with('s'));
    }
}
