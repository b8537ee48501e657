//! What the demo expects to see, written down before it runs. Pure.

use waitscope_load::stall::ProbeMode;
use waitscope_record::{Body, ModeRow, Record, StallSummary, SteadyRow};

/// What differs from the expectation, one sentence each; empty when every shape is as expected.
///
/// `runs` are the stall records behind `rows`, in the same order.
pub(super) fn surprises(probe: ProbeMode, rows: &[ModeRow], runs: &[Record]) -> Vec<String> {
    // What one ticket takes while nobody is held up.
    let one_ms = runs.iter().find_map(|run| match &run.body {
        Body::Stall { summary, .. } if run.name.as_deref() == Some("async") => {
            summary.service_median_ms
        }
        _ => None,
    });
    let summaries = runs.iter().filter_map(|run| match &run.body {
        Body::Stall { summary, .. } => Some(summary.as_ref()),
        Body::Demo { .. } | Body::Load { .. } => None,
    });
    rows.iter()
        .zip(summaries)
        .zip(runs)
        // A run that was cut short has no shape.
        .filter(|(_, run)| !run.interrupted)
        .map(|(pair, _)| pair)
        .flat_map(|(row, summary)| {
            let expectations = if row.mode == "blocking" {
                blocking(probe, row, summary)
            } else {
                overlapping(probe, row, summary)
            };
            let steady = row.steady.iter().flat_map(|steady| self::steady(row, steady, one_ms));
            let accepted = summary.statuses.get("201") == Some(&summary.requests);
            let all = expectations.into_iter().chain(steady).chain([(
                accepted,
                format!("every ticket is accepted, but the answers were {:?}", summary.statuses),
            )]);
            let mode = row.mode.clone();
            all.filter(|(holds, _)| !holds)
                .map(move |(_, expected)| format!("{mode}: expected that {expected}"))
        })
        .collect()
}

/// Each expectation: whether it holds, and how it reads when it does not.
type Expectations = Vec<(bool, String)>;

fn blocking(probe: ProbeMode, row: &ModeRow, summary: &StallSummary) -> Expectations {
    let mut expectations = vec![
        (
            row.wall_s >= 15.0,
            format!("8 tickets take 15 s or more, but they took {:.1} s", row.wall_s),
        ),
        (
            row.provider_max_in_flight == 1,
            format!("no two provider calls overlap, but {} did", row.provider_max_in_flight),
        ),
    ];
    expectations.push(match probe {
        ProbeMode::Scheduled => (
            row.health_slowest_ms.is_some_and(|ms| ms > 4000.0),
            format!(
                "the slowest health answer takes over 4 s, but it took {}",
                shown(row.health_slowest_ms)
            ),
        ),
        ProbeMode::Sequential => (
            // 3 to 8 as a rule; in a few runs of a hundred two probes catch all the waits.
            (2..=8).contains(&summary.health_count),
            format!("3 to 8 health answers come back, but there were {}", summary.health_count),
        ),
    });
    expectations
}

fn overlapping(probe: ProbeMode, row: &ModeRow, summary: &StallSummary) -> Expectations {
    let mut expectations = vec![
        (
            row.wall_s <= 7.0,
            format!("8 tickets take 7 s or less, but they took {:.1} s", row.wall_s),
        ),
        (
            row.health_median_ms.is_some_and(|ms| ms < 20.0),
            format!(
                "the median health answer takes under 20 ms, but it took {}",
                shown(row.health_median_ms)
            ),
        ),
        (
            row.provider_max_in_flight == summary.concurrency,
            format!(
                "{} provider calls overlap, but {} did",
                summary.concurrency, row.provider_max_in_flight
            ),
        ),
    ];
    if probe == ProbeMode::Sequential {
        expectations.push((
            // One per 100 ms of a run of up to 7 s.
            (30..=70).contains(&summary.health_count),
            format!("about 45 health answers come back, but there were {}", summary.health_count),
        ));
    }
    expectations
}

/// Eight users of a service whose tickets overlap get 8 in the time of one, and of one whose tickets
/// do not, one.
fn steady(row: &ModeRow, steady: &SteadyRow, one_ms: Option<f64>) -> Expectations {
    let rate = steady.tickets_per_s;
    let p50 = steady.ticket_p50_ms;
    if row.mode != "blocking" {
        let near = (3.0..=3.7).contains(&rate);
        return vec![(near, format!("8 users get near 3.3 tickets/s, but they got {rate}"))];
    }
    let times = one_ms.zip(p50).map(|(one, p50)| p50 / one);
    vec![
        (
            (0.33..=0.45).contains(&rate),
            format!("8 users get 0.33 to 0.45 tickets/s, but they got {rate}"),
        ),
        (
            times.is_none_or(|times| (6.0..=9.5).contains(&times)),
            format!("the median ticket takes about 8 times one, but it took {}", shown(p50)),
        ),
    ]
}

fn shown(ms: Option<f64>) -> String {
    ms.map_or_else(|| "unknown".into(), |ms| format!("{ms:.1} ms"))
}

#[cfg(test)]
mod tests {
    use waitscope_record::StallInputs;

    use super::*;

    fn run(summary: StallSummary) -> Record {
        let inputs = StallInputs {
            url: String::new(),
            method: "POST".into(),
            requests: 8,
            concurrency: 4,
            health: String::new(),
            every_ms: 100.0,
            probe: "scheduled".into(),
            max_health_ms: 250.0,
            timeout_ms: 1.0,
        };
        Record::new(Body::Stall { inputs, summary: Box::new(summary) }, "0", String::new())
    }

    /// Figures of one mode as they should be.
    fn expected(mode: &str, probe: ProbeMode) -> (ModeRow, StallSummary) {
        let blocks = mode == "blocking";
        let row = ModeRow {
            mode: mode.into(),
            wall_s: if blocks { 18.8 } else { 5.0 },
            health_median_ms: Some(if blocks { 4400.0 } else { 1.2 }),
            health_slowest_ms: Some(if blocks { 9800.0 } else { 3.0 }),
            tickets_per_s: 1.6,
            provider_max_in_flight: if blocks { 1 } else { 4 },
            steady: Some(SteadyRow {
                users: 8,
                lasts_s: 40.0,
                created: if blocks { 16 } else { 132 },
                unfinished: 8,
                failed: 0,
                tickets_per_s: if blocks { 0.4 } else { 3.3 },
                ticket_p50_ms: Some(if blocks { 17_000.0 } else { 2_300.0 }),
            }),
        };
        let count = match (probe, blocks) {
            (ProbeMode::Scheduled, true) => 188,
            (ProbeMode::Scheduled, false) => 50,
            (ProbeMode::Sequential, true) => 5,
            (ProbeMode::Sequential, false) => 45,
        };
        let summary = StallSummary {
            requests: 8,
            concurrency: 4,
            statuses: [("201".into(), 8)].into(),
            health_count: count,
            ..StallSummary::default()
        };
        (row, summary)
    }

    fn rate(row: &mut ModeRow, tickets_per_s: f64) {
        row.steady.as_mut().unwrap().tickets_per_s = tickets_per_s;
    }

    #[test]
    fn the_median_ticket_of_a_blocked_service_takes_eight_times_one() {
        let (row, blocked) = expected("blocking", ProbeMode::Scheduled);
        let (first, mut calm) = expected("async", ProbeMode::Scheduled);
        let rows = [first, row];
        for (one_ms, complains) in [(2_200.0, false), (5_000.0, true), (500.0, true)] {
            calm.service_median_ms = Some(one_ms);
            let mut runs = [run(calm.clone()), run(blocked.clone())];
            runs[0].name = Some("async".into());
            let surprises = surprises(ProbeMode::Scheduled, &rows, &runs);
            assert_eq!(!surprises.is_empty(), complains, "{one_ms}: {surprises:?}");
        }
    }

    /// The mode and pacing, a change to the figures, and the words that complain about it.
    type Case = (&'static str, ProbeMode, fn(&mut ModeRow, &mut StallSummary), &'static str);

    #[test]
    fn each_wrong_figure_is_a_surprise_and_the_right_ones_are_none() {
        use ProbeMode::{Scheduled, Sequential};
        let cases: [Case; 17] = [
            ("async", Scheduled, |_, _| {}, ""),
            ("thread", Sequential, |_, _| {}, ""),
            ("blocking", Scheduled, |_, _| {}, ""),
            ("blocking", Sequential, |row, _| row.health_slowest_ms = Some(3000.0), ""),
            ("async", Scheduled, |row, _| row.wall_s = 7.1, "7 s or less"),
            ("async", Scheduled, |row, _| row.health_median_ms = None, "under 20 ms"),
            ("thread", Scheduled, |row, _| row.provider_max_in_flight = 3, "4 provider calls"),
            ("thread", Sequential, |_, s| s.health_count = 12, "about 45"),
            ("thread", Scheduled, |_, s| s.statuses = [("503".into(), 8)].into(), "accepted"),
            ("blocking", Scheduled, |row, _| row.wall_s = 14.0, "15 s or more"),
            ("blocking", Scheduled, |row, _| row.provider_max_in_flight = 2, "no two"),
            ("blocking", Scheduled, |row, _| row.health_slowest_ms = Some(1.0), "over 4 s"),
            ("blocking", Sequential, |_, s| s.health_count = 45, "3 to 8"),
            ("async", Scheduled, |row, _| rate(row, 1.7), "near 3.3"),
            ("thread", Scheduled, |row, _| rate(row, 4.0), "near 3.3"),
            ("blocking", Scheduled, |row, _| rate(row, 0.5), "0.33 to 0.45"),
            ("blocking", Scheduled, |row, _| row.steady = None, ""),
        ];
        for (mode, probe, change, complaint) in cases {
            let (mut row, mut summary) = expected(mode, probe);
            change(&mut row, &mut summary);
            let surprises = surprises(probe, &[row], &[run(summary)]);
            if complaint.is_empty() {
                assert!(surprises.is_empty(), "{surprises:?}");
            } else {
                assert_eq!(surprises.len(), 1, "{mode}: {surprises:?}");
                assert!(surprises[0].contains(complaint), "{surprises:?}");
            }
        }
    }
}
