//! Makes the file, its tables and its first rows.

use std::path::Path;
use std::time::{Duration, Instant};

use sqlx::sqlite::SqliteJournalMode;
use sqlx::{ConnectOptions, Connection, Sqlite};

use super::{SqliteDatabase, options, primary_code};
use crate::config::DatabaseUrl;
use crate::store::statements::Statements;
use crate::store::{PrepareError, migrations};

/// How long several processes that start on one file may be in each other's way.
const PATIENCE: Duration = Duration::from_secs(20);

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
    migrations::all([
        ("tickets", include_str!("../../../migrations/sqlite/0001_tickets.sql")),
        ("idempotency keys", include_str!("../../../migrations/sqlite/0002_idempotency_keys.sql")),
    ])
    .run_direct(None, &mut *writing, false)
    .await?;
    Statements::<Sqlite>::seed(&mut writing).await?;
    writing.commit().await?;
    connection.close().await
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
