//! What a run means: whether it measured anything, and which lines it crossed. Pure.

use waitscope_record::{LoadInputs, LoadSummary, Verdict};

use super::limits::{Checked, Limit};

/// What a run means for its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// It was measured, and no line was crossed.
    Fine,
    /// A line was crossed.
    Crossed,
    /// What was measured does not tell whether a line was crossed.
    CannotTell,
    /// No request was answered, nor waited for until the end of the run.
    NotMeasured,
}

/// The verdict, where there is something to judge.
pub(super) fn of(
    inputs: &LoadInputs,
    summary: &LoadSummary,
    limits: &[Limit],
) -> (Option<Verdict>, Meaning) {
    if summary.answered + summary.unfinished == 0 {
        return (Some(not_measured(summary)), Meaning::NotMeasured);
    }
    let checked: Vec<Checked> = limits.iter().map(|limit| limit.check(inputs, summary)).collect();
    let crossed = checked.iter().filter_map(|checked| match checked {
        Checked::Crossed(sentence) => Some(sentence.clone()),
        _ => None,
    });
    let unknown = checked.iter().filter_map(|checked| match checked {
        Checked::Unknown(sentence) => Some(sentence.clone()),
        _ => None,
    });
    let (crossed, unknown): (Vec<String>, Vec<String>) = (crossed.collect(), unknown.collect());
    let all = limits.len();
    if !unknown.is_empty() {
        let sentence = format!("{} of {all} lines cannot be told", unknown.len());
        let next = vec!["let it run until they end: -n, a longer -z or a --drain".to_owned()];
        let evidence = [unknown, crossed].concat();
        let verdict = Verdict { name: "cannot-tell".into(), sentence, evidence, next };
        (Some(verdict), Meaning::CannotTell)
    } else if !crossed.is_empty() {
        let sentence = format!("{} of {all} lines crossed", crossed.len());
        (Some(verdict("crossed", sentence, crossed)), Meaning::Crossed)
    } else if all > 0 {
        let lines: Vec<&str> = limits.iter().map(|limit| limit.text.as_str()).collect();
        let sentence = format!("no line was crossed: {}", lines.join(", "));
        (Some(verdict("kept", sentence, Vec::new())), Meaning::Fine)
    } else {
        (None, Meaning::Fine)
    }
}

fn not_measured(summary: &LoadSummary) -> Verdict {
    let sentence = match summary.error_kinds.first() {
        Some(first) => format!(
            "no request was answered: {} of {} ended with {}",
            first.count, summary.requests, first.class
        ),
        None => "no request was sent, or all of them belonged to the start-up".into(),
    };
    verdict("not-measured", sentence, Vec::new())
}

fn verdict(name: &str, sentence: String, evidence: Vec<String>) -> Verdict {
    Verdict { name: name.into(), sentence, evidence, next: Vec::new() }
}

#[cfg(test)]
mod tests {
    use waitscope_record::{ErrorKind, LatencyFigures};

    use super::*;
    use crate::load::{Comparison, Counted, Figure, Metric, Times};

    fn errors_above(count: f64) -> Limit {
        let counted = Counted::Errors;
        let metric = Metric::Count { counted, comparison: Comparison::Above, count };
        Limit { text: format!("errors>{count}"), metric }
    }

    fn max_above(ms: f64) -> Limit {
        let (times, figure) = (Times::Service, Figure::Max);
        let metric = Metric::Latency { times, figure, comparison: Comparison::Above, ms };
        Limit { text: format!("max>{ms}ms"), metric }
    }

    fn summary() -> LoadSummary {
        let service =
            LatencyFigures { lower_bounds: vec!["max".into()], max_ms: 10.0, ..latency() };
        LoadSummary {
            requests: 8,
            answered: 7,
            errors: 1,
            service: Some(service),
            ..LoadSummary::default()
        }
    }

    fn latency() -> LatencyFigures {
        LatencyFigures { count: 7, ..LatencyFigures::default() }
    }

    #[test]
    fn not_to_be_told_comes_before_crossed() {
        let cases = [
            (vec![], None, Meaning::Fine),
            (vec![errors_above(1.0)], Some("kept"), Meaning::Fine),
            (vec![errors_above(1.0), errors_above(0.0)], Some("crossed"), Meaning::Crossed),
            (vec![errors_above(0.0), max_above(50.0)], Some("cannot-tell"), Meaning::CannotTell),
        ];
        for (limits, name, meaning) in cases {
            let (verdict, got) = of(&LoadInputs::default(), &summary(), &limits);
            assert_eq!((verdict.map(|v| v.name).as_deref(), got), (name, meaning), "{limits:?}");
        }
    }

    #[test]
    fn a_run_without_an_answer_is_not_measured_unless_it_waited_to_its_end() {
        let refused = ErrorKind { class: "refused".into(), count: 8, example: String::new() };
        let mut run = LoadSummary {
            requests: 8,
            failed: 8,
            errors: 8,
            error_kinds: vec![refused],
            ..LoadSummary::default()
        };
        let (verdict, meaning) = of(&LoadInputs::default(), &run, &[errors_above(0.0)]);
        assert_eq!(meaning, Meaning::NotMeasured);
        assert!(verdict.unwrap().sentence.contains("8 of 8 ended with refused"));
        run.unfinished = 1;
        assert_eq!(of(&LoadInputs::default(), &run, &[]).1, Meaning::Fine);
    }
}
