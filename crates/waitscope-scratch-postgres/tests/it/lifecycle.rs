use std::fs;

use waitscope_scratch_postgres::{Database, Server, Setup};

use crate::fixture::{ask, folder, has_shared_memory, processes, session};

#[test]
fn databases_are_new_empty_and_ones_own() {
    let server = Server::start().unwrap();
    let (one, other) = (server.create_database().unwrap(), server.create_database().unwrap());
    assert_ne!(one, other);
    ask(&one, "CREATE TABLE t (n int); INSERT INTO t VALUES (7)").unwrap();
    assert_eq!(ask(&one, "SELECT n FROM t").unwrap(), "7");
    assert!(ask(&other, "SELECT n FROM t").unwrap_err().contains("does not exist"));
    assert_eq!(ask(&other, "SHOW server_encoding").unwrap(), "UTF8");
    assert_eq!(ask(&other, "SHOW listen_addresses").unwrap(), "127.0.0.1");
}

#[test]
fn the_password_is_asked_for() {
    let server = Server::start().unwrap();
    let url = server.url("postgres");
    let (before, after) = url.split_once('@').unwrap();
    let (_, password) = before.rsplit_once(':').unwrap();
    let wrong = format!("{}x@{after}", before.strip_suffix(&password[1..]).unwrap());
    assert_eq!(ask(&url, "SELECT 1").unwrap(), "1");
    assert!(ask(&wrong, "SELECT 1").unwrap_err().contains("password authentication failed"));
}

#[test]
fn what_is_committed_survives_a_kill() {
    let mut server = Server::start().unwrap();
    let url = server.create_database().unwrap();
    let folder = folder(&url);
    ask(&url, "CREATE TABLE t (n int); INSERT INTO t VALUES (7)").unwrap();
    // A session at work and one that has not committed.
    let mut busy = session(&url, "SELECT count(*) FROM generate_series(1, 1000000000000)");
    let mut open = session(&url, "BEGIN; INSERT INTO t VALUES (8); SELECT pg_sleep(600)");
    let at_work = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active'";
    while ask(&url, at_work).unwrap() != "3" {}
    let memory = memory_id(&folder);
    assert!(has_shared_memory(&memory));

    server.kill().unwrap();
    assert!(processes(&folder).is_empty(), "{:?}", processes(&folder));
    assert!(!has_shared_memory(&memory));
    assert!(!busy.wait().unwrap().success());
    assert!(!open.wait().unwrap().success());
    assert!(ask(&url, "SELECT 1").is_err());
    server.kill().unwrap();

    server.start_again().unwrap();
    assert_eq!(ask(&url, "SELECT n FROM t").unwrap(), "7");
}

#[test]
fn a_stopped_server_starts_again_and_a_running_one_too() {
    let mut server = Server::start().unwrap();
    let url = server.create_database().unwrap();
    ask(&url, "CREATE TABLE t (n int); INSERT INTO t VALUES (7)").unwrap();
    let began = || ask(&url, "SELECT pg_postmaster_start_time()").unwrap();
    let first = began();
    let mut open = session(&url, "BEGIN; INSERT INTO t VALUES (8); SELECT pg_sleep(600)");
    server.stop().unwrap();
    assert!(!open.wait().unwrap().success());
    assert!(ask(&url, "SELECT 1").is_err());
    server.start_again().unwrap();
    let second = began();
    assert_ne!(second, first);
    server.start_again().unwrap();
    assert_ne!(began(), second);
    assert_eq!(ask(&url, "SELECT n FROM t").unwrap(), "7");
}

#[test]
fn nothing_is_left_of_a_dropped_server() {
    let leave = |name: &str, last: fn(Server)| {
        let server = Server::start().unwrap();
        let url = server.create_database().unwrap();
        let folder = folder(&url);
        let memory = memory_id(&folder);
        assert!(processes(&folder).len() > 1, "{name}");
        let mut busy = session(&url, "SELECT count(*) FROM generate_series(1, 1000000000000)");
        last(server);
        busy.wait().unwrap();
        assert!(processes(&folder).is_empty(), "{name}: {:?}", processes(&folder));
        assert!(!folder.exists(), "{name}");
        assert!(!has_shared_memory(&memory), "{name}");
    };
    leave("dropped", drop);
    leave("stopped", |mut server| server.stop().unwrap());
    leave("killed", |mut server| server.kill().unwrap());
}

#[test]
fn it_outlives_the_thread_that_started_it() {
    let server = std::thread::spawn(|| Server::start().unwrap()).join().unwrap();
    // Had it been told to end, it would be gone by the second question.
    for _ in 0..2 {
        assert_eq!(ask(&server.url("postgres"), "SELECT pg_sleep(0.5), 7").unwrap(), "|7");
    }
}

#[test]
fn settings_and_folder_are_as_asked() {
    let parent = tempfile::tempdir().unwrap();
    fs::set_permissions(parent.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let settings = vec!["max_connections=17".to_owned()];
    let setup = Setup { parent: parent.path().to_path_buf(), settings };
    let server = setup.start().unwrap();
    let url = server.url("postgres");
    assert_eq!(ask(&url, "SHOW max_connections").unwrap(), "17");
    assert_eq!(folder(&url).parent(), Some(parent.path()));
    assert_eq!(
        ask(&Server::start().unwrap().url("postgres"), "SHOW max_connections").unwrap(),
        "100"
    );
}

#[test]
fn a_server_that_cannot_start_says_why() {
    let check = |settings: &[&str], parent: &str, expected: &[&str]| {
        let settings = settings.iter().map(ToString::to_string).collect();
        let error = Setup { parent: parent.into(), settings }.start().unwrap_err().to_string();
        for part in expected {
            assert!(error.contains(part), "{error}");
        }
        assert_eq!(error.lines().count(), 1, "{error}");
    };
    check(&["max_connections=many"], "/tmp", &["ended", "max_connections", "many"]);
    check(&[], "/nowhere", &["cannot make the folder", "No such file"]);
}

#[test]
fn a_database_is_gone_with_its_value() {
    let database = Database::create().unwrap();
    let url = database.url().to_owned();
    assert_eq!(ask(&url, "SELECT 7").unwrap(), "7");
    let mut open = session(&url, "SELECT pg_sleep(600)");
    drop(database);
    assert!(!open.wait().unwrap().success());
    assert!(ask(&url, "SELECT 7").is_err());
}

/// The number of the shared memory, from the line of `postmaster.pid` with a key and the number.
fn memory_id(folder: &std::path::Path) -> String {
    let file = fs::read_to_string(folder.join("data/postmaster.pid")).unwrap();
    file.lines().nth(6).unwrap().split_whitespace().nth(1).unwrap().to_owned()
}
