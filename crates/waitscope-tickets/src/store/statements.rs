//! The statements of all databases: the same texts, but for how a point in time is written.

use std::future::Future;
use std::time::Duration;

use sqlx::query::QueryScalar;
use sqlx::{
    ColumnIndex, Database, Decode, Encode, Executor, IntoArguments, QueryBuilder, Row, Type,
};

use super::StoreError;
use super::seed;
use crate::domain::{
    AiRun, AiWork, Channel, CustomerId, IdempotencyKey, Named, NewTicket, PageRequest, Priority,
    Status, TaskName, Team, Ticket, TicketId, TicketPage, TicketSummary,
};
use crate::stopwatch::within;
use crate::trail::Trail;

/// What differs between databases: the texts that write or show a point in time, and what their
/// errors mean.
pub(super) trait Dialect: Database {
    const SEED_TICKET: &'static str;
    const INSERT_TICKET: &'static str;
    /// Inserts a ticket and its AI runs, all or nothing; gives the number of the new ticket, or no
    /// row when its key has opened one before.
    const SAVE: &'static str;
    const SELECT_TICKET: &'static str;
    const SELECT_SUMMARIES: &'static str;

    /// What an error means for the client.
    fn explain(error: &sqlx::Error) -> StoreError;
}

macro_rules! insert_ticket {
    ($write:literal) => {
        concat!(
            "INSERT INTO tickets (created_at, customer_id, subject, body, channel, idempotency_key,
                team, priority, status, draft_reply, embedding, embedding_version)
            VALUES (",
            $write,
            ", $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
            ON CONFLICT (idempotency_key) DO NOTHING RETURNING id"
        )
    };
}
pub(super) use insert_ticket;

/// The texts of a [`Dialect`]: how `$1`, RFC 3339 in UTC, becomes a value of `created_at`, and how
/// that becomes text again; and what stands around the insert of a ticket, and after the values of
/// its runs, when both are one trip to the database.
macro_rules! texts {
    (
        write: $write:literal,
        show: $show:literal,
        save: [$begin:literal, $runs:literal, $end:literal]
    ) => {
        const SEED_TICKET: &'static str = concat!(
            "INSERT INTO tickets (created_at, id, customer_id, subject, body, channel, team,
                priority, status)
            VALUES (",
            $write,
            ", $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING"
        );
        const INSERT_TICKET: &'static str = insert_ticket!($write);
        const SAVE: &'static str = concat!(
            $begin,
            insert_ticket!($write),
            $runs,
            "(VALUES ($13, $14, $15, $16, $17, $18, $19, $20, $21),
                ($22, $23, $24, $25, $26, $27, $28, $29, $30),
                ($31, $32, $33, $34, $35, $36, $37, $38, $39))",
            $end
        );
        const SELECT_TICKET: &'static str = concat!(
            "SELECT id, customer_id, subject, team, priority, status, ",
            $show,
            " AS created_at,
                draft_reply, embedding_version
            FROM tickets WHERE id = $1"
        );
        const SELECT_SUMMARIES: &'static str = concat!(
            "SELECT id, customer_id, subject, team, priority, status, ",
            $show,
            " AS created_at
            FROM tickets WHERE id < "
        );
    };
}
pub(super) use texts;

const SEED_CUSTOMER: &str =
    "INSERT INTO customers (customer_id, name) VALUES ($1, $2) ON CONFLICT DO NOTHING";

const READY: &str = "SELECT 1 FROM customers LIMIT 1";

const CHECK_CUSTOMER: &str = "SELECT 1 FROM customers WHERE customer_id = $1";

const SELECT_BY_KEY: &str =
    "SELECT id, customer_id, subject, body, channel FROM tickets WHERE idempotency_key = $1";

const COMPLETE_TICKET: &str = "
    UPDATE tickets SET team = $1, priority = $2, draft_reply = $3, embedding = $4,
        embedding_version = $5
    WHERE id = $6";

const INSERT_RUNS: &str = "
    INSERT INTO ai_runs (ticket_id, position, task, model, prompt_version, tokens_in, tokens_out,
        cost_usd, latency_ms, status) ";

const SELECT_RUNS: &str = "
    SELECT task, model, prompt_version, tokens_in, tokens_out, cost_usd, latency_ms, status
    FROM ai_runs WHERE ticket_id = $1 ORDER BY position";

/// Runs statements on one connection, which may have a transaction open. Each is counted, timed,
/// and its error explained.
pub(super) struct Statements<'a, DB: Database> {
    pub(super) connection: &'a mut DB::Connection,
    pub(super) trail: &'a Trail,
    /// The longest wait for an answer, where the database itself has no bound. A statement that is
    /// given up leaves its connection unusable.
    pub(super) patience: Option<Duration>,
}

/// Where a new ticket stands in the database.
pub(super) enum Inserted {
    /// It got this number and this time.
    New(TicketId, String),
    /// Its idempotency key has opened this ticket before.
    Before(Ticket),
}

impl<DB> Statements<'_, DB>
where
    DB: Dialect,
    DB::Arguments: IntoArguments<DB>,
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
    for<'q> &'q str: Encode<'q, DB> + Type<DB>,
    for<'q> Option<&'q str>: Encode<'q, DB> + Type<DB>,
    for<'q> Option<Vec<u8>>: Encode<'q, DB> + Type<DB>,
    for<'v> i64: Encode<'v, DB> + Decode<'v, DB> + Type<DB>,
    for<'v> f64: Encode<'v, DB> + Decode<'v, DB> + Type<DB>,
    for<'r> String: Decode<'r, DB> + Type<DB>,
    for<'r> Option<String>: Decode<'r, DB> + Type<DB>,
    for<'i> &'i str: ColumnIndex<DB::Row>,
    usize: ColumnIndex<DB::Row>,
{
    /// Writes the customers and tickets to begin with, unless they are there.
    pub(super) async fn seed(connection: &mut DB::Connection) -> sqlx::Result<()> {
        for customer in seed::customers() {
            let insert = sqlx::query(SEED_CUSTOMER).bind(&*customer.id).bind(&*customer.name);
            insert.execute(&mut *connection).await?;
        }
        for ticket in seed::tickets() {
            let insert = sqlx::query(DB::SEED_TICKET)
                .bind(&*ticket.created_at)
                .bind(ticket.number)
                .bind(&*ticket.customer_id)
                .bind(ticket.subject)
                .bind(ticket.body)
                .bind(ticket.channel.name())
                .bind(ticket.team.name())
                .bind(i64::from(ticket.priority))
                .bind(ticket.status.name());
            insert.execute(&mut *connection).await?;
        }
        Ok(())
    }

    pub(super) async fn ready(&mut self) -> Result<(), StoreError> {
        let query = sqlx::query(READY);
        run::<_, DB>(self.trail, self.patience, query.fetch_optional(&mut *self.connection))
            .await
            .map(drop)
    }

    /// Whether a ticket may be opened: the one that its key has opened before, if any; an error
    /// when its customer is not known.
    pub(super) async fn admit(&mut self, new: &NewTicket) -> Result<Option<Ticket>, StoreError> {
        if let Some(before) = self.opened_before(new).await? {
            return Ok(Some(before));
        }
        let query = sqlx::query(CHECK_CUSTOMER).bind(new.customer_id.as_str());
        let row =
            run::<_, DB>(self.trail, self.patience, query.fetch_optional(&mut *self.connection));
        row.await?.map(|_| None).ok_or(StoreError::UnknownCustomer)
    }

    /// Writes a ticket with all of its AI work, unless its key has opened one before. One trip to
    /// the database: nobody waits for a transaction that waits for us.
    pub(super) async fn save(
        &mut self,
        new: &NewTicket,
        work: &AiWork,
    ) -> Result<Ticket, StoreError> {
        let created_at = now();
        let mut save = ticket_values(DB::SAVE, &created_at, new, Some(work));
        for (position, ai_run) in (0_i64..).zip(&work.runs) {
            save = save
                .bind(position)
                .bind(ai_run.task.name())
                .bind(&*ai_run.model)
                .bind(&*ai_run.prompt_version)
                .bind(i64::from(ai_run.tokens_in))
                .bind(i64::from(ai_run.tokens_out))
                .bind(ai_run.cost_usd)
                .bind(ai_run.latency_ms)
                .bind(&*ai_run.status);
        }
        // All rows, though there is one at most: whoever stops at the first one stops between two
        // statements.
        let save = save.fetch_all(&mut *self.connection);
        let ids = run::<_, DB>(self.trail, self.patience, save).await?;
        match ids.first() {
            Some(id) => Ok(Ticket::open(TicketId::new(*id), created_at, new, work)),
            None => self.opened_under_key(new).await,
        }
    }

    /// Writes a ticket whose AI work is to be written by [`complete`](Self::complete) in the same
    /// transaction.
    pub(super) async fn insert(&mut self, new: &NewTicket) -> Result<Inserted, StoreError> {
        let created_at = now();
        let insert = ticket_values(DB::INSERT_TICKET, &created_at, new, None);
        let insert = insert.fetch_optional(&mut *self.connection);
        match run::<_, DB>(self.trail, self.patience, insert).await? {
            Some(id) => Ok(Inserted::New(TicketId::new(id), created_at)),
            None => self.opened_under_key(new).await.map(Inserted::Before),
        }
    }

    /// The ticket that stands in the way of this one.
    async fn opened_under_key(&mut self, new: &NewTicket) -> Result<Ticket, StoreError> {
        let before = self.opened_before(new).await?;
        before.ok_or_else(|| StoreError::Internal("a ticket was not inserted".into()))
    }

    /// Writes the AI work of a ticket that was inserted without.
    pub(super) async fn complete(&mut self, id: TicketId, work: &AiWork) -> Result<(), StoreError> {
        let update = sqlx::query(COMPLETE_TICKET)
            .bind(work.classification.team.name())
            .bind(work.classification.priority.number())
            .bind(Some(&*work.draft_reply))
            .bind(Some(work.embedding.to_bytes()))
            .bind(Some(&*work.embedding.version))
            .bind(id.number());
        run::<_, DB>(self.trail, self.patience, update.execute(&mut *self.connection)).await?;
        self.insert_runs(id, &work.runs).await
    }

    async fn insert_runs(&mut self, id: TicketId, runs: &[AiRun]) -> Result<(), StoreError> {
        let mut insert = QueryBuilder::<DB>::new(INSERT_RUNS);
        insert.push_values((0_i64..).zip(runs), |mut row, (position, ai_run)| {
            row.push_bind(id.number())
                .push_bind(position)
                .push_bind(ai_run.task.name())
                .push_bind(&*ai_run.model)
                .push_bind(&*ai_run.prompt_version)
                .push_bind(i64::from(ai_run.tokens_in))
                .push_bind(i64::from(ai_run.tokens_out))
                .push_bind(ai_run.cost_usd)
                .push_bind(ai_run.latency_ms)
                .push_bind(&*ai_run.status);
        });
        let insert = insert.build();
        run::<_, DB>(self.trail, self.patience, insert.execute(&mut *self.connection))
            .await
            .map(drop)
    }

    /// The ticket that this one's key has opened, if it was asked for in the same words.
    async fn opened_before(&mut self, new: &NewTicket) -> Result<Option<Ticket>, StoreError> {
        let Some(key) = &new.idempotency_key else { return Ok(None) };
        let query = sqlx::query(SELECT_BY_KEY).bind(key.as_str());
        let query = query.fetch_optional(&mut *self.connection);
        let Some(row) = run::<_, DB>(self.trail, self.patience, query).await? else {
            return Ok(None);
        };
        let (id, same) = Self::read_opened(&row, new).map_err(|error| DB::explain(&error))?;
        if same { self.find(id).await } else { Err(StoreError::KeyReused) }
    }

    pub(super) async fn find(&mut self, id: TicketId) -> Result<Option<Ticket>, StoreError> {
        let query = sqlx::query(DB::SELECT_TICKET).bind(id.number());
        let query = query.fetch_optional(&mut *self.connection);
        let Some(ticket) = run::<_, DB>(self.trail, self.patience, query).await? else {
            return Ok(None);
        };
        let query = sqlx::query(SELECT_RUNS).bind(id.number());
        let runs = query.fetch_all(&mut *self.connection);
        let runs = run::<_, DB>(self.trail, self.patience, runs).await?;
        Self::read_ticket(&ticket, &runs).map(Some).map_err(|error| DB::explain(&error))
    }

    /// One page, and one row more to see whether another follows.
    pub(super) async fn list(&mut self, page: &PageRequest) -> Result<TicketPage, StoreError> {
        let mut query = QueryBuilder::<DB>::new(DB::SELECT_SUMMARIES);
        query.push_bind(page.after.map_or(i64::MAX, TicketId::number));
        let filters = [
            (" AND status = ", page.status.map(Named::name)),
            (" AND team = ", page.team.map(Named::name)),
            (" AND customer_id = ", page.customer_id.as_ref().map(CustomerId::as_str)),
        ];
        for (condition, value) in filters {
            if let Some(value) = value {
                query.push(condition).push_bind(value);
            }
        }
        query.push(" ORDER BY id DESC LIMIT ").push_bind(i64::from(page.limit) + 1);
        let query = query.build();
        let rows = query.fetch_all(&mut *self.connection);
        let rows = run::<_, DB>(self.trail, self.patience, rows).await?;
        let summaries: sqlx::Result<Vec<_>> = rows.iter().map(Self::read_summary).collect();
        let summaries = summaries.map_err(|error| DB::explain(&error))?;
        Ok(TicketPage::of(summaries, page.limit.into()))
    }

    /// The number of a ticket, and whether it was opened in the words of `new`.
    fn read_opened(row: &DB::Row, new: &NewTicket) -> sqlx::Result<(TicketId, bool)> {
        let text = |column: &str| row.try_get::<String, _>(column);
        let same = text("customer_id")? == new.customer_id.as_str()
            && text("subject")? == new.subject
            && text("body")? == new.body
            && Self::named(row, "channel", Channel::from_name)? == new.channel;
        Ok((TicketId::new(row.try_get("id")?), same))
    }

    fn read_summary(row: &DB::Row) -> sqlx::Result<TicketSummary> {
        Ok(TicketSummary {
            ticket_id: TicketId::new(row.try_get("id")?),
            customer_id: Self::named(row, "customer_id", CustomerId::parse)?,
            subject: row.try_get("subject")?,
            team: Self::named(row, "team", Team::from_name)?,
            priority: Priority::new(row.try_get("priority")?)
                .ok_or_else(|| unreadable("priority"))?,
            status: Self::named(row, "status", Status::from_name)?,
            created_at: row.try_get("created_at")?,
        })
    }

    fn read_ticket(row: &DB::Row, runs: &[DB::Row]) -> sqlx::Result<Ticket> {
        Ok(Ticket {
            summary: Self::read_summary(row)?,
            draft_reply: row.try_get("draft_reply")?,
            embedding_version: row.try_get("embedding_version")?,
            ai_runs: runs.iter().map(Self::read_run).collect::<sqlx::Result<_>>()?,
        })
    }

    fn read_run(row: &DB::Row) -> sqlx::Result<AiRun> {
        let tokens = |column: &str| {
            let count: i64 = row.try_get(column)?;
            u32::try_from(count).map_err(|_| unreadable(column))
        };
        Ok(AiRun {
            task: Self::named(row, "task", TaskName::from_name)?,
            model: row.try_get("model")?,
            prompt_version: row.try_get("prompt_version")?,
            tokens_in: tokens("tokens_in")?,
            tokens_out: tokens("tokens_out")?,
            cost_usd: row.try_get("cost_usd")?,
            latency_ms: row.try_get("latency_ms")?,
            status: row.try_get("status")?,
        })
    }

    /// Reads a column whose text is the name of something.
    fn named<T>(row: &DB::Row, column: &str, parse: fn(&str) -> Option<T>) -> sqlx::Result<T> {
        let text: String = row.try_get(column)?;
        parse(&text).ok_or_else(|| unreadable(column))
    }
}

/// The values of [`Dialect::INSERT_TICKET`]; a ticket without its AI work gets a team and a priority
/// for the time being.
fn ticket_values<'q, DB>(
    text: &'static str,
    created_at: &'q str,
    new: &'q NewTicket,
    work: Option<&'q AiWork>,
) -> QueryScalar<'q, DB, i64, DB::Arguments>
where
    DB: Database,
    &'q str: Encode<'q, DB> + Type<DB>,
    Option<&'q str>: Encode<'q, DB> + Type<DB>,
    Option<Vec<u8>>: Encode<'q, DB> + Type<DB>,
    i64: Encode<'q, DB> + Type<DB>,
    (i64,): for<'r> sqlx::FromRow<'r, DB::Row>,
{
    let (team, priority) = match work {
        Some(work) => (work.classification.team, work.classification.priority),
        None => (Team::General, Priority::LOWEST),
    };
    sqlx::query_scalar(text)
        .bind(created_at)
        .bind(new.customer_id.as_str())
        .bind(&*new.subject)
        .bind(&*new.body)
        .bind(new.channel.name())
        .bind(new.idempotency_key.as_ref().map(IdempotencyKey::as_str))
        .bind(team.name())
        .bind(priority.number())
        .bind(Status::Open.name())
        .bind(work.map(|work| &*work.draft_reply))
        .bind(work.map(|work| work.embedding.to_bytes()))
        .bind(work.map(|work| &*work.embedding.version))
}

/// RFC 3339 in UTC, to the millisecond.
fn now() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}

fn unreadable(column: &str) -> sqlx::Error {
    sqlx::Error::Decode(format!("column {column} holds a value that is not known").into())
}

/// Runs one statement: counted, timed, bounded, and its error explained.
pub(super) async fn run<T, DB: Dialect>(
    trail: &Trail,
    patience: Option<Duration>,
    statement: impl Future<Output = sqlx::Result<T>>,
) -> Result<T, StoreError> {
    let statement = trail.statement(statement);
    let outcome = match patience {
        Some(patience) => within(patience, statement)
            .await
            .ok_or_else(|| StoreError::Busy(format!("no answer within {patience:?}")))?,
        None => statement.await,
    };
    outcome.map_err(|error| DB::explain(&error))
}
