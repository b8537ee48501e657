//! The changes of the tables, in order. Those that were released are never edited.

use sqlx::SqlSafeStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};

/// Numbers the changes from 1. Their texts are part of the binary.
pub(super) fn all<const N: usize>(changes: [(&'static str, &'static str); N]) -> Migrator {
    let numbered = (1..).zip(changes).map(|(number, (name, sql))| {
        Migration::new(number, name.into(), MigrationType::Simple, sql.into_sql_str(), false)
    });
    Migrator::with_migrations(numbered.collect())
}
