//! What is measured on, and what else it does meanwhile.

use std::fs;
use std::process::Command;

use anyhow::Context;

use super::processes::{Programs, ticks_per_second};

/// A line about the machine and the versions.
pub(super) fn describe(programs: &Programs) -> anyhow::Result<String> {
    let cpu_info = fs::read_to_string("/proc/cpuinfo").context("cannot read /proc/cpuinfo")?;
    let model = cpu_info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("unknown processor", |(_, model)| model.trim());
    let cores = std::thread::available_parallelism()?;
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    let python = Command::new(&programs.python).arg("--version").output()?;
    let pins = fs::read_to_string(programs.peer_folder.join("requirements.txt"))?;
    Ok(format!(
        "{cores} cores of {model}, Linux {}; {}; {}.",
        kernel.trim(),
        String::from_utf8_lossy(&python.stdout).trim(),
        main_pins(&pins).join(", ")
    ))
}

/// The packages above the first empty line, as words: what the peer chose, without what they need.
fn main_pins(requirements: &str) -> Vec<String> {
    let lines = requirements.lines().take_while(|line| !line.is_empty());
    lines.filter(|line| !line.starts_with('#')).map(|line| line.replacen("==", " ", 1)).collect()
}

/// The time that all cores have been at work for programs, in seconds.
pub(super) struct CpuTimes {
    pub(super) busy_seconds: f64,
}

impl CpuTimes {
    pub(super) fn read() -> anyhow::Result<Self> {
        let stat = fs::read_to_string("/proc/stat").context("cannot read /proc/stat")?;
        let ticks = busy_ticks(&stat).context("/proc/stat has no line for all cores")?;
        Ok(Self { busy_seconds: ticks / ticks_per_second() })
    }
}

/// The first line of `/proc/stat` (proc(5)): user, nice and system time, and what was stolen from
/// this machine. Interrupts are left out, for no program's time includes them.
fn busy_ticks(stat: &str) -> Option<f64> {
    let fields: Option<Vec<f64>> = stat
        .lines()
        .next()?
        .strip_prefix("cpu ")?
        .split_whitespace()
        .map(|f| f.parse().ok())
        .collect();
    let fields = fields?;
    let [user, nice, system, _idle, _iowait, _irq, _softirq, steal] = *fields.get(..8)? else {
        return None;
    };
    Some(user + nice + system + steal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_time_leaves_out_idle_and_interrupts() {
        let stat = "cpu  100 20 3 9000 500 60 70 4 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n";
        assert_eq!(busy_ticks(stat), Some(127.0));
        assert_eq!(busy_ticks("cpu  1 2\n"), None);
        assert_eq!(busy_ticks(""), None);
    }

    #[test]
    fn the_pins_that_count_stand_first() {
        let pins = "# The peer.\nfastapi==0.1\nuvicorn==0.2\n\nh11==0.3\n";
        assert_eq!(main_pins(pins), ["fastapi 0.1", "uvicorn 0.2"]);
    }
}
