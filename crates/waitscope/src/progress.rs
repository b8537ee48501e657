//! Progress on stderr: none when stderr is no terminal, or with `--quiet`.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar of requests or seconds with a remark. Cheap to clone, and usable from any thread.
#[derive(Debug, Clone)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar for `requests`, with a word in front of it.
    pub(crate) fn requests(quiet: bool, label: &str, requests: u64) -> Self {
        let template = "{prefix}{bar:24} {pos}/{len} requests  {elapsed}  {msg}";
        Self::bar(quiet, label, requests, template)
    }

    /// A bar for a run of so many seconds, with a word in front of it.
    pub(crate) fn seconds(quiet: bool, label: &str, seconds: u64) -> Self {
        Self::bar(quiet, label, seconds, "{prefix}{bar:24} {pos}/{len} s  {msg}")
    }

    fn bar(quiet: bool, label: &str, length: u64, template: &str) -> Self {
        if quiet || !std::io::stderr().is_terminal() {
            return Self(ProgressBar::hidden());
        }
        let bar = ProgressBar::new(length);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        if !label.is_empty() {
            bar.set_prefix(format!("{label:9} "));
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    /// So many requests or seconds are done.
    pub(crate) fn at(&self, position: u64) {
        self.0.set_position(position);
    }

    /// One request more is done.
    pub(crate) fn step(&self) {
        self.0.inc(1);
    }

    /// What is worth a look right now.
    pub(crate) fn note(&self, message: &str) {
        self.0.set_message(message.to_owned());
    }

    /// Takes the bar away: the result or an error follows.
    pub(crate) fn finish(&self) {
        self.0.finish_and_clear();
    }
}
