//! Where a record goes: text or JSON on stdout, and a file when one was asked for.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use waitscope_record::{Machine, Record};
use waitscope_report::Style;

use crate::args::OutputArgs;
use crate::console;
use crate::exit::Failure;

/// The places that were asked for, checked before the measurement starts.
#[derive(Debug)]
pub(crate) struct Output {
    json: bool,
    file: Option<PathBuf>,
}

impl Output {
    /// Checks that the file can be written: a typing error must not cost a measurement.
    pub(crate) fn open(args: &OutputArgs) -> Result<Self, Failure> {
        if let Some(path) = &args.output {
            can_write(path)?;
        }
        Ok(Self { json: args.json, file: args.output.clone() })
    }

    /// Whether stdout carries text for a reader.
    pub(crate) fn is_text(&self) -> bool {
        !self.json
    }

    /// Prints the record and writes it. Both are tried, whatever becomes of the other.
    pub(crate) fn deliver(&self, record: &Record) -> Result<(), Failure> {
        let text = if self.json { None } else { Some(waitscope_report::text(record, style())) };
        self.deliver_as(record, text.as_deref())
    }

    /// The same with the text for stdout given.
    pub(crate) fn deliver_as(&self, record: &Record, text: Option<&str>) -> Result<(), Failure> {
        let json = record.to_json().map_err(Failure::cannot_measure)?;
        let printed = console::print(text.filter(|_| !self.json).unwrap_or(&json));
        if let Some(path) = &self.file {
            let written = write(path, &json);
            written.map_err(|error| Failure::cannot_measure(cannot_write(path, &error)))?;
        }
        printed.map_err(|error| {
            Failure::cannot_measure(format!("cannot write the result to stdout: {error}"))
        })
    }
}

/// Checks that a file can be written.
pub(crate) fn can_write(path: &Path) -> Result<(), Failure> {
    check(path).map_err(|error| Failure::usage(cannot_write(path, &error)))
}

/// Whether the file can be written. An older result is not touched, and no empty file is left: a
/// run that fails has no result.
fn check(path: &Path) -> std::io::Result<()> {
    match std::fs::metadata(path) {
        Ok(there) if there.is_dir() => Err(std::io::ErrorKind::IsADirectory.into()),
        Ok(there) if there.is_file() => OpenOptions::new().append(true).open(path).map(drop),
        // Opening a pipe would tell its reader that all is over.
        Ok(_pipe_or_device) => Ok(()),
        Err(_) => {
            let is_link = path.is_symlink();
            OpenOptions::new().append(true).create(true).open(path)?;
            if is_link { Ok(()) } else { std::fs::remove_file(path) }
        }
    }
}

pub(crate) fn cannot_write(path: &Path, error: &std::io::Error) -> String {
    format!("cannot write {}: {error}", path.display())
}

fn write(path: &Path, json: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
    file.write_all(json.as_bytes())?;
    file.flush()
}

/// How text is laid out on this stdout.
pub(crate) fn style() -> Style {
    let (_rows, columns) = ::console::Term::stdout().size_checked().unwrap_or((24, 80));
    let unicode = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    Style {
        width: usize::from(columns),
        color: console::may_color(&std::io::stdout()),
        unicode: unicode.is_none_or(|locale| !["C", "POSIX"].contains(&locale.as_str())),
    }
}

/// The wall clock, RFC 3339 in UTC.
pub(crate) fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// The machine of this run.
pub(crate) fn machine() -> Machine {
    let facts = waitscope_process::machine();
    Machine {
        os: facts.os,
        arch: facts.arch,
        cpu_model: facts.cpu_model,
        cpus: facts.cpus,
        memory_bytes: facts.memory_bytes,
        open_files_limit: facts.open_files_limit,
    }
}
