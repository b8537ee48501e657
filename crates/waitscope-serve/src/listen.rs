//! Listening sockets.

use std::io;
use std::net::{SocketAddr, TcpListener};

use socket2::{Domain, Protocol, Socket, Type};

/// Connections that the kernel keeps ready while the event loop is held. The kernel caps it at
/// `net.core.somaxconn`.
pub(crate) const BACKLOG: i32 = 4096;

/// Why no listening socket could be had.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Another process listens there.
    #[error("port {} is taken: stop what listens there, or use --port 0 for any free port", .0.port())]
    Taken(SocketAddr),
    /// Anything else, as the system said it.
    #[error("cannot listen on {address}: {source}")]
    Io {
        /// Where it should have listened.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
}

/// Binds one listening socket. Port 0 takes any free port; read it back with
/// [`TcpListener::local_addr`].
pub fn bind(address: SocketAddr) -> Result<TcpListener, BindError> {
    socket(address, false).map_err(|source| explain(address, source))
}

/// Binds `count` sockets on one port (`SO_REUSEPORT`), one for each event loop: the kernel spreads
/// new connections over them.
pub fn bind_shared(address: SocketAddr, count: usize) -> Result<Vec<TcpListener>, BindError> {
    if count <= 1 {
        return Ok(vec![bind(address)?]);
    }
    // SO_REUSEPORT would join another process's group in silence: a plain bind finds a taken port.
    let address = {
        let probe = bind(address)?;
        probe.local_addr().map_err(|source| explain(address, source))?
    };
    (0..count).map(|_| socket(address, true).map_err(|source| explain(address, source))).collect()
}

fn socket(address: SocketAddr, shared: bool) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(shared)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

fn explain(address: SocketAddr, source: io::Error) -> BindError {
    match source.kind() {
        io::ErrorKind::AddrInUse => BindError::Taken(address),
        _ => BindError::Io { address, source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

    #[test]
    fn a_taken_port_is_named() {
        let first = bind(ANY).unwrap();
        let address = first.local_addr().unwrap();
        for error in [bind(address).unwrap_err(), bind_shared(address, 2).unwrap_err()] {
            assert!(matches!(error, BindError::Taken(_)), "{error}");
            assert!(error.to_string().contains(&address.port().to_string()));
        }
    }

    #[test]
    fn shared_sockets_listen_on_one_port() {
        let sockets = bind_shared(ANY, 3).unwrap();
        let ports: Vec<u16> = sockets.iter().map(|s| s.local_addr().unwrap().port()).collect();
        assert_eq!(ports.len(), 3);
        assert!(ports.iter().all(|port| *port == ports[0] && *port != 0));
    }
}
