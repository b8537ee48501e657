//! A user's own recording of calls: JSON lines, one per call.
//!
//! A line needs `latency_ms`, or `ttft_ms` with or without `gaps_ms`; `task`, `path`, `status` and
//! `error` are heeded, and every other field is ignored. `waitscope provider record` writes such
//! lines. The format is described in `docs/recordings.md`.

mod line;

use std::fmt;
use std::io::{self, BufRead};
use std::ops::Range;
use std::time::Duration;

use super::Task;
use line::Line;

/// The largest file that is read.
pub const MAX_BYTES: u64 = 256 * 1024 * 1024;
/// The most calls that are read.
pub const MAX_CALLS: usize = 1_000_000;

/// Recorded calls, ready to be replayed.
#[derive(Clone, PartialEq)]
pub struct Recording {
    name: String,
    calls: Vec<Call>,
    /// Microseconds from a call's first token to each of its later ones, call after call.
    offsets_us: Vec<u32>,
    /// The calls that each task replays, in the order of [`Task::ALL`].
    pools: [Vec<u32>; 3],
    failed: usize,
}

/// One call that succeeded. Times are microseconds: an hour fits.
#[derive(Debug, Clone, PartialEq)]
struct Call {
    kind: Kind,
    task: Option<Task>,
    latency_us: u32,
    ttft_us: Option<u32>,
    /// Where its offsets lie; `None` when its gaps are not known.
    offsets: Option<Range<usize>>,
}

/// What kind of endpoint a call went to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One that writes text: chat completions, completions, responses, messages.
    Text,
    /// Embeddings.
    Embeddings,
    /// Any other path.
    Other,
    /// The line names neither task nor path.
    Unknown,
}

/// Why a recording cannot be replayed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordingError {
    /// A line is wrong.
    #[error("{file}, line {line}: {problem}")]
    Line {
        /// The file.
        file: String,
        /// Counted from 1.
        line: usize,
        /// What is wrong and how to mend it.
        problem: String,
    },
    /// The file as a whole is of no use.
    #[error("{file} {problem}")]
    File {
        /// The file.
        file: String,
        /// What is wrong and how to mend it.
        problem: String,
    },
}

impl Recording {
    /// Reads a recording; `name` is what errors call it, and where `--latency file:` finds it.
    ///
    /// # Errors
    /// When a line is wrong, when no call succeeded, and when it is too large or cannot be read.
    pub fn read(name: &str, text: impl BufRead) -> Result<Self, RecordingError> {
        let mut recording = Self {
            name: name.to_owned(),
            calls: Vec::new(),
            offsets_us: Vec::new(),
            pools: Default::default(),
            failed: 0,
        };
        let mut text = text.take(MAX_BYTES + 1);
        let (mut line, mut number) = (Vec::new(), 0);
        loop {
            line.clear();
            let read = text.read_until(b'\n', &mut line);
            let read = read.map_err(|error| recording.useless(unreadable(&error)))?;
            if text.limit() == 0 {
                return Err(recording.useless(format!(
                    "is larger than {} MiB: keep some of its lines",
                    MAX_BYTES / (1024 * 1024)
                )));
            }
            if read == 0 {
                break;
            }
            number += 1;
            recording.add(&line, number)?;
        }
        recording.check(number)?;
        recording.pools = Task::ALL.map(|task| recording.pool(task));
        Ok(recording)
    }

    fn add(&mut self, line: &[u8], number: usize) -> Result<(), RecordingError> {
        let line =
            if number == 1 { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) } else { line };
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        let wrong =
            |problem| RecordingError::Line { file: self.name.clone(), line: number, problem };
        let line = Line::parse(line).map_err(wrong)?;
        if line.failed() {
            self.failed += 1;
            return Ok(());
        }
        let times = line.times().map_err(wrong)?;
        if self.calls.len() == MAX_CALLS {
            return Err(self.useless(format!("has more than {MAX_CALLS} calls: keep some of them")));
        }
        let start = self.offsets_us.len();
        let offsets = times.offsets.map(|offsets| {
            self.offsets_us.extend(offsets);
            start..self.offsets_us.len()
        });
        let (kind, task) = (line.kind(), line.task());
        let (latency_us, ttft_us) = (times.latency_us, times.ttft_us);
        self.calls.push(Call { kind, task, latency_us, ttft_us, offsets });
        Ok(())
    }

    fn check(&self, lines: usize) -> Result<(), RecordingError> {
        if !self.calls.is_empty() {
            return Ok(());
        }
        Err(self.useless(match (lines, self.failed) {
            (0, _) => "is empty: it needs a line such as {\"latency_ms\": 512.5} per call".into(),
            (_, 0) => {
                "has blank lines only: it needs one such as {\"latency_ms\": 512.5} per call".into()
            }
            (_, failed) => {
                format!("has no call to replay: all of its {failed} calls ended in an error")
            }
        }))
    }

    fn useless(&self, problem: String) -> RecordingError {
        RecordingError::File { file: self.name.clone(), problem }
    }

    /// The calls that stand for a task: those of this task; else those of its kind of endpoint;
    /// else those of unknown kind; else all.
    fn pool(&self, task: Task) -> Vec<u32> {
        let kind = if task == Task::Embed { Kind::Embeddings } else { Kind::Text };
        let pools: [&dyn Fn(&Call) -> bool; 4] = [
            &|call| call.task == Some(task),
            &|call| call.kind == kind,
            &|call| call.kind == Kind::Unknown,
            &|_| true,
        ];
        let calls = |fits: &dyn Fn(&Call) -> bool| -> Vec<u32> {
            (0..).zip(&self.calls).filter(|(_, call)| fits(call)).map(|(at, _)| at).collect()
        };
        pools.into_iter().map(calls).find(|pool| !pool.is_empty()).unwrap_or_default()
    }

    /// The call that a uniform draw chooses among those that stand for `task`.
    pub fn pick(&self, task: Task, draw: f64) -> u32 {
        let pool = &self.pools[task as usize];
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to length")]
        let at = (draw.clamp(0.0, 1.0) * pool.len() as f64) as usize;
        pool.get(at.min(pool.len().saturating_sub(1))).copied().unwrap_or(0)
    }

    /// A call's time to the full answer.
    pub fn latency(&self, call: u32) -> Duration {
        micros(self.call(call).latency_us)
    }

    /// A call's time to the first token, when it is known.
    pub fn first(&self, call: u32) -> Option<Duration> {
        self.call(call).ttft_us.map(micros)
    }

    /// Whether a call's gaps are known.
    pub fn has_gaps(&self, call: u32) -> bool {
        self.call(call).offsets.is_some()
    }

    /// When a token of a call is due, the first one being 0; beyond the recorded ones the gaps are
    /// repeated.
    pub fn due(&self, call: u32, token: u32) -> Duration {
        let offsets = self.offsets(call);
        let first = self.first(call).unwrap_or_default();
        let (Some(round), Ok(count)) = (offsets.last(), u32::try_from(offsets.len())) else {
            return first;
        };
        let (rounds, into) = (token / count, token % count);
        let offset = into.checked_sub(1).map_or(0, |gap| offsets[gap as usize]);
        first + micros(*round) * rounds + micros(offset)
    }

    /// Microseconds from a call's first token to each of its later ones.
    fn offsets(&self, call: u32) -> &[u32] {
        self.call(call).offsets.clone().map_or(&[], |offsets| &self.offsets_us[offsets])
    }

    fn call(&self, call: u32) -> &Call {
        &self.calls[call as usize]
    }

    /// What errors call it: the file's path.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many calls can be replayed.
    pub fn replayable(&self) -> usize {
        self.calls.len()
    }

    /// How many calls ended in an error; these are not replayed.
    pub fn failed(&self) -> usize {
        self.failed
    }

    /// What it holds, in a line.
    pub fn summary(&self) -> String {
        let Self { name, calls, failed, .. } = self;
        let others = match failed {
            0 => String::new(),
            failed => format!("; the {failed} that ended in an error are left out"),
        };
        format!("{} calls of {name}{others}", calls.len())
    }

    /// The calls to one kind of endpoint, in the order of the file.
    pub fn of_kind(&self, kind: Kind) -> Vec<u32> {
        (0..).zip(&self.calls).filter(|(_, call)| call.kind == kind).map(|(at, _)| at).collect()
    }

    /// A call's gaps between tokens, in milliseconds.
    pub fn gaps_ms(&self, call: u32) -> impl Iterator<Item = f64> {
        let offsets = self.offsets(call);
        let before = std::iter::once(&0).chain(offsets);
        offsets.iter().zip(before).map(|(offset, before)| f64::from(offset - before) / 1_000.0)
    }
}

/// A summary: a recording has thousands of calls.
impl fmt::Debug for Recording {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter
            .debug_struct("Recording")
            .field("name", &self.name)
            .field("replayable", &self.calls.len())
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}

fn unreadable(error: &io::Error) -> String {
    format!("cannot be read: {error}")
}

fn micros(micros: u32) -> Duration {
    Duration::from_micros(micros.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &str) -> Result<Recording, RecordingError> {
        Recording::read("r.jsonl", lines.as_bytes())
    }

    /// The latencies that a task replays, over evenly spread draws.
    fn replayed(recording: &Recording, task: Task) -> Vec<u128> {
        let draws = (0..12).map(|draw| (f64::from(draw) + 0.5) / 12.0);
        let mut all: Vec<u128> =
            draws.map(|draw| recording.latency(recording.pick(task, draw)).as_millis()).collect();
        all.dedup();
        all
    }

    #[test]
    fn calls_are_drawn_evenly() {
        let recording =
            read("{\"latency_ms\": 1}\n{\"latency_ms\": 2}\n\n{\"latency_ms\": 3}").unwrap();
        let drawn = |draw| recording.latency(recording.pick(Task::Classify, draw)).as_millis();
        for (draw, expected) in
            [(0.0, 1), (0.33, 1), (0.34, 2), (0.66, 2), (0.67, 3), (1.0, 3), (f64::NAN, 1)]
        {
            assert_eq!(drawn(draw), expected, "{draw}");
        }
    }

    #[test]
    fn a_task_replays_its_like() {
        let (classify, embed) = (
            r#"{"task": "classify", "latency_ms": 1}"#,
            r#"{"path": "/v1/embeddings", "latency_ms": 2}"#,
        );
        let (chat, models) = (
            r#"{"path": "/openai/deployments/x/chat/completions", "latency_ms": 3}"#,
            r#"{"path": "/v1/models", "latency_ms": 4}"#,
        );
        let unknown = r#"{"latency_ms": 5}"#;
        let all = [classify, embed, chat, models, unknown].join("\n");
        for (lines, task, expected) in [
            (all.as_str(), Task::Classify, vec![1]),
            (&all, Task::Embed, vec![2]),
            (&all, Task::DraftReply, vec![1, 3]),
            (&[embed, unknown].join("\n"), Task::DraftReply, vec![5]),
            (&[chat, unknown].join("\n"), Task::Embed, vec![5]),
            (&[chat, models].join("\n"), Task::Embed, vec![3, 4]),
            (models, Task::Classify, vec![4]),
        ] {
            assert_eq!(replayed(&read(lines).unwrap(), task), expected, "{task:?} of {lines}");
        }
    }

    #[test]
    fn failed_calls_are_counted_and_not_replayed() {
        let fine = r#"{"latency_ms": 1, "status": 200, "error": null}"#;
        for failed in [
            r#"{"latency_ms": 9, "status": 429}"#,
            r#"{"latency_ms": 9, "status": 0}"#,
            r#"{"latency_ms": 9, "status": "error"}"#,
            r#"{"latency_ms": 9, "status": 200, "error": "client left"}"#,
            r#"{"status": 503}"#,
        ] {
            let recording = read(&[failed, fine].join("\n")).unwrap();
            assert_eq!((recording.replayable(), recording.failed()), (1, 1), "{failed}");
            assert_eq!(replayed(&recording, Task::Classify), [1]);
        }
        for fine in [r#""ok""#, r#""200""#, "201", "302", "null"] {
            let recording = read(&format!("{{\"latency_ms\": 1, \"status\": {fine}}}")).unwrap();
            assert_eq!((recording.replayable(), recording.failed()), (1, 0), "{fine}");
        }
    }

    #[test]
    fn a_stream_without_latency_takes_as_long_as_its_tokens() {
        let recording = read(r#"{"ttft_ms": 100.5, "gaps_ms": [10, 0.25]}"#).unwrap();
        assert_eq!(recording.latency(0), Duration::from_micros(110_750));
        assert_eq!(recording.first(0), Some(Duration::from_micros(100_500)));
        assert_eq!(recording.gaps_ms(0).collect::<Vec<_>>(), [10.0, 0.25]);
        let long = recording.due(0, u32::MAX);
        assert!(long > Duration::from_hours(1), "no overflow: {long:?}");
    }

    #[track_caller]
    fn refused(lines: &[u8], hints: &[&str]) {
        let error = Recording::read("r.jsonl", lines).unwrap_err().to_string();
        for hint in hints {
            assert!(error.contains(hint), "{}: {error}", String::from_utf8_lossy(lines));
        }
        assert!(error.starts_with("r.jsonl") && !error.contains('\n'), "{error}");
    }

    #[test]
    fn what_cannot_be_replayed_is_refused_with_its_line() {
        let fine = "{\"latency_ms\": 1}\n";
        let cases: [(&str, &[&str]); 22] = [
            ("", &["empty", "latency_ms"]),
            (" \n\n", &["blank", "latency_ms"]),
            ("{\"status\": 500}\n{\"status\": 429}", &["all of its 2 calls", "error"]),
            ("latency_ms\n1\n", &["line 1", "no JSON object"]),
            ("[{\"latency_ms\": 1}]", &["line 1", "no JSON object"]),
            ("{\n  \"latency_ms\": 1\n}", &["line 1", "one per line"]),
            ("{}", &["line 1", "latency_ms", "ttft_ms"]),
            ("{\"latency\": 1}", &["latency_ms", "ttft_ms"]),
            ("{\"latency_ms\": null}", &["latency_ms", "ttft_ms"]),
            ("{\"gaps_ms\": [1, 2]}", &["ttft_ms"]),
            ("{\"latency_ms\": \"1\"}", &["latency_ms", "number"]),
            ("{\"latency_ms\": -1}", &["latency_ms", "-1", "0 to 3600000"]),
            ("{\"latency_ms\": 1e999}", &["line 1"]),
            ("{\"latency_ms\": NaN}", &["line 1", "NaN"]),
            ("{\"latency_ms\": 3600001}", &["3600001", "0 to 3600000"]),
            ("{\"ttft_ms\": 1, \"gaps_ms\": 2}", &["gaps_ms", "list of numbers"]),
            ("{\"ttft_ms\": 1, \"gaps_ms\": [1, null]}", &["gaps_ms", "list of numbers"]),
            ("{\"ttft_ms\": 1, \"gaps_ms\": [1, -2]}", &["gaps_ms", "-2"]),
            ("{\"ttft_ms\": 1, \"gaps_ms\": [3600000]}", &["ttft_ms and gaps_ms", "hour"]),
            ("{\"ttft_ms\": 2, \"latency_ms\": 1}", &["ttft_ms", "latency_ms", "more than"]),
            ("{\"latency_ms\": 1", &["line 1", "no JSON object"]),
            ("\"latency_ms\": 1", &["line 1", "no JSON object"]),
        ];
        for (lines, hints) in cases {
            refused(lines.as_bytes(), hints);
            if hints.contains(&"line 1") {
                refused(format!("{fine}\n{lines}").as_bytes(), &["line 3"]);
            }
        }
        refused(b"\xff\xfe{}", &["line 1"]);
        refused(b"{\"path\": \"\xff\", \"latency_ms\": 1}", &["line 1"]);
        assert_eq!(read("\u{feff}{\"latency_ms\": 1}").unwrap().replayable(), 1);
    }

    #[test]
    fn too_much_is_refused() {
        let endless = io::BufReader::new(io::repeat(b' '));
        let error = Recording::read("r.jsonl", endless).unwrap_err().to_string();
        assert!(error.contains("larger than 256 MiB"), "{error}");
        let many = b"{\"ttft_ms\":1}\n".repeat(MAX_CALLS + 1);
        refused(&many, &["more than 1000000 calls"]);
    }
}
