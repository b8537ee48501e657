//! `waitscope stall` against the reference service in its three modes.

use std::fs;
use std::process::Stdio;

use super::fixture::{TICKET, Tickets, Waitscope, provider};
use super::records::keeps_to_the_schema;

/// Four tickets at once, each of which waits 3 x 300 ms for the provider.
fn four_tickets(mode: &str, extra: &[&str]) -> super::fixture::Ran {
    let provider = provider("fixed:300ms");
    let tickets = Tickets::start(mode, &provider);
    Waitscope::new("stall")
        .args([&tickets.tickets_url(), "--body", TICKET, "-n", "4", "-c", "4", "--json"])
        .args(["--every", "50ms", "--max-health", "400ms"])
        .args(extra)
        .run()
}

#[test]
fn waits_that_overlap_leave_the_server_responsive() {
    for mode in ["async", "thread"] {
        let ran = four_tickets(mode, &[]).exits(0);
        let record = ran.record();
        keeps_to_the_schema(&record);
        let summary = &record["summary"];
        assert_eq!(summary["statuses"]["201"], 4, "{mode}: {summary}");
        assert_eq!(record["verdict"]["name"], "responsive");
        // One ticket's time for all four: 0.9 s, far below four times that.
        assert!(summary["wall_s"].as_f64().unwrap() < 2.7, "{mode}: {summary}");
        let parts: Vec<&str> = summary["parts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|part| part["name"].as_str().unwrap())
            .collect();
        assert_eq!(parts, ["db", "classify", "draft_reply", "embed", "other"], "{mode}");
    }
}

#[test]
fn a_blocking_call_in_an_async_handler_is_a_stall() {
    let ran = four_tickets("blocking", &[]).exits(1);
    let record = ran.record();
    keeps_to_the_schema(&record);
    let summary = &record["summary"];
    assert_eq!(summary["statuses"]["201"], 4, "{summary}");
    assert_eq!(record["verdict"]["name"], "stalled");
    // One after the other: 4 x 0.9 s.
    assert!(summary["wall_s"].as_f64().unwrap() >= 3.6, "{summary}");
    assert!(summary["health_slowest_ms"].as_f64().unwrap() > 800.0, "{summary}");
    assert!(summary["server_cpu_percent"].as_f64().unwrap() < 20.0, "{summary}");
    assert!(record["verdict"]["sentence"].as_str().unwrap().contains("it waits"));
}

#[test]
fn exit_zero_turns_a_found_stall_into_success() {
    four_tickets("blocking", &["--exit-zero"]).exits(0);
}

#[test]
fn text_file_and_json_say_the_same() {
    let provider = provider("fixed:50ms");
    let tickets = Tickets::start("async", &provider);
    let directory = tempfile::tempdir().unwrap();
    let (bodies, file) = (directory.path().join("b.jsonl"), directory.path().join("r.json"));
    fs::write(&bodies, format!("{}\n", TICKET.replace('\n', " "))).unwrap();
    let ran = Waitscope::new("stall")
        .args(["--bodies", bodies.to_str().unwrap(), "--output", file.to_str().unwrap()])
        .args([tickets.tickets_url()])
        .run()
        .exits(0);
    assert!(ran.stdout.starts_with("8 requests, 4 at a time: "), "{ran:#?}");
    assert!(ran.stdout.contains("status codes [201]"), "{ran:#?}");
    assert!(ran.stdout.contains("GET /health during that time: "), "{ran:#?}");
    assert!(ran.stderr.is_empty(), "{ran:#?}");
    let record = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    keeps_to_the_schema(&record);
    assert_eq!(record["summary"]["requests"], 8);
}

#[test]
fn what_cannot_be_measured_is_exit_3_in_one_line() {
    let provider = provider("fixed:10ms");
    let plain = provider.url().to_owned();
    let tls = plain.replace("http:", "https:");
    let cases: [(&[&str], &[&str]); 4] = [
        (&["http://127.0.0.1:1/"], &["connection refused", "start the server"]),
        (&[&tls], &["TLS failed", "plain http"]),
        (&[&plain, "--health", "/nowhere"], &["answered 404", "--health"]),
        (&["http://no-such-host.invalid/"], &["unknown host"]),
    ];
    for (args, words) in cases {
        Waitscope::new("stall").args(args).run().exits(3).complains(words);
    }
}

#[test]
fn a_failed_run_leaves_no_file_and_touches_no_older_one() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("r.json");
    let fail = || {
        let output = file.to_str().unwrap();
        Waitscope::new("stall").args(["http://127.0.0.1:1/", "--output", output]).run().exits(3)
    };
    fail();
    assert!(!file.exists());
    fs::write(&file, "older").unwrap();
    fail();
    assert_eq!(fs::read_to_string(&file).unwrap(), "older");
}

#[test]
fn a_record_goes_into_a_pipe_as_well() {
    let provider = provider("fixed:10ms");
    let url = format!("{}/v1/models", provider.url());
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let from = pipe.clone();
    let reader = std::thread::spawn(move || fs::read_to_string(from).unwrap());
    let output = pipe.to_str().unwrap();
    Waitscope::new("stall").args([&url, "-n", "1", "--output", output]).run().exits(0);
    keeps_to_the_schema(&serde_json::from_str(&reader.join().unwrap()).unwrap());
}

#[test]
fn a_server_that_starts_late_is_waited_for() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/v1/models");
    let stall = Waitscope::new("stall").args([&url, "-n", "1", "--wait", "60s"]).spawn();
    std::thread::sleep(std::time::Duration::from_millis(500));
    let _provider = Waitscope::new("provider").args(["--port", &port.to_string()]).serve();
    super::fixture::Ran::of(stall.wait_with_output().unwrap()).exits(0);
}

/// Answers `/health` with 200 only to a request that has the key, everything else with 200.
fn health_behind_a_key() -> String {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/work", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut request = [0; 4096];
            let read = stream.read(&mut request).unwrap_or(0);
            let request = String::from_utf8_lossy(&request[..read]).to_ascii_lowercase();
            let refused = request.starts_with("get /health") && !request.contains("x-key: abc");
            let status = if refused { "401 Unauthorized" } else { "200 OK" };
            let _ = write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
        }
    });
    url
}

#[test]
fn a_health_check_behind_a_key_gets_only_its_own_header() {
    let url = health_behind_a_key();
    let stall = |headers: &[&str]| Waitscope::new("stall").args([&url]).args(headers).run();
    stall(&["--health-header", "X-Key: abc"]).exits(0);
    stall(&["--header", "X-Key: abc"]).exits(3).complains(&["401", "--health"]);
    stall(&[]).exits(3).complains(&["401", "--health"]);
}

#[test]
fn answers_without_work_are_exit_3_and_still_printed() {
    let provider = provider("fixed:10ms");
    let url = format!("{}/v1/nowhere", provider.url());
    let ran = Waitscope::new("stall").args([&url]).run().exits(3);
    assert!(ran.stdout.contains("status codes [404]"), "{ran:#?}");
}

#[test]
fn a_closed_or_full_stdout_is_no_panic() {
    let provider = provider("fixed:10ms");
    let url = format!("{}/v1/models", provider.url());
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("r.json");
    let stall =
        || Waitscope::new("stall").args([&url, "--output", file.to_str().unwrap(), "-n", "1"]);
    // A reader that is gone.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let ran = stall().stdout(writer).run_uncaptured().exits(0);
    assert!(ran.stderr.is_empty(), "{ran:#?}");
    // A disk that is full.
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ran = stall().stdout(Stdio::from(full)).run_uncaptured().exits(3);
    ran.complains(&["cannot write the result to stdout"]);
    // The file is written all the same.
    keeps_to_the_schema(&serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap());
    // A full disk under the file: the result is still on stdout.
    let ran = Waitscope::new("stall").args([&url, "--output", "/dev/full"]).run().exits(3);
    assert!(ran.stdout.contains("8 requests, 4 at a time"), "{ran:#?}");
    ran.complains(&["cannot write /dev/full"]);
}
