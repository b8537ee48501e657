//! The address of a server, and what is done there through `psql`.

use percent_encoding::percent_decode_str;
use url::Url;

use crate::programs::{self, Programs};
use crate::{ServerError, random};

/// A URL of libpq (`PostgreSQL`'s documentation, "Connection URIs"), with some database.
#[derive(Debug, Clone)]
pub(crate) struct Address(Url);

impl Address {
    /// The superuser of a cluster of ours.
    pub(crate) fn of_superuser(password: &str, port: u16) -> Result<Self, ServerError> {
        Self::parse(&format!("postgres://postgres:{password}@127.0.0.1:{port}/postgres"))
    }

    /// What somebody gave as the address of a server.
    pub(crate) fn parse(text: &str) -> Result<Self, ServerError> {
        let url = Url::parse(text).map_err(|error| ServerError::Address(error.to_string()))?;
        if !["postgres", "postgresql"].contains(&url.scheme()) || url.cannot_be_a_base() {
            let message = "it does not begin with postgres://";
            return Err(ServerError::Address(message.into()));
        }
        Ok(Self(url))
    }

    /// The same server and another database.
    pub(crate) fn of_database(&self, name: &str) -> String {
        let mut url = self.0.clone();
        url.set_path(name);
        url.into()
    }

    /// Makes a new, empty database and gives its name.
    pub(crate) fn create_database(&self, programs: &Programs) -> Result<String, ServerError> {
        let name = format!("scratch_{}", random::word()?);
        self.execute(programs, &format!("CREATE DATABASE {name} TEMPLATE template0"))?;
        Ok(name)
    }

    /// Drops a database, also under somebody's feet.
    pub(crate) fn drop_database(&self, programs: &Programs, name: &str) -> Result<(), ServerError> {
        self.execute(programs, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"))
    }

    fn execute(&self, programs: &Programs, sql: &str) -> Result<(), ServerError> {
        let (url, password) = self.without_password();
        let mut psql = programs::command(programs.psql());
        psql.args(["--no-psqlrc", "--quiet", "--dbname", &url, "--command", sql]);
        psql.env("PGCONNECT_TIMEOUT", "10");
        if let Some(password) = password {
            psql.env("PGPASSWORD", password);
        }
        programs::run(&mut psql)
    }

    /// Everybody on a machine sees the arguments of its programs.
    fn without_password(&self) -> (String, Option<String>) {
        let mut url = self.0.clone();
        let password =
            url.password().map(|text| percent_decode_str(text).decode_utf8_lossy().into_owned());
        // An address without a host has no password.
        let _ = url.set_password(None);
        (url.into(), password)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_database_is_replaced_and_the_password_is_hidden() {
        let cases = [
            ("postgres://u:p@127.0.0.1:20001/postgres", "postgres://u:p@127.0.0.1:20001/x", "p"),
            (
                "postgresql://u:a%40b@h?sslmode=disable",
                "postgresql://u:a%40b@h/x?sslmode=disable",
                "a@b",
            ),
            ("postgres://h", "postgres://h/x", ""),
            ("postgres:///y?host=/run/postgresql", "postgres:///x?host=/run/postgresql", ""),
        ];
        for (text, expected, password) in cases {
            let address = Address::parse(text).unwrap();
            assert_eq!(address.of_database("x"), expected);
            let (shown, hidden) = address.without_password();
            assert_eq!(hidden.unwrap_or_default(), password, "{text}");
            assert!(!shown.contains(":p@") && !shown.contains("a%40b"), "{shown}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in ["", "localhost:5432", "mysql://h/x", "postgres:x", "postgres://h:port/x"] {
            let error = Address::parse(text).unwrap_err().to_string();
            assert!(error.starts_with("WAITSCOPE_TEST_POSTGRES must be"), "{text}: {error}");
        }
    }
}
