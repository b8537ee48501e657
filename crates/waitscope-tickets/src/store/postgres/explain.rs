//! What the errors of `PostgreSQL` mean.

use crate::store::StoreError;

/// What an error means for the client, from the SQLSTATE codes (`PostgreSQL` documentation,
/// appendix A).
pub(super) fn explain(error: &sqlx::Error) -> StoreError {
    let text = error.to_string();
    match error {
        sqlx::Error::PoolTimedOut => StoreError::Busy(text),
        sqlx::Error::Database(database) => by_code(&database.code().unwrap_or_default(), text),
        // A server that goes away may leave half a message behind.
        sqlx::Error::PoolClosed
        | sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_) => StoreError::Unavailable(text),
        _ => StoreError::Internal(text),
    }
}

fn by_code(code: &str, text: String) -> StoreError {
    let class = code.get(..2).unwrap_or_default();
    match (class, code) {
        // foreign_key_violation
        (_, "23503") => StoreError::UnknownCustomer,
        // serialization_failure, deadlock_detected, too_many_connections, lock_not_available,
        // query_canceled, idle_in_transaction_session_timeout
        (_, "40001" | "40P01" | "53300" | "55P03" | "57014" | "25P03") => StoreError::Busy(text),
        // A connection, invalid authorization, no such database, insufficient resources (a full
        // disk, too little memory), an intervention (shutdown, starting up), the system, damaged
        // data; read_only_sql_transaction, insufficient_privilege
        ("08" | "28" | "3D" | "53" | "57" | "58" | "XX", _) | (_, "25006" | "42501") => {
            StoreError::Unavailable(text)
        }
        _ => StoreError::Internal(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_their_meaning() {
        let text = String::new;
        let cases = [
            ("23503", StoreError::UnknownCustomer),
            ("40P01", StoreError::Busy(text())),
            ("53300", StoreError::Busy(text())),
            ("57014", StoreError::Busy(text())),
            ("08006", StoreError::Unavailable(text())),
            ("28P01", StoreError::Unavailable(text())),
            ("3D000", StoreError::Unavailable(text())),
            ("53100", StoreError::Unavailable(text())),
            ("57P01", StoreError::Unavailable(text())),
            ("57P03", StoreError::Unavailable(text())),
            ("58030", StoreError::Unavailable(text())),
            ("25006", StoreError::Unavailable(text())),
            ("42P01", StoreError::Internal(text())),
            ("23505", StoreError::Internal(text())),
            ("", StoreError::Internal(text())),
        ];
        for (code, expected) in cases {
            assert_eq!(by_code(code, String::new()), expected, "{code}");
        }
    }
}
