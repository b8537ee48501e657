//! The text of a `stall` run.

use std::collections::BTreeMap;

use url::Url;
use waitscope_record::{Finding, Part, Record, Severity, StallInputs, StallSummary, Verdict};

use crate::Style;
use crate::page::{Line, Page, Paint, shorten};

use super::figure;
use super::table::{Align, Table, name};
use super::timeline::{self, OTHER, Palette};

/// How much of a run is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// Everything.
    Full,
    /// What one of several runs needs: no table, no notes, no advice.
    Compact,
}

/// The text of the run.
pub(super) fn page(
    record: &Record,
    inputs: &StallInputs,
    summary: &StallSummary,
    detail: Detail,
    style: Style,
) -> Page {
    let mut page = overview(record, inputs, summary, style);
    match detail {
        Detail::Full => details(&mut page, record, summary, style),
        Detail::Compact => essentials(&mut page, record, summary, style),
    }
    page
}

fn details(page: &mut Page, record: &Record, summary: &StallSummary, style: Style) {
    page.gap();
    page.extend(server_cpu(summary));
    page.push(client_cost(summary));
    page.gap();
    parts_table(page, record, summary, style);
    page.gap();
    findings(page, &record.findings, style);
    let verdicts = || record.verdict.iter().chain(&record.other_verdicts);
    let evidence = verdicts().flat_map(|verdict| &verdict.evidence);
    page.list("Evidence:", evidence.map(|text| ("-".to_owned(), text)), style);
    let next = verdicts().flat_map(|verdict| &verdict.next);
    let numbered = next.enumerate().map(|(at, text)| (format!("{}.", at + 1), text));
    page.list("Next:", numbered, style);
}

fn essentials(page: &mut Page, record: &Record, summary: &StallSummary, style: Style) {
    parts_line(page, summary, style);
    page.gap();
    page.extend(server_cpu(summary));
    let warnings = record.findings.iter().filter(|finding| finding.severity == Severity::Warning);
    findings(page, warnings, style);
}

fn overview(record: &Record, inputs: &StallInputs, summary: &StallSummary, style: Style) -> Page {
    let mut page = Page::default();
    if record.interrupted {
        let measured = figure::time_ms(summary.wall_s * 1000.0);
        let text = format!("interrupted: figures hold for the first {measured}");
        page.push(Line::painted(Paint::Caution, &text));
    }
    page.push(Line::plain(&requests_line(record, summary, style)).whole());
    page.push(Line::plain(&health_line(record, inputs, summary, style)).whole());
    page.gap();
    let others = record.other_verdicts.iter().map(|verdict| ("also ", verdict));
    for (lead, verdict) in record.verdict.iter().map(|verdict| ("", verdict)).chain(others) {
        verdict_line(&mut page, lead, verdict, style);
    }
    page.gap();
    timeline::draw(&mut page, record, inputs, summary, style);
    page
}

/// `8 requests, 4 at a time: 18.8 s, status codes [201]`
fn requests_line(record: &Record, summary: &StallSummary, style: Style) -> String {
    let requests = figure::count(summary.requests, "request");
    let wall = figure::time_ms(summary.wall_s * 1000.0);
    let mut clauses = vec![
        format!("{requests}, {} at a time: {wall}", summary.concurrency),
        statuses(&summary.statuses, style),
    ];
    if summary.errors > 0 {
        clauses.push(format!("{} failed{}", summary.errors, error_kinds(record, style)));
    }
    if summary.unfinished > 0 {
        clauses.push(format!("{} unfinished", summary.unfinished));
    }
    clauses.join(", ")
}

/// `status codes [201]`, `status codes [201 x6, 503 x2]`
fn statuses(statuses: &BTreeMap<String, u64>, style: Style) -> String {
    if statuses.is_empty() {
        return "no answer".to_owned();
    }
    format!(
        "status codes [{}]",
        counted(statuses.iter().map(|(code, n)| (code.as_str(), *n)), style)
    )
}

/// ` (connection reset)`, ` (connection reset x2, timeout x1)`; nothing if the kinds are not
/// known.
fn error_kinds(record: &Record, style: Style) -> String {
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    if let Some(series) = record.series("requests") {
        for row in 0..series.rows.len() {
            if let Some(error) = series.text(row, "error") {
                *kinds.entry(error).or_default() += 1;
            }
        }
    }
    if kinds.is_empty() {
        return String::new();
    }
    let mut kinds: Vec<(&str, u64)> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    format!(" ({})", counted(kinds.into_iter(), style))
}

/// The names, with their counts if there are several; those beyond a few are only counted.
pub(super) fn counted<'a>(
    names: impl ExactSizeIterator<Item = (&'a str, u64)>,
    style: Style,
) -> String {
    const MOST: usize = 8;
    const WIDEST: usize = 40;
    let several = names.len() > 1;
    let more = names.len().saturating_sub(MOST);
    let shown = names.take(MOST).map(|(name, count)| {
        let name = shorten(name, WIDEST, style);
        if several { format!("{name} x{count}") } else { name }
    });
    let mut shown: Vec<String> = shown.collect();
    if more > 0 {
        shown.push(format!("{more} more"));
    }
    shown.join(", ")
}

/// `GET /health during that time: 188 answers, median 4.4 s, slowest 9.8 s (calm: 1.2 ms)`
fn health_line(
    record: &Record,
    inputs: &StallInputs,
    summary: &StallSummary,
    style: Style,
) -> String {
    let mut clauses = vec![figure::count(summary.health_count, "answer")];
    let censored = summary.health_censored;
    if let Some(ms) = summary.health_median_ms {
        // The median itself is only a bound once half of what it is taken over is.
        let is_bound = censored > 0 && censored >= summary.health_count;
        clauses.push(format!("median {}", bounded(ms, is_bound)));
    }
    if let Some(ms) = summary.health_slowest_ms {
        let is_bound = censored > 0 && slowest_answer_ms(record).is_none_or(|answer| answer < ms);
        clauses.push(format!("slowest {}", bounded(ms, is_bound)));
    }
    if let (Some(ms), Some(last)) = (summary.health_calm_median_ms, clauses.last_mut()) {
        *last = format!("{last} (calm: {})", figure::time_ms(ms));
    }
    if summary.health_failed > 0 {
        clauses.push(format!("{} failed", summary.health_failed));
    }
    format!("GET {} during that time: {}", health_target(inputs, style), clauses.join(", "))
}

fn bounded(ms: f64, is_bound: bool) -> String {
    let time = figure::time_ms(ms);
    if is_bound { format!("at least {time}") } else { time }
}

/// The slowest probe that did get its answer: a slowest figure above it belongs to one that did
/// not.
fn slowest_answer_ms(record: &Record) -> Option<f64> {
    let series = record.series("health")?;
    (0..series.rows.len())
        .filter(|row| series.number(*row, "ok") == Some(1.0))
        .filter_map(|row| Some(series.number(row, "end_ms")? - series.number(row, "intended_ms")?))
        .max_by(f64::total_cmp)
}

/// The path alone where the probes went to the server of the requests, else the whole URL; never
/// with a password.
fn health_target(inputs: &StallInputs, style: Style) -> String {
    const WIDEST: usize = 80;
    let Ok(mut health) = Url::parse(&inputs.health) else {
        return shorten(&inputs.health, WIDEST, style);
    };
    let same = Url::parse(&inputs.url).is_ok_and(|url| url.origin() == health.origin());
    if same {
        let query = health.query().map(|query| format!("?{query}")).unwrap_or_default();
        return shorten(&format!("{}{query}", health.path()), WIDEST, style);
    }
    // Both fail only for URLs that cannot have credentials.
    let _ = health.set_password(None);
    let _ = health.set_username("");
    shorten(health.as_str(), WIDEST, style)
}

/// Red for the faults that the run looks for, yellow where the run itself is in doubt.
fn tone(verdict: &Verdict) -> Paint {
    match verdict.name.as_str() {
        "responsive" => Paint::Good,
        "stalled" | "health-failed" => Paint::Bad,
        _ => Paint::Caution,
    }
}

fn verdict_line(page: &mut Page, lead: &str, verdict: &Verdict, style: Style) {
    let name = format!("{}:", shorten(&verdict.name.to_uppercase(), 30, style));
    let lead = Line::plain(lead).with(tone(verdict), &name).with(Paint::Plain, " ");
    page.wrap(lead, 2, &verdict.sentence, style);
}

/// What the run cost the server: `server CPU: 1.2 % of one core (0.23 s)`.
fn server_cpu(summary: &StallSummary) -> Option<Line> {
    // The system counts CPU time in steps of this size: nothing counted is less than one step.
    const STEP_S: f64 = 0.01;
    let (percent, seconds) = (summary.server_cpu_percent, summary.server_cpu_seconds);
    let (percent, seconds) = if seconds.is_some_and(|seconds| seconds < STEP_S) {
        let step_percent = STEP_S / summary.wall_s * 100.0;
        // Rounded up, so that it stays a bound; a run of no length bounds nothing.
        let bound = (step_percent * 10.0).ceil() / 10.0;
        let percent =
            (bound.is_finite() && bound > 0.0).then(|| format!("under {}", figure::percent(bound)));
        (percent, Some(format!("under {}", figure::seconds(STEP_S))))
    } else {
        (percent.map(figure::percent), seconds.map(figure::seconds))
    };
    let server = match (percent, seconds) {
        (Some(percent), Some(seconds)) => format!("{percent} of one core ({seconds})"),
        (Some(percent), None) => format!("{percent} of one core"),
        (None, Some(seconds)) => seconds,
        (None, None) => return None,
    };
    Some(Line::plain(&format!("server CPU: {server}")))
}

/// What the run cost waitscope itself, and how late that made it.
fn client_cost(summary: &StallSummary) -> Line {
    let own = figure::seconds(summary.client_cpu_seconds);
    let lag = figure::time_ms(summary.client_lag_p99_ms);
    let text = format!("client CPU: {own}, probes sent up to {lag} late (p99)");
    Line::painted(Paint::Faint, &text)
}

/// The server's own parts of the answers' time, and what they leave unexplained: the last one, if
/// it has that name, because a server may call a part of its own the same.
fn split_rest(parts: &[Part]) -> (&[Part], Option<&Part>) {
    match parts.split_last() {
        Some((rest, named)) if rest.name == OTHER => (named, Some(rest)),
        _ => (parts, None),
    }
}

/// Where the answers' time went, by their `Server-Timing` headers.
fn parts_table(page: &mut Page, record: &Record, summary: &StallSummary, style: Style) {
    if summary.parts.is_empty() {
        return;
    }
    let palette = Palette::of(record.series("requests"), style.unicode);
    let mut table = Table::new(vec![
        (Align::Left, &["  Server-Timing"]),
        (Align::Right, &["median ms"]),
        (Align::Right, &["share"]),
    ]);
    let (named, rest) = split_rest(&summary.parts);
    let named = named.iter().map(|part| (palette.swatch(&part.name), part));
    for (swatch, part) in named.chain(rest.map(|rest| (palette.rest_swatch(), rest))) {
        table.row(vec![
            swatch.with(Paint::Plain, " ").with(Paint::Plain, &name(&part.name, style)),
            Line::plain(&figure::column_ms(part.median_ms)),
            Line::plain(&figure::percent(part.share_percent)),
        ]);
    }
    page.extend(table.lines(style));
}

/// The shares alone, in the order of the timeline's key: `time      other 62 %  db 0 %`.
fn parts_line(page: &mut Page, summary: &StallSummary, style: Style) {
    if summary.parts.is_empty() {
        return;
    }
    let (named, rest) = split_rest(&summary.parts);
    let share = |part: &Part| {
        let share = figure::whole_percent(part.share_percent);
        Line::plain(&format!("{} {share}", name(&part.name, style)))
    };
    let shares = rest.into_iter().chain(named).map(share);
    page.flow(timeline::lead("time"), timeline::GUTTER, shares, 2, style);
}

/// What was noticed, each behind how much it matters.
pub(super) fn findings<'a>(
    page: &mut Page,
    findings: impl IntoIterator<Item = &'a Finding>,
    style: Style,
) {
    for finding in findings {
        let (paint, label) = match finding.severity {
            Severity::Note => (Paint::Strong, "note:"),
            Severity::Warning => (Paint::Caution, "warning:"),
            Severity::Error => (Paint::Bad, "error:"),
        };
        let lead = Line::painted(paint, label).with(Paint::Plain, " ");
        page.wrap(lead, 2, &finding.message, style);
    }
}
