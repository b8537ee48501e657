//! Whether many streams of a token each 40 ms keep their gaps.

use super::Scenario;
use super::measure::{Contender, alternate};
use super::servers::Side;
use crate::bench::client::ClientArgs;
use crate::bench::measure::{Run, figures, middle, noise_note};
use crate::bench::processes::Programs;
use crate::bench::table::{Table, grouped, median, spread};
use crate::bench::times::Quantiles;

pub(super) const SCENARIO: Scenario = Scenario { name: "gaps", run };

const GAP_SECONDS: f64 = 0.04;
/// Ours are to keep this p99 gap with so many streams.
const TARGET: (f64, usize) = (46.0, 3_000);
const HEADER: [&str; 11] = [
    "streams",
    "server",
    "gap p50 ms",
    "gap p99 ms",
    "gap max ms",
    "first token p50 / p99 / max ms",
    "late p99 ms",
    "cut short",
    "server CPU",
    "memory MiB",
    "client busy",
];

/// A kind of stream.
struct Kind {
    title: &'static str,
    request: &'static str,
    body: &'static str,
    tokens: u32,
    first_seconds: f64,
    /// Over how long the starts are spread.
    spread_seconds: f64,
    ours: &'static [&'static str],
    streams: &'static [usize],
    /// With more than so many, the peer is not measured: its new streams starve.
    peer_most: usize,
}

/// A whole multiple of the gap for the spread, so that the phases are even.
const KINDS: [Kind; 3] = [
    Kind {
        title: "Streams of 200 tokens, one each 40 ms, started within 0.4 s (`GET /v1/stream`)",
        request: "GET /v1/stream?ttft=0.4&tokens=200&tok_ms=40",
        body: "",
        tokens: 200,
        first_seconds: 0.4,
        spread_seconds: 0.4,
        ours: &[],
        streams: &[500, 1_000, 2_000, 3_000, 4_000],
        peer_most: 3_000,
    },
    Kind {
        title: "The same, all started at once: every token of all of them is due at the same time",
        request: "GET /v1/stream?ttft=0.4&tokens=200&tok_ms=40",
        body: "",
        tokens: 200,
        first_seconds: 0.4,
        spread_seconds: 0.0,
        ours: &[],
        streams: &[1_000, 3_000],
        peer_most: 1_000,
    },
    Kind {
        title: "Streamed chat completions of 60 tokens, one each 40 ms, started within 0.4 s",
        request: "POST /v1/chat/completions",
        body: r#"{"model":"chat-small","stream":true,"max_tokens":60,"messages":[{"role":"user","content":"My invoice is wrong, please help me."}]}"#,
        tokens: 60,
        // Half of the total, as ours says it; the other half is 59 gaps.
        first_seconds: 2.36,
        spread_seconds: 0.4,
        ours: &["--latency", "fixed:4720ms"],
        streams: &[1_000, 2_000, 3_000],
        peer_most: 2_000,
    },
];

fn run(programs: &Programs, passes: u32) -> anyhow::Result<Vec<Table>> {
    KINDS.iter().map(|kind| measure(programs, passes, kind)).collect()
}

fn measure(programs: &Programs, passes: u32, kind: &Kind) -> anyhow::Result<Table> {
    let mut table = Table::new(kind.title, &HEADER);
    let options = kind.ours.iter().map(|option| (*option).to_owned()).collect();
    let ours = Contender { options, ..Contender::plain(Side::Ours) };
    let both = [ours, Contender::plain(Side::Peer)];
    let mut all = Vec::new();
    for &streams in kind.streams {
        eprintln!("{streams} x {}", kind.request);
        let contenders = if streams > kind.peer_most { &both[..1] } else { &both };
        let runs = alternate(programs, passes, contenders, &client(kind, streams))?;
        for (contender, runs) in contenders.iter().zip(&runs) {
            table.row(row(streams, &contender.name, runs));
        }
        if let [ours, peers] = &runs[..] {
            table.row(ratios(streams, ours, peers));
        }
        if streams == TARGET.1 {
            let target = format!(
                "{} streams with a gap p99 under {} ms",
                grouped(streams as f64, 0),
                TARGET.0
            );
            let reached = middle(&runs[0], |run| run.seen.times.gap.p99_ms) < TARGET.0
                && runs[0].iter().all(|run| run.seen.incomplete == 0);
            table.target(&target, reached);
        }
        all.extend(runs.into_iter().flatten());
    }
    table.note(noise_note(&all));
    Ok(table)
}

fn client(kind: &Kind, streams: usize) -> ClientArgs {
    ClientArgs {
        connections: streams,
        request: kind.request.to_owned(),
        body: kind.body.to_owned(),
        spread_seconds: kind.spread_seconds,
        tokens: kind.tokens,
        first_seconds: kind.first_seconds,
        gap_seconds: GAP_SECONDS,
        patience_seconds: 60.0,
        ..ClientArgs::default()
    }
}

fn row(streams: usize, name: &str, runs: &[Run]) -> [String; HEADER.len()] {
    let first = |quantile: fn(&Quantiles) -> f64| {
        let figures: Vec<f64> = runs.iter().map(|run| quantile(&run.seen.times.first)).collect();
        grouped(median(&figures), 0)
    };
    let limited =
        if runs.iter().any(|run| run.seen.client_limited()) { ", client-limited" } else { "" };
    [
        grouped(streams as f64, 0),
        name.to_owned(),
        grouped(middle(runs, |run| run.seen.times.gap.p50_ms), 1),
        spread(&figures(runs, |run| run.seen.times.gap.p99_ms), 1),
        grouped(middle(runs, |run| run.seen.times.gap.max_ms), 0),
        [first(|q| q.p50_ms), first(|q| q.p99_ms), first(|q| q.max_ms)].join(" / "),
        grouped(middle(runs, |run| run.seen.times.late.p99_ms), 1),
        grouped(middle(runs, |run| run.seen.incomplete as f64), 0),
        format!("{:.0} %", middle(runs, Run::cpu_share) * 100.0),
        grouped(middle(runs, |run| run.peak_mib), 0),
        format!("{:.0} %{limited}", middle(runs, |run| run.seen.busy_share) * 100.0),
    ]
}

/// How many times ours the peer's figures are.
fn ratios(streams: usize, ours: &[Run], peers: &[Run]) -> [String; HEADER.len()] {
    let ratio =
        |figure: fn(&Run) -> f64| format!("{:.1} x", middle(peers, figure) / middle(ours, figure));
    [
        grouped(streams as f64, 0),
        "uvicorn : waitscope".to_owned(),
        ratio(|run| run.seen.times.gap.p50_ms),
        ratio(|run| run.seen.times.gap.p99_ms),
        ratio(|run| run.seen.times.gap.max_ms),
        ratio(|run| run.seen.times.first.p99_ms),
        ratio(|run| run.seen.times.late.p99_ms),
        String::new(),
        ratio(Run::cpu_share),
        ratio(|run| run.peak_mib),
        String::new(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_says_the_same_to_the_server_and_about_it() {
        for kind in KINDS {
            let asked = format!("tokens={}&tok_ms={}", kind.tokens, GAP_SECONDS * 1_000.0);
            let chat = format!("\"max_tokens\":{}", kind.tokens);
            assert!(kind.request.contains(&asked) || kind.body.contains(&chat), "{}", kind.title);
            if !kind.body.is_empty() {
                // Ours gives half of a call's time to the first token.
                let total_ms = 2.0 * f64::from(kind.tokens - 1) * GAP_SECONDS * 1_000.0;
                assert_eq!(kind.ours[1], format!("fixed:{total_ms:.0}ms"));
                assert!((kind.first_seconds * 2_000.0 - total_ms).abs() < 1e-6);
            }
        }
    }
}
