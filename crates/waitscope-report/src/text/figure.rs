//! Numbers with their units, as short as they stay meaningful.

/// A time: `18.8 s`, `4.4 s`, `912 ms`, `1.2 ms`, `0.45 ms`.
pub(super) fn time_ms(ms: f64) -> String {
    // 999.5 ms would be rounded to 1000 ms.
    if ms.abs() >= 999.5 { seconds(ms / 1000.0) } else { with_unit(ms, "ms") }
}

/// A time for lines and columns of them, without a space: `2.04s`, `450ms`, `45.3ms`, `1.23ms`.
pub(super) fn compact_ms(ms: f64) -> String {
    let (value, unit) = if ms.abs() >= 999.5 { (ms / 1000.0, "s") } else { (ms, "ms") };
    let decimals = match (value.abs(), unit) {
        (size, "s") => usize::from(size < 999.95) + usize::from(size < 99.995),
        (size, _) => usize::from(size < 99.95) + usize::from(size < 9.995),
    };
    with_decimals(value, decimals, unit).replace(' ', "")
}

/// An amount of data: `512 B`, `1.2 kB`, `34.5 MB`.
pub(super) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1e3;
    let mut units = UNITS.iter();
    let mut unit = units.next();
    while let Some(larger) = units.as_slice().first().filter(|_| value >= 999.95) {
        value /= 1e3;
        unit = Some(larger);
        units.next();
    }
    with_decimals(value, 1, unit.unwrap_or(&""))
}

/// A time that stays in seconds however short it is: `18.8 s`, `0.23 s`.
pub(super) fn seconds(seconds: f64) -> String {
    with_unit(seconds, "s")
}

/// A share: `1.2 %`, `100 %`.
pub(super) fn percent(percent: f64) -> String {
    with_decimals(percent, usize::from(percent.abs() < 99.95), "%")
}

/// A share without decimals, for lines of them: `62 %`, `<1 %`.
pub(super) fn whole_percent(percent: f64) -> String {
    with_decimals(percent, 0, "%")
}

/// A rate or another number without a unit: `1.6`, `0.43`, `120`.
pub(super) fn number(number: f64) -> String {
    with_unit(number, "").trim_end().to_owned()
}

/// Milliseconds with one decimal, for columns of them: `1402.1`.
pub(super) fn column_ms(ms: f64) -> String {
    with_decimals(ms, 1, "").trim_end().to_owned()
}

/// `1 request`, `8 requests`.
pub(super) fn count(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

fn with_unit(value: f64, unit: &str) -> String {
    let decimals = match value.abs() {
        size if size >= 99.95 => 0,
        size if size >= 0.995 => 1,
        _ => 2,
    };
    with_decimals(value, decimals, unit)
}

fn with_decimals(value: f64, decimals: usize, unit: &str) -> String {
    let smallest = 0.1_f64.powi(i32::try_from(decimals).unwrap_or(0));
    match value {
        value if !value.is_finite() => format!("? {unit}"),
        0.0 => format!("0 {unit}"),
        value if value.abs() >= 1e9 => format!("{value:.1e} {unit}"),
        // Something that is not nothing must not be shown as nothing.
        value if value.abs() < smallest / 2.0 => format!("<{smallest:.decimals$} {unit}"),
        value => format!("{value:.decimals$} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short_and_keep_their_meaning() {
        let cases = [
            (18_800.0, "18.8 s"),
            (4400.0, "4.4 s"),
            (120_000.0, "120 s"),
            (99_949.0, "99.9 s"),
            (99_960.0, "100 s"),
            (1000.0, "1.0 s"),
            (999.6, "1.0 s"),
            (999.4, "999 ms"),
            (250.0, "250 ms"),
            (99.96, "100 ms"),
            (45.31, "45.3 ms"),
            (1.2, "1.2 ms"),
            (0.996, "1.0 ms"),
            (0.45, "0.45 ms"),
            (0.001, "<0.01 ms"),
            (0.0, "0 ms"),
            (-1.2, "-1.2 ms"),
            (f64::NAN, "? ms"),
            (f64::INFINITY, "? s"),
            (1e300, "1.0e297 s"),
        ];
        for (ms, expected) in cases {
            assert_eq!(time_ms(ms), expected, "{ms}");
        }
    }

    #[test]
    fn compact_times_keep_three_digits() {
        let cases = [
            (2_040.0, "2.04s"),
            (999.6, "1.00s"),
            (999.4, "999ms"),
            (99_990.0, "99.99s"),
            (100_000.0, "100.0s"),
            (3_600_000.0, "3600s"),
            (45.31, "45.3ms"),
            (1.234, "1.23ms"),
            (0.45, "0.45ms"),
            (0.001, "<0.01ms"),
            (0.0, "0ms"),
            (f64::NAN, "?ms"),
        ];
        for (ms, expected) in cases {
            assert_eq!(compact_ms(ms), expected, "{ms}");
        }
    }

    #[test]
    fn amounts_have_the_unit_that_fits() {
        let cases = [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.0 kB"),
            (999_949, "999.9 kB"),
            (999_950, "1.0 MB"),
            (34_512_000, "34.5 MB"),
            (7_000_000_000_000_000, "7000.0 TB"),
        ];
        for (amount, expected) in cases {
            assert_eq!(bytes(amount), expected);
        }
    }

    #[test]
    fn other_figures() {
        assert_eq!(seconds(0.23), "0.23 s");
        assert_eq!(percent(1.23), "1.2 %");
        assert_eq!(percent(99.96), "100 %");
        assert_eq!(percent(0.01), "<0.1 %");
        assert_eq!(whole_percent(61.6), "62 %");
        assert_eq!(whole_percent(0.2), "<1 %");
        assert_eq!(whole_percent(0.0), "0 %");
        assert_eq!(number(1.6), "1.6");
        assert_eq!(column_ms(1402.14), "1402.1");
        assert_eq!(count(1, "request"), "1 request");
        assert_eq!(count(0, "request"), "0 requests");
    }
}
