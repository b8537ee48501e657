//! `waitscope load`, as a user starts it: histograms, parts of `Server-Timing`, a record.

use std::process::Command;

use anyhow::Context;
use serde_json::Value;

use super::{Said, Tool};

pub(super) const TOOL: Tool = Tool {
    name: "waitscope load",
    command: |programs, asked| {
        let mut command = Command::new(&programs.waitscope);
        command.args(["load", &asked.url, "-c", &asked.connections.to_string(), "--json", "-q"]);
        match asked.seconds {
            Some(seconds) => command.args(["-z", &format!("{seconds}s")]),
            None => command.args(["-n", &asked.connections.to_string()]),
        };
        Ok(command)
    },
    read,
};

fn read(text: &str) -> anyhow::Result<Said> {
    let record: Value = serde_json::from_str(text)?;
    let figure = |pointer: &str| {
        record.pointer(pointer).and_then(Value::as_f64).with_context(|| format!("no {pointer}"))
    };
    Ok(Said {
        requests: figure("/summary/statuses/200")?,
        errors: figure("/summary/errors")?,
        slowest_ms: figure("/summary/service/max_ms")?,
    })
}
