//! Python's clients, as a script of a test would use them (benches/load/peer.py).

use std::process::Command;

use super::{Asked, Said, Tool};
use crate::bench::processes::Programs;

pub(super) const AIOHTTP: Tool = Tool {
    name: "aiohttp",
    command: |programs, asked| Ok(script(programs, asked, "aiohttp")),
    read,
};
pub(super) const HTTPX: Tool =
    Tool { name: "httpx", command: |programs, asked| Ok(script(programs, asked, "httpx")), read };

fn script(programs: &Programs, asked: &Asked, client: &str) -> Command {
    let mut command = Command::new(&programs.python);
    command.arg(programs.peer_folder.join("peer.py"));
    command.args([client, &asked.url, &asked.connections.to_string()]);
    command.args(asked.seconds.map(|seconds| seconds.to_string()));
    command
}

fn read(text: &str) -> anyhow::Result<Said> {
    let words: Result<Vec<f64>, _> = text.split_whitespace().map(str::parse).collect();
    let [requests, errors, slowest_ms] = words?[..] else { anyhow::bail!("it says three numbers") };
    Ok(Said { requests, errors, slowest_ms })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_summary_is_read() {
        let expected = Said { requests: 1_000.0, errors: 5.0, slowest_ms: 12.3 };
        assert_eq!(read("1000 5 12.3\n").unwrap(), expected);
        assert!(read("1000").is_err() && read("a b c").is_err());
    }
}
