//! One measurement: a fresh server, a client, and what both of them cost.

use super::client::ClientArgs;
use super::machine::CpuTimes;
use super::seen::Seen;
use super::servers::{Programs, Side};
use super::table::median;

/// Other programs that take more than this share of a core can be what was measured.
const NOISY_CORES: f64 = 0.1;

/// What is measured against the others.
#[derive(Debug, Clone)]
pub(super) struct Contender {
    pub(super) name: String,
    pub(super) side: Side,
    /// Options of ours.
    pub(super) options: Vec<String>,
}

impl Contender {
    /// A side without further options.
    pub(super) fn plain(side: Side) -> Self {
        Self { name: side.name().to_owned(), side, options: Vec::new() }
    }
}

/// What one measurement gave.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) seen: Seen,
    /// Of the server, from before the client started to after it ended.
    pub(super) cpu_seconds: f64,
    /// Of the server (`VmRSS`), before the client came.
    pub(super) idle_mib: f64,
    /// The most of the server (`VmHWM`).
    pub(super) peak_mib: f64,
    /// How many cores' worth of time went to other programs meanwhile.
    pub(super) other_cores: f64,
}

impl Run {
    /// The share of a core that the server took.
    pub(super) fn cpu_share(&self) -> f64 {
        self.cpu_seconds / self.seen.seconds
    }
}

/// Measures the contenders in turn, so often (A B A B), so that a slow minute of the machine
/// falls on both. The results are in the order of the contenders.
pub(super) fn alternate(
    programs: &Programs,
    passes: u32,
    contenders: &[Contender],
    client: &ClientArgs,
) -> anyhow::Result<Vec<Vec<Run>>> {
    let mut runs = vec![Vec::new(); contenders.len()];
    for pass in 1..=passes {
        for (contender, runs) in contenders.iter().zip(&mut runs) {
            let run = measure(programs, contender, client)?;
            eprintln!("pass {pass}, {}: {}", contender.name, brief(&run));
            runs.push(run);
        }
    }
    Ok(runs)
}

fn measure(programs: &Programs, contender: &Contender, client: &ClientArgs) -> anyhow::Result<Run> {
    let server = programs.start(contender.side, &contender.options)?;
    let (cpu_before, idle_mib) = (server.cpu_seconds()?, server.memory_mib("VmRSS")?);
    let all_before = CpuTimes::read()?;
    let seen = programs.run_client(&ClientArgs { port: server.port, ..client.clone() })?;
    let cpu_seconds = server.cpu_seconds()? - cpu_before;
    let other = CpuTimes::read()?.busy_seconds - all_before.busy_seconds;
    Ok(Run {
        cpu_seconds,
        idle_mib,
        peak_mib: server.memory_mib("VmHWM")?,
        other_cores: (other - cpu_seconds - seen.cpu_seconds).max(0.0) / seen.seconds,
        seen,
    })
}

/// A figure of each run.
pub(super) fn figures(runs: &[Run], figure: fn(&Run) -> f64) -> Vec<f64> {
    runs.iter().map(figure).collect()
}

/// Its median.
pub(super) fn middle(runs: &[Run], figure: fn(&Run) -> f64) -> f64 {
    median(&figures(runs, figure))
}

/// How much other programs took of the machine, at most.
pub(super) fn noise_note(runs: &[Run]) -> String {
    let most = runs.iter().map(|run| run.other_cores).fold(0.0, f64::max);
    let note = format!("Other programs took up to {most:.2} of a core meanwhile");
    let advice = if most > NOISY_CORES { "; measure again on a quiet machine." } else { "." };
    note + advice
}

/// A line that tells how it goes.
fn brief(run: &Run) -> String {
    let (seen, times) = (&run.seen, &run.seen.times);
    let limited = if seen.client_limited() { " (client-limited)" } else { "" };
    format!(
        "{} whole and {} cut short in {:.1} s, gap p99 {:.1} ms, late p99 {:.1} ms; server {:.2} \
         CPU seconds, {:.0} MiB; client busy {:.0} %{limited}; other programs {:.2} cores",
        seen.complete,
        seen.incomplete,
        seen.seconds,
        times.gap.p99_ms,
        times.late.p99_ms,
        run.cpu_seconds,
        run.peak_mib,
        seen.busy_share * 100.0,
        run.other_cores,
    )
}
