//! Sockets and the system's word of which are ready. Linux: another system needs this file only.

use std::io;
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use rustix::io::Errno;
use rustix::ioctl;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, sockopt,
};

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A port of a host.
    Tcp(SocketAddr),
    /// A socket in the file system.
    Unix(PathBuf),
}

impl std::fmt::Display for Address {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(formatter),
            Self::Unix(path) => path.display().fmt(formatter),
        }
    }
}

/// Begins to open a connection; it is open, or has failed, when it is ready for writing. `source`
/// is the address that it comes from, when that matters.
pub(super) fn connect(address: &Address, source: Option<IpAddr>) -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let (family, begun) = match address {
        Address::Tcp(address) => {
            let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
            let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
            sockopt::set_tcp_nodelay(&socket, true)?;
            if let Some(source) = source {
                rustix::net::bind(&socket, &SocketAddr::new(source, 0))?;
            }
            let begun = rustix::net::connect(&socket, address);
            (socket, begun)
        }
        Address::Unix(path) => {
            let socket =
                rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
            let begun = rustix::net::connect(&socket, &SocketAddrUnix::new(path)?);
            (socket, begun)
        }
    };
    match begun {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(family),
        Err(error) => Err(error.into()),
    }
}

/// What has happened to a connection since anybody looked: why it could not be opened, or that the
/// peer has reset it.
pub(super) fn pending_error(socket: &OwnedFd) -> io::Result<()> {
    Ok(sockopt::socket_error(socket)??)
}

/// How many of the bytes sent the peer's system has not confirmed (`SIOCOUTQ` of tcp(7)); 0 when
/// that is not to be had.
pub(super) fn not_acknowledged(socket: &OwnedFd) -> usize {
    const SIOCOUTQ: ioctl::Opcode = 0x5411;
    #[expect(unsafe_code, reason = "the system writes one int to where it is told")]
    // SAFETY: SIOCOUTQ takes a pointer to an int that it fills, which is what the getter gives it.
    let count = unsafe { ioctl::ioctl(socket, ioctl::Getter::<SIOCOUTQ, i32>::new()) };
    count.map_or(0, |count| usize::try_from(count).unwrap_or_default())
}

/// Receives what is there; `None` when nothing is.
pub(super) fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    loop {
        match rustix::net::recv(socket, &mut *buffer, RecvFlags::empty()) {
            Ok((received, _)) => return Ok(Some(received)),
            Err(Errno::AGAIN) => return Ok(None),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Sends what fits; 0 when nothing does.
pub(super) fn send(socket: &OwnedFd, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match rustix::net::send(socket, bytes, SendFlags::NOSIGNAL) {
            Ok(sent) => return Ok(sent),
            Err(Errno::AGAIN) => return Ok(0),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// The loopback addresses that so many connections to `address` come from: one has ports for some
/// 28,000, and finding a free one gets slow long before, all the more as the ports of connections
/// that have ended stay taken for a minute (TIME-WAIT: RFC 9293, section 3.6.1). So those of a large
/// run come from a part of 127.0.0.0/8 that `salt` chooses, where no run before it has been. `None`
/// leaves the choice to the system.
pub(super) fn sources(address: &Address, connections: u64, salt: u64) -> Vec<Option<IpAddr>> {
    const EACH: u64 = 1_000;
    match address {
        Address::Tcp(SocketAddr::V4(address))
            if address.ip().is_loopback() && connections > EACH =>
        {
            let [second, third, ..] = salt.to_le_bytes();
            let count = u8::try_from(connections.div_ceil(EACH).min(200)).unwrap_or(u8::MAX);
            let all = (1..=count).map(|last| Ipv4Addr::new(127, second, third, last));
            all.map(|source| Some(IpAddr::V4(source))).collect()
        }
        _ => vec![None],
    }
}

/// What a socket is ready for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ready {
    /// What it was registered with.
    pub(super) token: u64,
    pub(super) write: bool,
    /// For reading, which an end or an error is too.
    pub(super) read: bool,
    /// The peer has closed its side, or the connection is broken.
    pub(super) ended: bool,
}

/// Tells which sockets became ready, each time once.
#[derive(Debug)]
pub(super) struct Poll {
    epoll: OwnedFd,
    ready: Vec<Ready>,
}

/// The most seconds that one wait takes.
const LONGEST_S: i64 = 3600;

/// Events that are taken at once.
const EVENTS: usize = 256;

impl Poll {
    pub(super) fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Self { epoll, ready: Vec::with_capacity(EVENTS) })
    }

    /// Watches a socket for as long as it is open.
    pub(super) fn add(&self, socket: BorrowedFd<'_>, token: u64) -> io::Result<()> {
        let flags = epoll::EventFlags::IN
            | epoll::EventFlags::OUT
            | epoll::EventFlags::RDHUP
            | epoll::EventFlags::ET;
        Ok(epoll::add(&self.epoll, socket, epoll::EventData::new_u64(token), flags)?)
    }

    /// Waits until a socket is ready, but no longer than `timeout`; how many are. It may return
    /// early.
    pub(super) fn wait(&mut self, timeout: Option<Duration>) -> io::Result<usize> {
        let timeout = timeout.map(|timeout| Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).map_or(LONGEST_S, |s| s.min(LONGEST_S)),
            tv_nsec: timeout.subsec_nanos().into(),
        });
        let mut space = [const { MaybeUninit::uninit() }; EVENTS];
        self.ready.clear();
        let events = match epoll::wait(&self.epoll, &mut space[..], timeout.as_ref()) {
            Ok((events, _)) => events,
            Err(Errno::INTR) => return Ok(0),
            Err(error) => return Err(error.into()),
        };
        self.ready.extend(events.iter().map(|event| {
            let epoll::Event { flags, data } = *event;
            let ended = epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR;
            Ready {
                token: data.u64(),
                write: flags.intersects(epoll::EventFlags::OUT | epoll::EventFlags::ERR),
                read: flags.intersects(epoll::EventFlags::IN | ended),
                ended: flags.intersects(ended),
            }
        }));
        Ok(self.ready.len())
    }

    /// One of those that the last wait found.
    pub(super) fn ready(&self, index: usize) -> Ready {
        self.ready[index]
    }
}

/// What a connection is registered with: its place, and what tells it apart from others there.
pub(super) fn token(generation: u32, place: u32) -> u64 {
    u64::from(generation) << 32 | u64::from(place)
}

/// The generation and the place of a token.
#[expect(clippy::cast_possible_truncation, reason = "each half is 32 bits")]
pub(super) fn parts(token: u64) -> (u32, u32) {
    ((token >> 32) as u32, token as u32)
}

/// Something that wakes a [`Poll`] from another thread.
#[derive(Debug)]
pub(super) struct Bell(OwnedFd);

impl Bell {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    pub(super) fn ring(&self) {
        // It fails only when it has been rung 2^64 times.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    pub(super) fn silence(&self) {
        // It fails only when it was not rung.
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }

    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_connections_to_loopback_have_several_sources() {
        let tcp = |text: &str| Address::Tcp(text.parse().unwrap());
        let cases = [
            (tcp("127.0.0.1:80"), 1, 1),
            (tcp("127.0.0.1:80"), 1_000, 1),
            (tcp("127.0.0.1:80"), 15_000, 15),
            (tcp("127.0.0.1:80"), 10_000_000, 200),
            (tcp("10.0.0.1:80"), 15_000, 1),
            (tcp("[::1]:80"), 15_000, 1),
            (Address::Unix("/run/x".into()), 15_000, 1),
        ];
        for (address, connections, expected) in cases {
            let chosen = sources(&address, connections, 7);
            assert_eq!(chosen.len(), expected, "{address} {connections}");
            assert_eq!(chosen[0].is_none(), expected == 1, "the system chooses for few");
            let other = sources(&address, connections, 8);
            assert_eq!(chosen == other, expected == 1, "another run has others");
        }
    }
}
