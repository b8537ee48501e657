//! What 15,000 open streams cost that say a token each 2 s.

use super::Scenario;
use super::measure::{Contender, alternate};
use super::servers::Side;
use crate::bench::client::ClientArgs;
use crate::bench::measure::{Run, figures, middle, noise_note};
use crate::bench::processes::Programs;
use crate::bench::table::{Table, grouped, spread};

pub(super) const SCENARIO: Scenario = Scenario { name: "open", run };

const STREAMS: usize = 15_000;
const REQUEST: &str = "GET /v1/stream?ttft=2&tokens=15&tok_ms=2000";
const TOKENS: u32 = 15;
/// From a stream's start to its first token, from there to the next one, and the spread of the starts.
const SECONDS: f64 = 2.0;
/// The most memory of ours, in MB, without a truth log.
const TARGET_MB: f64 = 300.0;
/// The most that a truth log may cost per open stream, in KiB.
const TARGET_LOG_KIB: f64 = 4.0;

fn run(programs: &Programs, passes: u32) -> anyhow::Result<Vec<Table>> {
    let title = format!("{} open streams of a token each 2 s", grouped(STREAMS as f64, 0));
    let header = [
        "server",
        "most memory MiB",
        "per stream KiB",
        "cut short",
        "first token p99 / max ms",
        "late p50 / p99 / max ms",
        "server CPU",
        "client busy",
    ];
    let mut table = Table::new(title, &header);
    let log = std::env::temp_dir().join(format!("truth-{}.jsonl", std::process::id()));
    let options = vec!["--log".to_owned(), log.display().to_string()];
    let name = format!("{} with `--log`", Side::Ours.name());
    let contenders = [
        Contender::plain(Side::Ours),
        Contender { name, side: Side::Ours, options },
        Contender::plain(Side::Peer),
    ];
    let runs = alternate(programs, passes, &contenders, &client());
    // It may never have been made.
    let _ = std::fs::remove_file(log);
    let runs = runs?;
    for (contender, runs) in contenders.iter().zip(&runs) {
        table.row(row(&contender.name, runs));
    }
    let peak_of = |runs: &[Run]| middle(runs, |run| run.peak_mib);
    let megabytes = peak_of(&runs[0]) * 1.048_576;
    let none_dropped = runs[..2].iter().flatten().all(|run| run.seen.incomplete == 0);
    table.target(
        &format!("under {TARGET_MB} MB, none cut short ({megabytes:.0} MB)"),
        megabytes < TARGET_MB && none_dropped,
    );
    let log_kib = (peak_of(&runs[1]) - peak_of(&runs[0])) * 1024.0 / STREAMS as f64;
    table.target(
        &format!(
            "a truth log costs at most {TARGET_LOG_KIB} KiB per open stream ({log_kib:.1} KiB)"
        ),
        log_kib <= TARGET_LOG_KIB,
    );
    table.note(noise_note(runs.iter().flatten()));
    Ok(vec![table])
}

fn client() -> ClientArgs {
    ClientArgs {
        connections: STREAMS,
        request: REQUEST.to_owned(),
        spread_seconds: SECONDS,
        tokens: TOKENS,
        first_seconds: SECONDS,
        gap_seconds: SECONDS,
        patience_seconds: 90.0,
        ..ClientArgs::default()
    }
}

fn row(name: &str, runs: &[Run]) -> [String; 8] {
    let peaks = figures(runs, |run| run.peak_mib);
    let per_stream_kib =
        middle(runs, |run| (run.peak_mib - run.idle_mib) * 1024.0 / STREAMS as f64);
    let ms = |figure: fn(&Run) -> f64| grouped(middle(runs, figure), 0);
    let first = [ms(|run| run.seen.times.first.p99_ms), ms(|run| run.seen.times.first.max_ms)];
    let late = [
        ms(|run| run.seen.times.late.p50_ms),
        ms(|run| run.seen.times.late.p99_ms),
        ms(|run| run.seen.times.late.max_ms),
    ];
    [
        name.to_owned(),
        spread(&peaks, 0),
        grouped(per_stream_kib, 1),
        grouped(middle(runs, |run| run.seen.incomplete as f64), 0),
        first.join(" / "),
        late.join(" / "),
        format!("{:.0} %", middle(runs, Run::cpu_share) * 100.0),
        format!("{:.0} %", middle(runs, |run| run.seen.busy_share) * 100.0),
    ]
}
