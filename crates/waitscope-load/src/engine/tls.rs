//! Encrypted connections, verified against the system's certificates.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConnection;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::Verifier;

use super::socket;
use crate::error::RequestError;

/// How connections to one host are encrypted.
#[derive(Debug, Clone)]
pub struct Tls {
    config: Arc<rustls::ClientConfig>,
    server: ServerName<'static>,
}

impl Tls {
    /// Encryption for a host by this name.
    ///
    /// # Errors
    /// When no certificate can be for such a name, or the system's certificates cannot be used.
    pub fn new(host: &str) -> Result<Self, RequestError> {
        let server = ServerName::try_from(host.to_owned())
            .map_err(|error| RequestError::tls(&format!("`{host}`: {error}")))?;
        let config = config().map_err(|error| RequestError::tls(&error.to_string()))?;
        Ok(Self { config: Arc::new(config), server })
    }

    /// Agrees on the encryption of a connection that blocks.
    pub(super) fn shake_hands(
        &self,
        stream: &mut TcpStream,
        timeout: Duration,
    ) -> Result<(), RequestError> {
        let mut session = self.session()?;
        while session.connection.is_handshaking() {
            session.connection.complete_io(stream).map_err(|error| match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                    RequestError::timeout(timeout)
                }
                _ => RequestError::handshake(&error),
            })?;
        }
        Ok(())
    }

    /// One connection's part.
    pub(super) fn session(&self) -> Result<Box<Session>, RequestError> {
        let connection = ClientConnection::new(Arc::clone(&self.config), self.server.clone())
            .map_err(|error| RequestError::tls(&error.to_string()))?;
        Ok(Box::new(Session { connection, ended: false }))
    }
}

fn config() -> Result<rustls::ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = Verifier::new(Arc::clone(&provider))?;
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// The state of one encrypted connection.
#[derive(Debug)]
pub(super) struct Session {
    connection: ClientConnection,
    ended: bool,
}

/// A socket as the encryption reads and writes it.
struct Stream<'a>(&'a OwnedFd);

impl Read for Stream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        socket::receive(self.0, buffer)?.ok_or_else(|| io::ErrorKind::WouldBlock.into())
    }
}

impl Write for Stream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match socket::send(self.0, bytes)? {
            0 if !bytes.is_empty() => Err(io::ErrorKind::WouldBlock.into()),
            sent => Ok(sent),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Session {
    /// Goes on with the handshake; whether it is done.
    pub(super) fn shake(&mut self, socket: &OwnedFd) -> io::Result<bool> {
        self.flush(socket)?;
        // To the last byte that is there: the system tells of them once.
        while self.connection.is_handshaking() && self.pull(socket)? {
            self.flush(socket)?;
            if self.ended && self.connection.is_handshaking() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(!self.connection.is_handshaking())
    }

    /// Encrypts and sends; what does not fit into the socket is sent later.
    pub(super) fn send(&mut self, socket: &OwnedFd, bytes: &[u8]) -> io::Result<usize> {
        let taken = self.connection.writer().write(bytes)?;
        self.flush(socket)?;
        Ok(taken)
    }

    /// Sends what was encrypted before.
    pub(super) fn flush(&mut self, socket: &OwnedFd) -> io::Result<()> {
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut Stream(socket)) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Receives and decrypts: `None` when nothing is there, 0 at the end.
    pub(super) fn receive(
        &mut self,
        socket: &OwnedFd,
        buffer: &mut [u8],
    ) -> io::Result<Option<usize>> {
        loop {
            match self.connection.reader().read(buffer) {
                Ok(received) => return Ok(Some(received)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // An end without notice is the end all the same: the framing tells whether too
                // early.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(Some(0)),
                Err(error) => return Err(error),
            }
            if self.ended {
                return Ok(Some(0));
            }
            if !self.pull(socket)? {
                return Ok(None);
            }
        }
    }

    /// Takes records from the socket; whether any came, an end included.
    fn pull(&mut self, socket: &OwnedFd) -> io::Result<bool> {
        match self.connection.read_tls(&mut Stream(socket)) {
            Ok(0) => self.ended = true,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        }
        if let Err(error) = self.connection.process_new_packets() {
            // Tells the server why, as far as that can be done.
            let _ = self.flush(socket);
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
        Ok(true)
    }
}
