//! The `Server-Timing` header (W3C Server Timing, section 4.1): where a server says that an
//! answer's time went.

use std::time::Duration;

/// One metric of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    /// Its name, a token.
    pub name: String,
    /// Its duration.
    pub duration: Duration,
}

/// The most metrics that are read from one answer, and the longest name: a server may not fill
/// our memory.
const MOST: usize = 32;
const LONGEST_NAME: usize = 64;

/// Reads all header values of one answer.
pub fn parse_all<'a>(values: impl IntoIterator<Item = &'a str>) -> Vec<Metric> {
    values.into_iter().flat_map(parse).take(MOST).collect()
}

/// Reads one header value: `db;dur=1.2, classify;desc="first call";dur=912`. Metrics without a
/// duration carry none and are left out, and so is everything malformed. Durations are
/// milliseconds.
fn parse(value: &str) -> impl Iterator<Item = Metric> {
    split_unquoted(value, ',').filter_map(metric)
}

fn metric(text: &str) -> Option<Metric> {
    let mut parts = split_unquoted(text, ';');
    let name = parts.next()?.trim();
    if !(1..=LONGEST_NAME).contains(&name.len()) || !name.bytes().all(is_token_byte) {
        return None;
    }
    let duration_ms = parts.find_map(|parameter| {
        let (key, value) = parameter.split_once('=')?;
        let is_duration = key.trim().eq_ignore_ascii_case("dur");
        is_duration.then(|| value.trim().trim_matches('"').parse::<f64>().ok())?
    })?;
    let duration = Duration::try_from_secs_f64(duration_ms / 1000.0).ok()?;
    Some(Metric { name: name.to_owned(), duration })
}

/// RFC 9110, 5.6.2: the characters of a token.
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Splits at a separator outside of quoted strings, in which a backslash hides the next character.
fn split_unquoted(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let (mut quoted, mut escaped) = (false, false);
    text.split(move |character| {
        if escaped {
            escaped = false;
        } else if character == '"' {
            quoted = !quoted;
        } else if quoted && character == '\\' {
            escaped = true;
        } else if character == separator && !quoted {
            return true;
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn headers_are_read() {
        let cases: [(&str, &[(&str, f64)]); 9] = [
            ("db;dur=1.2, classify;dur=912", &[("db", 1.2), ("classify", 912.0)]),
            ("db;desc=\"a, b; dur=9\";dur=2", &[("db", 2.0)]),
            ("db;desc=\"say \\\"x\\\", y\";dur=3,b;dur=4", &[("db", 3.0), ("b", 4.0)]),
            ("cache;desc=hit, total; DUR = \"5\"", &[("total", 5.0)]),
            ("missing", &[]),
            ("", &[]),
            (";dur=1", &[]),
            ("a b;dur=1, c;dur=x, d;dur=-1, e;dur=NaN, f;dur=1e400", &[]),
            ("ok;dur=0", &[("ok", 0.0)]),
        ];
        for (value, expected) in cases {
            let got: Vec<(String, f64)> =
                parse(value).map(|m| (m.name, m.duration.as_secs_f64() * 1e3)).collect();
            assert_eq!(got.len(), expected.len(), "{value}: {got:?}");
            for ((name, ms), (want_name, want_ms)) in got.iter().zip(expected) {
                assert_eq!(name, want_name, "{value}");
                assert!((ms - want_ms).abs() < 1e-6, "{value}");
            }
        }
    }

    proptest! {
        #[test]
        fn no_header_breaks_the_reader(value in ".{0,200}") {
            let values = [value.as_str(); 40];
            prop_assert!(parse_all(values).len() <= MOST);
        }
    }
}
