//! The figures of a run. Pure.

use std::time::Duration;

use waitscope_record::{
    Cell, ErrorKind, LatencyFigures, LoadInputs, LoadPart, LoadSummary, Series,
};
use waitscope_stats::latencies::Latencies;

use super::{Run, is_open};
use crate::engine::{Measured, Tally};

/// Bins of the latency histogram.
const BINS: u32 = 24;

/// Where the percentile curve has its points.
const CURVE: [f64; 19] = [
    0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 75.0, 80.0, 85.0, 90.0, 95.0, 97.5, 99.0, 99.5,
    99.9, 99.99, 100.0,
];

/// All that is counted.
pub(super) fn summary(inputs: &LoadInputs, run: &Run<'_>) -> LoadSummary {
    let tally = &run.measured.tally;
    let wall_s = tally.wall().as_secs_f64();
    let per_second = |amount: f64| if wall_s > 0.0 { amount / wall_s } else { 0.0 };
    let bad = |status: &&u16| **status >= 400;
    let bad_statuses = tally.statuses.iter().filter(|(s, _)| bad(s)).map(|(_, count)| count).sum();
    let client_busy_percent = busy_percent(run.measured);
    let elapsed_s = run.measured.elapsed.as_secs_f64();
    let mut summary = LoadSummary {
        requests: tally.requests(),
        answered: tally.answered(),
        statuses: tally.statuses.iter().map(|(s, count)| (s.to_string(), *count)).collect(),
        errors: tally.failed() + bad_statuses,
        failed: tally.failed(),
        bad_statuses,
        error_kinds: error_kinds(tally),
        timeouts: tally.timeouts,
        unfinished: tally.unfinished,
        unsent: tally.unsent,
        warmup: tally.warmup,
        resent: tally.resent,
        reused: tally.reused,
        connections: tally.connections,
        held_back: tally.held_back,
        bytes: tally.bytes,
        encoded: tally.encoded,
        wall_s,
        rate_per_s: per_second(tally.answered() as f64),
        response: latencies(&tally.response, tally.censored_response.as_ref()),
        service: latencies(&tally.service, tally.censored_service.as_ref()),
        lag: latencies(&tally.lag, None),
        first_byte: latencies(&tally.first_byte, None),
        connect: latencies(&tally.connect, None),
        parts: parts(tally),
        mean_in_flight: per_second(tally.in_flight_seconds),
        mean_in_flight_by_little: per_second(tally.service.total().as_secs_f64()),
        max_in_flight: tally.max_in_flight.min(inputs.concurrency.unwrap_or(u64::MAX)),
        client_lag_p99_ms: tally.lag.quantile(0.99).map(ms),
        client_cpu_seconds: run.client_cpu_seconds,
        client_cpu_percent: share_percent(run.client_cpu_seconds, elapsed_s),
        client_busy_percent,
        client_peak_mb: run.client_peak_bytes.map(|bytes| bytes as f64 / 1e6),
        client_limited: false,
        client_limited_reason: None,
        health: run.health.map(super::health::figures),
    };
    summary.client_limited_reason = client_limit(inputs, &summary);
    summary.client_limited = summary.client_limited_reason.is_some();
    summary
}

/// Why the load generator was the limit, if it was: its lag is not small beside what it measures,
/// or, in an open loop, its threads had no time left.
fn client_limit(inputs: &LoadInputs, summary: &LoadSummary) -> Option<String> {
    const LAG_SHARE: f64 = 0.05;
    const BUSY_PERCENT: f64 = 90.0;
    // Below it a lag says nothing: in a closed loop it delays the next request and is in no
    // latency, and timers are no more exact than that.
    let least_ms = if is_open(inputs) { 0.1 } else { 1.0 };
    // What was held back waited for others to end, as it was told to.
    let was_held = summary.held_back * 100 > summary.requests;
    let lag = summary.client_lag_p99_ms.filter(|lag| !was_held && *lag >= least_ms);
    let median = summary.service.as_ref().map(|service| service.p50_ms);
    if let (Some(lag), Some(median)) = (lag, median)
        && lag > LAG_SHARE * median
    {
        let share = share_percent(lag, median);
        return Some(format!(
            "it started requests up to {lag:.2} ms late (p99), which is {share:.0} % of the median \
             service time of {median:.2} ms"
        ));
    }
    let busy = summary.client_busy_percent;
    (is_open(inputs) && busy > BUSY_PERCENT)
        .then(|| format!("its threads were busy for {busy:.0} % of the time"))
}

/// The share of their time in which the threads were not waiting.
fn busy_percent(measured: &Measured) -> f64 {
    let all = measured.elapsed.as_secs_f64() * f64::from(measured.threads);
    share_percent(all - measured.tally.idle_seconds, all).clamp(0.0, 100.0)
}

fn share_percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole * 100.0 } else { 0.0 }
}

pub(super) fn latencies(of: &Latencies, censored: Option<&Latencies>) -> Option<LatencyFigures> {
    let quantile = |quantile: f64| of.quantile(quantile).map_or(0.0, ms);
    Some(LatencyFigures {
        count: of.count(),
        min_ms: ms(of.fastest()?),
        mean_ms: ms(of.mean()?),
        p50_ms: quantile(0.5),
        p90_ms: quantile(0.9),
        p95_ms: quantile(0.95),
        p99_ms: quantile(0.99),
        p999_ms: quantile(0.999),
        max_ms: ms(of.slowest()?),
        lower_bounds: censored.map(|censored| lower_bounds(of, censored)).unwrap_or_default(),
    })
}

/// The figures that would be notably higher if the censored latencies had no end.
fn lower_bounds(of: &Latencies, censored: &Latencies) -> Vec<String> {
    const NOTABLE: f64 = 1.01;
    const QUANTILES: [(&str, f64); 8] = [
        ("min", 0.0),
        ("mean", 1.0),
        ("p50", 0.5),
        ("p90", 0.9),
        ("p95", 0.95),
        ("p99", 0.99),
        ("p99.9", 0.999),
        ("max", 1.0),
    ];
    let is_bound = |quantile: f64| {
        let at_least = of.quantile(quantile).map_or(0.0, ms);
        let at_most = of.quantile_at_most(quantile, censored).map(ms);
        at_most.is_none_or(|at_most| at_most > at_least * NOTABLE)
    };
    let bounds = QUANTILES.iter().filter(|(_, quantile)| is_bound(*quantile));
    bounds.map(|(name, _)| (*name).to_owned()).collect()
}

/// Failures and bad statuses, the most frequent first.
fn error_kinds(tally: &Tally) -> Vec<ErrorKind> {
    let failures = tally.errors.iter().map(|(class, (count, example))| ErrorKind {
        class: class.name().to_owned(),
        count: *count,
        example: example.clone(),
    });
    let statuses = tally.statuses.iter().filter(|(status, _)| **status >= 400);
    let statuses = statuses.map(|(status, count)| ErrorKind {
        class: format!("status {status}"),
        count: *count,
        example: tally.complaints.get(status).cloned().unwrap_or_default(),
    });
    let mut kinds: Vec<ErrorKind> = failures.chain(statuses).collect();
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.count));
    kinds
}

fn parts(tally: &Tally) -> Vec<LoadPart> {
    let whole = tally.service.total().as_secs_f64();
    let part = |(name, of): (&String, &Latencies)| {
        Some(LoadPart {
            name: name.clone(),
            count: of.count(),
            p50_ms: ms(of.median()?),
            p99_ms: ms(of.quantile(0.99)?),
            share_percent: share_percent(of.total().as_secs_f64(), whole),
        })
    };
    let mut parts: Vec<LoadPart> = tally.parts.iter().filter_map(part).collect();
    parts.sort_by(|a, b| b.share_percent.total_cmp(&a.share_percent));
    parts
}

/// What the figures look like over latency and over time.
pub(super) fn series(inputs: &LoadInputs, tally: &Tally) -> Vec<Series> {
    let latency = if is_open(inputs) { &tally.response } else { &tally.service };
    let mut series = Vec::new();
    if latency.count() > 0 {
        series.push(histogram(latency));
        series.push(percentiles(latency));
    }
    if !tally.timeline.steps().is_empty() {
        series.push(timeline(tally));
    }
    series
}

fn histogram(latency: &Latencies) -> Series {
    let edges = edges(latency);
    let counts = latency.counts_between(&edges);
    let rows = edges
        .windows(2)
        .zip(counts)
        .map(|(edge, count)| vec![number(ms(edge[0])), number(ms(edge[1])), number(count as f64)]);
    table("latency_histogram", &["from_ms", "to_ms", "count"], rows.collect())
}

/// The edges of the bins: equal steps where all latencies are of one size, equal ratios otherwise.
fn edges(latency: &Latencies) -> Vec<Duration> {
    /// From this ratio between the slowest and the fastest on.
    const RATIO: f64 = 10.0;
    /// Up to this one, there is nothing to tell apart.
    const SAME: f64 = 1.01;
    let of = |latency: Option<Duration>| latency.unwrap_or_default().as_secs_f64().max(1e-9);
    let (low, high) = (of(latency.fastest()), of(latency.slowest()));
    if high <= low * SAME {
        return vec![latency.fastest().unwrap_or_default(), latency.slowest().unwrap_or_default()];
    }
    let at = |bin: u32| {
        let share = f64::from(bin) / f64::from(BINS);
        let is_wide = high > RATIO * low;
        if is_wide { low * (high / low).powf(share) } else { low + (high - low) * share }
    };
    let mut edges: Vec<Duration> = (0..=BINS).map(|bin| Duration::from_secs_f64(at(bin))).collect();
    // Rounding must leave neither of them out.
    edges[0] = latency.fastest().unwrap_or_default();
    edges[BINS as usize] = latency.slowest().unwrap_or_default();
    edges
}

fn percentiles(latency: &Latencies) -> Series {
    let row = |percentile: f64| {
        let value = match percentile {
            0.0 => latency.fastest(),
            100.0 => latency.slowest(),
            _ => latency.quantile(percentile / 100.0),
        };
        vec![number(percentile), Cell::maybe(value.map(ms))]
    };
    table("percentiles", &["percentile", "latency_ms"], CURVE.map(row).into())
}

fn timeline(tally: &Tally) -> Series {
    let step_ms = ms(tally.timeline.step());
    let rows = tally.timeline.steps().iter().enumerate().map(|(index, step)| {
        vec![
            number(index as f64 * step_ms),
            number(step.started as f64),
            number(step.answered as f64),
            number(step.failed as f64),
            number(ms(step.slowest)),
        ]
    });
    let columns = ["start_ms", "started", "answered", "failed", "slowest_ms"];
    table("timeline", &columns, rows.collect())
}

fn table(name: &str, columns: &[&str], rows: Vec<Vec<Cell>>) -> Series {
    let columns = columns.iter().map(|column| (*column).to_owned()).collect();
    Series { name: name.into(), unit: None, columns, rows }
}

fn number(number: f64) -> Cell {
    Cell::Number(number)
}

pub(super) fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::error::ErrorClass;

    fn times(of: impl IntoIterator<Item = u64>) -> Latencies {
        let mut latencies = Latencies::new();
        of.into_iter().for_each(|ms| latencies.record(Duration::from_millis(ms)));
        latencies
    }

    /// 10 answers of 100 ms in a second, one after another.
    fn measured() -> Measured {
        let tally = Tally {
            response: times([100; 10]),
            service: times([100; 10]),
            lag: times([0; 10]),
            statuses: BTreeMap::from([(200, 10)]),
            in_flight_seconds: 1.0,
            max_in_flight: 1,
            idle_seconds: 0.9,
            first_start: Some(Duration::from_millis(5)),
            last_end: Duration::from_millis(1005),
            ..Tally::default()
        };
        Measured { tally, elapsed: Duration::from_secs(1), threads: 1, stopped: false }
    }

    fn sum_up(schedule: &str, measured: &Measured) -> LoadSummary {
        let inputs = LoadInputs { schedule: schedule.into(), ..LoadInputs::default() };
        let run = Run {
            measured,
            client_cpu_seconds: 0.05,
            client_peak_bytes: Some(9_000_000),
            health: None,
        };
        summary(&inputs, &run)
    }

    fn near(got: f64, expected: f64) {
        assert!((got - expected).abs() < 1e-6, "{got} is not {expected}");
    }

    #[test]
    fn the_figures_are_those_that_were_measured() {
        let summary = sum_up("closed", &measured());
        assert_eq!((summary.requests, summary.answered, summary.errors), (10, 10, 0));
        near(summary.wall_s, 1.0);
        near(summary.rate_per_s, 10.0);
        near(summary.mean_in_flight, 1.0);
        near(summary.mean_in_flight_by_little, 1.0);
        near(summary.client_cpu_percent, 5.0);
        near(summary.client_busy_percent, 10.0);
        near(summary.client_peak_mb.unwrap(), 9.0);
        near(summary.service.unwrap().p99_ms, 100.0);
    }

    /// No figure ends at 30 s, or at what two bytes of milliseconds hold.
    #[test]
    fn latencies_of_minutes_are_what_they_were() {
        let (mut measured, seconds) = (measured(), [45, 95, 600]);
        let latencies = || times(seconds.iter().map(|s| s * 1000));
        (measured.tally.service, measured.tally.response) = (latencies(), latencies());
        let summary = sum_up("open", &measured);
        for figures in [summary.service.unwrap(), summary.response.unwrap()] {
            near(figures.min_ms, 45e3);
            near(figures.mean_ms, 740e3 / 3.0);
            assert!((95e3..95.1e3).contains(&figures.p50_ms), "{} ms", figures.p50_ms);
            near(figures.p99_ms, 600e3);
            near(figures.max_ms, 600e3);
        }
    }

    #[test]
    fn a_run_of_nothing_has_zeros_and_no_nonsense() {
        let measured = Measured {
            tally: Tally::default(),
            elapsed: Duration::ZERO,
            threads: 1,
            stopped: true,
        };
        let summary = sum_up("open", &measured);
        assert_eq!((summary.requests, summary.service.is_none()), (0, true));
        for figure in [
            summary.wall_s,
            summary.rate_per_s,
            summary.mean_in_flight,
            summary.client_cpu_percent,
            summary.client_busy_percent,
        ] {
            assert!(figure.abs() < f64::EPSILON, "{figure}");
        }
        assert!(series(&LoadInputs::default(), &measured.tally).is_empty());
    }

    #[test]
    fn failures_and_bad_statuses_are_errors_of_their_own_kinds() {
        let mut measured = measured();
        let tally = &mut measured.tally;
        tally.statuses = BTreeMap::from([(200, 5), (302, 1), (503, 4)]);
        tally.complaints = BTreeMap::from([(503, "busy".into())]);
        tally.errors = BTreeMap::from([(ErrorClass::Refused, (9, "refused".into()))]);
        let summary = sum_up("closed", &measured);
        assert_eq!((summary.errors, summary.failed, summary.bad_statuses), (13, 9, 4));
        assert_eq!((summary.requests, summary.answered), (19, 10));
        let kinds: Vec<(&str, u64, &str)> = summary
            .error_kinds
            .iter()
            .map(|kind| (kind.class.as_str(), kind.count, kind.example.as_str()))
            .collect();
        assert_eq!(kinds, [("connection refused", 9, "refused"), ("status 503", 4, "busy")]);
    }

    #[test]
    fn the_generator_is_the_limit_when_it_is_late_or_busy() {
        /// What is changed, by the schedule, and whether the generator is the limit then.
        type Case = (&'static str, fn(&mut Tally), bool);
        let cases: [Case; 9] = [
            ("closed", |_| {}, false),
            ("closed", |t| t.lag = times([0, 4]), false),
            ("closed", |t| t.lag = times([0, 6]), true),
            // A lag of less than 1 ms is in no latency of a closed loop, however short those are.
            ("closed", |t| (t.lag, t.service) = (times([0]), times([0; 10])), false),
            ("open", |t| t.lag = times([0, 6]), true),
            ("open", |t| (t.lag, t.held_back) = (times([0, 6]), 5), false),
            ("open", |t| t.idle_seconds = 0.11, false),
            ("open", |t| t.idle_seconds = 0.05, true),
            ("closed", |t| t.idle_seconds = 0.05, false),
        ];
        for (number, (schedule, change, expected)) in cases.into_iter().enumerate() {
            let mut measured = measured();
            change(&mut measured.tally);
            let summary = sum_up(schedule, &measured);
            assert_eq!(summary.client_limited, expected, "case {number}: {summary:?}");
            assert_eq!(summary.client_limited_reason.is_some(), expected);
        }
    }

    #[test]
    fn every_latency_is_in_one_bin() {
        let cases: [&[u64]; 4] = [&[7], &[2000, 2010, 2070], &[1, 10, 100, 60_000], &[5; 9]];
        for of in cases {
            let latencies = times(of.iter().copied());
            let histogram = histogram(&latencies);
            let rows = 0..histogram.rows.len();
            let counted: f64 = rows.clone().filter_map(|row| histogram.number(row, "count")).sum();
            near(counted, of.len() as f64);
            let last = rows.last().unwrap();
            near(histogram.number(0, "from_ms").unwrap(), *of.iter().min().unwrap() as f64);
            near(histogram.number(last, "to_ms").unwrap(), *of.iter().max().unwrap() as f64);
        }
    }

    #[test]
    fn the_curve_goes_from_the_fastest_to_the_slowest() {
        let curve = percentiles(&times(1..=1000));
        let latency = |row| curve.number(row, "latency_ms").unwrap();
        near(latency(0), 1.0);
        near(latency(CURVE.len() - 1), 1000.0);
        assert!((1..CURVE.len()).all(|row| latency(row) >= latency(row - 1)));
    }
}
