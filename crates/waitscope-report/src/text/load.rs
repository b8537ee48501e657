//! The text of a `load` run.

use waitscope_record::{
    ErrorKind, LatencyFigures, LoadInputs, LoadSummary, Record, Series, Verdict,
};

use crate::Style;
use crate::page::{Line, Page, Paint, shorten};

use super::table::{Align, Table, name};
use super::{figure, stall};

/// A figure of many times: its name, the same as a heading, and where it stands.
type Figure = (&'static str, &'static [&'static str], fn(&LatencyFigures) -> f64);

/// The figures of the table.
const FIGURES: [Figure; 8] = [
    ("min", &["min"], |times| times.min_ms),
    ("mean", &["mean"], |times| times.mean_ms),
    ("p50", &["p50"], |times| times.p50_ms),
    ("p90", &["p90"], |times| times.p90_ms),
    ("p95", &["p95"], |times| times.p95_ms),
    ("p99", &["p99"], |times| times.p99_ms),
    ("p99.9", &["p99.9"], |times| times.p999_ms),
    ("max", &["max"], |times| times.max_ms),
];

/// Those of the headline.
const HEADLINE: [&str; 4] = ["p50", "p90", "p99", "max"];

/// Those that a narrow table leaves out.
const LEFT_OUT: [&str; 2] = ["p95", "p99.9"];

/// The text of the run.
pub(super) fn page(
    record: &Record,
    inputs: &LoadInputs,
    summary: &LoadSummary,
    style: Style,
) -> Page {
    let mut page = Page::default();
    page.push(Line::plain(&requests_line(summary)).whole());
    page.push(Line::plain(&latency_line(inputs, summary, style)).whole());
    if record.interrupted {
        let measured = figure::time_ms(summary.wall_s * 1000.0);
        let text = format!("interrupted: figures hold for the first {measured}");
        page.push(Line::painted(Paint::Caution, &text));
    }
    page.gap();
    verdicts(&mut page, record, style);
    page.gap();
    stall::findings(&mut page, &record.findings, style);
    page.gap();
    times(&mut page, inputs, summary, style);
    page.gap();
    histogram(&mut page, inputs, record.series("latency_histogram"), style);
    page.gap();
    parts(&mut page, summary, style);
    page.gap();
    statuses(&mut page, summary, style);
    let errors: Vec<String> = summary.error_kinds.iter().map(error).collect();
    page.list(
        "Errors, each with its first example:",
        errors.iter().map(|text| ("-".into(), text)),
        style,
    );
    page.gap();
    health(&mut page, summary, style);
    in_flight(&mut page, summary, style);
    own_account(&mut page, inputs, summary, style);
    page
}

/// `50 requests, 50 in flight, 0 errors, wall 2.08s, 24.0 req/s`
fn requests_line(summary: &LoadSummary) -> String {
    let mut clauses = vec![
        figure::count(summary.requests, "request"),
        format!("{} in flight", summary.max_in_flight),
        figure::count(summary.errors, "error"),
        format!("wall {}", figure::compact_ms(summary.wall_s * 1000.0)),
        format!("{} req/s", figure::number(summary.rate_per_s)),
    ];
    for (count, what) in [(summary.unfinished, "unfinished"), (summary.unsent, "unsent")] {
        if count > 0 {
            clauses.push(format!("{count} {what}"));
        }
    }
    clauses.join(", ")
}

/// `latency  p50 2.04s  p90 2.06s  p99 2.07s  max 2.07s`
fn latency_line(inputs: &LoadInputs, summary: &LoadSummary, style: Style) -> String {
    let Some(times) = latency(inputs, summary) else {
        return "latency  none: no request was answered".into();
    };
    let shown = FIGURES.iter().filter(|(name, ..)| HEADLINE.contains(name));
    let shown: Vec<String> = shown
        .map(|(name, _, of)| format!("{name} {}", time(times, name, of(times), style)))
        .collect();
    format!("latency  {}", shown.join("  "))
}

/// The latency that the run is about: what an open loop's visitors wait, or a user of any other.
fn latency<'a>(inputs: &LoadInputs, summary: &'a LoadSummary) -> Option<&'a LatencyFigures> {
    if is_open(inputs) { summary.response.as_ref() } else { summary.service.as_ref() }
}

fn is_open(inputs: &LoadInputs) -> bool {
    inputs.schedule == "open"
}

/// One of several times, with a mark when it is a lower bound.
fn time(times: &LatencyFigures, name: &str, ms: f64, style: Style) -> String {
    let is_bound = times.lower_bounds.iter().any(|bound| bound == name);
    let mark = match (is_bound, style.unicode) {
        (false, _) => "",
        (true, true) => "≥",
        (true, false) => ">=",
    };
    format!("{mark}{}", figure::compact_ms(ms))
}

fn verdicts(page: &mut Page, record: &Record, style: Style) {
    let Some(verdict) = &record.verdict else { return };
    let name = format!("{}:", shorten(&verdict.name.to_uppercase(), 30, style));
    let lead = Line::painted(tone(verdict), &name).with(Paint::Plain, " ");
    page.wrap(lead, 2, &verdict.sentence, style);
    for sentence in &verdict.evidence {
        page.wrap(Line::plain("  - "), 4, sentence, style);
    }
    for step in &verdict.next {
        page.wrap(Line::plain("  Next: "), 4, step, style);
    }
}

fn tone(verdict: &Verdict) -> Paint {
    match verdict.name.as_str() {
        "kept" => Paint::Good,
        "crossed" | "not-measured" => Paint::Bad,
        _ => Paint::Caution,
    }
}

/// All times side by side, in as many figures as fit.
fn times(page: &mut Page, inputs: &LoadInputs, summary: &LoadSummary, style: Style) {
    let response = summary.response.as_ref().filter(|_| is_open(inputs));
    let rows: Vec<(&str, &LatencyFigures)> = [
        ("response", response),
        ("service", summary.service.as_ref()),
        ("lag", summary.lag.as_ref()),
        ("first byte", summary.first_byte.as_ref()),
        ("connect", summary.connect.as_ref()),
    ]
    .into_iter()
    .filter_map(|(label, times)| Some((label, times?)))
    .collect();
    if rows.is_empty() {
        return;
    }
    let all = table(&rows, &FIGURES, style);
    let fits = all.iter().all(|line| line.width() <= style.columns());
    let few = FIGURES.into_iter().filter(|(name, ..)| !LEFT_OUT.contains(name));
    page.extend(if fits { all } else { table(&rows, &few.collect::<Vec<_>>(), style) });
    let explained = if is_open(inputs) {
        "response counts from the intended start, service from the actual one, lag is between them"
    } else {
        "a closed loop: latency is the service time, from the start of a request to its end; a \
         slow server gets fewer requests"
    };
    let explained = if inputs.schedule == "burst" {
        "a burst: latency is the service time, from the start of a request to its end"
    } else {
        explained
    };
    page.wrap(Line::plain("  "), 2, explained, style);
}

fn table(rows: &[(&str, &LatencyFigures)], figures: &[Figure], style: Style) -> Vec<Line> {
    let mut columns: Vec<(Align, &'static [&'static str])> = vec![(Align::Left, &[""])];
    columns.extend(figures.iter().map(|(_, heading, _)| (Align::Right, *heading)));
    let mut table = Table::new(columns);
    for (label, times) in rows {
        let mut cells = vec![Line::plain(label)];
        let cell = |(name, _, of): &Figure| Line::plain(&time(times, name, of(times), style));
        cells.extend(figures.iter().map(cell));
        table.row(cells);
    }
    table.lines(style)
}

/// How the latencies spread: a bar for each bin, of which two neighbours make one.
fn histogram(page: &mut Page, inputs: &LoadInputs, series: Option<&Series>, style: Style) {
    const TOGETHER: usize = 2;
    const WIDEST: usize = 40;
    let Some(series) = series.filter(|series| !series.rows.is_empty()) else { return };
    let bins: Vec<usize> = (0..series.rows.len()).collect();
    let bars: Vec<(f64, f64, f64)> = bins
        .chunks(TOGETHER)
        .filter_map(|rows| {
            let from = series.number(*rows.first()?, "from_ms")?;
            let to = series.number(*rows.last()?, "to_ms")?;
            Some((from, to, rows.iter().filter_map(|row| series.number(*row, "count")).sum()))
        })
        .collect();
    let most = bars.iter().map(|(_, _, count)| *count).fold(1.0, f64::max);
    let what = if is_open(inputs) { "response" } else { "service" };
    page.push(Line::painted(Paint::Strong, &format!("{what} times")));
    let mut table = Table::new(vec![
        (Align::Right, &[]),
        (Align::Right, &[]),
        (Align::Right, &[]),
        (Align::Left, &[]),
    ]);
    for (from, to, count) in bars {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to WIDEST")]
        let length = (count / most * WIDEST as f64).round() as usize;
        // What was seen is seen.
        let length = length.max(usize::from(count > 0.0));
        let block = if style.unicode { "█" } else { "#" };
        table.row(vec![
            Line::plain(&format!("  {}", figure::compact_ms(from))),
            Line::plain(&figure::compact_ms(to)),
            Line::plain(&format!("{count:.0}")),
            Line::painted(Paint::Bar(0), &block.repeat(length)),
        ]);
    }
    page.extend(table.lines(style));
}

/// Where the answers' time went, by their `Server-Timing` headers.
fn parts(page: &mut Page, summary: &LoadSummary, style: Style) {
    if summary.parts.is_empty() {
        return;
    }
    let mut table = Table::new(vec![
        (Align::Left, &["Server-Timing"]),
        (Align::Right, &["answers"]),
        (Align::Right, &["p50"]),
        (Align::Right, &["p99"]),
        (Align::Right, &["share"]),
    ]);
    for part in &summary.parts {
        table.row(vec![
            Line::plain(&name(&part.name, style)),
            Line::plain(&part.count.to_string()),
            Line::plain(&figure::compact_ms(part.p50_ms)),
            Line::plain(&figure::compact_ms(part.p99_ms)),
            Line::plain(&figure::percent(part.share_percent)),
        ]);
    }
    page.extend(table.lines(style));
}

/// `answers: 200 x48, 503 x2; 45.1 kB received`
fn statuses(page: &mut Page, summary: &LoadSummary, style: Style) {
    let statuses = summary.statuses.iter().map(|(status, count)| (status.as_str(), *count));
    let mut text = match summary.statuses.len() {
        0 => "none".to_owned(),
        1 => format!("{} x{}", stall::counted(statuses, style), summary.answered),
        _ => stall::counted(statuses, style),
    };
    text = format!("{text}; {} received", figure::bytes(summary.bytes));
    page.wrap(Line::plain("answers: "), 2, &text, style);
}

/// `12 x connection refused: 127.0.0.1:1: ...`
fn error(kind: &ErrorKind) -> String {
    let ErrorKind { class, count, example } = kind;
    let what = if example.starts_with(class.as_str()) {
        example.clone()
    } else if example.is_empty() {
        class.clone()
    } else {
        format!("{class}: {example}")
    };
    format!("{count} x {what}")
}

/// The health probes in one line.
fn health(page: &mut Page, summary: &LoadSummary, style: Style) {
    let Some(health) = &summary.health else { return };
    let calm = health.calm_median_ms.map_or_else(|| "unknown".into(), figure::compact_ms);
    let times = health.latency.as_ref().map_or_else(String::new, |times| {
        format!(
            "; beside the load p50 {}  p99 {}  max {}",
            figure::compact_ms(times.p50_ms),
            figure::compact_ms(times.p99_ms),
            figure::compact_ms(times.max_ms)
        )
    });
    let text = format!(
        "calm {calm}{times}; {} of {} slower than {}, {} failed, {} still out at the end",
        health.slow,
        figure::count(health.sent, "probe"),
        figure::compact_ms(health.max_health_ms),
        health.failed,
        health.unfinished,
    );
    page.wrap(Line::plain("health: "), 2, &text, style);
}

fn in_flight(page: &mut Page, summary: &LoadSummary, style: Style) {
    let text = format!(
        "{} on average (throughput times mean latency gives {}), {} at most; {} opened, {} on a \
         kept one",
        figure::number(summary.mean_in_flight),
        figure::number(summary.mean_in_flight_by_little),
        summary.max_in_flight,
        figure::count(summary.connections, "connection"),
        figure::count(summary.reused, "request"),
    );
    page.wrap(Line::plain("in flight: "), 2, &text, style);
}

/// What the run cost waitscope itself, and how late that made it.
fn own_account(page: &mut Page, inputs: &LoadInputs, summary: &LoadSummary, style: Style) {
    let mut clauses = vec![
        format!(
            "{} CPU ({} of one core)",
            figure::seconds(summary.client_cpu_seconds),
            figure::percent(summary.client_cpu_percent)
        ),
        format!(
            "{} {} busy",
            figure::count(inputs.threads, "thread"),
            figure::whole_percent(summary.client_busy_percent)
        ),
    ];
    if let Some(megabytes) = summary.client_peak_mb {
        clauses.push(format!("{} MB at most", figure::number(megabytes)));
    }
    if let Some(lag_ms) = summary.client_lag_p99_ms {
        clauses.push(format!("up to {} late (p99)", figure::time_ms(lag_ms)));
    }
    if summary.client_limited {
        clauses.push("it was the limit".into());
    }
    page.wrap(Line::plain("load generator: "), 2, &clauses.join(", "), style);
}
