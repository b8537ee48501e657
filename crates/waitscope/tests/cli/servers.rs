//! What all servers of ours have in common: the first line, the port, the way they end.

use std::io::{BufRead, BufReader};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::fixture::{Ran, Waitscope, provider};

fn server(command: &str, port: u16, directory: &std::path::Path) -> Waitscope {
    Waitscope::new(command).args(["--port", &port.to_string()]).directory(directory)
}

#[test]
fn servers_say_where_they_listen_and_end_with_0() {
    let directory = tempfile::tempdir().unwrap();
    for command in ["provider", "tickets"] {
        for signal in [Signal::INT, Signal::TERM] {
            let mut child = server(command, 0, directory.path()).spawn();
            let mut first = String::new();
            let mut stdout = BufReader::new(child.stdout.take().unwrap());
            stdout.read_line(&mut first).unwrap();
            let address = first.trim().strip_prefix("listening on http://127.0.0.1:");
            let port: u16 = address.unwrap_or_else(|| panic!("{first}")).parse().unwrap();
            std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
            kill_process(Pid::from_child(&child), signal).unwrap();
            // Told twice, as by timeout(1), it ends all the same; it may be gone already.
            let _ = kill_process(Pid::from_child(&child), signal);
            Ran::of(child.wait_with_output().unwrap()).exits(0);
        }
    }
}

/// On a small file system of its own, which ends with the server: its namespace holds it.
#[test]
fn a_disk_that_was_full_is_no_trouble_once_it_has_room() {
    let provider =
        Waitscope::new("provider").args(["--port", "0", "--quota", "off", "--speed", "0"]);
    let provider = provider.serve();
    let directory = tempfile::tempdir().unwrap();
    let disk = directory.path().to_str().unwrap();
    for mode in ["async", "thread", "blocking"] {
        let script = format!(
            "mount -t tmpfs -o size=3m none {disk} && head -c 2500000 /dev/zero > {disk}/filler \
             && exec {} tickets --port 0 --database-url sqlite:{disk}/t.db --intake-mode {mode} \
             --provider-url {}",
            env!("CARGO_BIN_EXE_waitscope"),
            provider.url()
        );
        let mut command = std::process::Command::new("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-c", &script]);
        let tickets =
            waitscope_process::ServerChild::start(command, super::fixture::START_TIMEOUT).unwrap();
        let url = format!("{}/v1/tickets", tickets.url());
        let refused = (0..3000).map(|_| post_ticket(&url)).find(|status| *status != Some(201));
        assert_eq!(refused, Some(Some(503)), "{mode}: {}", tickets.said());
        // Once more, on every connection of the pool.
        for _ in 0..20 {
            assert_eq!(post_ticket(&url), Some(503), "{mode}: {}", tickets.said());
        }
        std::fs::remove_file(format!("/proc/{}/root{disk}/filler", tickets.pid())).unwrap();
        for _ in 0..20 {
            assert_eq!(post_ticket(&url), Some(201), "{mode}: {}", tickets.said());
        }
    }
}

#[test]
fn a_log_that_cannot_be_written_stops_nothing() {
    let provider = provider("fixed:10ms");
    let directory = tempfile::tempdir().unwrap();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut tickets = server("tickets", 0, directory.path())
        .args(["--provider-url", provider.url()])
        .stderr(full)
        .spawn_as_is();
    let mut first = String::new();
    BufReader::new(tickets.stdout.take().unwrap()).read_line(&mut first).unwrap();
    let url = first.trim().strip_prefix("listening on ").unwrap();
    for _ in 0..2 {
        assert_eq!(post_ticket(&format!("{url}/v1/tickets")), Some(201));
    }
    kill_process(Pid::from_child(&tickets), Signal::TERM).unwrap();
    assert_eq!(tickets.wait().unwrap().code(), Some(0));
}

#[test]
fn a_taken_port_is_exit_3() {
    let directory = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    for command in ["provider", "tickets"] {
        let ran = server(command, port, directory.path()).run().exits(3);
        ran.complains(&["taken", &port.to_string(), "--port 0"]);
    }
}

#[test]
fn a_database_that_cannot_be_opened_is_exit_3() {
    let directory = tempfile::tempdir().unwrap();
    let url = "sqlite:/no/such/directory/tickets.db";
    let ran = server("tickets", 0, directory.path()).args(["--database-url", url]).run().exits(3);
    assert!(ran.stderr.lines().last().unwrap().contains("/no/such/directory"), "{ran:#?}");
}

#[test]
fn a_flag_wins_over_the_environment_and_that_over_dot_env() {
    let directory = tempfile::tempdir().unwrap();
    let dot_env = directory.path().join(".env");
    let start = |flag: &[&str], variable: Option<&str>| {
        let mut tickets = server("tickets", 0, directory.path()).args(flag);
        if let Some(mode) = variable {
            tickets = tickets.env("INTAKE_MODE", mode);
        }
        tickets.run()
    };
    // A wrong value shows which one was read.
    std::fs::write(&dot_env, "INTAKE_MODE=from-file\n").unwrap();
    start(&[], None).exits(2).complains(&["from-file"]);
    start(&[], Some("from-variable")).exits(2).complains(&["from-variable"]);
    start(&["--intake-mode", "from-flag"], Some("x")).exits(2).complains(&["from-flag"]);
    std::fs::write(&dot_env, "this is no setting\n").unwrap();
    start(&[], None).exits(2).complains(&[".env"]);
}

#[test]
fn a_proxy_of_the_environment_is_not_asked() {
    let provider = provider("fixed:10ms");
    let directory = tempfile::tempdir().unwrap();
    for mode in ["async", "thread", "blocking"] {
        let mut tickets = server("tickets", 0, directory.path()).args([
            "--intake-mode",
            mode,
            "--provider-url",
            provider.url(),
        ]);
        for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
            tickets = tickets.env(name, "http://127.0.0.1:1");
        }
        let tickets = tickets.serve();
        let url = format!("{}/v1/tickets", tickets.url());
        assert_eq!(post_ticket(&url), Some(201), "{mode}: {}", tickets.said());
    }
}

#[test]
fn certificates_are_needed_only_for_https() {
    let directory = tempfile::tempdir().unwrap();
    for mode in ["async", "thread", "blocking"] {
        let tickets = server("tickets", 0, directory.path()).args(["--intake-mode", mode]);
        let none = tickets.env("SSL_CERT_FILE", "/nonexistent").env("SSL_CERT_DIR", "/nonexistent");
        none.serve();
    }
}

#[test]
fn a_blocking_service_that_is_held_still_ends() {
    let provider = provider("fixed:60s");
    let tickets = super::fixture::Tickets::start("blocking", &provider);
    let url = tickets.tickets_url();
    let held = std::thread::spawn(move || {
        post_ticket(&url);
    });
    std::thread::sleep(Duration::from_millis(800));
    let mut tickets = tickets;
    let status = tickets.server.stop().unwrap();
    assert_eq!(status.code(), Some(0), "{}", tickets.server.said());
    held.join().unwrap();
}

/// Posts a ticket; the status, if there was an answer.
fn post_ticket(url: &str) -> Option<u16> {
    let config = ureq::Agent::config_builder().proxy(None).http_status_as_error(false).build();
    let agent: ureq::Agent = config.into();
    let answer = agent.post(url).content_type("application/json").send(super::fixture::TICKET);
    answer.ok().map(|answer| answer.status().as_u16())
}
