//! The file of a recording, written by a thread of its own: a slow disk delays no stream.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::line::Entry;

/// Calls that wait for the disk; more are lost and counted.
const MOST_WAITING: usize = 10_000;
/// What the texts of those calls may take.
const MOST_WAITING_BYTES: usize = 256 * 1024 * 1024;

/// What became of the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Logged {
    /// Calls that were written.
    pub written: u64,
    /// Calls that could not be written, or not in time.
    pub lost: u64,
}

/// An open recording.
#[derive(Debug)]
pub struct Log {
    thread: Mutex<Option<(SyncSender<Entry>, JoinHandle<()>)>>,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    written: AtomicU64,
    lost: AtomicU64,
    waiting_bytes: AtomicUsize,
}

impl Log {
    /// Opens a file for new lines at its end, or creates it, and starts the thread that writes.
    ///
    /// # Errors
    /// When the file cannot be opened for writing, or there is no thread to be had.
    pub fn append(path: &Path) -> io::Result<Self> {
        let output = Output::open(path)?;
        let counts = Arc::new(Counts::default());
        let (entries, waiting) = sync_channel(MOST_WAITING);
        let counted = Arc::clone(&counts);
        let thread = std::thread::Builder::new()
            .name("recording".to_owned())
            .spawn(move || output.write_all(&waiting, &counted))?;
        Ok(Self { thread: Mutex::new(Some((entries, thread))), counts })
    }

    /// Hands a call over; it is lost when too much waits already.
    pub(super) fn write(&self, entry: Entry) {
        let bytes = entry.text_bytes();
        let before = self.counts.waiting_bytes.fetch_add(bytes, Ordering::Relaxed);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = before + bytes <= MOST_WAITING_BYTES;
        let sent =
            thread.as_ref().is_some_and(|(entries, _)| fits && entries.try_send(entry).is_ok());
        if !sent {
            self.counts.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.counts.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until everything that was handed over is written.
    pub fn close(&self) -> Logged {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((entries, thread)) = thread {
            drop(entries);
            // It can only have panicked, which it has printed by itself.
            let _ = thread.join();
        }
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Logged { written: count(&self.counts.written), lost: count(&self.counts.lost) }
    }
}

/// The file, on its thread.
struct Output {
    file: File,
    path: PathBuf,
    /// The last byte may be no line feed.
    mid_line: bool,
    warned: bool,
}

impl Output {
    fn open(path: &Path) -> io::Result<Self> {
        let mut file = OpenOptions::new().append(true).create(true).open(path)?;
        // Not every file that can be written can be read: what it ends with is then not known.
        let mid_line = file.metadata()?.is_file() && ends_in_mid_line(path).unwrap_or(true);
        if mid_line {
            file.write_all(b"\n")?;
        }
        Ok(Self { file, path: path.to_owned(), mid_line: false, warned: false })
    }

    fn write_all(mut self, entries: &Receiver<Entry>, counts: &Counts) {
        for entry in entries {
            let count = match self.write(&entry.line()) {
                Ok(()) => &counts.written,
                Err(error) => {
                    self.warn(&error);
                    &counts.lost
                }
            };
            count.fetch_add(1, Ordering::Relaxed);
            counts.waiting_bytes.fetch_sub(entry.text_bytes(), Ordering::Relaxed);
        }
    }

    fn write(&mut self, line: &str) -> io::Result<()> {
        if self.mid_line {
            self.file.write_all(b"\n")?;
            self.mid_line = false;
        }
        let before = self.file.metadata()?;
        let written = self.file.write_all(line.as_bytes());
        // A full disk takes a part of a line: a later reader shall not stumble over it.
        if written.is_err() && before.is_file() && self.file.set_len(before.len()).is_err() {
            self.mid_line = true;
        }
        written
    }

    /// Once: a disk that stays full would fill the terminal too.
    fn warn(&mut self, error: &io::Error) {
        if !std::mem::replace(&mut self.warned, true) {
            let path = self.path.display();
            tracing::warn!("cannot write {path}: {error}; calls are passed on without being noted");
        }
    }
}

/// Whether a file's last byte is no line feed.
fn ends_in_mid_line(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "no event loop runs")]
mod tests {
    use super::*;

    fn path(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("waitscope-log-{name}-{}.jsonl", std::process::id()))
    }

    #[test]
    fn lines_are_added_after_what_is_there() {
        let path = path("added");
        for (before, after) in [("", "b\n"), ("a\n", "a\nb\n"), ("a", "a\nb\n")] {
            std::fs::write(&path, before).unwrap();
            Output::open(&path).unwrap().write("b\n").unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), after);
        }
        std::fs::remove_file(&path).unwrap();
        Output::open(&path).unwrap().write("b\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "b\n");
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_full_disk_is_an_error_and_no_end() {
        let mut output = Output::open(Path::new("/dev/full")).unwrap();
        for _ in 0..2 {
            let error = output.write("b\n").unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        }
    }

    #[test]
    fn a_file_that_cannot_be_written_is_refused_at_once() {
        for path in ["/no/such/directory/r.jsonl", "/"] {
            assert!(Log::append(Path::new(path)).is_err(), "{path}");
        }
    }
}
