//! `stall` against real sockets: healthy servers, planted faults, and servers that misbehave.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod server;

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use server::{Server, answer, wait};
use tokio_util::sync::CancellationToken;
use waitscope_load::stall::{
    self, Config, Event, MaxHealth, Meaning, Measurement, OnEvent, Outcome, ProbeMode, StallError,
};
use waitscope_load::{ErrorClass, RequestSpec, Target};
use waitscope_record::{Body, Record, StallSummary};

fn config(url: &str) -> Config {
    let target = Target::parse(url).unwrap();
    Config {
        health: RequestSpec::get(target.join("/health").unwrap()),
        request: RequestSpec::get(target),
        requests: 6,
        concurrency: 3,
        every: Duration::from_millis(50),
        probe: ProbeMode::Scheduled,
        max_health: MaxHealth::Auto,
        timeout: Duration::from_secs(20),
        wait: Duration::ZERO,
    }
}

fn measure(config: &Config) -> Result<Measurement, StallError> {
    stall::run(config, &quiet(), &CancellationToken::new())
}

/// Nobody listens.
fn quiet() -> OnEvent {
    Arc::new(|_: Event<'_>| {})
}

fn record(config: &Config) -> (Record, Meaning) {
    stall::record(config, &measure(config).unwrap(), "0", String::new())
}

fn summary(record: &Record) -> &StallSummary {
    match &record.body {
        Body::Stall { summary, .. } => summary,
        Body::Demo { .. } | Body::Load { .. } => panic!("not a stall record"),
    }
}

/// `/work` waits for 400 ms, anything else answers at once.
fn waits(path: &str, stream: &mut TcpStream) {
    if path.starts_with("/work") {
        wait(400);
    }
    answer(stream, "200 OK", "Server-Timing: upstream;dur=400\r\n", "done");
}

#[test]
fn a_server_whose_waits_overlap_is_responsive() {
    let server = Server::overlapping(waits);
    let (record, meaning) = record(&config(&server.url("/work")));
    let summary = summary(&record);
    assert_eq!(meaning, Meaning::Responsive, "{summary:?}");
    assert_eq!(summary.statuses["200"], 6);
    assert_eq!((summary.health_failed, summary.errors, summary.unfinished), (0, 0, 0));
    assert!(summary.health_count >= 10, "{summary:?}");
    // Two rounds of 400 ms.
    assert!((0.8..3.0).contains(&summary.wall_s), "{summary:?}");
    assert_eq!(summary.parts[0].name, "upstream");
    assert!(summary.server_cpu_seconds.is_some());
}

#[test]
fn a_server_that_does_one_thing_at_a_time_is_stalled() {
    let server = Server::one_at_a_time(waits);
    let (record, meaning) = record(&config(&server.url("/work")));
    let summary = summary(&record);
    assert_eq!(meaning, Meaning::Stalled, "{summary:?}");
    // Six waits of 400 ms one after the other, and probes that wait behind several of them.
    assert!(summary.wall_s >= 2.4, "{summary:?}");
    assert!(summary.health_slowest_ms.unwrap() >= 400.0, "{summary:?}");
    // Each probe was sent on its time, though the ones before were not back: 2.4 s / 50 ms.
    assert!(summary.health_count >= 40, "{summary:?}");
}

#[test]
fn sequential_probes_hide_most_of_a_stall() {
    let server = Server::one_at_a_time(waits);
    let mut config = config(&server.url("/work"));
    config.probe = ProbeMode::Sequential;
    let (record, _) = record(&config);
    let summary = summary(&record);
    assert!((1..=15).contains(&summary.health_count), "{summary:?}");
}

fn misbehaves(path: &str, stream: &mut TcpStream) {
    use std::io::Write;
    let send = |stream: &mut TcpStream, bytes: &[u8]| drop(stream.write_all(bytes));
    match path {
        "/cut-length" => send(stream, b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"),
        "/cut-chunk" => {
            send(stream, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nshort");
        }
        "/close" => {}
        "/reset" => {
            let linger = socket2::SockRef::from(&*stream);
            linger.set_linger(Some(Duration::ZERO)).unwrap();
        }
        "/garbage" => send(stream, b"hello, this is no HTTP\r\n\r\n"),
        "/silent" => wait(2000),
        "/until-close" => send(stream, b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of it"),
        "/hints" => {
            send(stream, b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
            send(stream, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
        "/no-content" => send(stream, b"HTTP/1.1 204 No Content\r\n\r\n"),
        "/trailers" => send(
            stream,
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nok\r\n0\r\nT: v\r\n\r\n",
        ),
        "/slow-bytes" => {
            for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" {
                send(stream, &[*byte]);
                wait(1);
            }
        }
        _ => answer(stream, "200 OK", "", "fine"),
    }
}

#[test]
fn every_way_to_fail_has_its_class_and_every_way_to_succeed_is_one_success() {
    let server = Server::overlapping(misbehaves);
    let cases = [
        ("/cut-length", Err(ErrorClass::BodyCutShort)),
        ("/cut-chunk", Err(ErrorClass::BodyCutShort)),
        ("/close", Err(ErrorClass::Closed)),
        ("/reset", Err(ErrorClass::Reset)),
        ("/garbage", Err(ErrorClass::NotHttp)),
        ("/silent", Err(ErrorClass::Timeout)),
        ("/until-close", Ok(200)),
        ("/hints", Ok(200)),
        ("/no-content", Ok(204)),
        ("/trailers", Ok(200)),
        ("/slow-bytes", Ok(200)),
    ];
    for (path, expected) in cases {
        let mut config = config(&server.url(path));
        (config.requests, config.concurrency) = (2, 2);
        config.timeout = Duration::from_secs(1);
        let measured = measure(&config).unwrap();
        assert_eq!(measured.requests.len(), 2, "{path}");
        for request in &measured.requests {
            let got = match &request.outcome {
                Outcome::Answered { status, .. } => Ok(*status),
                Outcome::Failed(error) => Err(error.class),
                Outcome::Unfinished => panic!("{path} is unfinished"),
            };
            assert_eq!(got, expected, "{path}: {:?}", request.outcome);
        }
        let (_, meaning) = stall::record(&config, &measured, "0", String::new());
        let expected = if expected.is_ok() { Meaning::Responsive } else { Meaning::NotMeasured };
        assert_eq!(meaning, expected, "{path}");
    }
}

fn odd_health(path: &str, stream: &mut TcpStream) {
    match path {
        "/html/health" => answer(stream, "200 OK", "Content-Type: text/html\r\n", "<html>"),
        "/down/health" => answer(stream, "503 Service Unavailable", "", ""),
        "/cut/health" => misbehaves("/cut-length", stream),
        "/silent/health" => wait(2000),
        "/health" => answer(stream, "404 Not Found", "", ""),
        _ => answer(stream, "200 OK", "", ""),
    }
}

#[test]
fn a_health_endpoint_that_is_none_is_an_error_that_names_the_flag() {
    let server = Server::overlapping(odd_health);
    let cases = [
        ("/health", "answered 404"),
        ("/down/health", "answered 503"),
        ("/cut/health", "body cut short"),
        ("/silent/health", "timeout"),
    ];
    for (health, expected) in cases {
        let mut config = config(&server.url("/work"));
        config.health.target = config.health.target.join(health).unwrap();
        config.timeout = Duration::from_millis(500);
        let error = measure(&config).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("--health"), "{error}");
    }
}

#[test]
fn a_health_answer_in_html_is_remarked_on() {
    let server = Server::overlapping(odd_health);
    let names = |health: &str| -> Vec<String> {
        let mut config = config(&server.url("/work"));
        config.health.target = config.health.target.join(health).unwrap();
        let (record, meaning) = record(&config);
        assert_eq!(meaning, Meaning::Responsive);
        record.findings.into_iter().map(|finding| finding.name).collect()
    };
    assert!(names("/html/health").contains(&"html-health".to_owned()));
    assert!(!names("/plain/health").contains(&"html-health".to_owned()));
}

static HEALTH_ASKED: AtomicU64 = AtomicU64::new(0);

/// Healthy while calm, then failing: every probe after the baseline gets a 500.
fn fails_under_load(path: &str, stream: &mut TcpStream) {
    if path != "/health" {
        wait(300);
        return answer(stream, "200 OK", "", "");
    }
    let status = match HEALTH_ASKED.fetch_add(1, Ordering::SeqCst) {
        0..10 => "200 OK",
        _ => "500 Internal Server Error",
    };
    answer(stream, status, "", "");
}

#[test]
fn a_health_endpoint_that_fails_during_the_run_is_the_fault() {
    let server = Server::overlapping(fails_under_load);
    let (record, meaning) = record(&config(&server.url("/work")));
    assert_eq!(meaning, Meaning::HealthFailed);
    assert!(summary(&record).health_failed >= 2);
    assert!(record.findings.iter().any(|f| f.message.contains("status 500")), "{record:?}");
}

fn refuses(path: &str, stream: &mut TcpStream) {
    match path {
        "/work" => answer(stream, "422 Unprocessable Entity", "", "{\"detail\": \"no body\"}"),
        "/moved" => answer(stream, "307 Temporary Redirect", "Location: /there/\r\n", ""),
        _ => answer(stream, "200 OK", "", ""),
    }
}

#[test]
fn answers_that_show_no_work_are_no_verdict_on_waiting() {
    let server = Server::overlapping(refuses);
    for (path, example) in [("/work", "422: {\"detail\": \"no body\"}"), ("/moved", "307: /there/")]
    {
        let (record, meaning) = record(&config(&server.url(path)));
        assert_eq!(meaning, Meaning::NotMeasured, "{path}");
        let messages: Vec<&str> = record.findings.iter().map(|f| f.message.as_str()).collect();
        assert!(messages.iter().any(|m| m.contains(example)), "{messages:?}");
    }
}

#[test]
fn an_interrupted_run_keeps_what_it_has() {
    let server = Server::overlapping(|path, stream| {
        wait(match path {
            "/work" => 300,
            "/health" => 0,
            _ => 60_000,
        });
        answer(stream, "200 OK", "", "");
    });
    let mut config = config(&server.url("/work"));
    (config.requests, config.concurrency) = (1000, 2);
    let stop = CancellationToken::new();
    let (seen, token) = (AtomicU64::new(0), stop.clone());
    let on_event = move |event: Event<'_>| {
        if matches!(event, Event::Request(_)) && seen.fetch_add(1, Ordering::SeqCst) == 3 {
            token.cancel();
        }
    };
    let on_event: OnEvent = Arc::new(on_event);
    let measured = stall::run(&config, &on_event, &stop).unwrap();
    let (record, _) = stall::record(&config, &measured, "0", String::new());
    let summary = summary(&record);
    assert!(record.interrupted);
    assert!((3..=5).contains(&summary.statuses["200"]), "{summary:?}");
    assert!((0..=2).contains(&summary.unfinished), "{summary:?}");
    assert!(summary.health_count > 0);
}

#[test]
fn stopping_before_the_first_request_measures_nothing() {
    let server = Server::overlapping(waits);
    let stop = CancellationToken::new();
    stop.cancel();
    let stopped = stall::run(&config(&server.url("/work")), &quiet(), &stop);
    assert!(matches!(stopped, Err(StallError::Interrupted)), "{stopped:?}");
}

#[test]
fn what_cannot_be_reached_says_why() {
    let server = Server::overlapping(waits);
    let cases = [
        ("http://127.0.0.1:1/".to_owned(), "connection refused"),
        (format!("https://{}/", server.address()), "does it speak plain http?"),
        ("http://no-such-host.invalid/".to_owned(), "unknown host"),
    ];
    for (url, expected) in cases {
        let error = measure(&config(&url)).unwrap_err();
        assert!(matches!(error, StallError::Unreachable { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn a_timeout_that_needs_more_files_than_there_are_is_refused() {
    let server = Server::overlapping(waits);
    let mut config = config(&server.url("/work"));
    config.every = stall::MIN_EVERY;
    config.timeout = Duration::from_hours(24);
    let error = measure(&config).unwrap_err();
    assert!(matches!(error, StallError::TooFewFiles { .. }), "{error}");
}
