//! oha.

use std::process::Command;

use anyhow::Context;
use serde_json::Value;

use super::super::install;
use super::{Said, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "oha",
    command: |_, asked| {
        let connections = asked.connections.to_string();
        let mut command = Command::new(install::oha()?);
        command.args(["--no-tui", "--output-format", "json", "-c", &connections, "-t", "60s"]);
        match asked.seconds {
            Some(seconds) => command.args(["-z", &format!("{seconds}s")]),
            None => command.args(["-n", &connections]),
        };
        command.arg(&asked.url);
        Ok(command)
    },
    read,
};

fn read(text: &str) -> anyhow::Result<Said> {
    let said: Value = serde_json::from_str(text)?;
    let counts = |name: &str| {
        let counts = said[name].as_object().with_context(|| format!("no {name}"))?;
        Ok::<_, anyhow::Error>(counts.iter().map(|(key, n)| (key.as_str(), n.as_f64())))
    };
    let (mut requests, mut errors) = (0.0, 0.0);
    for (status, count) in counts("statusCodeDistribution")? {
        *(if status == "200" { &mut requests } else { &mut errors }) += count.unwrap_or(0.0);
    }
    // What it gives up at the end of its time is no error of the server.
    let all = counts("errorDistribution")?;
    let failed = all.filter(|(error, _)| !error.contains("deadline"));
    errors += failed.filter_map(|(_, count)| count).sum::<f64>();
    let slowest = said.pointer("/summary/slowest").and_then(Value::as_f64).context("no slowest")?;
    Ok(Said { requests, errors, slowest_ms: slowest * 1e3 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_summary_is_read() {
        let text = r#"{"summary": {"slowest": 0.0123}, "statusCodeDistribution": {"200": 1000,
            "500": 2}, "errorDistribution": {"aborted due to deadline": 64, "refused": 3}}"#;
        let expected = Said { requests: 1_000.0, errors: 5.0, slowest_ms: 12.3 };
        assert_eq!(read(text).unwrap(), expected);
        assert!(read("{}").is_err());
    }
}
