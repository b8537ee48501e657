//! The intended starts of an open loop: `--stages` and `--arrivals-file`.

use std::time::Duration;

use waitscope_load::pacer::{Profile, Stage};

use crate::units;

/// Stages with the profile that they make.
#[derive(Debug, Clone)]
pub(super) struct Stages {
    pub(super) stages: Vec<Stage>,
    pub(super) profile: Profile,
}

/// Reads stages such as `10/s:30s,100/s:60s`.
pub(super) fn stages(text: &str) -> Result<Stages, String> {
    let stage = |text: &str| {
        let (rate, lasts) = text
            .split_once(':')
            .ok_or("write RATE:DURATION[,RATE:DURATION...], such as 10/s:30s,100/s:60s")?;
        Ok(Stage { rate_per_s: units::rate(rate)?, lasts: units::duration(lasts)? })
    };
    let stages: Vec<Stage> = text.split(',').map(stage).collect::<Result<_, String>>()?;
    let profile = Profile::stages(&stages).map_err(|error| error.to_string())?;
    Ok(Stages { stages, profile })
}

/// Reads a constant rate such as `100/s`.
pub(super) fn rate(text: &str) -> Result<f64, String> {
    let rate = units::rate(text)?;
    Profile::constant(rate).map_err(|error| error.to_string())?;
    Ok(rate)
}

/// How many times as fast a file is replayed.
pub(super) fn speed(text: &str) -> Result<f64, String> {
    match text.trim().trim_end_matches('x').parse::<f64>() {
        Ok(speed) if speed > 0.0 && speed.is_finite() => Ok(speed),
        _ => Err("must be a number above 0, such as 2 for twice as fast".into()),
    }
}

/// Reads the times of a file, one number of seconds per line in ascending order; blank lines and
/// those that begin with `#` are passed over. The first one is the start of the run.
pub(super) fn trace(text: &str, speed: f64) -> Result<Vec<Duration>, String> {
    let mut times = Vec::new();
    let (mut first, mut last) = (None, f64::NEG_INFINITY);
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let at = || format!("line {}: ", index + 1);
        let seconds: f64 =
            line.parse().map_err(|_| format!("{}`{line}` is no number of seconds", at()))?;
        if seconds < last {
            return Err(format!("{}{line} comes after {last}: sort the times", at()));
        }
        last = seconds;
        let since_first = (seconds - *first.get_or_insert(seconds)) / speed;
        let time = Duration::try_from_secs_f64(since_first);
        times.push(time.map_err(|_| format!("{}`{line}` is out of range", at()))?);
    }
    if times.is_empty() { Err("has no line with a time".into()) } else { Ok(times) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_are_rates_and_durations() {
        let read = stages("10/s:30s, 6000/min:1m,0/s:500ms").unwrap();
        let got: Vec<(f64, f64)> =
            read.stages.iter().map(|stage| (stage.rate_per_s, stage.lasts.as_secs_f64())).collect();
        assert_eq!(got, [(10.0, 30.0), (100.0, 60.0), (0.0, 0.5)]);
        assert_eq!(read.profile.lasts(), Some(Duration::from_millis(90_500)));
        let cases = [
            ("", "such as 10/s:30s"),
            ("10/s", "such as 10/s:30s"),
            ("10:30s", "such as 100/s"),
            ("10/s:30", "no unit"),
            ("10/s:0s", "longer than no time"),
            ("0/s:10s", "above zero"),
            ("1e9/s:10s", "10,000,000"),
        ];
        for (text, expected) in cases {
            let error = stages(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn rates_and_speeds_are_above_zero() {
        assert_eq!(rate("90/min"), Ok(1.5));
        assert!(rate("0/s").unwrap_err().contains("above zero"));
        assert_eq!(speed("2x"), Ok(2.0));
        for text in ["0", "-1", "NaN", "inf", "fast"] {
            assert!(speed(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_file_of_times_begins_at_its_first_one() {
        let ms = |times: Vec<Duration>| times.iter().map(Duration::as_millis).collect::<Vec<_>>();
        let text = "# seconds\n1700000000.5\n\n1700000000.5\r\n 1700000002.0\n";
        assert_eq!(ms(trace(text, 1.0).unwrap()), [0, 0, 1500]);
        assert_eq!(ms(trace(text, 2.0).unwrap()), [0, 0, 750]);
        let cases = [
            ("", "no line"),
            ("# only\n", "no line"),
            ("1\nx\n", "line 2: `x` is no number"),
            ("2\n1\n", "line 2: 1 comes after 2"),
            ("NaN\n", "line 1"),
            ("0\ninf\n", "line 2: `inf` is out of range"),
        ];
        for (text, expected) in cases {
            let error = trace(text, 1.0).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
