//! What a request costs the load generator.

use anyhow::ensure;

use super::nginx::Nginx;
use super::observe::{Run, observe};
use super::tools::{AIOHTTP, Asked, HEY, HTTPX, OHA, OURS, Tool, WRK};
use super::{Scenario, install};
use crate::bench::measure::{alternate, figures};
use crate::bench::processes::Programs;
use crate::bench::table::{Table, grouped, median, spread};

pub(super) const SCENARIO: Scenario = Scenario { name: "cpu", run };

const CONNECTIONS: usize = 64;
const SECONDS: u32 = 5;
const TOOLS: [Tool; 6] = [OURS, WRK, OHA, HEY, AIOHTTP, HTTPX];
const HEADER: [&str; 6] = [
    "load generator",
    "CPU seconds per 100,000 requests",
    "of wrk's",
    "user time",
    "requests per second",
    "most MiB",
];

fn run(programs: &Programs, passes: u32) -> anyhow::Result<Vec<Table>> {
    install::check(&["wrk", "hey", "nginx"])?;
    install::oha()?;
    let title = format!(
        "CPU time of the load generator, {CONNECTIONS} connections, a small file of nginx, \
         {SECONDS} s each"
    );
    let runs = alternate(passes, &TOOLS, |tool| {
        let nginx = Nginx::start()?;
        let asked = Asked { url: nginx.url(), connections: CONNECTIONS, seconds: Some(SECONDS) };
        let run = observe(tool, programs, &nginx.server, &asked)?;
        nginx.server.end()?;
        ensure!(run.said.errors == 0.0, "{} has seen errors: {run:?}", tool.name);
        Ok(run)
    })?;
    let mut table = Table::new(title, &HEADER);
    let wrk = median(&figures(&runs[1], Run::cost));
    for (tool, runs) in TOOLS.iter().zip(&runs) {
        let costs = figures(runs, Run::cost);
        table.row([
            tool.name.to_owned(),
            spread(&costs, 2),
            format!("{:.2}", median(&costs) / wrk),
            format!("{:.0} %", median(&figures(runs, Run::user_share)) * 100.0),
            grouped(median(&figures(runs, |run| run.said.requests / run.seconds)), 0),
            spread(&figures(runs, |run| run.peak_mib), 0),
        ]);
    }
    let ours = median(&figures(&runs[0], Run::cost));
    let user_share = median(&figures(&runs[0], Run::user_share));
    table.target("at most 1.0 times wrk's", ours <= wrk);
    table.target("user time under half of the total", user_share < 0.5);
    table.note(noise(runs.iter().flatten()));
    Ok(vec![table])
}

/// How much other programs took of the machine, at most.
pub(super) fn noise<'a>(runs: impl Iterator<Item = &'a Run>) -> String {
    let most = runs.map(|run| run.other_cores).fold(0.0, f64::max);
    format!("Other programs took up to {most:.2} of a core meanwhile.")
}
