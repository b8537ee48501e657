//! `--samples FILE`: one row for each request, as CSV or JSON lines.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use waitscope_load::engine::{Outcome, Sample};

use crate::exit::Failure;
use crate::output::cannot_write;

/// What the file holds, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    /// RFC 4180, with a line of headings.
    Csv,
    /// jsonlines.org
    JsonLines,
}

/// One request. Moments are ms since the start of the run.
#[derive(Debug, Serialize)]
struct Row {
    seq: u64,
    intended_ms: f64,
    start_ms: f64,
    end_ms: f64,
    /// From the start until the connection was open, of a request that opened one.
    connect_ms: Option<f64>,
    /// From the start to the first byte of the answer.
    ttfb_ms: Option<f64>,
    status: Option<u16>,
    bytes: u64,
    /// `answered`, `failed`, `unfinished` or `unsent`.
    outcome: &'static str,
    error: Option<String>,
    reused: bool,
    resent: bool,
    /// Left out of all figures, as part of the start-up.
    warmup: bool,
}

const HEADINGS: &str = "seq,intended_ms,start_ms,end_ms,connect_ms,ttfb_ms,status,bytes,outcome,\
                        error,reused,resent,warmup";

/// A file of samples that is written while a run goes on.
#[derive(Debug)]
pub(super) struct Samples {
    path: PathBuf,
    format: Format,
    file: BufWriter<File>,
    broken: Option<io::Error>,
}

impl Samples {
    /// Begins the file.
    pub(super) fn create(path: &Path) -> Result<Self, Failure> {
        let format = format(path).map_err(Failure::usage)?;
        let file = File::create(path).map_err(|e| Failure::usage(cannot_write(path, &e)))?;
        let mut samples =
            Self { path: path.to_owned(), format, file: BufWriter::new(file), broken: None };
        if format == Format::Csv {
            let written = writeln!(samples.file, "{HEADINGS}");
            samples.note(written);
        }
        Ok(samples)
    }

    /// Writes one. What goes wrong is told at the end: it must not end the run.
    pub(super) fn add(&mut self, sample: &Sample) {
        if self.broken.is_some() {
            return;
        }
        let row = Row::of(sample);
        let written = match self.format {
            Format::Csv => self.file.write_all(csv(&row).as_bytes()),
            Format::JsonLines => serde_json::to_writer(&mut self.file, &row)
                .map_err(io::Error::from)
                .and_then(|()| self.file.write_all(b"\n")),
        };
        self.note(written);
    }

    /// Writes the rest; an error when not all is there.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        let flushed = self.file.flush();
        self.note(flushed);
        match self.broken {
            None => Ok(()),
            Some(error) => Err(Failure::cannot_measure(cannot_write(&self.path, &error))),
        }
    }

    fn note(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.broken.get_or_insert(error);
        }
    }
}

fn format(path: &Path) -> Result<Format, String> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("csv") => Ok(Format::Csv),
        Some("jsonl" | "ndjson") => Ok(Format::JsonLines),
        _ => Err("the name must end in .csv or .jsonl".into()),
    }
}

/// Checks the name of a file before anything is done.
pub(super) fn path(name: OsString) -> Result<PathBuf, String> {
    let path = PathBuf::from(name);
    format(&path).map(|_| path)
}

impl Row {
    fn of(sample: &Sample) -> Self {
        let since_start = |moment: Option<Duration>| Some(ms(moment?.saturating_sub(sample.start)));
        let (outcome, status, error) = match &sample.outcome {
            Outcome::Answered(status) => ("answered", Some(*status), None),
            Outcome::Failed(error) => ("failed", None, Some(error.to_string())),
            Outcome::Unfinished => ("unfinished", None, None),
            Outcome::Unsent => ("unsent", None, None),
        };
        Self {
            seq: sample.seq,
            intended_ms: ms(sample.intended),
            start_ms: ms(sample.start),
            end_ms: ms(sample.end),
            connect_ms: since_start(sample.connect),
            ttfb_ms: since_start(sample.first_byte),
            status,
            bytes: sample.bytes,
            outcome,
            error,
            reused: sample.reused,
            resent: sample.resent,
            warmup: sample.is_left_out(),
        }
    }
}

/// Milliseconds, to the microsecond.
fn ms(duration: Duration) -> f64 {
    duration.as_micros() as f64 / 1e3
}

fn csv(row: &Row) -> String {
    let maybe = |number: Option<f64>| number.map(|number| number.to_string()).unwrap_or_default();
    let status = row.status.map(|status| status.to_string()).unwrap_or_default();
    let error = row.error.as_deref().map(quoted).unwrap_or_default();
    let Row { seq, intended_ms, start_ms, end_ms, bytes, outcome, reused, resent, warmup, .. } =
        row;
    let (connect, ttfb) = (maybe(row.connect_ms), maybe(row.ttfb_ms));
    format!(
        "{seq},{intended_ms},{start_ms},{end_ms},{connect},{ttfb},{status},{bytes},{outcome},\
         {error},{reused},{resent},{warmup}\n"
    )
}

/// A text in quotes, its own ones doubled.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(outcome: Outcome) -> Sample {
        let at = Duration::from_micros;
        Sample {
            seq: 7,
            intended: at(1_000),
            start: at(1_250),
            connect: Some(at(1_500)),
            first_byte: None,
            end: at(9_750),
            bytes: 120,
            reused: false,
            resent: true,
            warmup: false,
            outcome,
            details: None,
        }
    }

    #[test]
    fn rows_have_a_cell_for_each_heading() {
        let cases = [
            (Outcome::Answered(201), "7,1,1.25,9.75,0.25,,201,120,answered,,false,true,false\n"),
            (Outcome::Unfinished, "7,1,1.25,9.75,0.25,,,120,unfinished,,false,true,false\n"),
        ];
        for (outcome, expected) in cases {
            let row = csv(&Row::of(&sample(outcome)));
            assert_eq!(row, expected);
            assert_eq!(row.split(',').count(), HEADINGS.split(',').count());
        }
    }

    #[test]
    fn json_rows_have_the_headings_as_names() {
        let row = serde_json::to_value(Row::of(&sample(Outcome::Answered(200)))).unwrap();
        let names: Vec<&str> = HEADINGS.split(',').collect();
        let row = row.as_object().unwrap();
        assert!(names.iter().all(|name| row.contains_key(*name)) && row.len() == names.len());
    }

    #[test]
    fn texts_are_quoted() {
        assert_eq!(quoted("say \"x\", y"), "\"say \"\"x\"\", y\"");
    }

    #[test]
    fn the_name_says_the_format() {
        assert_eq!(format(Path::new("a/b.csv")), Ok(Format::Csv));
        assert_eq!(format(Path::new("b.jsonl")), Ok(Format::JsonLines));
        assert!(format(Path::new("b.txt")).unwrap_err().contains(".csv or .jsonl"));
        assert!(format(Path::new("csv")).is_err());
    }
}
