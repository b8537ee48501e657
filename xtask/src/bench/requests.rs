//! How many requests without waits a second of the server's CPU time answers.

use super::Scenario;
use super::client::ClientArgs;
use super::servers::{Servers, Side};
use super::table::{Table, median, spread};

pub(super) const SCENARIO: Scenario = Scenario { name: "requests", run };

const CONNECTIONS: usize = 64;
const SECONDS: f64 = 5.0;

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

fn run(servers: &Servers, passes: u32) -> anyhow::Result<Vec<Table>> {
    let title = format!(
        "Requests without waits, {CONNECTIONS} connections: answered per second of the server's \
         CPU time"
    );
    let header = ["request", "waitscope provider", "uvicorn", "ratio"];
    let mut table = Table::new(title, &header);
    for endpoint in &ENDPOINTS {
        let (mut ours, mut peers) = (Vec::new(), Vec::new());
        for _ in 0..passes {
            ours.push(rate(servers, Side::Ours, endpoint)?);
            peers.push(rate(servers, Side::Peer, endpoint)?);
        }
        let ratio = median(&ours) / median(&peers);
        let name = endpoint.request.to_owned();
        table.row([name, spread(&ours, 0), spread(&peers, 0), format!("{ratio:.1}")]);
    }
    Ok(vec![table])
}

fn rate(servers: &Servers, side: Side, endpoint: &Endpoint) -> anyhow::Result<f64> {
    let server = servers.start(side, &["--latency", "fixed:0ms"])?;
    let client = ClientArgs {
        port: server.port,
        connections: CONNECTIONS,
        request: endpoint.request.to_owned(),
        body: endpoint.body.to_owned(),
        seconds: SECONDS,
        spread_seconds: 0.0,
        patience_seconds: SECONDS,
    };
    let before = server.cpu_seconds()?;
    let seen = client.spawn()?;
    let cpu_seconds = server.cpu_seconds()? - before;
    eprintln!(
        "{side:?} {}: {:.0}/s, {cpu_seconds:.2} CPU seconds, client busy {:.0} %",
        endpoint.request,
        seen.complete as f64 / seen.seconds,
        seen.busy_share * 100.0
    );
    Ok(seen.complete as f64 / cpu_seconds)
}
