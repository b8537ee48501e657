//! Makes the file, its tables and its first rows.

use std::path::Path;
use std::time::{Duration, Instant};

use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::sqlite::{SqliteConnection, SqliteJournalMode};
use sqlx::{ConnectOptions, Connection, SqlSafeStr};

use super::{SqliteDatabase, options, primary_code};
use crate::config::DatabaseUrl;
use crate::domain::Named;
use crate::store::{PrepareError, seed};

/// How long several processes that start on one file may be in each other's way.
const PATIENCE: Duration = Duration::from_secs(20);

const SEED_CUSTOMER: &str =
    "INSERT INTO customers (customer_id, name) VALUES ($1, $2) ON CONFLICT DO NOTHING";

const SEED_TICKET: &str = "
    INSERT INTO tickets (id, customer_id, subject, body, channel, team, priority, status,
        created_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING";

/// Brings the file up to date, or leaves it as it was.
pub(in crate::store) async fn prepare(path: &Path) -> Result<SqliteDatabase, PrepareError> {
    let give_up = Instant::now() + PATIENCE;
    loop {
        match attempt(path).await {
            Ok(()) => return Ok(SqliteDatabase { path: path.to_owned() }),
            // The switch to a write-ahead log does not wait for other processes as writing does.
            Err(error) if is_busy(&error) && Instant::now() < give_up => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(error) => {
                let url = DatabaseUrl::sqlite(path);
                return Err(PrepareError::new(&url, &format!("{error}{}", advice(&error))));
            }
        }
    }
}

async fn attempt(path: &Path) -> Result<(), sqlx::Error> {
    let options =
        options(path, PATIENCE).create_if_missing(true).journal_mode(SqliteJournalMode::Wal);
    let mut connection = options.connect().await?;
    // The migrator takes no lock of its own on SQLite. One writing transaction around everything
    // lets a second process find all of the work done, or none.
    let mut writing = connection.begin_with("BEGIN IMMEDIATE").await?;
    migrator().run_direct(None, &mut *writing, false).await?;
    seed(&mut writing).await?;
    writing.commit().await?;
    connection.close().await
}

fn migrator() -> Migrator {
    let first = include_str!("../../../migrations/sqlite/0001_tickets.sql");
    Migrator::with_migrations(vec![Migration::new(
        1,
        "tickets".into(),
        MigrationType::Simple,
        first.into_sql_str(),
        false,
    )])
}

async fn seed(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    for customer in seed::customers() {
        sqlx::query(SEED_CUSTOMER)
            .bind(customer.id)
            .bind(customer.name)
            .execute(&mut *connection)
            .await?;
    }
    for ticket in seed::tickets() {
        sqlx::query(SEED_TICKET)
            .bind(ticket.number)
            .bind(ticket.customer_id)
            .bind(ticket.subject)
            .bind(ticket.body)
            .bind(ticket.channel.name())
            .bind(ticket.team.name())
            .bind(ticket.priority)
            .bind(ticket.status.name())
            .bind(ticket.created_at)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// BUSY, LOCKED
fn is_busy(error: &sqlx::Error) -> bool {
    matches!(code(error), Some(5 | 6))
}

fn advice(error: &sqlx::Error) -> &'static str {
    match code(error) {
        // READONLY, CANTOPEN
        Some(8 | 14) => "; its folder must exist, and both must be writable",
        _ => "",
    }
}

fn code(error: &sqlx::Error) -> Option<i32> {
    match error {
        sqlx::Error::Database(database) => primary_code(database.as_ref()),
        _ => None,
    }
}
