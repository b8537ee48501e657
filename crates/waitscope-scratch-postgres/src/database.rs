//! A test's own database.

use std::env;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::address::Address;
use crate::programs::Programs;
use crate::{Server, ServerError, Setup};

/// The environment variable with the address of a running server for all tests, whose user may
/// create databases. `cargo xtask` starts such a server and sets it.
pub const SHARED_SERVER: &str = "WAITSCOPE_TEST_POSTGRES";

/// The server of this process, while a database on it is in use.
static OWN_SERVER: Mutex<Weak<Server>> = Mutex::new(Weak::new());

/// A new, empty database; it is gone with the value.
#[derive(Debug)]
pub struct Database {
    url: String,
    _host: Host,
}

/// Where a database is.
#[derive(Debug)]
#[expect(dead_code, reason = "held for what dropping it does")]
enum Host {
    /// On a server of this process, which goes with its last database.
    Own(Arc<Server>),
    /// On a server that stays.
    Shared(Guest),
}

/// One database among those of others.
#[derive(Debug)]
struct Guest {
    server: Address,
    programs: Programs,
    name: String,
}

impl Database {
    /// Makes a database on the server that [`SHARED_SERVER`] names, or else on one of this process,
    /// which is started unless it runs already.
    ///
    /// # Errors
    /// When there is no server and none can be started, or the database cannot be made.
    pub fn create() -> Result<Self, ServerError> {
        match env::var(SHARED_SERVER) {
            Ok(address) => Self::create_on(Address::parse(&address)?),
            Err(_) => Self::create_on_own(),
        }
    }

    fn create_on(server: Address) -> Result<Self, ServerError> {
        let programs = Programs::find()?;
        let name = server.create_database(&programs)?;
        let url = server.of_database(&name);
        Ok(Self { url, _host: Host::Shared(Guest { server, programs, name }) })
    }

    fn create_on_own() -> Result<Self, ServerError> {
        let server = own_server()?;
        Ok(Self { url: server.create_database()?, _host: Host::Own(server) })
    }

    /// Its address, with a user who may do anything in it.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // The shared server may be gone, and the database with it.
        let _ = self.server.drop_database(&self.programs, &self.name);
    }
}

fn own_server() -> Result<Arc<Server>, ServerError> {
    // Held over the start, so that one start is enough for all.
    let mut own = OWN_SERVER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(server) = own.upgrade() {
        return Ok(server);
    }
    let server = Arc::new(Setup::for_many_tests().start()?);
    *own = Arc::downgrade(&server);
    Ok(server)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_of_one_process_share_its_server_and_end_it() {
        let first = Database::create_on_own().unwrap();
        let second = Database::create_on_own().unwrap();
        let port = |database: &Database| url::Url::parse(database.url()).unwrap().port();
        assert_ne!(first.url(), second.url());
        assert_eq!(port(&first), port(&second));
        let address = Address::parse(first.url()).unwrap();
        let programs = Programs::find().unwrap();
        drop(first);
        address.create_database(&programs).unwrap();
        drop(second);
        assert!(address.create_database(&programs).is_err(), "nobody uses it any more");
    }

    #[test]
    fn a_database_on_a_shared_server_is_dropped_at_the_end() {
        let server = Server::start().unwrap();
        let shared = Address::parse(&server.url("postgres")).unwrap();
        let database = Database::create_on(shared.clone()).unwrap();
        let address = Address::parse(database.url()).unwrap();
        let programs = Programs::find().unwrap();
        // Only in it can another one be made from there.
        let other = address.create_database(&programs).unwrap();
        drop(database);
        let error = address.create_database(&programs).unwrap_err().to_string();
        assert!(error.contains("does not exist"), "{error}");
        shared.drop_database(&programs, &other).unwrap();
    }
}
