//! `PostgreSQL`: a server that many write to at a time.

mod explain;
mod prepare;

use std::ops::RangeInclusive;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool};
use sqlx::{ConnectOptions, Connection, Postgres};

use super::statements::{Dialect, Inserted, Statements, insert_ticket, run, texts};
use super::{Answer, PendingWork, PrepareError, Store, StoreError, pool};
use crate::config::{Config, PostgresUrl};
use crate::domain::{AiWork, NewTicket, PageRequest, Ticket, TicketId, TicketPage};
use crate::intake::IntakeError;
use crate::trail::Trail;

pub(super) use prepare::prepare;

/// A connection that lay idle for longer is tried before it is used: its server may have been
/// started anew. One that is used all the time shows that by itself.
const TRUSTED_IDLE: Duration = Duration::from_secs(1);

impl Dialect for Postgres {
    texts!(
        write: "CAST($1 AS timestamptz)",
        show: r#"to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')"#,
        save: [
            "WITH new AS (",
            "), runs AS (INSERT INTO ai_runs (ticket_id, position, task, model, prompt_version,
                tokens_in, tokens_out, cost_usd, latency_ms, status)
            SELECT new.id, run.* FROM new, ",
            " AS run) SELECT id FROM new"
        ]
    );

    fn explain(error: &sqlx::Error) -> StoreError {
        explain::explain(error)
    }
}

/// A database that is up to date.
#[derive(Debug)]
pub(crate) struct PostgresDatabase {
    url: PostgresUrl,
}

impl PostgresDatabase {
    /// Opens the connections of one event loop.
    pub(super) async fn connect(&self, config: &Config) -> Result<PostgresStore, PrepareError> {
        let pool = pool::options::<Postgres>(config)
            .before_acquire(|connection, idle| {
                Box::pin(async move {
                    Ok(idle.idle_for < TRUSTED_IDLE || connection.ping().await.is_ok())
                })
            })
            .connect_lazy_with(bounded(logged_as_ours(self.url.options()), config.db_pool_timeout));
        let failed = |error: String| PrepareError::new(&config.database_url, &error);
        pool::fill(&pool, config).await.map_err(failed)?;
        let (in_use, last_given) = (AtomicU32::new(0), Mutex::default());
        Ok(PostgresStore { pool, in_use, last_given, patience: config.db_pool_timeout })
    }
}

/// Named for the server's list of connections, and without a log of its own: statements stand in
/// the line of their request.
fn logged_as_ours(options: PgConnectOptions) -> PgConnectOptions {
    let options = options.application_name("waitscope tickets").disable_statement_logging();
    // Its notices are none of ours: that a table is there already, for one.
    options.options([("client_min_messages", "warning")])
}

/// Lets the server, too, give up what nobody waits for any more. It does not notice that a session
/// was left while that waits for a lock: each one would keep its place until there is none left.
fn bounded(options: PgConnectOptions, patience: Duration) -> PgConnectOptions {
    /// Zero is no bound, and the setting is an `int`.
    const TIMEOUTS_MS: RangeInclusive<u128> = 1..=0x7FFF_FFFF;
    let timeout_ms = patience.as_millis().clamp(*TIMEOUTS_MS.start(), *TIMEOUTS_MS.end());
    options.options([("statement_timeout", timeout_ms)])
}

/// A pool of connections to one server.
#[derive(Debug)]
pub(crate) struct PostgresStore {
    pool: PgPool,
    /// Connections that requests hold at this moment.
    in_use: AtomicU32,
    /// When one of them got its connection last.
    last_given: Mutex<Option<Instant>>,
    patience: Duration,
}

/// A connection while a request holds it.
struct Held<'a> {
    connection: PoolConnection<Postgres>,
    trail: &'a Trail,
    patience: Duration,
    in_use: &'a AtomicU32,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.in_use.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Held<'_> {
    fn statements(&mut self) -> Statements<'_, Postgres> {
        on(&mut self.connection, self.trail, self.patience)
    }

    /// Gives the connection up when the database had trouble: a statement that was given up may be
    /// answered at any time.
    fn settle<T>(mut self, outcome: Result<T, StoreError>) -> Result<T, StoreError> {
        match &outcome {
            Err(StoreError::Busy(_) | StoreError::Unavailable(_) | StoreError::Internal(_)) => {
                self.connection.close_on_drop();
            }
            Err(StoreError::UnknownCustomer | StoreError::KeyReused) | Ok(_) => {}
        }
        outcome
    }
}

fn on<'a>(
    connection: &'a mut PgConnection,
    trail: &'a Trail,
    patience: Duration,
) -> Statements<'a, Postgres> {
    Statements { connection, trail, patience: Some(patience) }
}

impl PostgresStore {
    async fn acquire<'a>(&'a self, trail: &'a Trail) -> Result<Held<'a>, StoreError> {
        let connection = match pool::acquire(&self.pool, self.patience, trail).await {
            Some(connection) => connection.map_err(|error| Postgres::explain(&error))?,
            None => return Err(self.none_in_time()),
        };
        self.last_given().replace(Instant::now());
        self.in_use.fetch_add(1, Ordering::Relaxed);
        Ok(Held { connection, trail, patience: self.patience, in_use: &self.in_use })
    }

    /// A server that is away refuses connections for as long as the pool tries. When nobody holds
    /// one, and nobody got one lately, it is not other requests that were waited for.
    fn none_in_time(&self) -> StoreError {
        let lately = self.last_given().is_some_and(|given| given.elapsed() < self.patience);
        if lately || self.in_use.load(Ordering::Relaxed) > 0 {
            StoreError::Busy("no connection was free in time".into())
        } else {
            StoreError::Unavailable("no connection could be opened".into())
        }
    }

    fn last_given(&self) -> MutexGuard<'_, Option<Instant>> {
        self.last_given.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for PostgresStore {
    fn ready<'a>(&'a self, trail: &'a Trail) -> Answer<'a, ()> {
        Box::pin(async move {
            let mut held = self.acquire(trail).await?;
            let outcome = held.statements().ready().await;
            held.settle(outcome)
        })
    }

    fn admit<'a>(&'a self, new: &'a NewTicket, trail: &'a Trail) -> Answer<'a, Option<Ticket>> {
        Box::pin(async move {
            let mut held = self.acquire(trail).await?;
            let outcome = held.statements().admit(new).await;
            held.settle(outcome)
        })
    }

    fn save(&self, new: NewTicket, work: AiWork, trail: Arc<Trail>) -> Answer<'_, Ticket> {
        Box::pin(async move {
            let mut held = self.acquire(&trail).await?;
            let outcome = held.statements().save(&new, &work).await;
            held.settle(outcome)
        })
    }

    /// The transaction is open from the first insert on: the ticket's row, which nobody else sees
    /// yet, waits for the provider as long as the client does.
    fn save_holding<'a>(
        &'a self,
        new: &'a NewTicket,
        work: PendingWork<'a>,
        trail: &'a Trail,
    ) -> Answer<'a, Ticket, IntakeError> {
        Box::pin(async move {
            let mut held = self.acquire(trail).await?;
            match write_holding(&mut held, new, work).await {
                Err(IntakeError::Store(error)) => Ok(held.settle(Err(error))?),
                outcome => outcome,
            }
        })
    }

    fn find<'a>(&'a self, id: TicketId, trail: &'a Trail) -> Answer<'a, Option<Ticket>> {
        Box::pin(async move {
            let mut held = self.acquire(trail).await?;
            let outcome = held.statements().find(id).await;
            held.settle(outcome)
        })
    }

    fn list<'a>(&'a self, page: &'a PageRequest, trail: &'a Trail) -> Answer<'a, TicketPage> {
        Box::pin(async move {
            let mut held = self.acquire(trail).await?;
            let outcome = held.statements().list(page).await;
            held.settle(outcome)
        })
    }

    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.pool.close())
    }
}

/// Writes a ticket with the wait for the provider inside the transaction; dropped in the middle, it
/// is rolled back.
async fn write_holding(
    held: &mut Held<'_>,
    new: &NewTicket,
    work: PendingWork<'_>,
) -> Result<Ticket, IntakeError> {
    let (trail, patience) = (held.trail, Some(held.patience));
    let begin = held.connection.begin();
    let mut writing = run::<_, Postgres>(trail, patience, begin).await?;
    let mut statements = on(&mut writing, trail, held.patience);
    if let Some(before) = statements.admit(new).await? {
        return Ok(before);
    }
    let (id, created_at) = match statements.insert(new).await? {
        Inserted::New(id, created_at) => (id, created_at),
        Inserted::Before(ticket) => return Ok(ticket),
    };
    let work = work.await?;
    on(&mut writing, trail, held.patience).complete(id, &work).await?;
    run::<_, Postgres>(trail, patience, writing.commit()).await?;
    Ok(Ticket::open(id, created_at, new, &work))
}
