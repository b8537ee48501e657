//! Makes the tables and their first rows.

use std::io;
use std::time::{Duration, Instant};

use sqlx::migrate::MigrateError;
use sqlx::{ConnectOptions, Connection, Postgres};

use super::PostgresDatabase;
use crate::config::{DatabaseUrl, PostgresUrl};
use crate::store::statements::Statements;
use crate::store::{PrepareError, migrations};

/// How long a server may take to start.
const PATIENCE: Duration = Duration::from_secs(20);

/// Brings the database up to date, or leaves it as it was.
pub(in crate::store) async fn prepare(url: &PostgresUrl) -> Result<PostgresDatabase, PrepareError> {
    let give_up = Instant::now() + PATIENCE;
    loop {
        let attempted = tokio::time::timeout(PATIENCE, attempt(url)).await;
        match attempted.unwrap_or_else(|_| Err(io::Error::from(io::ErrorKind::TimedOut).into())) {
            Ok(()) => return Ok(PostgresDatabase { url: url.clone() }),
            Err(error) if is_starting(&error) && Instant::now() < give_up => {
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            Err(error) => {
                let reason = format!("{}{}", told(&error), advice(&error));
                return Err(PrepareError::new(&DatabaseUrl::Postgres(url.clone()), &reason));
            }
        }
    }
}

async fn attempt(url: &PostgresUrl) -> Result<(), sqlx::Error> {
    let options = super::logged_as_ours(url.options());
    let mut connection = options.connect().await?;
    let encoding: String =
        sqlx::query_scalar("SHOW server_encoding").fetch_one(&mut connection).await?;
    if encoding != "UTF8" {
        let wrong =
            format!("its encoding is {encoding}; make it with: createdb -E UTF8 -T template0 NAME");
        return Err(sqlx::Error::Configuration(wrong.into()));
    }
    // The migrator holds an advisory lock meanwhile: others who start wait for it.
    let changes = migrations::all([
        ("tickets", include_str!("../../../migrations/postgres/0001_tickets.sql")),
        (
            "idempotency keys",
            include_str!("../../../migrations/postgres/0002_idempotency_keys.sql"),
        ),
    ]);
    changes.run_direct(None, &mut connection, false).await.map_err(plain)?;
    let mut writing = connection.begin().await?;
    Statements::<Postgres>::seed(&mut writing).await?;
    writing.commit().await?;
    connection.close().await
}

/// The error of the database itself, where there is one.
fn plain(error: MigrateError) -> sqlx::Error {
    match error {
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => error,
        MigrateError::VersionMissing(_) => {
            sqlx::Error::Configuration("it was made by a newer version of waitscope".into())
        }
        other => other.into(),
    }
}

/// What the server said, without the line of its source where it said so.
fn told(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(database) => database.message().to_owned(),
        sqlx::Error::Configuration(wrong) => wrong.to_string(),
        sqlx::Error::Io(error) if error.kind() == io::ErrorKind::TimedOut => {
            format!("it did not answer within {PATIENCE:?}")
        }
        other => other.to_string(),
    }
}

/// A server that is starting up takes no connections yet (`cannot_connect_now`).
fn is_starting(error: &sqlx::Error) -> bool {
    sqlstate(error).as_deref() == Some("57P03")
}

fn advice(error: &sqlx::Error) -> &'static str {
    if matches!(error, sqlx::Error::Io(_)) {
        return "; is the server running there?";
    }
    match sqlstate(error).as_deref() {
        // invalid_catalog_name
        Some("3D000") => "; make it with: createdb NAME",
        // insufficient_privilege
        Some("42501") => "; its user must be allowed to make tables",
        _ => "",
    }
}

fn sqlstate(error: &sqlx::Error) -> Option<String> {
    match error {
        sqlx::Error::Database(database) => database.code().map(std::borrow::Cow::into_owned),
        _ => None,
    }
}
