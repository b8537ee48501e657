//! A measurement of one side.

use anyhow::ensure;

use super::servers::Side;
use crate::bench::client::ClientArgs;
use crate::bench::measure::{self, Run, observe};
use crate::bench::processes::Programs;

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

/// Measures the contenders in turn, each time with a fresh server.
pub(super) fn alternate(
    programs: &Programs,
    passes: u32,
    contenders: &[Contender],
    client: &ClientArgs,
) -> anyhow::Result<Vec<Vec<Run>>> {
    measure::alternate(passes, contenders, |contender| {
        let server = contender.side.start(programs, &contender.options)?;
        let run = observe(programs, &server, || Ok(Vec::new()), client)?;
        eprintln!("{}: {}", contender.name, brief(&run));
        ensure!(run.seen.refused.is_empty(), "errors were answered: {:?}", run.seen.refused);
        Ok(run)
    })
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
