//! `SQLite`: one file, one writer at a time.

mod file;
mod prepare;

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqlitePool, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, Sqlite};

use super::statements::{Dialect, Statements, insert_ticket, run, texts};
use super::{Answer, PendingWork, PrepareError, Store, StoreError, pool};
use crate::config::Config;
use crate::domain::{AiWork, NewTicket, PageRequest, Ticket, TicketId, TicketPage};
use crate::intake::IntakeError;
use crate::stopwatch::within;
use crate::trail::Trail;

pub(super) use prepare::prepare;

impl Dialect for Sqlite {
    // Runs as a whole on the connection's thread. Without a new ticket there is nothing to count as
    // changed, and no run of its to write.
    texts!(write: "$1", show: "created_at", save: [
        "BEGIN IMMEDIATE; ",
        "; INSERT INTO ai_runs (ticket_id, position, task, model, prompt_version, tokens_in,
            tokens_out, cost_usd, latency_ms, status)
        SELECT last_insert_rowid(), * FROM ",
        " WHERE changes() = 1; COMMIT"
    ]);

    /// From the primary result codes of `SQLite` (sqlite.org/rescode.html).
    fn explain(error: &sqlx::Error) -> StoreError {
        let text = error.to_string();
        let database = match error {
            sqlx::Error::PoolTimedOut => return StoreError::Busy(text),
            sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed | sqlx::Error::Io(_) => {
                return StoreError::Unavailable(text);
            }
            sqlx::Error::Database(database) => database,
            _ => return StoreError::Internal(text),
        };
        if database.is_foreign_key_violation() {
            return StoreError::UnknownCustomer;
        }
        match primary_code(database.as_ref()) {
            // BUSY, LOCKED
            Some(5 | 6) => StoreError::Busy(text),
            // PERM, READONLY, IOERR, CORRUPT, FULL, CANTOPEN, NOTADB
            Some(3 | 8 | 10 | 11 | 13 | 14 | 26) => StoreError::Unavailable(text),
            _ => StoreError::Internal(text),
        }
    }
}

/// The low byte of an extended result code is the primary one.
fn primary_code(error: &dyn sqlx::error::DatabaseError) -> Option<i32> {
    error.code()?.parse::<i32>().ok().map(|code| code & 0xff)
}

/// A file that is up to date.
#[derive(Debug)]
pub(crate) struct SqliteDatabase {
    path: PathBuf,
}

impl SqliteDatabase {
    /// Opens the connections of one event loop.
    pub(super) async fn connect(&self, config: &Config) -> Result<SqliteStore, PrepareError> {
        let failed = |error: String| PrepareError::new(&config.database_url, &error);
        let file = file::Watched::new(&self.path);
        let pool = pool::options(config)
            // A connection to a file does not age.
            .max_lifetime(None)
            .before_acquire(move |_, connection| {
                let usable = file.is_the_one_opened(connection.age);
                Box::pin(async move { Ok(usable) })
            })
            .connect_lazy_with(options(&self.path, config.db_pool_timeout));
        pool::fill(&pool, config).await.map_err(failed)?;
        Ok(SqliteStore { pool, writer: Arc::default(), patience: config.db_pool_timeout })
    }
}

/// What each connection is opened with. `patience` is how long it waits for other writers, which
/// it does on its own thread. A missing file is an error: only [`prepare`] makes one.
fn options(path: &Path, patience: Duration) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .busy_timeout(patience)
        .foreign_keys(true)
        // With a write-ahead log this loses nothing when a process is killed.
        .synchronous(SqliteSynchronous::Normal)
        .disable_statement_logging()
}

/// A pool of connections to one file.
#[derive(Debug)]
pub(crate) struct SqliteStore {
    pool: SqlitePool,
    writer: Writer,
    patience: Duration,
}

/// Whose turn it is to write, among the connections of one event loop. `SQLite` has one writer, and
/// whoever finds it busy sleeps and tries again: with many, for longer and longer.
type Writer = Arc<tokio::sync::Mutex<()>>;

impl SqliteStore {
    async fn acquire(&self, trail: &Trail) -> Result<PoolConnection<Sqlite>, StoreError> {
        match pool::acquire(&self.pool, self.patience, trail).await {
            Some(connection) => connection.map_err(|error| Sqlite::explain(&error)),
            None => Err(StoreError::Busy("no connection was free in time".into())),
        }
    }
}

impl Store for SqliteStore {
    fn ready<'a>(&'a self, trail: &'a Trail) -> Answer<'a, ()> {
        Box::pin(async move { on(&mut *self.acquire(trail).await?, trail).ready().await })
    }

    fn admit<'a>(&'a self, new: &'a NewTicket, trail: &'a Trail) -> Answer<'a, Option<Ticket>> {
        Box::pin(async move { on(&mut *self.acquire(trail).await?, trail).admit(new).await })
    }

    /// Writes in a task of its own: a transaction that is dropped in the middle, since its client
    /// left, would stay open for as long as its connection is not noticed to be useless.
    fn save(&self, new: NewTicket, work: AiWork, trail: Arc<Trail>) -> Answer<'_, Ticket> {
        Box::pin(async move {
            let mut connection = self.acquire(&trail).await?;
            let (writer, patience) = (Arc::clone(&self.writer), self.patience);
            let written = tokio::spawn(async move {
                write(&mut connection, &writer, patience, (&new, &work), &trail).await
            });
            written.await.unwrap_or_else(|error| Err(StoreError::Internal(error.to_string())))
        })
    }

    fn save_holding<'a>(
        &'a self,
        new: &'a NewTicket,
        work: PendingWork<'a>,
        trail: &'a Trail,
    ) -> Answer<'a, Ticket, IntakeError> {
        Box::pin(async move {
            let mut connection = self.acquire(trail).await?;
            let mut reading = run::<_, Sqlite>(trail, None, connection.begin()).await?;
            let outcome = match on(&mut reading, trail).admit(new).await {
                Ok(Some(before)) => return Ok(before),
                Ok(None) => work.await,
                Err(error) => Err(error.into()),
            };
            // A read transaction that wants to write fails at once when somebody else wrote in the
            // meantime, so it ends here; there is nothing in it to roll back.
            run::<_, Sqlite>(trail, None, reading.commit()).await?;
            let ticket = (new, &outcome?);
            Ok(write(&mut connection, &self.writer, self.patience, ticket, trail).await?)
        })
    }

    fn find<'a>(&'a self, id: TicketId, trail: &'a Trail) -> Answer<'a, Option<Ticket>> {
        Box::pin(async move { on(&mut *self.acquire(trail).await?, trail).find(id).await })
    }

    fn list<'a>(&'a self, page: &'a PageRequest, trail: &'a Trail) -> Answer<'a, TicketPage> {
        Box::pin(async move { on(&mut *self.acquire(trail).await?, trail).list(page).await })
    }

    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.pool.close())
    }
}

/// `SQLite` itself bounds how long it waits for other writers.
fn on<'a>(connection: &'a mut SqliteConnection, trail: &'a Trail) -> Statements<'a, Sqlite> {
    Statements { connection, trail, patience: None }
}

/// Writes a ticket and its AI runs in one transaction, when it is this connection's turn.
async fn write(
    connection: &mut PoolConnection<Sqlite>,
    writer: &Writer,
    patience: Duration,
    (new, work): (&NewTicket, &AiWork),
    trail: &Trail,
) -> Result<Ticket, StoreError> {
    let turn = trail.database(within(patience, writer.lock())).await;
    let _turn = turn.ok_or_else(|| StoreError::Busy("others are writing".into()))?;
    let written = on(connection, trail).save(new, work).await;
    if matches!(&written, Err(error) if *error != StoreError::KeyReused) {
        // Its transaction may be open.
        connection.close_on_drop();
    }
    written
}
