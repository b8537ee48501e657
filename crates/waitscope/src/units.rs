//! Numbers with units on the command line. Every unknown unit is answered with the known ones.

use std::time::Duration;

/// The units of a duration, in seconds.
const DURATION_UNITS: [(&str, f64); 5] =
    [("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];

/// The longest duration that makes sense anywhere: a day.
const LONGEST: Duration = Duration::from_hours(24);

/// Reads a duration such as `100ms`, `2s`, `1.5m`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = split(text);
    let Some((_, seconds)) = DURATION_UNITS.iter().find(|(name, _)| *name == unit) else {
        let known = DURATION_UNITS.map(|(name, _)| name).join(", ");
        let what = if unit.is_empty() { "has no unit".into() } else { format!("unit `{unit}`") };
        return Err(format!("{what}; write a number with one of {known}, such as 100ms"));
    };
    let value: f64 = number.parse().map_err(|_| format!("`{number}` is not a number"))?;
    let duration = Duration::try_from_secs_f64(value * seconds)
        .map_err(|_| "must not be negative or endless".to_string())?;
    if duration > LONGEST { Err("must be at most 24h".into()) } else { Ok(duration) }
}

/// Reads a duration above zero.
pub(crate) fn positive_duration(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err("must be more than zero".into()),
        duration => Ok(duration),
    }
}

/// Reads a duration above zero as an environment variable gives it, where a bare number means
/// seconds.
pub(crate) fn positive_duration_or_seconds(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    if text.parse::<f64>().is_ok() {
        return positive_duration(&format!("{text}s"));
    }
    positive_duration(text)
}

/// The units of a rate, in seconds.
const RATE_UNITS: [(&str, f64); 4] = [("s", 1.0), ("min", 60.0), ("m", 60.0), ("h", 3600.0)];

/// Reads a rate such as `100/s` or `6000/min`, per second.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    let known = || "write a number and /s, /min or /h, such as 100/s".to_owned();
    let (number, unit) = text.split_once('/').ok_or_else(known)?;
    let seconds = RATE_UNITS.iter().find(|(name, _)| *name == unit.trim());
    let (_, seconds) = seconds.ok_or_else(|| format!("unit `/{}`; {}", unit.trim(), known()))?;
    let number = number.trim();
    let value: f64 = number.parse().map_err(|_| format!("`{number}` is not a number"))?;
    if value.is_finite() && value >= 0.0 {
        Ok(value / seconds)
    } else {
        Err("must not be negative or endless".into())
    }
}

/// Reads a whole number from 1 to `most`.
pub(crate) fn count(most: u64) -> impl Fn(&str) -> Result<u64, String> + Clone + Send + Sync {
    move |text| match text.trim().parse() {
        Ok(count) if (1..=most).contains(&count) => Ok(count),
        _ => Err(format!("must be a whole number from 1 to {most}")),
    }
}

/// Splits `100ms` into `100` and `ms`.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len());
    (text[..end].trim(), text[end..].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        let cases = [
            ("100ms", Ok(0.1)),
            ("2s", Ok(2.0)),
            ("0.5 s", Ok(0.5)),
            ("1.5m", Ok(90.0)),
            ("250us", Ok(0.00025)),
            ("24h", Ok(86400.0)),
            ("0s", Ok(0.0)),
            ("100", Err("has no unit")),
            ("2sec", Err("unit `sec`")),
            ("-1s", Err("negative")),
            ("1e3s", Err("unit `e3s`")),
            ("ms", Err("not a number")),
            ("", Err("has no unit")),
            ("25h", Err("at most 24h")),
            ("99999999999999999999999h", Err("endless")),
            ("NaNs", Err("unit")),
        ];
        for (text, expected) in cases {
            match (duration(text), expected) {
                (Ok(got), Ok(want)) => assert_eq!(got, Duration::from_secs_f64(want), "{text}"),
                (Err(got), Err(want)) => assert!(got.contains(want), "{text}: {got}"),
                (got, want) => panic!("{text}: got {got:?}, wanted {want:?}"),
            }
        }
    }

    #[test]
    fn rates() {
        let cases = [
            ("100/s", Ok(100.0)),
            ("6000/min", Ok(100.0)),
            ("90 / m", Ok(1.5)),
            ("36/h", Ok(0.01)),
            ("0/s", Ok(0.0)),
            ("100", Err("such as 100/s")),
            ("100/day", Err("unit `/day`")),
            ("many/s", Err("not a number")),
            ("-1/s", Err("negative")),
            ("NaN/s", Err("endless")),
            ("inf/s", Err("endless")),
        ];
        for (text, expected) in cases {
            match (rate(text), expected) {
                (Ok(got), Ok(want)) => assert!((got - want).abs() < 1e-12, "{text}: {got}"),
                (Err(got), Err(want)) => assert!(got.contains(want), "{text}: {got}"),
                (got, want) => panic!("{text}: got {got:?}, wanted {want:?}"),
            }
        }
    }

    #[test]
    fn an_unknown_unit_lists_the_known_ones() {
        let error = duration("2days").unwrap_err();
        for (unit, _) in DURATION_UNITS {
            assert!(error.contains(unit), "{error}");
        }
    }

    #[test]
    fn counts() {
        for (text, expected) in [("1", Some(1)), ("10", Some(10)), (" 7 ", Some(7))] {
            assert_eq!(count(10)(text).ok(), expected, "{text}");
        }
        for text in ["0", "11", "-5", "1.5", "", "many", "99999999999999999999"] {
            assert_eq!(count(10)(text), Err("must be a whole number from 1 to 10".into()));
        }
    }

    #[test]
    fn bare_numbers_are_seconds_in_the_environment() {
        assert_eq!(positive_duration_or_seconds("0.3"), Ok(Duration::from_millis(300)));
        assert_eq!(positive_duration_or_seconds("300ms"), Ok(Duration::from_millis(300)));
        assert!(positive_duration_or_seconds("0").is_err());
        assert!(positive_duration_or_seconds("-1").is_err());
    }
}
