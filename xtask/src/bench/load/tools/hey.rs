//! hey.

use std::process::Command;

use anyhow::Context;

use super::{Said, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "hey",
    command: |_, asked| {
        let connections = asked.connections.to_string();
        let mut command = Command::new("hey");
        command.args(["-cpus", "1", "-c", &connections, "-t", "60"]);
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
    let slowest = text.lines().find_map(|line| line.trim().strip_prefix("Slowest:"));
    let slowest =
        slowest.and_then(|rest| rest.trim().strip_suffix("secs")).context("no slowest")?;
    let (mut requests, mut errors) = (0.0, 0.0);
    // A line in brackets: a status and its number of responses, or the number of an error.
    for line in text.lines() {
        let Some((first, rest)) = line.trim().strip_prefix('[').and_then(|l| l.split_once(']'))
        else {
            continue;
        };
        match rest.trim().strip_suffix(" responses") {
            Some(count) if first == "200" => requests += count.parse::<f64>()?,
            Some(count) => errors += count.parse::<f64>()?,
            None => errors += first.parse::<f64>()?,
        }
    }
    Ok(Said { requests, errors, slowest_ms: slowest.trim().parse::<f64>()? * 1e3 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_summary_is_read() {
        let text = "\nSummary:\n  Total:\t5.0000 secs\n  Slowest:\t0.0123 secs\n  Fastest:\t0.0001 \
                    secs\n\nStatus code distribution:\n  [200]\t1000 responses\n  [500]\t2 \
                    responses\n\nError distribution:\n  [3]\tGet \"http://h/\": EOF\n";
        let expected = Said { requests: 1_000.0, errors: 5.0, slowest_ms: 12.3 };
        assert_eq!(read(text).unwrap(), expected);
        assert!(read("nothing").is_err());
    }
}
