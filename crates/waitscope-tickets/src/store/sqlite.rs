//! `SQLite`: one file, one writer at a time.

mod file;
mod prepare;

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqlitePool, SqlitePoolOptions, SqliteRow,
    SqliteSynchronous,
};
use sqlx::{ConnectOptions, Connection, Row, Sqlite};
use tokio::runtime::Handle;

use super::{Answer, PendingWork, PrepareError, Store, StoreError};
use crate::config::Config;
use crate::domain::{
    AiRun, AiWork, CustomerId, Named, NewTicket, Priority, Status, TaskName, Team, Ticket, TicketId,
};
use crate::intake::IntakeError;
use crate::trail::Trail;

pub(super) use prepare::prepare;

const CHECK_CUSTOMER: &str = "SELECT 1 FROM customers WHERE customer_id = $1";

const INSERT_TICKET: &str = "
    INSERT INTO tickets (customer_id, subject, body, channel, team, priority, status, created_at,
        draft_reply, embedding, embedding_version)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
    RETURNING id";

const INSERT_RUN: &str = "
    INSERT INTO ai_runs (ticket_id, position, task, model, prompt_version, tokens_in, tokens_out,
        cost_usd, latency_ms, status)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";

const SELECT_TICKET: &str = "
    SELECT customer_id, subject, team, priority, status, created_at, draft_reply,
        embedding_version
    FROM tickets WHERE id = $1";

const SELECT_RUNS: &str = "
    SELECT task, model, prompt_version, tokens_in, tokens_out, cost_usd, latency_ms, status
    FROM ai_runs WHERE ticket_id = $1 ORDER BY position";

/// A file that is up to date.
#[derive(Debug)]
pub(crate) struct SqliteDatabase {
    path: PathBuf,
}

impl SqliteDatabase {
    /// Opens all connections of a pool now, so that none has to be opened while requests wait.
    pub(super) async fn connect(&self, config: &Config) -> Result<SqliteStore, PrepareError> {
        let failed = |error: sqlx::Error| PrepareError::new(&config.database_url, &error);
        let file = file::Watched::new(&self.path);
        let pool = SqlitePoolOptions::new()
            .max_connections(config.db_pool_size.get())
            .acquire_timeout(config.db_pool_timeout)
            // A wait for a connection is told about in Server-Timing.
            .acquire_slow_threshold(Duration::MAX)
            // A connection to a file does not age.
            .idle_timeout(None)
            .max_lifetime(None)
            // A ping would need a turn of the event loop, which a request may be holding: the
            // timeout would then pass with free connections in the pool.
            .test_before_acquire(false)
            .before_acquire(move |_, connection| {
                let usable = file.is_the_one_opened(connection.age);
                Box::pin(async move { Ok(usable) })
            })
            .connect_lazy_with(options(&self.path, config.db_pool_timeout));
        let mut opened = Vec::new();
        for _ in 0..config.db_pool_size.get() {
            opened.push(pool.acquire().await.map_err(failed)?);
        }
        drop(opened);
        Ok(SqliteStore { pool })
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
}

impl SqliteStore {
    async fn acquire(&self, trail: &Trail) -> Result<PoolConnection<Sqlite>, StoreError> {
        trail.database(self.pool.acquire()).await.map_err(|error| explain(&error))
    }
}

impl Store for SqliteStore {
    fn ready<'a>(&'a self, trail: &'a Trail) -> Answer<'a, ()> {
        Box::pin(async move {
            let mut connection = self.acquire(trail).await?;
            let query = sqlx::query("SELECT 1 FROM customers LIMIT 1");
            run(trail, query.fetch_optional(&mut *connection)).await.map(drop)
        })
    }

    fn check_customer<'a>(&'a self, id: &'a CustomerId, trail: &'a Trail) -> Answer<'a, ()> {
        Box::pin(async move {
            let mut connection = self.acquire(trail).await?;
            check_customer(&mut connection, id, trail).await
        })
    }

    /// Writes on a thread. One connection writes at a time: a transaction whose statements wait
    /// for the event loop, which may be held for seconds between two of them, would make all the
    /// others wait too.
    fn save(&self, new: NewTicket, work: AiWork, trail: Arc<Trail>) -> Answer<'_, Ticket> {
        Box::pin(async move {
            let mut connection = self.acquire(&trail).await?;
            let handle = Handle::current();
            let written = tokio::task::spawn_blocking(move || {
                handle.block_on(write_or_close(&mut connection, &new, &work, &trail))
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
            let mut reading = run(trail, connection.begin()).await?;
            let checked = check_customer(&mut reading, &new.customer_id, trail).await;
            let outcome = match checked {
                Ok(()) => work.await,
                Err(error) => Err(error.into()),
            };
            // A read transaction that wants to write fails at once when somebody else wrote in the
            // meantime, so it ends here; there is nothing in it to roll back.
            run(trail, reading.commit()).await?;
            Ok(write_or_close(&mut connection, new, &outcome?, trail).await?)
        })
    }

    fn find<'a>(&'a self, id: TicketId, trail: &'a Trail) -> Answer<'a, Option<Ticket>> {
        Box::pin(async move {
            let mut connection = self.acquire(trail).await?;
            let ticket = sqlx::query(SELECT_TICKET).bind(id.number());
            let Some(ticket) = run(trail, ticket.fetch_optional(&mut *connection)).await? else {
                return Ok(None);
            };
            let runs = sqlx::query(SELECT_RUNS).bind(id.number());
            let runs = run(trail, runs.fetch_all(&mut *connection)).await?;
            read_ticket(id, &ticket, &runs).map(Some).map_err(|error| explain(&error))
        })
    }

    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.pool.close())
    }
}

async fn check_customer(
    connection: &mut SqliteConnection,
    id: &CustomerId,
    trail: &Trail,
) -> Result<(), StoreError> {
    let query = sqlx::query(CHECK_CUSTOMER).bind(id.as_str());
    match run(trail, query.fetch_optional(connection)).await? {
        Some(_) => Ok(()),
        None => Err(StoreError::UnknownCustomer),
    }
}

/// Writes a ticket, and gives the connection up when that fails: on a full disk `SQLite` ends the
/// transaction by itself, which the pool does not notice, and the connection could begin no other.
async fn write_or_close(
    connection: &mut PoolConnection<Sqlite>,
    new: &NewTicket,
    work: &AiWork,
    trail: &Trail,
) -> Result<Ticket, StoreError> {
    let written = write_ticket(connection, new, work, trail).await;
    if written.is_err() {
        connection.close_on_drop();
    }
    written
}

/// Writes a ticket and its AI runs in one transaction; dropped in the middle, it is rolled back.
async fn write_ticket(
    connection: &mut SqliteConnection,
    new: &NewTicket,
    work: &AiWork,
    trail: &Trail,
) -> Result<Ticket, StoreError> {
    let mut writing = run(trail, connection.begin_with("BEGIN IMMEDIATE")).await?;
    let status = Status::Open;
    let created_at = format!("{:.3}", jiff::Timestamp::now());
    let insert = sqlx::query_scalar(INSERT_TICKET)
        .bind(new.customer_id.as_str())
        .bind(&new.subject)
        .bind(&new.body)
        .bind(new.channel.name())
        .bind(work.classification.team.name())
        .bind(work.classification.priority.number())
        .bind(status.name())
        .bind(&created_at)
        .bind(&work.draft_reply)
        .bind(work.embedding.to_bytes())
        .bind(&work.embedding.version);
    let id: i64 = run(trail, insert.fetch_one(&mut *writing)).await?;
    for (position, ai_run) in (0_i64..).zip(&work.runs) {
        write_run(&mut writing, id, position, ai_run, trail).await?;
    }
    run(trail, writing.commit()).await?;
    Ok(Ticket {
        ticket_id: TicketId::new(id),
        customer_id: new.customer_id.clone(),
        subject: new.subject.clone(),
        team: work.classification.team,
        priority: work.classification.priority,
        status,
        created_at,
        draft_reply: Some(work.draft_reply.clone()),
        embedding_version: Some(work.embedding.version.clone()),
        ai_runs: work.runs.clone(),
    })
}

async fn write_run(
    connection: &mut SqliteConnection,
    ticket: i64,
    position: i64,
    ai_run: &AiRun,
    trail: &Trail,
) -> Result<(), StoreError> {
    let insert = sqlx::query(INSERT_RUN)
        .bind(ticket)
        .bind(position)
        .bind(ai_run.task.name())
        .bind(&ai_run.model)
        .bind(&ai_run.prompt_version)
        .bind(ai_run.tokens_in)
        .bind(ai_run.tokens_out)
        .bind(ai_run.cost_usd)
        .bind(ai_run.latency_ms)
        .bind(&ai_run.status);
    run(trail, insert.execute(connection)).await.map(drop)
}

fn read_ticket(id: TicketId, row: &SqliteRow, runs: &[SqliteRow]) -> sqlx::Result<Ticket> {
    Ok(Ticket {
        ticket_id: id,
        customer_id: named(row, "customer_id", CustomerId::parse)?,
        subject: row.try_get("subject")?,
        team: named(row, "team", Team::from_name)?,
        priority: Priority::new(row.try_get("priority")?).ok_or_else(|| unreadable("priority"))?,
        status: named(row, "status", Status::from_name)?,
        created_at: row.try_get("created_at")?,
        draft_reply: row.try_get("draft_reply")?,
        embedding_version: row.try_get("embedding_version")?,
        ai_runs: runs.iter().map(read_run).collect::<sqlx::Result<_>>()?,
    })
}

fn read_run(row: &SqliteRow) -> sqlx::Result<AiRun> {
    Ok(AiRun {
        task: named(row, "task", TaskName::from_name)?,
        model: row.try_get("model")?,
        prompt_version: row.try_get("prompt_version")?,
        tokens_in: row.try_get("tokens_in")?,
        tokens_out: row.try_get("tokens_out")?,
        cost_usd: row.try_get("cost_usd")?,
        latency_ms: row.try_get("latency_ms")?,
        status: row.try_get("status")?,
    })
}

/// Reads a column whose text is the name of something.
fn named<T>(row: &SqliteRow, column: &str, parse: fn(&str) -> Option<T>) -> sqlx::Result<T> {
    parse(row.try_get(column)?).ok_or_else(|| unreadable(column))
}

fn unreadable(column: &str) -> sqlx::Error {
    sqlx::Error::Decode(format!("column {column} holds a value that is not known").into())
}

/// Runs one statement: counted, timed, and its error explained.
async fn run<T>(
    trail: &Trail,
    statement: impl Future<Output = sqlx::Result<T>>,
) -> Result<T, StoreError> {
    trail.statement(statement).await.map_err(|error| explain(&error))
}

/// What an error means for the client, from the primary result codes of `SQLite`
/// (sqlite.org/rescode.html).
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

/// The low byte of an extended result code is the primary one.
fn primary_code(error: &dyn sqlx::error::DatabaseError) -> Option<i32> {
    error.code()?.parse::<i32>().ok().map(|code| code & 0xff)
}
