//! The database between starts.

use std::net::Ipv4Addr;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use waitscope_serve::bind;
use waitscope_tickets::{Config, DatabaseUrl, IntakeMode, StartError, State, run};

use crate::fixture::{Database, FakeProvider, Service, install_crypto, settings, ticket};

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_goes_on_where_it_was() {
    for database in Database::each() {
        let provider = FakeProvider::start(Duration::ZERO);
        for id in ["T-500001", "T-500002", "T-500003"] {
            let service = Service::start(settings(IntakeMode::Async, &database, &provider));
            assert_eq!(service.post(&ticket()).await.body["ticket_id"], id);
            assert_eq!(service.get("/v1/tickets/T-500001").await.status, 200);
        }
        assert_eq!(database.number("SELECT count(*) FROM customers").await, 50);
        assert_eq!(database.number("SELECT count(*) FROM tickets").await, 53);
    }
}

#[test]
fn many_may_start_at_once_on_one_empty_database() {
    install_crypto();
    for database in Database::each() {
        let config = Config { database_url: database.url(), ..Config::default() };
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let runtime =
                        tokio::runtime::Builder::new_current_thread().enable_all().build();
                    runtime.unwrap().block_on(State::open(&config)).unwrap();
                });
            }
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            assert_eq!(database.number("SELECT count(*) FROM customers").await, 50);
            assert_eq!(database.number("SELECT count(*) FROM tickets").await, 50);
            assert_eq!(database.number("SELECT count(*) FROM _sqlx_migrations").await, 2);
        });
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "no event loop runs here")]
fn a_database_that_cannot_be_opened_is_named() {
    install_crypto();
    let folder = tempfile::tempdir().unwrap();
    let no_database = folder.path().join("text.db");
    std::fs::write(&no_database, "this is a text, and a text is no database".repeat(100)).unwrap();
    for path in [folder.path().join("missing/tickets.db"), folder.path().into(), no_database] {
        let error = cannot_open(DatabaseUrl::sqlite(&path));
        assert!(error.contains(&path.display().to_string()), "{error}");
    }

    let database = Database::postgres();
    let DatabaseUrl::Postgres(good) = database.url() else { unreachable!("it is one") };
    let shown = good.to_string();
    let (server, name) = shown.rsplit_once('/').unwrap();
    let address = server.rsplit_once('@').unwrap().1;
    let nobody = format!("postgres://me:s3cret@127.0.0.1:1/{name}");
    let stranger = format!("postgres://me:s3cret@{address}/{name}");
    let missing = database.text_url().replace(name, "missing");
    for (url, hint) in [
        (nobody, "is the server running there?"),
        (stranger, "authentication failed"),
        (missing, "createdb NAME"),
    ] {
        let error = cannot_open(url.parse().unwrap());
        assert!(error.contains(hint), "{error}");
        assert!(!error.contains("s3cret") && !error.contains("at line"), "{error}");
    }
}

/// Why the service does not start with this database.
fn cannot_open(database_url: DatabaseUrl) -> String {
    let config = Config { database_url, ..Config::default() };
    let listener = bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let stop = CancellationToken::new();
    let error = run(vec![listener], &config, &stop, || panic!("it serves")).unwrap_err();
    assert!(matches!(error, StartError::Database(_)), "{error:?}");
    error.to_string()
}
