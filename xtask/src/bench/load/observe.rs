//! A load generator that runs to its end, and what it costs.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

use super::tools::{Asked, Said, Tool};
use crate::bench::machine::CpuTimes;
use crate::bench::processes::{OTHER_CORE, Programs, Server, ticks_per_second};

/// Between two looks at it.
const LOOK: Duration = Duration::from_millis(10);
/// Longer than any of them has to do.
const PATIENCE: Duration = Duration::from_mins(3);

/// What one run gave.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) said: Said,
    pub(super) user_seconds: f64,
    pub(super) system_seconds: f64,
    /// The most of it that was in memory, from looks at `VmHWM`.
    pub(super) peak_mib: f64,
    pub(super) seconds: f64,
    /// How many cores' worth of time went to programs other than it and the server.
    pub(super) other_cores: f64,
}

impl Run {
    /// CPU seconds for 100,000 requests.
    pub(super) fn cost(&self) -> f64 {
        (self.user_seconds + self.system_seconds) / self.said.requests * 1e5
    }

    pub(super) fn user_share(&self) -> f64 {
        self.user_seconds / (self.user_seconds + self.system_seconds)
    }
}

/// Runs a tool on the client's core.
pub(super) fn observe(
    tool: &Tool,
    programs: &Programs,
    server: &Server,
    asked: &Asked,
) -> anyhow::Result<Run> {
    let (before, server_before) = (CpuTimes::read()?, server.cpu_seconds()?);
    let told = (tool.command)(programs, asked)?;
    let mut command = Command::new("taskset");
    command.args(["-c", OTHER_CORE, "setpriv", "--pdeathsig", "KILL"]).arg(told.get_program());
    command.args(told.get_args()).stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = tempfile::NamedTempFile::new()?;
    let mut child = command.stdout(output.reopen()?).spawn().context("cannot start taskset")?;
    let begin = Instant::now();
    let cost = watch(&mut child, begin);
    let seconds = begin.elapsed().as_secs_f64();
    let status = child.wait()?;
    let cost = cost?;
    ensure!(status.code().is_some_and(|code| code <= 1), "{} failed: {status}", tool.name);
    let text = fs::read_to_string(output.path())?;
    let said = (tool.read)(&text).with_context(|| format!("{} said: {text}", tool.name))?;
    let all = CpuTimes::read()?.busy_seconds - before.busy_seconds;
    let known = cost.user_seconds + cost.system_seconds + server.cpu_seconds()? - server_before;
    let other_cores = (all - known).max(0.0) / seconds;
    let run = Run {
        said,
        user_seconds: cost.user_seconds,
        system_seconds: cost.system_seconds,
        peak_mib: cost.peak_mib,
        seconds,
        other_cores,
    };
    eprintln!("{}: {run:?}", tool.name);
    Ok(run)
}

#[derive(Debug, Default)]
struct Cost {
    user_seconds: f64,
    system_seconds: f64,
    peak_mib: f64,
}

/// Looks at a process until it has ended; its times can be read until somebody waits for it.
fn watch(child: &mut Child, begin: Instant) -> anyhow::Result<Cost> {
    let folder = format!("/proc/{}", child.id());
    let mut cost = Cost::default();
    loop {
        let stat = fs::read_to_string(format!("{folder}/stat"))?;
        let (state, user, system) = state_and_ticks(&stat)?;
        cost.user_seconds = user / ticks_per_second();
        cost.system_seconds = system / ticks_per_second();
        if state == "Z" {
            return Ok(cost);
        }
        // Before it is the tool, it is taskset: that is smaller.
        let status = fs::read_to_string(format!("{folder}/status"))?;
        let peak = crate::bench::processes::memory_kib(&status, "VmHWM");
        cost.peak_mib = peak.map_or(0.0, |kib| kib / 1024.0).max(cost.peak_mib);
        if begin.elapsed() > PATIENCE {
            child.kill()?;
            bail!("it did not end within {} s", PATIENCE.as_secs());
        }
        std::thread::sleep(LOOK);
    }
}

/// The state of a process and its user and system time (proc(5): fields 3, 14 and 15).
fn state_and_ticks(stat: &str) -> anyhow::Result<(&str, f64, f64)> {
    let (_, fields) = stat.rsplit_once(')').context("no name in /proc/PID/stat")?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let field = |index: usize| fields.get(index).copied().context("/proc/PID/stat is short");
    Ok((field(0)?, field(11)?.parse()?, field(12)?.parse()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_and_times_are_read_from_proc() {
        let stat = "7 (a) b) Z 1 7 7 0 -1 4194304 90 0 0 0 123 45 6 7 20 0 1 0 99";
        assert_eq!(state_and_ticks(stat).unwrap(), ("Z", 123.0, 45.0));
        assert!(state_and_ticks("7 (a) S 1").is_err());
    }
}
