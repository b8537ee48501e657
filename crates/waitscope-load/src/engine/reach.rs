//! Whether a server takes connections at all, before a run.

use std::io;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::{Address, Endpoint};
use crate::error::RequestError;

impl Endpoint {
    /// Opens a connection to the first address that takes one, encryption included, and closes it
    /// again. Blocks for at most about `timeout` for each address.
    ///
    /// # Errors
    /// When there is no connection to be had.
    pub fn reach(&self, timeout: Duration) -> Result<(), RequestError> {
        let mut last = RequestError::no_address();
        for address in &self.addresses {
            match self.reach_one(address, timeout) {
                Ok(()) => return Ok(()),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn reach_one(&self, address: &Address, timeout: Duration) -> Result<(), RequestError> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::TimedOut => RequestError::timeout(timeout),
            _ => RequestError::connect(address, &error),
        };
        match address {
            Address::Unix(path) => UnixStream::connect(path).map(drop).map_err(failed),
            Address::Tcp(address) => {
                let mut stream = TcpStream::connect_timeout(address, timeout).map_err(failed)?;
                let Some(tls) = &self.tls else { return Ok(()) };
                stream.set_read_timeout(Some(timeout)).map_err(failed)?;
                stream.set_write_timeout(Some(timeout)).map_err(failed)?;
                tls.shake_hands(&mut stream, timeout)
            }
        }
    }
}
