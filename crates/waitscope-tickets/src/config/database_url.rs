//! Where the tickets are kept.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use sqlx::postgres::PgConnectOptions;

use super::InvalidSetting;

/// Where the tickets are kept.
#[derive(Debug, Clone)]
pub enum DatabaseUrl {
    /// One file, made when it is missing.
    Sqlite(PathBuf),
    /// A database on a `PostgreSQL` server.
    Postgres(PostgresUrl),
}

impl DatabaseUrl {
    /// The `SQLite` file at `path`.
    pub fn sqlite(path: impl AsRef<Path>) -> Self {
        Self::Sqlite(path.as_ref().to_owned())
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Self::Postgres(url) => url.fmt(f),
        }
    }
}

impl FromStr for DatabaseUrl {
    type Err = InvalidSetting;

    /// Reads `sqlite:FILE`, `sqlite://FILE` and `postgres://USER:PASSWORD@HOST:PORT/NAME`. The text
    /// is never repeated in the error: a database URL may hold a password.
    fn from_str(text: &str) -> Result<Self, InvalidSetting> {
        if let Some(rest) = text.strip_prefix("sqlite:") {
            return sqlite_file(rest.strip_prefix("//").unwrap_or(rest));
        }
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Postgres(PostgresUrl::read(text)?));
        }
        Err(InvalidSetting(
            "write the database as sqlite:FILE or postgres://USER:PASSWORD@HOST:PORT/NAME".into(),
        ))
    }
}

fn sqlite_file(file: &str) -> Result<DatabaseUrl, InvalidSetting> {
    if file.is_empty() || file == ":memory:" {
        return Err(InvalidSetting(
            "the database must be a file, which several connections can share: sqlite:FILE".into(),
        ));
    }
    if file.contains('?') {
        return Err(InvalidSetting("write the database as sqlite:FILE, without options".into()));
    }
    Ok(DatabaseUrl::sqlite(file))
}

/// The address of a `PostgreSQL` database, as libpq writes it; it is shown without its password.
#[derive(Clone)]
pub struct PostgresUrl(Box<PgConnectOptions>);

impl PostgresUrl {
    /// The parameters that a URL may have; sqlx passes over others, and with them a misspelt
    /// `sslmode`.
    const PARAMETERS: [&str; 18] = [
        "sslmode",
        "ssl-mode",
        "sslrootcert",
        "ssl-root-cert",
        "ssl-ca",
        "sslcert",
        "ssl-cert",
        "sslkey",
        "ssl-key",
        "statement-cache-capacity",
        "host",
        "hostaddr",
        "port",
        "dbname",
        "user",
        "password",
        "application_name",
        "options",
    ];

    fn read(text: &str) -> Result<Self, InvalidSetting> {
        let query = text.split_once('?').map_or("", |(_, query)| query);
        for (name, _) in form_urlencoded::parse(query.as_bytes()) {
            if !Self::PARAMETERS.contains(&&*name) && !name.starts_with("options[") {
                let known = Self::PARAMETERS.join(", ");
                return Err(InvalidSetting(format!(
                    "the database URL has a parameter that is not known; the known ones are {known}"
                )));
            }
        }
        let options = text.parse().map_err(|_| {
            InvalidSetting(
                "the database URL cannot be read; write it like \
                 postgres://USER:PASSWORD@HOST:PORT/NAME, other characters than letters and \
                 digits of the password as %XX"
                    .into(),
            )
        })?;
        Ok(Self(Box::new(options)))
    }

    /// How to connect.
    pub(crate) fn options(&self) -> PgConnectOptions {
        (*self.0).clone()
    }
}

impl fmt::Display for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = &self.0;
        write!(f, "postgres://{}@", options.get_username())?;
        match options.get_socket() {
            Some(socket) => write!(f, "{}", socket.display())?,
            None => write!(f, "{}:{}", options.get_host(), options.get_port())?,
        }
        // Without a name, the server takes the user's.
        write!(f, "/{}", options.get_database().unwrap_or(options.get_username()))
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    #[test]
    fn database_urls() {
        check::<DatabaseUrl>(&[
            ("sqlite:tickets.db", Ok("sqlite:tickets.db")),
            ("sqlite://tickets.db", Ok("sqlite:tickets.db")),
            ("sqlite:///var/lib/tickets.db", Ok("sqlite:/var/lib/tickets.db")),
            ("sqlite::memory:", Err("must be a file")),
            ("sqlite:", Err("must be a file")),
            ("sqlite:a.db?mode=rwc", Err("without options")),
            ("tickets.db", Err("sqlite:FILE")),
            ("mysql://me@db/x", Err("postgres://")),
            ("postgres://me@db/x", Ok("postgres://me@db:5432/x")),
            ("postgresql://me:s3cret@127.0.0.1:5433/x", Ok("postgres://me@127.0.0.1:5433/x")),
            ("postgres://me:s3cret@[::1]:5433/x", Ok("postgres://me@[::1]:5433/x")),
            ("postgres://me@db", Ok("postgres://me@db:5432/me")),
            ("postgres://me@%2Frun%2Fpg/x", Ok("postgres://me@/run/pg/x")),
            ("postgres://me:s3/cret@db/x", Err("as %XX")),
            ("postgres://me@db:99999/x", Err("cannot be read")),
            ("postgres://me@db/x?sslmode=require", Ok("postgres://me@db:5432/x")),
            ("postgres://me@db/x?sslmod=require", Err("the known ones are sslmode")),
        ]);
    }

    #[test]
    fn a_password_is_never_shown() {
        let url: DatabaseUrl = "postgres://me:s3cret@db/x".parse().unwrap();
        let error = "postgres://me:s3/cret@db/x".parse::<DatabaseUrl>().unwrap_err();
        for shown in [format!("{url}"), format!("{url:?}"), error.to_string()] {
            assert!(!shown.contains("cret"), "{shown}");
        }
    }
}
