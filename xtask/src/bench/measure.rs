//! One measurement: a fresh server, a client, and what both of them cost.

use super::client::ClientArgs;
use super::machine::CpuTimes;
use super::processes::{Programs, Server};
use super::seen::Seen;
use super::table::median;

/// Other programs that take more than this share of a core can be what was measured.
const NOISY_CORES: f64 = 0.1;

/// What one measurement gave.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) seen: Seen,
    /// Of the server, from before the client started to after it ended.
    pub(super) cpu_seconds: f64,
    /// Of what the server needs, such as its database, in the same time.
    pub(super) needs_cpu_seconds: Vec<f64>,
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

/// Lets a client loose on a server. `needs` reads the CPU time, so far, of what the server needs.
pub(super) fn observe(
    programs: &Programs,
    server: &Server,
    needs: impl Fn() -> anyhow::Result<Vec<f64>>,
    client: &ClientArgs,
) -> anyhow::Result<Run> {
    let (cpu_before, idle_mib) = (server.cpu_seconds()?, server.memory_mib("VmRSS")?);
    let (needs_before, all_before) = (needs()?, CpuTimes::read()?);
    let seen = programs.run_client(&ClientArgs { port: server.port, ..client.clone() })?;
    let cpu_seconds = server.cpu_seconds()? - cpu_before;
    let needs_cpu_seconds: Vec<f64> =
        needs()?.iter().zip(needs_before).map(|(after, before)| after - before).collect();
    let all = CpuTimes::read()?.busy_seconds - all_before.busy_seconds;
    let ours = cpu_seconds + needs_cpu_seconds.iter().sum::<f64>() + seen.cpu_seconds;
    Ok(Run {
        cpu_seconds,
        needs_cpu_seconds,
        idle_mib,
        peak_mib: server.memory_mib("VmHWM")?,
        other_cores: (all - ours).max(0.0) / seen.seconds,
        seen,
    })
}

/// Measures the contenders in turn, so often (A B A B), so that a slow minute of the machine
/// falls on both. The results are in the order of the contenders.
pub(super) fn alternate<Contender, Result>(
    passes: u32,
    contenders: &[Contender],
    measure: impl Fn(&Contender) -> anyhow::Result<Result>,
) -> anyhow::Result<Vec<Vec<Result>>> {
    let mut results: Vec<Vec<Result>> = contenders.iter().map(|_| Vec::new()).collect();
    for pass in 1..=passes {
        eprintln!("pass {pass}");
        for (contender, results) in contenders.iter().zip(&mut results) {
            results.push(measure(contender)?);
        }
    }
    Ok(results)
}

/// A figure of each run.
pub(super) fn figures<R>(runs: &[R], figure: impl Fn(&R) -> f64) -> Vec<f64> {
    runs.iter().map(figure).collect()
}

/// Its median.
pub(super) fn middle<R>(runs: &[R], figure: impl Fn(&R) -> f64) -> f64 {
    median(&figures(runs, figure))
}

/// How much other programs took of the machine, at most.
pub(super) fn noise_note<'a>(runs: impl IntoIterator<Item = &'a Run>) -> String {
    let most = runs.into_iter().map(|run| run.other_cores).fold(0.0, f64::max);
    let note = format!("Other programs took up to {most:.2} of a core meanwhile");
    let advice = if most > NOISY_CORES { "; measure again on a quiet machine." } else { "." };
    note + advice
}
