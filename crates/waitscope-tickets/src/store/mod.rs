//! Where tickets are kept: one small interface, one file per database.

mod migrations;
mod pool;
mod postgres;
mod seed;
mod sqlite;
mod statements;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::config::{Config, DatabaseUrl};
use crate::domain::{AiWork, NewTicket, PageRequest, Ticket, TicketId, TicketPage};
use crate::intake::IntakeError;
use crate::trail::Trail;

/// What a method of [`Store`] gives: a future that can be sent to a worker thread.
pub(crate) type Answer<'a, T, E = StoreError> =
    Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>;

/// The work that a ticket waits for while its connection is held.
pub(crate) type PendingWork<'a> = Answer<'a, AiWork, IntakeError>;

/// A database with customers and tickets. A connection is taken for each call and given back at
/// its end; statements and times are noted on the trail.
pub(crate) trait Store: fmt::Debug + Send + Sync {
    /// Whether the database answers.
    fn ready<'a>(&'a self, trail: &'a Trail) -> Answer<'a, ()>;

    /// Whether a ticket may be opened: the one that its idempotency key has opened before, if any.
    /// Fails with [`StoreError::UnknownCustomer`] and [`StoreError::KeyReused`].
    fn admit<'a>(&'a self, new: &'a NewTicket, trail: &'a Trail) -> Answer<'a, Option<Ticket>>;

    /// Saves a ticket with all of its AI work in one short transaction. When another request has
    /// used its idempotency key meanwhile, that one's ticket is the answer.
    fn save(&self, new: NewTicket, work: AiWork, trail: Arc<Trail>) -> Answer<'_, Ticket>;

    /// Opens a transaction, admits the ticket, waits for `work` with the transaction open, and
    /// saves the ticket on the same connection. Nothing stays in the database when `work` fails.
    fn save_holding<'a>(
        &'a self,
        new: &'a NewTicket,
        work: PendingWork<'a>,
        trail: &'a Trail,
    ) -> Answer<'a, Ticket, IntakeError>;

    /// The ticket with this number.
    fn find<'a>(&'a self, id: TicketId, trail: &'a Trail) -> Answer<'a, Option<Ticket>>;

    /// Some tickets, the newest first.
    fn list<'a>(&'a self, page: &'a PageRequest, trail: &'a Trail) -> Answer<'a, TicketPage>;

    /// Waits for connections in use and closes all.
    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// A database that is up to date; the event loops of the process connect to it.
#[derive(Debug)]
pub(crate) enum Database {
    /// One file.
    Sqlite(sqlite::SqliteDatabase),
    /// A database on a server.
    Postgres(postgres::PostgresDatabase),
}

impl Database {
    /// Makes the `SQLite` file if it is missing, and brings tables and seeds up to date. Several
    /// processes may do so at once.
    pub(crate) async fn prepare(url: &DatabaseUrl) -> Result<Self, PrepareError> {
        match url {
            DatabaseUrl::Sqlite(path) => Ok(Self::Sqlite(sqlite::prepare(path).await?)),
            DatabaseUrl::Postgres(url) => Ok(Self::Postgres(postgres::prepare(url).await?)),
        }
    }

    /// Opens the connections of one event loop.
    pub(crate) async fn connect(&self, config: &Config) -> Result<Box<dyn Store>, PrepareError> {
        match self {
            Self::Sqlite(database) => Ok(Box::new(database.connect(config).await?)),
            Self::Postgres(database) => Ok(Box::new(database.connect(config).await?)),
        }
    }
}

/// Why the store could not do its work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StoreError {
    /// The ticket's customer does not exist.
    #[error("there is no such customer")]
    UnknownCustomer,
    /// The idempotency key has opened a ticket that was asked for in other words.
    #[error("this Idempotency-Key was used for another ticket")]
    KeyReused,
    /// No connection became free in time, or other writers held the database for too long.
    #[error("the database is busy: {0}")]
    Busy(String),
    /// The database cannot be reached, read or written at the moment.
    #[error("the database is unavailable: {0}")]
    Unavailable(String),
    /// A fault of ours.
    #[error("the database refused a statement: {0}")]
    Internal(String),
}

/// Why the database could not be brought up to date.
#[derive(Debug, thiserror::Error)]
#[error("cannot open the database {url}: {reason}")]
pub struct PrepareError {
    url: DatabaseUrl,
    reason: String,
}

impl PrepareError {
    fn new(url: &DatabaseUrl, reason: &dyn fmt::Display) -> Self {
        Self { url: url.clone(), reason: reason.to_string() }
    }
}
