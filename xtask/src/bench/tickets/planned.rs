//! How long tickets would take if nothing but the provider took time: its three planned latencies
//! added up, from its truth log.
//!
//! The log does not say which calls are of one ticket, and need not: each call's latency is drawn
//! from a hash of its own content and attempt, so the three are independent of each other, and the
//! distribution of their sum is the convolution of theirs.

use std::collections::BTreeMap;

use anyhow::Context;
use serde::Deserialize;

/// Quantiles of what the provider planned for a ticket.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
#[expect(clippy::struct_field_names, reason = "a number's name ends in its unit")]
pub(super) struct Planned {
    pub(super) p50_ms: f64,
    pub(super) p95_ms: f64,
    /// How late the provider itself was with its answers.
    pub(super) late_p99_ms: f64,
}

/// A line of the log, of which this is needed.
#[derive(Debug, Deserialize)]
struct Call {
    task: String,
    status: u16,
    planned_us: Vec<usize>,
    max_lateness_us: usize,
}

/// A share for each millisecond.
type Distribution = Vec<f64>;

impl Planned {
    /// From the lines of a truth log; calls that got no answer do not count. Of none at all, the
    /// quantiles are no numbers.
    pub(super) fn read(log: &str) -> anyhow::Result<Self> {
        let mut tasks: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut late = Vec::new();
        for line in log.lines() {
            let call: Call = serde_json::from_str(line).with_context(|| line.to_owned())?;
            if let (200, Some(&planned_us)) = (call.status, call.planned_us.last()) {
                tasks.entry(call.task).or_default().push(planned_us);
                late.push(call.max_lateness_us);
            }
        }
        let ticket = tasks.values().map(|us| distribution(us)).reduce(|a, b| sum(&a, &b));
        let ticket = ticket.unwrap_or_default();
        Ok(Self {
            p50_ms: quantile(&ticket, 0.5),
            p95_ms: quantile(&ticket, 0.95),
            late_p99_ms: quantile(&distribution(&late), 0.99),
        })
    }
}

fn distribution(times_us: &[usize]) -> Distribution {
    let ms: Vec<usize> = times_us.iter().map(|us| (us + 500) / 1_000).collect();
    let mut shares = vec![0.0; ms.iter().max().map_or(0, |most| most + 1)];
    for ms in &ms {
        shares[*ms] += 1.0 / times_us.len() as f64;
    }
    shares
}

/// Of the sum of two that are independent: the convolution.
fn sum(a: &[f64], b: &[f64]) -> Distribution {
    let mut shares = vec![0.0; a.len() + b.len() - 1];
    for (ms_a, share_a) in a.iter().enumerate().filter(|(_, share)| **share > 0.0) {
        for (share, share_b) in shares[ms_a..].iter_mut().zip(b) {
            *share += share_a * share_b;
        }
    }
    shares
}

/// The first millisecond up to which at least this share lies.
fn quantile(shares: &[f64], quantile: f64) -> f64 {
    let mut below = 0.0;
    let reached = |share: &f64| {
        below += share;
        // Sums of floats fall short of 1 by a little.
        below >= quantile - 1e-9
    };
    shares.iter().position(reached).map_or(f64::NAN, |ms| ms as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latencies_of_a_ticket_are_added_up() {
        let line = |task: &str, status: u16, ms: u64, late_us: u64| {
            format!(
                r#"{{"call":1,"task":"{task}","status":{status},"planned_us":[{}],"written_us":[],"max_lateness_us":{late_us}}}"#,
                ms * 1_000
            )
        };
        // Either 100 or 300, then 50 four times in five and else 1,000.
        let mut lines = vec![line("classify", 200, 100, 900), line("classify", 200, 300, 2_100)];
        lines.extend([50, 50, 50, 50, 1_000].map(|ms| line("embed", 200, ms, 0)));
        lines.push(line("embed", 499, 9_000, 9_000_000));
        let planned = Planned::read(&lines.join("\n")).unwrap();
        // 150, 350, 1,100 and 1,300 ms with 40, 40, 10 and 10 %.
        assert_eq!(planned, Planned { p50_ms: 350.0, p95_ms: 1_300.0, late_p99_ms: 2.0 });
        assert!(Planned::read("").unwrap().p95_ms.is_nan());
        assert!(Planned::read("no").is_err());
    }
}
