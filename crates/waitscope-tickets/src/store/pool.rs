//! The connections of one event loop.

use std::time::Duration;

use sqlx::pool::{PoolConnection, PoolOptions};
use sqlx::{Database, Pool};

use crate::config::Config;
use crate::stopwatch::within;
use crate::trail::Trail;

/// Connections at a time when none is kept: more than this process has files for.
const UNPOOLED: u32 = 10_000;

/// What the pools of all databases have in common.
pub(super) fn options<DB: Database>(config: &Config) -> PoolOptions<DB> {
    let options = PoolOptions::new()
        // The pool counts the time for which a request holds the event loop, which is no wait for a
        // connection: `acquire` has a bound that does not, and this one is never reached.
        .acquire_timeout(config.db_pool_timeout.saturating_mul(20))
        // A wait for a connection is told about in Server-Timing.
        .acquire_slow_threshold(Duration::MAX)
        .idle_timeout(None)
        // A ping for each use would need a turn of the event loop, which a request may be holding.
        .test_before_acquire(false);
    if config.db_pool {
        options.max_connections(config.db_pool_size.get())
    } else {
        options.max_connections(UNPOOLED).after_release(|_, _| Box::pin(async { Ok(false) }))
    }
}

/// Opens all connections of a pool now, so that none has to be opened while requests wait. Without
/// a pool, one shows whether they can be.
pub(super) async fn fill<DB: Database>(pool: &Pool<DB>, config: &Config) -> Result<(), String> {
    let count = if config.db_pool { config.db_pool_size.get() } else { 1 };
    let mut opened = Vec::new();
    for _ in 0..count {
        let connection = tokio::time::timeout(config.db_pool_timeout, pool.acquire()).await;
        opened.push(connection.unwrap_or(Err(sqlx::Error::PoolTimedOut)).map_err(|error| {
            let given = opened.len();
            match error {
                sqlx::Error::PoolTimedOut => format!(
                    "it gave {given} of {count} connections within {:?}: use a smaller \
                     --db-pool-size, fewer --event-loops or a longer --db-pool-timeout",
                    config.db_pool_timeout
                ),
                error => error.to_string(),
            }
        })?);
    }
    Ok(())
}

/// A connection, as soon as there is one; `None` when there is none in time.
pub(super) async fn acquire<DB: Database>(
    pool: &Pool<DB>,
    patience: Duration,
    trail: &Trail,
) -> Option<sqlx::Result<PoolConnection<DB>>> {
    // It is large, since it can open a connection, and rarely does.
    let connection = Box::pin(pool.acquire());
    trail.database(within(patience, connection)).await
}
