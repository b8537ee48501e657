//! What 15,000 open streams cost that say a token each 2 s.

use super::Scenario;
use super::client::ClientArgs;
use super::servers::{Servers, Side};
use super::table::{Table, median, spread};

pub(super) const SCENARIO: Scenario = Scenario { name: "open", run };

const STREAMS: usize = 15_000;
const REQUEST: &str = "GET /v1/stream?ttft=2&tokens=15&tok_ms=2000";
const SPREAD_SECONDS: f64 = 2.0;

fn run(servers: &Servers, passes: u32) -> anyhow::Result<Vec<Table>> {
    let title = format!("{STREAMS} open streams of a token each 2 s");
    let header =
        ["truth log", "most memory MiB", "per stream KiB", "cut short", "gap p99 ms", "CPU share"];
    let mut table = Table::new(title, &header);
    let log = std::env::temp_dir().join(format!("truth-{}.jsonl", std::process::id()));
    let log_path = log.display().to_string();
    for options in [&[][..], &["--log", &log_path]] {
        let (mut memory, mut cut, mut gaps, mut shares) = (vec![], vec![], vec![], vec![]);
        for _ in 0..passes {
            let server = servers.start(Side::Ours, options)?;
            let client = ClientArgs {
                port: server.port,
                connections: STREAMS,
                request: REQUEST.to_owned(),
                body: String::new(),
                seconds: 0.0,
                spread_seconds: SPREAD_SECONDS,
                patience_seconds: 90.0,
            };
            let before = server.cpu_seconds()?;
            let seen = client.spawn()?;
            shares.push((server.cpu_seconds()? - before) / seen.seconds * 100.0);
            memory.push(server.memory_mib("VmHWM")?);
            cut.push(seen.incomplete as f64);
            gaps.push(seen.gap_p99_ms);
            eprintln!("{options:?}: {:.0} MiB", server.memory_mib("VmHWM")?);
        }
        table.row([
            if options.is_empty() { "off" } else { "on" }.to_owned(),
            spread(&memory, 0),
            format!("{:.1}", median(&memory) * 1024.0 / STREAMS as f64),
            spread(&cut, 0),
            spread(&gaps, 1),
            format!("{:.0} %", median(&shares)),
        ]);
    }
    // It may never have been made.
    let _ = std::fs::remove_file(log);
    Ok(vec![table])
}
