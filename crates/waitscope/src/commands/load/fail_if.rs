//! `--fail-if`: lines such as `p95>500ms` that a run must not cross.

use waitscope_load::load::{Comparison, Counted, Figure, Limit, Metric, Times};

use crate::units;

const TIMES: [(&str, Times); 7] = [
    ("response-", Times::Response),
    ("service-", Times::Service),
    ("lag-", Times::Lag),
    ("first-byte-", Times::FirstByte),
    ("ttfb-", Times::FirstByte),
    ("connect-", Times::Connect),
    ("health-", Times::Health),
];

const FIGURES: [(&str, Figure); 10] = [
    ("min", Figure::Min),
    ("mean", Figure::Mean),
    ("p50", Figure::P50),
    ("median", Figure::P50),
    ("p90", Figure::P90),
    ("p95", Figure::P95),
    ("p99", Figure::P99),
    ("p99.9", Figure::P999),
    ("p999", Figure::P999),
    ("max", Figure::Max),
];

const COUNTS: [(&str, Counted); 8] = [
    ("errors", Counted::Errors),
    ("failed", Counted::Failed),
    ("bad-statuses", Counted::BadStatuses),
    ("timeouts", Counted::Timeouts),
    ("unfinished", Counted::Unfinished),
    ("unsent", Counted::Unsent),
    ("held-back", Counted::HeldBack),
    ("unhealthy", Counted::Unhealthy),
];

/// Reads one line.
pub(super) fn parse(text: &str) -> Result<Limit, String> {
    let text = text.trim();
    let limit = |metric| Limit { text: text.to_owned(), metric };
    if text == "client-limited" {
        return Ok(limit(Metric::ClientLimited));
    }
    let at = text.find(['<', '>']).ok_or_else(|| {
        "write a line such as 'p95>500ms', 'errors>1%', 'rate<100/s' or 'client-limited'".to_owned()
    })?;
    let (name, rest) = (text[..at].trim(), &text[at + 1..]);
    let (or_equal, value) = match rest.strip_prefix('=') {
        Some(value) => (true, value.trim()),
        None => (false, rest.trim()),
    };
    let comparison = match (&text[at..=at], or_equal) {
        (">", false) => Comparison::Above,
        (">", true) => Comparison::AtLeast,
        (_, false) => Comparison::Below,
        (_, true) => Comparison::AtMost,
    };
    metric(name, comparison, value).map(limit)
}

fn metric(name: &str, comparison: Comparison, value: &str) -> Result<Metric, String> {
    if name == "rate" {
        return Ok(Metric::Rate { comparison, per_s: units::rate(value)? });
    }
    if let Some((_, counted)) = COUNTS.iter().find(|(known, _)| *known == name) {
        let counted = *counted;
        return Ok(match value.strip_suffix('%') {
            Some(share) => Metric::Share { counted, comparison, percent: number(share, 100.0)? },
            None => Metric::Count { counted, comparison, count: number(value, f64::MAX)? },
        });
    }
    let (times, figure) = TIMES
        .iter()
        .find_map(|(prefix, times)| Some((*times, name.strip_prefix(prefix)?)))
        .unwrap_or((Times::Latency, name));
    let Some((_, figure)) = FIGURES.iter().find(|(known, _)| *known == figure) else {
        return Err(unknown(name));
    };
    let ms = units::duration(value)?.as_secs_f64() * 1e3;
    Ok(Metric::Latency { times, figure: *figure, comparison, ms })
}

fn number(text: &str, most: f64) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(number) if (0.0..=most).contains(&number) => Ok(number),
        _ => Err(format!("`{}` is no number of requests and no share of them", text.trim())),
    }
}

fn unknown(name: &str) -> String {
    let names =
        |names: &mut dyn Iterator<Item = &&str>| names.copied().collect::<Vec<&str>>().join(", ");
    let figures = names(&mut FIGURES.iter().map(|(name, _)| name));
    let counts = names(&mut COUNTS.iter().map(|(name, _)| name));
    format!(
        "`{name}` is not known; known are {figures} (with response-, service-, lag-, first-byte-, \
         connect- or health- before it), {counts}, rate, client-limited"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn latency(times: Times, figure: Figure, comparison: Comparison, ms: f64) -> Metric {
        Metric::Latency { times, figure, comparison, ms }
    }

    #[test]
    fn lines_are_read() {
        use Comparison::{Above, AtLeast, AtMost, Below};
        let errors = Counted::Errors;
        let cases = [
            ("p95>500ms", latency(Times::Latency, Figure::P95, Above, 500.0)),
            (" p99.9 >= 2s ", latency(Times::Latency, Figure::P999, AtLeast, 2000.0)),
            ("median<=1ms", latency(Times::Latency, Figure::P50, AtMost, 1.0)),
            ("service-max>1m", latency(Times::Service, Figure::Max, Above, 60_000.0)),
            ("ttfb-p50>10ms", latency(Times::FirstByte, Figure::P50, Above, 10.0)),
            ("lag-p99>0s", latency(Times::Lag, Figure::P99, Above, 0.0)),
            ("errors>1%", Metric::Share { counted: errors, comparison: Above, percent: 1.0 }),
            ("errors>0", Metric::Count { counted: errors, comparison: Above, count: 0.0 }),
            (
                "bad-statuses>=3",
                Metric::Count { counted: Counted::BadStatuses, comparison: AtLeast, count: 3.0 },
            ),
            ("rate<6000/min", Metric::Rate { comparison: Below, per_s: 100.0 }),
            ("health-p99>250ms", latency(Times::Health, Figure::P99, Above, 250.0)),
            (
                "unhealthy>1%",
                Metric::Share { counted: Counted::Unhealthy, comparison: Above, percent: 1.0 },
            ),
            ("client-limited", Metric::ClientLimited),
        ];
        for (text, expected) in cases {
            let limit = parse(text).unwrap();
            assert_eq!((limit.metric, limit.text.as_str()), (expected, text.trim()), "{text}");
        }
    }

    #[test]
    fn what_is_no_line_says_why() {
        let cases = [
            ("", "such as 'p95>500ms'"),
            ("slow", "such as 'p95>500ms'"),
            ("p95=500ms", "such as"),
            ("p42>1s", "`p42` is not known"),
            (">1s", "`` is not known"),
            ("p95>500", "no unit"),
            ("p95>", "no unit"),
            ("p95>fast", "unit `fast`"),
            ("errors>many", "`many` is no number"),
            ("errors>101%", "`101` is no number"),
            ("errors>-1", "`-1` is no number"),
            ("errors>NaN", "`NaN` is no number"),
            ("rate<100", "such as 100/s"),
            ("lag-speed>1s", "`lag-speed` is not known"),
        ];
        for (text, expected) in cases {
            let error = parse(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
