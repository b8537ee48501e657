//! The truth log: what each call was planned as and when its bytes were really written, one JSON
//! line a call, so that a client on the same machine can be held against it.

use std::fs::File;
use std::io::{self, BufWriter, Read as _, Write as _};
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::model::fault::Faults;

/// Writes of a call that are held in memory (8 bytes each); with more, a line is written before
/// the call ends.
const WRITES_HELD: usize = 256;
/// Lines that wait for the disk; more are lost and counted, so that a slow disk delays no call.
const LINES_WAITING: usize = 65_536;
/// How each line begins.
const LINE_START: &[u8; 8] = br#"{"call":"#;
/// How long a line may wait for company before it is written out.
const FLUSH_EVERY: Duration = Duration::from_millis(200);

/// An open log. Its thread writes what is left when it is closed.
#[derive(Debug)]
pub(crate) struct TruthLog {
    lines: SyncSender<Line>,
    /// The monotonic clock now, and by its own count.
    clock: (Instant, Duration),
    calls: AtomicU64,
    lost: AtomicU64,
}

/// The thread that writes a log.
#[derive(Debug)]
pub(crate) struct Writer(JoinHandle<()>);

/// What is known of one call.
#[derive(Debug)]
pub(crate) struct Trace {
    call: u64,
    pub(crate) task: &'static str,
    pub(crate) status: u16,
    model: String,
    attempt: u32,
    faults: String,
    arrived_ns: u64,
    bytes: u64,
    max_lateness_us: u64,
    writes: Writes,
}

/// Planned and actual times of writes, in microseconds since the arrival.
#[derive(Debug, Default)]
struct Writes(Vec<(u32, u32)>);

/// A line of the log.
#[derive(Debug)]
enum Line {
    /// The first writes of a call with many of them.
    Part { call: u64, writes: Writes },
    /// A call that is over.
    Call { trace: Box<Trace>, ended: Duration },
    /// Nothing more comes.
    Close,
}

impl TruthLog {
    /// Creates the file, or empties it, and starts the thread that writes it.
    pub(crate) fn create(path: &Path) -> io::Result<(Self, Writer)> {
        check_target(path)?;
        let file = File::create(path)?;
        let (lines, waiting) = sync_channel(LINES_WAITING);
        let path = path.display().to_string();
        let thread = std::thread::Builder::new()
            .name("truth-log".to_owned())
            .spawn(move || write_lines(&path, file, &waiting))?;
        let (calls, lost) = (AtomicU64::new(1), AtomicU64::new(0));
        Ok((Self { lines, clock: (Instant::now(), monotonic()), calls, lost }, Writer(thread)))
    }

    /// A call that arrived at `arrived`.
    pub(crate) fn begin(&self, task: &'static str, arrived: Instant) -> Trace {
        let (then, monotonic) = self.clock;
        let arrived = monotonic + arrived.saturating_duration_since(then);
        Trace {
            call: self.calls.fetch_add(1, Ordering::Relaxed),
            task,
            status: 0,
            model: String::new(),
            attempt: 0,
            faults: String::new(),
            arrived_ns: u64::try_from(arrived.as_nanos()).unwrap_or(u64::MAX),
            bytes: 0,
            max_lateness_us: 0,
            writes: Writes::default(),
        }
    }

    /// A call that ended so long after its arrival.
    pub(crate) fn end(&self, trace: Box<Trace>, ended: Duration) {
        self.send(Line::Call { trace, ended });
    }

    /// How many lines were lost because the disk was too slow.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Says that nothing more comes.
    pub(crate) fn close(&self) {
        // Blocks until there is room; fails only when the thread is gone.
        let _ = self.lines.send(Line::Close);
    }

    fn send(&self, line: Line) {
        if self.lines.try_send(line).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Refuses to empty a file that is something else, and to wait for the reader of a pipe.
fn check_target(path: &Path) -> io::Result<()> {
    let Ok(metadata) = std::fs::metadata(path) else { return Ok(()) };
    let refuse = |problem: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
    if metadata.file_type().is_fifo() {
        return refuse("it is a pipe, and its reader would hold the provider: name a file");
    }
    if !metadata.is_file() || metadata.len() == 0 {
        return Ok(());
    }
    let mut start = [0; LINE_START.len()];
    match File::open(path)?.read_exact(&mut start) {
        Ok(()) if start == *LINE_START => Ok(()),
        _ => refuse("it is there and no truth log: move it away, or name another file"),
    }
}

impl Writer {
    /// Waits until all is written.
    pub(crate) fn join(self) {
        // It can only have panicked, which it has printed by itself.
        let _ = self.0.join();
    }
}

impl Trace {
    /// What is known once the call is admitted.
    pub(crate) fn admitted(&mut self, model: &str, attempt: u32, faults: &Faults) {
        model.clone_into(&mut self.model);
        self.attempt = attempt;
        self.faults = faults.to_string();
    }

    /// A write of so many bytes; both times count from the arrival.
    pub(crate) fn wrote(
        &mut self,
        planned: Duration,
        written: Duration,
        bytes: usize,
        log: Option<&TruthLog>,
    ) {
        self.bytes += bytes as u64;
        let lateness = written.saturating_sub(planned);
        let lateness = u64::try_from(lateness.as_micros()).unwrap_or(u64::MAX);
        self.max_lateness_us = self.max_lateness_us.max(lateness);
        if self.writes.0.len() == WRITES_HELD
            && let Some(log) = log
        {
            let writes = std::mem::take(&mut self.writes);
            log.send(Line::Part { call: self.call, writes });
        }
        self.writes.0.push((micros(planned), micros(written)));
    }
}

/// Saturates after 71 minutes; no wait is longer than an hour.
fn micros(duration: Duration) -> u32 {
    u32::try_from(duration.as_micros()).unwrap_or(u32::MAX)
}

/// `CLOCK_MONOTONIC`, which is what [`Instant`] reads on Linux.
fn monotonic() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Duration::try_from(now).unwrap_or_default()
}

#[derive(Serialize)]
struct CallLine<'a> {
    call: u64,
    task: &'a str,
    model: &'a str,
    attempt: u32,
    faults: &'a str,
    status: u16,
    arrived_ns: u64,
    ended_us: u64,
    client_left: bool,
    bytes: u64,
    max_lateness_us: u64,
    planned_us: Vec<u32>,
    written_us: Vec<u32>,
}

#[derive(Serialize)]
struct PartLine {
    call: u64,
    part: bool,
    planned_us: Vec<u32>,
    written_us: Vec<u32>,
}

impl Line {
    fn json(self) -> Option<serde_json::Result<Vec<u8>>> {
        match self {
            Self::Close => None,
            Self::Part { call, writes } => {
                let (planned_us, written_us) = writes.0.into_iter().unzip();
                Some(serde_json::to_vec(&PartLine { call, part: true, planned_us, written_us }))
            }
            Self::Call { trace, ended } => {
                let (planned_us, written_us) = trace.writes.0.iter().copied().unzip();
                Some(serde_json::to_vec(&CallLine {
                    call: trace.call,
                    task: trace.task,
                    model: &trace.model,
                    attempt: trace.attempt,
                    faults: &trace.faults,
                    status: trace.status,
                    arrived_ns: trace.arrived_ns,
                    ended_us: u64::try_from(ended.as_micros()).unwrap_or(u64::MAX),
                    client_left: trace.status == waitscope_serve::CLIENT_LEFT,
                    bytes: trace.bytes,
                    max_lateness_us: trace.max_lateness_us,
                    planned_us,
                    written_us,
                }))
            }
        }
    }
}

/// Writes lines until the log is closed. A disk that is full is told once; the provider goes on.
fn write_lines(path: &str, file: File, waiting: &Receiver<Line>) {
    let mut file = BufWriter::new(file);
    let mut failed = false;
    let mut check = |result: io::Result<()>| {
        if let Err(error) = result
            && !std::mem::replace(&mut failed, true)
        {
            tracing::warn!("cannot write {path}: {error}; the log is incomplete");
        }
    };
    let mut flushed = Instant::now();
    loop {
        if flushed.elapsed() >= FLUSH_EVERY {
            check(file.flush());
            flushed = Instant::now();
        }
        match waiting.recv_timeout(FLUSH_EVERY) {
            Ok(line) => match line.json() {
                Some(Ok(mut json)) => {
                    json.push(b'\n');
                    check(file.write_all(&json));
                }
                Some(Err(error)) => check(Err(error.into())),
                None => break,
            },
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    check(file.flush());
}
