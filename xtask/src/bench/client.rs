//! The client: one thread, many connections, one epoll. Unless told to, it never sleeps, so that
//! the server is not charged for waking it, and it says how much of its time it was busy. A
//! stream's times count from when its connection is opened: one that waits to be accepted is a
//! stream that waits.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::ops::Range;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::event::{Timespec, epoll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use socket2::{Domain, Socket, Type};

use super::answer::Answer;
use super::seen::Seen;
use super::times::{Plan, Stream, Times};

/// Connections from one loopback address. It has 28,232 ephemeral ports, and a search among them
/// takes longer the more are taken.
const PER_ADDRESS: u16 = 10_000;
/// The first port on the addresses after the first one: below the ephemeral ones.
const FIRST_PORT: u16 = 10_000;

/// Drives a server (run by the benchmark itself)
#[derive(Debug, Default, Clone, PartialEq, clap::Args)]
pub(crate) struct ClientArgs {
    #[arg(long)]
    pub(super) port: u16,
    #[arg(long)]
    pub(super) connections: usize,
    /// Method and path
    #[arg(long)]
    pub(super) request: String,
    #[arg(long, default_value = "")]
    pub(super) body: String,
    /// Repeat the request on each connection for so long, after the warm-up; once when 0
    #[arg(long, default_value_t = 0.0)]
    pub(super) seconds: f64,
    /// Of a repeated request: before the times and the rate count
    #[arg(long, default_value_t = 0.0)]
    pub(super) warm_up_seconds: f64,
    /// Spread the starts over so long
    #[arg(long, default_value_t = 0.0)]
    pub(super) spread_seconds: f64,
    /// How many tokens a stream has; with fewer it counts as cut short
    #[arg(long, default_value_t = 0)]
    pub(super) tokens: u32,
    /// When the first token is due, after the start of its stream
    #[arg(long, default_value_t = 0.0)]
    pub(super) first_seconds: f64,
    /// How long after a token the next one is due
    #[arg(long, default_value_t = 0.0)]
    pub(super) gap_seconds: f64,
    /// Give up after so long; the repeats come before that
    #[arg(long, default_value_t = 120.0)]
    pub(super) patience_seconds: f64,
    /// Sleep while there is nothing to do, and leave the core to others
    #[arg(long)]
    pub(super) sleeps: bool,
}

impl ClientArgs {
    /// The same as arguments of a command line.
    pub(super) fn to_arguments(&self) -> Vec<String> {
        let options = [
            ("--port", self.port.to_string()),
            ("--connections", self.connections.to_string()),
            ("--request", self.request.clone()),
            ("--body", self.body.clone()),
            ("--seconds", self.seconds.to_string()),
            ("--warm-up-seconds", self.warm_up_seconds.to_string()),
            ("--spread-seconds", self.spread_seconds.to_string()),
            ("--tokens", self.tokens.to_string()),
            ("--first-seconds", self.first_seconds.to_string()),
            ("--gap-seconds", self.gap_seconds.to_string()),
            ("--patience-seconds", self.patience_seconds.to_string()),
        ];
        let options = options.into_iter().flat_map(|(name, value)| [name.to_owned(), value]);
        options.chain(self.sleeps.then(|| "--sleeps".to_owned())).collect()
    }

    /// When the times and the rate begin to count, and when no more requests are made.
    fn window(&self) -> Range<Duration> {
        let end = self.warm_up_seconds + self.seconds;
        Duration::from_secs_f64(self.warm_up_seconds)..Duration::from_secs_f64(end)
    }

    fn plan(&self) -> Plan {
        Plan {
            first: Duration::from_secs_f64(self.first_seconds),
            gap: Duration::from_secs_f64(self.gap_seconds),
        }
    }

    /// The bytes of one request.
    fn request(&self) -> Vec<u8> {
        let (request, body) = (&self.request, &self.body);
        let length = body.len();
        format!(
            "{request} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        )
        .into_bytes()
    }
}

/// The hidden subcommand: prints what it saw as one line of JSON.
pub(crate) fn run(args: &ClientArgs) -> anyhow::Result<ExitCode> {
    let seen = Client::new(args)?.drive()?;
    println!("{}", serde_json::to_string(&seen)?);
    Ok(ExitCode::SUCCESS)
}

/// One connection.
struct Connection {
    socket: TcpStream,
    /// Whether it is open and has sent its request.
    has_asked: bool,
    stream: Stream,
    answer: Answer,
}

struct Client {
    args: ClientArgs,
    plan: Plan,
    request: Vec<u8>,
    connections: Vec<Connection>,
    epoll: OwnedFd,
    begin: Instant,
    window: Range<Duration>,
    times: Times,
    seen: Seen,
    /// Answers that were complete within the window.
    in_window: u64,
    busy: Duration,
    /// Connections that need nothing more.
    over: usize,
}

impl Client {
    fn new(args: &ClientArgs) -> anyhow::Result<Self> {
        Ok(Self {
            args: args.clone(),
            plan: args.plan(),
            request: args.request(),
            connections: Vec::with_capacity(args.connections),
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            begin: Instant::now(),
            window: args.window(),
            times: Times::new()?,
            seen: Seen::default(),
            in_window: 0,
            busy: Duration::ZERO,
            over: 0,
        })
    }

    fn drive(mut self) -> anyhow::Result<Seen> {
        let end = self.window.end + Duration::from_secs_f64(self.args.patience_seconds);
        let mut events = Vec::with_capacity(1_024);
        let mut buffer = vec![0; 256 * 1024];
        loop {
            let mut now = self.begin.elapsed();
            if now >= end || self.over == self.args.connections {
                break;
            }
            let has_opened = self.open_those_due(now)?;
            let timeout = Timespec::try_from(self.may_sleep(end))?;
            events.clear();
            rustix::io::retry_on_intr(|| {
                let space = rustix::buffer::spare_capacity(&mut events);
                epoll::wait(&self.epoll, space, Some(&timeout))
            })?;
            if self.args.sleeps {
                now = self.begin.elapsed();
            }
            for event in &events {
                let number = usize::try_from(event.data.u64())?;
                if self.connections[number].has_asked {
                    self.read(number, &mut buffer)?;
                } else {
                    self.ask(number)?;
                }
            }
            if has_opened || !events.is_empty() {
                self.busy += self.begin.elapsed().saturating_sub(now);
            }
        }
        Ok(self.summary())
    }

    /// How long it may sleep when nothing arrives.
    fn may_sleep(&self, end: Duration) -> Duration {
        let opened = self.connections.len();
        let next = if opened < self.args.connections { self.opens_at(opened) } else { end };
        let idle = next.saturating_sub(self.begin.elapsed());
        if self.args.sleeps { idle } else { Duration::ZERO }
    }

    /// When this connection's turn is.
    fn opens_at(&self, number: usize) -> Duration {
        let between = self.args.spread_seconds / self.args.connections as f64;
        Duration::from_secs_f64(between * number as f64)
    }

    /// Opens the connections whose turn it is.
    fn open_those_due(&mut self, now: Duration) -> anyhow::Result<bool> {
        let before = self.connections.len();
        while self.connections.len() < self.args.connections {
            let number = self.connections.len();
            if self.opens_at(number) > now {
                break;
            }
            let stream = Stream::started(self.begin.elapsed());
            let socket = open(self.args.port, number)
                .with_context(|| format!("cannot open connection {number}"))?;
            let data = epoll::EventData::new_u64(number as u64);
            epoll::add(&self.epoll, &socket, data, epoll::EventFlags::OUT)?;
            let answer = Answer::default();
            self.connections.push(Connection { socket, has_asked: false, stream, answer });
        }
        Ok(self.connections.len() > before)
    }

    /// A connection that became writable is open, or will never be.
    fn ask(&mut self, number: usize) -> anyhow::Result<()> {
        let connection = &mut self.connections[number];
        let refused = connection.socket.take_error()?.is_some();
        if refused || connection.socket.write_all(&self.request).is_err() {
            return self.closed(number);
        }
        connection.has_asked = true;
        let data = epoll::EventData::new_u64(number as u64);
        Ok(epoll::modify(&self.epoll, &connection.socket, data, epoll::EventFlags::IN)?)
    }

    fn read(&mut self, number: usize, buffer: &mut [u8]) -> anyhow::Result<()> {
        let connection = &mut self.connections[number];
        let read = match connection.socket.read(buffer) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Ok(read @ 1..) => read,
            Ok(0) | Err(_) => return self.closed(number),
        };
        let at = self.begin.elapsed();
        let progress = connection
            .answer
            .read(&buffer[..read])
            .map_err(|unexpected| anyhow::anyhow!("unexpected answer: {}", unexpected.0))?;
        connection.stream.read(progress.tokens, at, self.plan, &mut self.times);
        if !progress.complete {
            return Ok(());
        }
        let status = connection.answer.status();
        if !(200..300).contains(&status) {
            *self.seen.refused.entry(status).or_default() += 1;
        } else if connection.stream.tokens < self.args.tokens {
            self.seen.incomplete += 1;
        } else {
            self.seen.complete += 1;
            self.in_window += u64::from(self.window.contains(&at));
            connection.stream.ended(at, self.window.start, &mut self.times);
        }
        connection.answer = Answer::default();
        if at < self.window.end {
            connection.stream = Stream::started(at);
            if connection.socket.write_all(&self.request).is_err() {
                return self.closed(number);
            }
        } else {
            // Its end is not awaited.
            epoll::delete(&self.epoll, &connection.socket)?;
            self.over += 1;
        }
        Ok(())
    }

    /// Refused, closed or reset.
    fn closed(&mut self, number: usize) -> anyhow::Result<()> {
        epoll::delete(&self.epoll, &self.connections[number].socket)?;
        self.seen.incomplete += 1;
        self.over += 1;
        Ok(())
    }

    fn summary(self) -> Seen {
        let seconds = self.begin.elapsed().as_secs_f64();
        let unfinished = self.args.connections - self.over;
        let window = self.window.end.saturating_sub(self.window.start).as_secs_f64();
        let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Seen {
            complete: self.seen.complete,
            incomplete: self.seen.incomplete + unfinished as u64,
            refused: self.seen.refused,
            rate_per_second: if window > 0.0 { self.in_window as f64 / window } else { 0.0 },
            seconds,
            busy_share: self.busy.as_secs_f64() / seconds,
            cpu_seconds: cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9,
            times: self.times.seen(),
        }
    }
}

/// Begins to open a connection, from one of several loopback addresses.
fn open(port: u16, number: usize) -> anyhow::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    let (address, offset) = (number / usize::from(PER_ADDRESS), number % usize::from(PER_ADDRESS));
    // The first address is left to the system, which finds a port faster without `bind`; on the
    // others a port of 0 would take milliseconds, so they are given one.
    if address > 0 {
        let source = Ipv4Addr::new(127, 0, 0, u8::try_from(address + 1)?);
        // Ports of a run just before may be used again: that one had another server.
        socket.set_reuse_address(true)?;
        let port = FIRST_PORT + u16::try_from(offset)?;
        socket.bind(&SocketAddr::from((source, port)).into())?;
    }
    socket.set_tcp_nodelay(true)?;
    socket.set_nonblocking(true)?;
    match socket.connect(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)).into()) {
        Err(error) if error.raw_os_error() != Some(Errno::INPROGRESS.raw_os_error()) => {
            Err(error.into())
        }
        _ => Ok(socket.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: ClientArgs,
    }

    fn two_tokens(port: u16) -> ClientArgs {
        ClientArgs {
            port,
            connections: 2,
            request: "GET /".to_owned(),
            tokens: 2,
            patience_seconds: 20.0,
            ..ClientArgs::default()
        }
    }

    #[test]
    fn arguments_reach_the_client() {
        let args = ClientArgs { seconds: 1.5, body: "{\"a\": 1}".to_owned(), ..two_tokens(7) };
        let line = ["xtask".to_owned()].into_iter().chain(args.to_arguments());
        assert_eq!(Line::parse_from(line).args, args);
    }

    /// What a client sees of a server that sends each connection the same and closes it.
    fn check(body: &'static str, complete: u64, incomplete: u64) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let args = two_tokens(listener.local_addr().unwrap().port());
        let server = std::thread::spawn(move || {
            for _ in 0..args.connections {
                let (mut socket, _) = listener.accept().unwrap();
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    socket.read_exact(&mut byte).unwrap();
                    request.extend(byte);
                }
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                    transfer-encoding: chunked\r\n\r\n";
                socket.write_all(format!("{head}{body}").as_bytes()).unwrap();
            }
        });
        let args = two_tokens(args.port);
        let seen = Client::new(&args).unwrap().drive().unwrap();
        server.join().unwrap();
        assert_eq!((seen.complete, seen.incomplete), (complete, incomplete), "{body:?}");
        assert_eq!(seen.times.coalesced > 0, complete > 0, "{body:?}");
    }

    #[test]
    fn streams_are_whole_or_cut_short() {
        let two = "2a\r\ndata: {\"token\":\"a\"}\n\ndata: {\"token\":\"b\"}\n\n\r\n0\r\n\r\n";
        check(two, 2, 0);
        // Without its end, and ended with a token too few.
        check("15\r\ndata: {\"token\":\"a\"}\n\n\r\n", 0, 2);
        check("15\r\ndata: {\"token\":\"a\"}\n\n\r\n0\r\n\r\n", 0, 2);
    }

    #[test]
    fn a_request_is_repeated_until_its_time_is_up_and_errors_are_told_apart() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let mut buffer = [0; 1_024];
            let mut answered = 0_u64;
            while socket.read(&mut buffer).unwrap_or(0) > 0 {
                let status = ["201 Created", "503 Busy"][usize::from(answered % 2 == 1)];
                let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 2\r\n\r\nok");
                socket.write_all(answer.as_bytes()).unwrap();
                answered += 1;
            }
            answered
        });
        let args = ClientArgs {
            port,
            connections: 1,
            request: "POST /".to_owned(),
            warm_up_seconds: 0.05,
            seconds: 0.2,
            patience_seconds: 20.0,
            sleeps: true,
            ..ClientArgs::default()
        };
        let seen = Client::new(&args).unwrap().drive().unwrap();
        let answered = server.join().unwrap();
        assert_eq!(seen.complete + seen.refused[&503], answered);
        assert_eq!(seen.refused.len(), 1);
        assert!(seen.complete.abs_diff(seen.refused[&503]) <= 1, "{seen:?}");
        assert_eq!(seen.incomplete, 0);
        // Those of the warm-up are left out.
        assert!(seen.rate_per_second > 0.0 && seen.rate_per_second * 0.2 < seen.complete as f64);
        assert!(seen.times.whole.max_ms > 0.0);
    }
}
