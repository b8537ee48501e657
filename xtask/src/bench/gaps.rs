//! Whether streams of a token each 40 ms keep their gaps.

use super::Scenario;
use super::client::{ClientArgs, Seen};
use super::servers::{Servers, Side};
use super::table::{Table, median, spread};

pub(super) const SCENARIO: Scenario = Scenario { name: "gaps", run };

const OURS: [usize; 5] = [500, 1_000, 2_000, 3_000, 4_000];
/// With more, its new streams starve.
const PEERS: [usize; 3] = [500, 1_000, 2_000];
const REQUEST: &str = "GET /v1/stream?ttft=0.4&tokens=200&tok_ms=40";
const SPREAD_SECONDS: f64 = 0.4;
/// A client busier than this may itself be what is late.
const BUSY: f64 = 0.9;

/// One run.
struct Run {
    seen: Seen,
    cpu_share: f64,
    rss_mib: f64,
}

fn run(servers: &Servers, passes: u32) -> anyhow::Result<Vec<Table>> {
    let title = "Streams of 200 tokens, one each 40 ms, started within 0.4 s, the server on one \
                 core; gaps and first tokens as the client reads them";
    let mut table = Table::new(
        title,
        &[
            "server",
            "streams",
            "gap p50 ms",
            "gap p99 ms",
            "gap max ms",
            "first token p99 ms",
            "first token max ms",
            "cut short",
            "CPU share",
            "memory MiB",
            "client busy",
        ],
    );
    let sides = OURS.map(|streams| (Side::Ours, streams));
    for (side, streams) in sides.into_iter().chain(PEERS.map(|streams| (Side::Peer, streams))) {
        let runs: Vec<Run> =
            (0..passes).map(|_| measure(servers, side, streams)).collect::<Result<_, _>>()?;
        table.row(row(side, streams, &runs));
    }
    Ok(vec![table])
}

fn measure(servers: &Servers, side: Side, streams: usize) -> anyhow::Result<Run> {
    let server = servers.start(side, &[])?;
    let client = ClientArgs {
        port: server.port,
        connections: streams,
        request: REQUEST.to_owned(),
        body: String::new(),
        seconds: 0.0,
        spread_seconds: SPREAD_SECONDS,
        patience_seconds: 60.0,
    };
    let before = server.cpu_seconds()?;
    let seen = client.spawn()?;
    let cpu_share = (server.cpu_seconds()? - before) / seen.seconds;
    let rss_mib = server.memory_mib("VmHWM")?;
    eprintln!("{side:?} {streams}: p99 {:.1} ms, CPU {:.0} %", seen.gap_p99_ms, cpu_share * 100.0);
    Ok(Run { seen, cpu_share, rss_mib })
}

fn row(side: Side, streams: usize, runs: &[Run]) -> [String; 11] {
    let figures = |of: fn(&Run) -> f64| -> Vec<f64> { runs.iter().map(of).collect() };
    let busy = median(&figures(|run| run.seen.busy_share));
    let limited = if busy > BUSY { ", the limit" } else { "" };
    [
        match side {
            Side::Ours => "waitscope provider".to_owned(),
            Side::Peer => "uvicorn".to_owned(),
        },
        streams.to_string(),
        format!("{:.1}", median(&figures(|run| run.seen.gap_p50_ms))),
        spread(&figures(|run| run.seen.gap_p99_ms), 1),
        format!("{:.1}", median(&figures(|run| run.seen.gap_max_ms))),
        format!("{:.0}", median(&figures(|run| run.seen.first_p99_ms))),
        format!("{:.0}", median(&figures(|run| run.seen.first_max_ms))),
        format!("{:.0}", median(&figures(|run| run.seen.incomplete as f64))),
        format!("{:.0} %", median(&figures(|run| run.cpu_share)) * 100.0),
        format!("{:.0}", median(&figures(|run| run.rss_mib))),
        format!("{:.0} %{limited}", busy * 100.0),
    ]
}
