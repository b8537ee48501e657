//! A server that can be killed, stopped and started again.

use std::path::PathBuf;

use crate::ServerError;
use crate::address::Address;
use crate::cluster::Cluster;
use crate::postmaster::Postmaster;
use crate::programs::Programs;
use crate::random;

/// How often another port is tried when somebody else has the chosen one.
const PORTS_TRIED: usize = 10;

/// What a server starts with.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Where the temporary folder is made, for a run on a disk of a certain size.
    pub parent: PathBuf,
    /// Settings of its `postgresql.conf`, each as `name=value`; the last one of a name counts.
    pub settings: Vec<String>,
}

impl Default for Setup {
    /// The system's folder for temporary files and the settings that `PostgreSQL` comes with.
    fn default() -> Self {
        Self { parent: std::env::temp_dir(), settings: Vec::new() }
    }
}

impl Setup {
    /// The server under [`Database`](crate::Database): many tests, each with pools of their own, use
    /// it at the same time.
    #[must_use]
    pub fn for_many_tests() -> Self {
        Self { settings: vec!["max_connections=400".into()], ..Self::default() }
    }

    /// Makes a new cluster and starts its server.
    ///
    /// # Errors
    /// When no `PostgreSQL` is installed, or it does not accept connections within a minute.
    pub fn start(&self) -> Result<Server, ServerError> {
        self.start_on(|| random::bytes().map(port))
    }

    /// `next_port` is asked again when somebody else has the port.
    fn start_on(
        &self,
        mut next_port: impl FnMut() -> Result<u16, ServerError>,
    ) -> Result<Server, ServerError> {
        let cluster = Cluster::create(Programs::find()?, self)?;
        let mut tried = 0;
        loop {
            tried += 1;
            let port = next_port()?;
            match cluster.start(port) {
                Ok(postmaster) => return Server::new(cluster, port, postmaster),
                Err(error) if error.is_port_taken() && tried < PORTS_TRIED => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// A running server with a cluster of its own. When it is dropped, its processes end and its folder
/// goes.
///
/// What it keeps survives [`kill`](Self::kill), which only the operating system would lose: the
/// settings that guard against that are off.
#[derive(Debug)]
pub struct Server {
    // Before the cluster, so that nothing runs any more when the folder goes.
    running: Option<Postmaster>,
    cluster: Cluster,
    address: Address,
    port: u16,
}

impl Server {
    /// Makes a new cluster and starts its server, as [`Setup::default`] says.
    ///
    /// # Errors
    /// As [`Setup::start`].
    pub fn start() -> Result<Self, ServerError> {
        Setup::default().start()
    }

    fn new(cluster: Cluster, port: u16, running: Postmaster) -> Result<Self, ServerError> {
        let address = Address::of_superuser(&cluster.password, port)?;
        Ok(Self { running: Some(running), cluster, address, port })
    }

    /// The address of one of its databases, with the superuser's name and password.
    pub fn url(&self, database: &str) -> String {
        self.address.of_database(database)
    }

    /// Makes a new, empty database and gives its address.
    ///
    /// # Errors
    /// When the server does not run or refuses.
    pub fn create_database(&self) -> Result<String, ServerError> {
        let name = self.address.create_database(&self.cluster.programs)?;
        Ok(self.url(&name))
    }

    /// Kills the server and all its processes at once. No client hears a word from it and nothing
    /// is written any more.
    ///
    /// # Errors
    /// When a process of it does not end.
    pub fn kill(&mut self) -> Result<(), ServerError> {
        self.running.take().map_or(Ok(()), Postmaster::kill)
    }

    /// Asks the server to end: it ends its sessions, which roll back, and writes what it has.
    ///
    /// # Errors
    /// When it does not end in time; it is killed then.
    pub fn stop(&mut self) -> Result<(), ServerError> {
        self.running.take().map_or(Ok(()), Postmaster::stop)
    }

    /// Starts the server again, on the same port and with the same data. One that runs is stopped
    /// before.
    ///
    /// # Errors
    /// As [`stop`](Self::stop) and [`Setup::start`].
    pub fn start_again(&mut self) -> Result<(), ServerError> {
        self.stop()?;
        self.running = Some(self.cluster.start(self.port)?);
        Ok(())
    }
}

/// A port between 20000 and 31999. The system takes those of outgoing connections from 32768 on
/// (Linux, `ip_local_port_range`): from there, a client's own port could be in the way of the server
/// that starts again.
fn port(random: [u8; 8]) -> u16 {
    const FIRST: u16 = 20_000;
    const COUNT: u16 = 12_000;
    let [high, low, ..] = random;
    FIRST + u16::from_be_bytes([high, low]) % COUNT
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;

    #[test]
    fn ports_are_below_those_of_outgoing_connections() {
        for (random, expected) in [(0, 20_000), (11_999, 31_999), (12_000, 20_000)] {
            let [high, low] = u16::to_be_bytes(random);
            assert_eq!(port([high, low, 1, 2, 3, 4, 5, 6]), expected);
        }
        assert!((20_000..32_000).contains(&port([255; 8])));
    }

    #[test]
    fn a_port_that_somebody_has_is_left_to_them() {
        let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let taken = other.local_addr().unwrap().port();
        let mut asked = 0;
        let server = Setup::default().start_on(|| {
            asked += 1;
            if asked == 1 { Ok(taken) } else { random::bytes().map(port) }
        });
        assert_ne!(server.unwrap().port, taken);
        assert!(asked > 1);

        let error = Setup::default().start_on(|| Ok(taken)).unwrap_err();
        assert!(error.is_port_taken(), "{error}");
    }
}
