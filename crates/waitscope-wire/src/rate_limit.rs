//! Durations and times in rate-limit and `retry-after` headers.

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

/// A moment in UTC.
struct Civil {
    year: u64,
    /// 1 to 12.
    month: u64,
    /// 1 to 31.
    day: u64,
    /// 0 is Sunday.
    weekday: usize,
    hour: u64,
    minute: u64,
    second: u64,
}

impl Civil {
    /// Source: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms" (2013), `civil_from_days`:
    /// years begin in March and are counted in eras of 400 years, or 146,097 days.
    ///
    /// A part of a second counts as a whole one, so that who waits until then has waited enough.
    fn at(since_1970: Duration) -> Self {
        let seconds = since_1970.as_secs().saturating_add(u64::from(since_1970.subsec_nanos() > 0));
        let days = seconds / 86_400;
        let since_march_0 = days + 719_468;
        let (era, day_of_era) = (since_march_0 / 146_097, since_march_0 % 146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        Self {
            year: era * 400 + year_of_era + u64::from(month <= 2),
            month,
            day: day_of_year - (153 * month_from_march + 2) / 5 + 1,
            // 1970 began on a Thursday.
            weekday: usize::try_from((days + 4) % 7).unwrap_or(0),
            hour: seconds / 3_600 % 24,
            minute: seconds / 60 % 60,
            second: seconds % 60,
        }
    }
}

/// Writes a moment as `anthropic-ratelimit-*-reset` headers have it, in whole seconds:
/// `2026-10-10T00:00:02Z` (RFC 3339). A part of a second counts as a whole one.
pub fn format_rfc3339(since_1970: Duration) -> String {
    let Civil { year, month, day, hour, minute, second, .. } = Civil::at(since_1970);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Writes a moment as the `retry-after` header has it: `Sat, 10 Oct 2026 00:00:02 GMT`
/// (IMF-fixdate: RFC 9110, 5.6.7). A part of a second counts as a whole one.
pub fn http_date(since_1970: Duration) -> String {
    let Civil { year, month, day, weekday, hour, minute, second } = Civil::at(since_1970);
    let weekday = WEEKDAYS.get(weekday).copied().unwrap_or_default();
    let month = usize::try_from(month - 1).ok().and_then(|month| MONTHS.get(month).copied());
    let month = month.unwrap_or_default();
    format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
}

const WEEKDAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 9110, the days around leap days, and ends of years; checked with Python's
    /// `datetime`.
    #[test]
    fn moments_are_written_in_utc() {
        for (seconds, rfc3339, date) in [
            (0, "1970-01-01T00:00:00Z", "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, "1994-11-06T08:49:37Z", "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_782_400, "2000-02-29T00:00:00Z", "Tue, 29 Feb 2000 00:00:00 GMT"),
            (951_868_800, "2000-03-01T00:00:00Z", "Wed, 01 Mar 2000 00:00:00 GMT"),
            (1_767_225_599, "2025-12-31T23:59:59Z", "Wed, 31 Dec 2025 23:59:59 GMT"),
            (1_791_590_402, "2026-10-10T00:00:02Z", "Sat, 10 Oct 2026 00:00:02 GMT"),
            (4_107_542_400, "2100-03-01T00:00:00Z", "Mon, 01 Mar 2100 00:00:00 GMT"),
        ] {
            let moment = Duration::from_secs(seconds);
            assert_eq!(
                (format_rfc3339(moment).as_str(), http_date(moment).as_str()),
                (rfc3339, date)
            );
        }
        let half = Duration::from_millis(1_500);
        assert_eq!(format_rfc3339(half), "1970-01-01T00:00:02Z");
        assert_eq!(http_date(half), "Thu, 01 Jan 1970 00:00:02 GMT");
        assert!(!format_rfc3339(Duration::MAX).is_empty());
        assert!(http_date(Duration::MAX).ends_with(" GMT"));
    }

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
