//! Many slow requests at once: what they take of memory, and whether their times are told right.

use super::cpu::noise;
use super::observe::{Run, observe};
use super::tools::{AIOHTTP, Asked, HEY, OHA, OURS, Tool, WRK};
use super::{Scenario, install};
use crate::bench::measure::{alternate, figures};
use crate::bench::processes::{Programs, SERVER_CORE, Server, alone, free_port};
use crate::bench::table::{Table, grouped, median, spread};

pub(super) const SCENARIO: Scenario = Scenario { name: "hold", run };

/// What the server takes for each answer.
const ANSWER_MS: f64 = 5_000.0;
const PATH: &str = "/v1/complete?ttft=5&tokens=1&tok_ms=0";
/// Requests at once, what memory ours may take for them, and who is asked for so many; httpx needs
/// minutes for them.
const SIZES: [(usize, f64, &[Tool]); 2] =
    [(10_000, 25.0, &[OURS, WRK, OHA, HEY]), (15_000, 45.0, &[OURS, WRK, OHA, HEY, AIOHTTP])];
/// How much longer than the server takes the slowest answer may be said to have taken.
const LATER_MS: f64 = 300.0;
const HEADER: [&str; 6] =
    ["in flight", "load generator", "answers", "errors", "most MiB", "slowest answer, s"];

fn run(programs: &Programs, passes: u32) -> anyhow::Result<Vec<Table>> {
    install::check(&["wrk", "hey"])?;
    install::oha()?;
    let title = "Requests in flight, all started at once, each answered after exactly 5 s";
    let mut table = Table::new(title, &HEADER);
    let mut all = Vec::new();
    for (connections, most_mib, tools) in SIZES {
        let runs = alternate(passes, tools, |tool| once(tool, programs, connections))?;
        for (tool, runs) in tools.iter().zip(&runs) {
            table.row([
                grouped(connections as f64, 0),
                tool.name.to_owned(),
                grouped(median(&figures(runs, |run| run.said.requests)), 0),
                grouped(median(&figures(runs, |run| run.said.errors)), 0),
                spread(&figures(runs, |run| run.peak_mib), 0),
                spread(&figures(runs, |run| run.said.slowest_ms / 1e3), 2),
            ]);
        }
        let ours = &runs[0];
        let mib = median(&figures(ours, |run| run.peak_mib));
        let bytes = mib * f64::from(1 << 20) / 1e6;
        let title = format!("{} in at most {most_mib} MB", grouped(connections as f64, 0));
        table.target(&title, bytes <= most_mib);
        let slowest = median(&figures(ours, |run| run.said.slowest_ms));
        let has_all = ours.iter().all(|run| {
            run.said.errors == 0.0 && run.said.requests.total_cmp(&(connections as f64)).is_eq()
        });
        let target = "its slowest answer within 0.3 s of the server's time, and none lost";
        table.target(target, slowest <= ANSWER_MS + LATER_MS && has_all);
        all.extend(runs.into_iter().flatten());
    }
    table.note(noise(all.iter()));
    Ok(vec![table])
}

fn once(tool: &Tool, programs: &Programs, connections: usize) -> anyhow::Result<Run> {
    let port = free_port()?;
    let mut command = alone(SERVER_CORE, &programs.waitscope);
    command.args(["provider", "--quota", "off", "--port", &port.to_string()]);
    let server = Server::start(command, port)?;
    let url = format!("http://127.0.0.1:{port}{PATH}");
    let run = observe(tool, programs, &server, &Asked { url, connections, seconds: None })?;
    server.end()?;
    Ok(run)
}
