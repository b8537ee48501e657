//! How many requests without waits a second of the server's CPU time answers.

use super::Scenario;
use super::measure::{Contender, alternate};
use super::servers::Side;
use crate::bench::client::ClientArgs;
use crate::bench::measure::{Run, figures, noise_note};
use crate::bench::processes::Programs;
use crate::bench::table::{Table, median, spread};

pub(super) const SCENARIO: Scenario = Scenario { name: "requests", run };

const CONNECTIONS: usize = 64;
const SECONDS: f64 = 5.0;
/// How many times the peer's requests per CPU second ours are to reach.
const TARGET: f64 = 25.0;

struct Endpoint {
    request: &'static str,
    body: &'static str,
}

const ENDPOINTS: [Endpoint; 2] = [
    Endpoint {
        request: "POST /v1/chat/completions",
        body: r#"{"model":"chat-small","messages":[{"role":"user","content":"My invoice is wrong, please help me."}]}"#,
    },
    Endpoint { request: "GET /v1/complete?ttft=0&tokens=10&tok_ms=0", body: "" },
];

fn run(programs: &Programs, passes: u32) -> anyhow::Result<Vec<Table>> {
    let title = format!(
        "Requests without waits per second of the server's CPU time, {CONNECTIONS} connections"
    );
    let mut table = Table::new(title, &["request", "waitscope provider", "uvicorn", "ratio"]);
    let ours = Contender {
        options: ["--latency", "fixed:0ms"].map(str::to_owned).into(),
        ..Contender::plain(Side::Ours)
    };
    let contenders = [ours, Contender::plain(Side::Peer)];
    let (mut lowest, mut all) = (f64::INFINITY, Vec::new());
    for endpoint in &ENDPOINTS {
        eprintln!("{}", endpoint.request);
        let runs = alternate(programs, passes, &contenders, &client(endpoint))?;
        let [ours, peers] = [0, 1].map(|side| rates(&runs[side]));
        let ratio = median(&ours) / median(&peers);
        lowest = lowest.min(ratio);
        let name = format!("`{}`", endpoint.request);
        table.row([name, spread(&ours, 0), spread(&peers, 0), format!("{ratio:.1}")]);
        all.extend(runs.into_iter().flatten());
    }
    table.target(&format!("{TARGET:.0} times uvicorn's"), lowest >= TARGET);
    table.note(noise_note(&all));
    Ok(vec![table])
}

fn client(endpoint: &Endpoint) -> ClientArgs {
    ClientArgs {
        connections: CONNECTIONS,
        request: endpoint.request.to_owned(),
        body: endpoint.body.to_owned(),
        seconds: SECONDS,
        ..ClientArgs::default()
    }
}

fn rates(runs: &[Run]) -> Vec<f64> {
    figures(runs, |run| run.seen.complete as f64 / run.cpu_seconds)
}
