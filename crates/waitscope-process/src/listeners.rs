//! Which processes listen on an address, from `/proc/net/tcp{,6}` and the sockets that each
//! process holds open.

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};

/// The processes of this machine that listen where a connection to `address` arrives: the port is
/// theirs, and their address is this one or any. Several when workers share the socket, none when
/// it is another machine's or they cannot be seen (another user's without root).
#[cfg(target_os = "linux")]
pub fn listeners(address: SocketAddr) -> Vec<i32> {
    use procfs::process::{FDTarget, all_processes};

    let inodes = listening_inodes(address);
    if inodes.is_empty() {
        return Vec::new();
    }
    let Ok(processes) = all_processes() else { return Vec::new() };
    processes
        .filter_map(Result::ok)
        .filter(|process| {
            process.fd().is_ok_and(|fds| {
                fds.filter_map(Result::ok).any(
                    |fd| matches!(fd.target, FDTarget::Socket(inode) if inodes.contains(&inode)),
                )
            })
        })
        .map(|process| process.pid)
        .collect()
}

/// Without `/proc` nobody is known to listen.
#[cfg(not(target_os = "linux"))]
pub fn listeners(_address: SocketAddr) -> Vec<i32> {
    Vec::new()
}

#[cfg(target_os = "linux")]
fn listening_inodes(address: SocketAddr) -> HashSet<u64> {
    use procfs::net::TcpState;

    let v4 = procfs::net::tcp().unwrap_or_default();
    let v6 = procfs::net::tcp6().unwrap_or_default();
    v4.into_iter()
        .chain(v6)
        .filter(|entry| entry.state == TcpState::Listen && serves(entry.local_address, address))
        .map(|entry| entry.inode)
        .collect()
}

/// Whether a socket that listens on `local` takes a connection to `target` on this machine.
fn serves(local: SocketAddr, target: SocketAddr) -> bool {
    let same_family = local.is_ipv4() == target.is_ipv4();
    // A socket on [::] takes IPv4 connections as well, unless it says otherwise.
    let any = local.ip().is_unspecified() && (same_family || local.is_ipv6());
    let local_ip = match local.ip() {
        IpAddr::V6(ip) => ip.to_ipv4_mapped().map_or(IpAddr::V6(ip), IpAddr::V4),
        ip @ IpAddr::V4(_) => ip,
    };
    // "Any" listens on every address of this machine, but only loopback is surely this machine's.
    local.port() == target.port() && (local_ip == target.ip() || any && target.ip().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_socket_takes_a_connection() {
        let cases = [
            ("127.0.0.1:80", "127.0.0.1:80", true),
            ("127.0.0.1:80", "127.0.0.1:81", false),
            ("127.0.0.1:80", "127.0.0.2:80", false),
            ("0.0.0.0:80", "127.0.0.2:80", true),
            ("[::]:80", "127.0.0.1:80", true),
            ("[::]:80", "[::1]:80", true),
            ("0.0.0.0:80", "[::1]:80", false),
            ("[::ffff:127.0.0.1]:80", "127.0.0.1:80", true),
            ("0.0.0.0:80", "192.0.2.1:80", false),
            ("192.0.2.1:80", "192.0.2.1:80", true),
        ];
        for (local, target, expected) in cases {
            let got = serves(local.parse().unwrap(), target.parse().unwrap());
            assert_eq!(got, expected, "{local} {target}");
        }
    }

    #[test]
    fn this_process_is_found_while_it_listens() {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(listeners(address).contains(&own));
        drop(socket);
        assert!(!listeners(address).contains(&own));
    }
}
