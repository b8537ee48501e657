//! The client: one thread, many connections, one epoll. It never sleeps, so that the server is not
//! charged for waking it, and it says how much of its time it was busy.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use hdrhistogram::Histogram;
use rustix::event::epoll;
use socket2::{Domain, Socket, Type};

use super::answer::{Answer, Progress};
use super::servers::CLIENT_CORE;

/// Connections from one loopback address: it has fewer than 28,232 ephemeral ports.
const PER_ADDRESS: usize = 10_000;

/// Drives a server (run by the benchmark itself)
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ClientArgs {
    #[arg(long)]
    pub(super) port: u16,
    #[arg(long)]
    pub(super) connections: usize,
    /// The request line and the body.
    #[arg(long)]
    pub(super) request: String,
    #[arg(long, default_value = "")]
    pub(super) body: String,
    /// Repeat the request on each connection for so long; once when 0
    #[arg(long, default_value_t = 0.0)]
    pub(super) seconds: f64,
    /// Spread the starts over so long
    #[arg(long, default_value_t = 0.0)]
    pub(super) spread_seconds: f64,
    /// Give up after so long
    #[arg(long, default_value_t = 120.0)]
    pub(super) patience_seconds: f64,
}

/// What a client saw, as one line of text between the two processes.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Seen {
    pub(super) complete: u64,
    pub(super) incomplete: u64,
    pub(super) seconds: f64,
    /// The share of its time in which it had something to do.
    pub(super) busy_share: f64,
    /// Events that came in one read with the one before.
    pub(super) coalesced: u64,
    pub(super) gap_p50_ms: f64,
    pub(super) gap_p99_ms: f64,
    pub(super) gap_max_ms: f64,
    pub(super) first_p50_ms: f64,
    pub(super) first_p99_ms: f64,
    pub(super) first_max_ms: f64,
}

impl ClientArgs {
    /// Runs the client in a process and on a core of its own.
    pub(super) fn spawn(&self) -> anyhow::Result<Seen> {
        let this = std::env::current_exe().context("cannot find this program")?;
        let mut command = Command::new("taskset");
        command.args(["-c", CLIENT_CORE]).arg(this).arg("bench-client");
        command.args(["--port", &self.port.to_string()]);
        command.args(["--connections", &self.connections.to_string()]);
        command.args(["--request", &self.request, "--body", &self.body]);
        command.args(["--seconds", &self.seconds.to_string()]);
        command.args(["--spread-seconds", &self.spread_seconds.to_string()]);
        command.args(["--patience-seconds", &self.patience_seconds.to_string()]);
        let output = command.stderr(std::process::Stdio::inherit()).output()?;
        if !output.status.success() {
            bail!("the client failed: {}", output.status);
        }
        Seen::read(&String::from_utf8_lossy(&output.stdout))
    }
}

impl Seen {
    fn fields(&self) -> [f64; 11] {
        [
            self.complete as f64,
            self.incomplete as f64,
            self.seconds,
            self.busy_share,
            self.coalesced as f64,
            self.gap_p50_ms,
            self.gap_p99_ms,
            self.gap_max_ms,
            self.first_p50_ms,
            self.first_p99_ms,
            self.first_max_ms,
        ]
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts")]
    fn read(text: &str) -> anyhow::Result<Self> {
        let fields: Vec<f64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
        let &[complete, incomplete, seconds, busy_share, coalesced, ref times @ ..] =
            fields.as_slice()
        else {
            bail!("the client said {text:?}");
        };
        let &[gap_p50_ms, gap_p99_ms, gap_max_ms, first_p50_ms, first_p99_ms, first_max_ms] = times
        else {
            bail!("the client said {text:?}");
        };
        Ok(Self {
            complete: complete as u64,
            incomplete: incomplete as u64,
            seconds,
            busy_share,
            coalesced: coalesced as u64,
            gap_p50_ms,
            gap_p99_ms,
            gap_max_ms,
            first_p50_ms,
            first_p99_ms,
            first_max_ms,
        })
    }
}

/// One connection.
struct Connection {
    stream: TcpStream,
    starts_at: Instant,
    asked: Option<Instant>,
    last_event: Option<Instant>,
    answer: Answer,
}

struct Client {
    args: ClientArgs,
    request: Vec<u8>,
    connections: Vec<Connection>,
    epoll: rustix::fd::OwnedFd,
    begin: Instant,
    gaps: Histogram<u64>,
    firsts: Histogram<u64>,
    seen: Seen,
    busy: Duration,
    /// Connections before this one have asked.
    started: usize,
    over: usize,
}

/// The hidden subcommand.
pub(crate) fn run(args: &ClientArgs) -> anyhow::Result<ExitCode> {
    let seen = Client::connect(args)?.drive()?;
    println!("{}", seen.fields().map(|field| field.to_string()).join(" "));
    Ok(ExitCode::SUCCESS)
}

impl Client {
    fn connect(args: &ClientArgs) -> anyhow::Result<Self> {
        let request = format!(
            "{} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{}",
            args.request,
            args.body.len(),
            args.body
        );
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let begin = Instant::now();
        let mut connections = Vec::with_capacity(args.connections);
        for number in 0..args.connections {
            let stream = connect(args.port, number / PER_ADDRESS)?;
            let data = epoll::EventData::new_u64(number as u64);
            epoll::add(&epoll, &stream, data, epoll::EventFlags::IN)?;
            let (asked, last_event, answer) = (None, None, Answer::default());
            let starts_at = begin;
            connections.push(Connection { stream, starts_at, asked, last_event, answer });
        }
        // Counted from here, so that connecting does not count.
        let begin = Instant::now();
        for (number, connection) in connections.iter_mut().enumerate() {
            let share = number as f64 / args.connections as f64;
            connection.starts_at = begin + Duration::from_secs_f64(args.spread_seconds * share);
        }
        let histogram = || Histogram::new_with_max(600_000_000, 3);
        Ok(Self {
            request: request.into_bytes(),
            args: args.clone(),
            connections,
            epoll,
            begin,
            gaps: histogram()?,
            firsts: histogram()?,
            seen: Seen::default(),
            busy: Duration::ZERO,
            started: 0,
            over: 0,
        })
    }

    fn drive(mut self) -> anyhow::Result<Seen> {
        let repeats = self.args.seconds > 0.0;
        let lasts = if repeats { self.args.seconds } else { self.args.patience_seconds };
        let end = self.begin + Duration::from_secs_f64(lasts);
        let mut events = Vec::with_capacity(1_024);
        let now_at_once = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut buffer = vec![0; 256 * 1024];
        loop {
            let now = Instant::now();
            if now >= end || self.over == self.connections.len() {
                break;
            }
            let asked = self.ask_those_due(now)?;
            events.clear();
            epoll::wait(
                &self.epoll,
                rustix::buffer::spare_capacity(&mut events),
                Some(&now_at_once),
            )?;
            for event in &events {
                let number = usize::try_from(event.data.u64())?;
                self.read(number, &mut buffer, repeats)?;
            }
            if asked || !events.is_empty() {
                self.busy += now.elapsed();
            }
        }
        self.summary(repeats)
    }

    fn ask_those_due(&mut self, now: Instant) -> anyhow::Result<bool> {
        let mut asked = false;
        while let Some(connection) = self.connections.get_mut(self.started) {
            if connection.starts_at > now {
                break;
            }
            connection.stream.write_all(&self.request)?;
            connection.asked = Some(Instant::now());
            self.started += 1;
            asked = true;
        }
        Ok(asked)
    }

    fn read(&mut self, number: usize, buffer: &mut [u8], repeats: bool) -> anyhow::Result<()> {
        let connection = &mut self.connections[number];
        let read = match connection.stream.read(buffer) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Ok(read @ 1..) => read,
            // Closed or reset before the answer was complete.
            Ok(0) | Err(_) => {
                epoll::delete(&self.epoll, &connection.stream)?;
                self.seen.incomplete += 1;
                self.over += 1;
                return Ok(());
            }
        };
        let now = Instant::now();
        let Progress { events, complete } = connection
            .answer
            .read(&buffer[..read])
            .map_err(|unexpected| anyhow::anyhow!("unexpected answer: {}", unexpected.0))?;
        if events > 0 {
            let micros = |since: Instant| u64::try_from((now - since).as_micros());
            match (connection.last_event, connection.asked) {
                (Some(last), _) => self.gaps.saturating_record(micros(last)?),
                (None, Some(asked)) => self.firsts.saturating_record(micros(asked)?),
                (None, None) => {}
            }
            self.seen.coalesced += u64::from(events - 1);
            connection.last_event = Some(now);
        }
        if complete {
            self.seen.complete += 1;
            connection.answer = Answer::default();
            if repeats {
                connection.stream.write_all(&self.request)?;
            } else {
                self.over += 1;
            }
        }
        Ok(())
    }

    fn summary(mut self, repeats: bool) -> anyhow::Result<Seen> {
        let lasted = self.begin.elapsed();
        let ms = |histogram: &Histogram<u64>, quantile| {
            histogram.value_at_quantile(quantile) as f64 / 1_000.0
        };
        if !repeats {
            self.seen.incomplete += (self.connections.len() - self.over) as u64;
        }
        Ok(Seen {
            seconds: lasted.as_secs_f64(),
            busy_share: self.busy.as_secs_f64() / lasted.as_secs_f64(),
            gap_p50_ms: ms(&self.gaps, 0.5),
            gap_p99_ms: ms(&self.gaps, 0.99),
            gap_max_ms: ms(&self.gaps, 1.0),
            first_p50_ms: ms(&self.firsts, 0.5),
            first_p99_ms: ms(&self.firsts, 0.99),
            first_max_ms: ms(&self.firsts, 1.0),
            ..self.seen
        })
    }
}

fn connect(port: u16, address: usize) -> anyhow::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    let source = Ipv4Addr::new(127, 0, 0, u8::try_from(address + 2)?);
    socket.bind(&SocketAddr::from((source, 0)).into())?;
    socket.connect(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)).into())?;
    socket.set_tcp_nodelay(true)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_is_written_and_read_alike() {
        let seen = Seen { complete: 7, incomplete: 1, gap_p99_ms: 45.5, ..Seen::default() };
        let text = seen.fields().map(|field| field.to_string()).join(" ");
        assert_eq!(Seen::read(&text).unwrap(), seen);
        assert!(Seen::read("1 2").is_err());
    }
}
