//! What came of the steps, as text.

use std::fmt;
use std::time::Duration;

/// How one step ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    /// Why, in one line.
    Failed(String),
}

/// The steps that ran, with their times.
#[derive(Debug)]
pub(crate) struct Summary {
    rows: Vec<(&'static str, Duration, Outcome)>,
    left_out: Vec<&'static str>,
    interrupted: bool,
}

impl Summary {
    /// Starts empty; `left_out` are the steps that nobody asked for.
    pub(crate) fn new(left_out: Vec<&'static str>) -> Self {
        Self { rows: Vec::new(), left_out, interrupted: false }
    }

    /// Adds the next step.
    pub(crate) fn add(&mut self, name: &'static str, took: Duration, outcome: Outcome) {
        self.rows.push((name, took, outcome));
    }

    /// The steps after the last one added did not run.
    pub(crate) fn interrupted(&mut self) {
        self.interrupted = true;
    }

    /// How many steps failed.
    pub(crate) fn failed(&self) -> usize {
        self.rows.iter().filter(|(_, _, outcome)| *outcome != Outcome::Passed).count()
    }

    /// Whether this step ran and failed.
    pub(crate) fn has_failed(&self, name: &str) -> bool {
        self.rows.iter().any(|(row, _, outcome)| *row == name && *outcome != Outcome::Passed)
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, took, outcome) in &self.rows {
            write!(f, "{name:<14} {:>7.1} s  ", took.as_secs_f64())?;
            match outcome {
                Outcome::Passed => writeln!(f, "passed")?,
                Outcome::Failed(why) => writeln!(f, "FAILED: {why}")?,
            }
        }
        if self.interrupted {
            writeln!(f, "INTERRUPTED: the steps after these did not run")?;
        }
        if !self.left_out.is_empty() {
            writeln!(f, "LEFT OUT, as --only asked: {}", self.left_out.join(", "))?;
        }
        let failed = self.failed();
        write!(f, "{} passed, {failed} failed", self.rows.len() - failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_has_a_line_and_the_last_line_counts() {
        let mut summary = Summary::new(vec!["clippy", "deny"]);
        summary.add("fmt", Duration::from_millis(1230), Outcome::Passed);
        summary.add("pytest", Duration::from_secs(75), Outcome::Failed("exit status: 1".into()));
        assert_eq!(
            summary.to_string(),
            "fmt                1.2 s  passed\n\
             pytest            75.0 s  FAILED: exit status: 1\n\
             LEFT OUT, as --only asked: clippy, deny\n\
             1 passed, 1 failed"
        );
        assert!(summary.has_failed("pytest"));
        assert!(!summary.has_failed("fmt"));
        assert!(!summary.has_failed("clippy"));
    }

    #[test]
    fn an_interrupted_run_says_so() {
        let mut summary = Summary::new(vec![]);
        summary.add("fmt", Duration::ZERO, Outcome::Passed);
        summary.interrupted();
        assert!(summary.to_string().contains("INTERRUPTED"));
        assert!(summary.to_string().ends_with("\n1 passed, 0 failed"));
    }
}
