//! `waitscope load` against the simulated provider, whose waits are known.

use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use waitscope_process::ServerChild;

use super::fixture::{Ran, Waitscope, provider};
use super::records::keeps_to_the_schema;

/// An endpoint that answers after so many ms.
fn slow(provider: &ServerChild, ms: u32) -> String {
    format!("{}/get?delay={ms}&name=x", provider.url())
}

fn load(url: &str, args: &[&str]) -> Ran {
    Waitscope::new("load").args([url]).args(args).run()
}

/// The record of a run that printed JSON and nothing else.
#[track_caller]
fn record(ran: &Ran) -> Value {
    let record = ran.record();
    keeps_to_the_schema(&record);
    assert_eq!(record["kind"], "load");
    let summary = &record["summary"];
    let of = |name: &str| summary[name].as_u64().unwrap();
    let parts = of("answered") + of("failed") + of("unfinished") + of("unsent");
    assert_eq!(of("requests"), parts, "{summary:#}");
    record
}

#[test]
fn a_closed_loop_sends_all_its_requests_and_uses_connections_again() {
    let provider = provider("fixed:1ms");
    let ran = load(&slow(&provider, 50), &["-n", "40", "-c", "4", "--json"]).exits(0);
    assert!(ran.stderr.is_empty(), "{ran:#?}");
    let record = record(&ran);
    let summary = &record["summary"];
    assert_eq!(record["inputs"]["schedule"], "closed");
    assert_eq!((&summary["requests"], &summary["statuses"]["200"]), (&40.into(), &40.into()));
    assert_eq!((&summary["max_in_flight"], &summary["errors"]), (&4.into(), &0.into()));
    assert_eq!(summary["connections"], 4, "{summary:#}");
    assert!(summary["service"]["min_ms"].as_f64().unwrap() >= 50.0, "{summary:#}");
    let wall_s = summary["wall_s"].as_f64().unwrap();
    assert!((0.5..5.0).contains(&wall_s), "ten rounds of 50 ms: {summary:#}");
    let fresh = load(&slow(&provider, 1), &["-n", "8", "-c", "2", "--no-keepalive", "--json"]);
    assert_eq!(fresh.exits(0).record()["summary"]["connections"], 8);
}

#[test]
fn a_burst_starts_all_at_once_and_says_so_in_two_lines() {
    let provider = provider("fixed:1ms");
    let ran = load(&slow(&provider, 500), &["-n", "30", "-c", "30"]).exits(0);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(lines[0].starts_with("30 requests, 30 in flight, 0 errors, wall "), "{ran:#?}");
    assert!(lines[0].ends_with(" req/s"), "{ran:#?}");
    let words: Vec<&str> = lines[1].split_whitespace().collect();
    assert_eq!(
        [words[0], words[1], words[3], words[5], words[7]],
        ["latency", "p50", "p90", "p99", "max"]
    );
    for part in ["a burst", "answers: 200 x30", "in flight: ", "load generator: "] {
        assert!(ran.stdout.contains(part), "{part}: {ran:#?}");
    }
}

#[test]
fn an_open_loop_keeps_its_rate_whatever_the_server_does() {
    let provider = provider("fixed:1ms");
    // 100 starts in a second, each of which is out for a second.
    let args = ["--rate", "100/s", "-z", "1s", "--drain", "10s", "--json"];
    let record = record(&load(&slow(&provider, 1000), &args).exits(0));
    let summary = &record["summary"];
    assert_eq!(summary["requests"], 100, "{summary:#}");
    assert_eq!((&summary["unfinished"], &summary["unsent"]), (&0.into(), &0.into()));
    assert!(summary["max_in_flight"].as_u64().unwrap() > 60, "{summary:#}");
    let args = ["--stages", "50/s:500ms,100/s:500ms", "--arrivals", "poisson"];
    let ran = load(&slow(&provider, 10), &[&args[..], &["--drain", "5s", "--json"]].concat());
    let requests = ran.exits(0).record()["summary"]["requests"].as_u64().unwrap();
    // 62.5 are expected, with a standard deviation of 8.
    assert!((25..=100).contains(&requests), "{requests}");
}

#[test]
fn what_is_held_back_is_counted_and_is_in_the_response_time() {
    let provider = provider("fixed:1ms");
    let args = ["--rate", "100/s", "-n", "20", "--max-in-flight", "1", "--json"];
    let record = record(&load(&slow(&provider, 50), &args).exits(0));
    let summary = &record["summary"];
    assert_eq!((&summary["requests"], &summary["max_in_flight"]), (&20.into(), &1.into()));
    assert!(summary["held_back"].as_u64().unwrap() >= 10, "{summary:#}");
    let max = |times: &str| summary[times]["max_ms"].as_f64().unwrap();
    // The last one is due after 0.19 s and starts after 19 x 50 ms.
    assert!(max("response") > 700.0, "{summary:#}");
    assert!(max("service") < max("response") / 2.0, "{summary:#}");
    assert_eq!(summary["client_limited"], false, "it waited as it was told to: {summary:#}");
}

#[test]
fn arrivals_are_replayed_from_a_file() {
    let provider = provider("fixed:1ms");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("times.txt");
    fs::write(&file, "# seconds\n1700000000\n1700000000.1\n1700000002\n").unwrap();
    let args = ["--arrivals-file", file.to_str().unwrap(), "--replay-speed", "4", "--json"];
    let record = record(&load(&slow(&provider, 5), &args).exits(0));
    assert_eq!(record["summary"]["requests"], 3);
    let wall_s = record["summary"]["wall_s"].as_f64().unwrap();
    assert!((0.5..1.9).contains(&wall_s), "two seconds in half of one: {wall_s}");
}

#[test]
fn what_is_in_flight_at_the_end_counts_with_its_age() {
    let provider = provider("fixed:1ms");
    for warmup in ["off", "auto"] {
        let args = ["-c", "8", "-z", "1s", "--warmup", warmup, "--json"];
        let ran = load(&slow(&provider, 30_000), &args).exits(0);
        let record = record(&ran);
        let summary = &record["summary"];
        assert_eq!((&summary["requests"], &summary["unfinished"]), (&8.into(), &8.into()));
        let median = summary["service"]["p50_ms"].as_f64().unwrap();
        assert!((800.0..5000.0).contains(&median), "{summary:#}");
        let bounds = summary["service"]["lower_bounds"].as_array().unwrap();
        assert_eq!(bounds.len(), 8, "every figure is a lower bound: {summary:#}");
        assert!(!ran.stdout.contains("NaN") && !ran.stdout.contains("null"), "{ran:#?}");
    }
    let text = load(&slow(&provider, 30_000), &["-c", "8", "-z", "500ms"]).exits(0).stdout;
    assert!(text.contains("8 unfinished") && text.contains("p50 ≥"), "{text}");
    assert!(!text.contains("NaN") && !text.contains("-inf"), "{text}");
    // The server takes 5 s and the run 2 s.
    let args = ["-c", "3", "-z", "2s", "--json"];
    let summary = record(&load(&slow(&provider, 5000), &args).exits(0))["summary"].clone();
    assert_eq!((&summary["requests"], &summary["unfinished"]), (&3.into(), &3.into()));
    let least = summary["service"]["min_ms"].as_f64().unwrap();
    assert!((1900.0..5000.0).contains(&least), "{summary:#}");
}

#[test]
fn the_start_up_is_left_out_when_asked() {
    let provider = provider("fixed:1ms");
    for (warmup, left_out) in [("auto", 4), ("off", 0)] {
        let args = ["-n", "40", "-c", "4", "--warmup", warmup, "--json"];
        let summary = record(&load(&slow(&provider, 10), &args).exits(0))["summary"].clone();
        assert_eq!(summary["warmup"], left_out, "{summary:#}");
        assert_eq!(summary["requests"], 40 - left_out);
    }
}

#[test]
fn a_server_that_is_not_there_is_not_measured() {
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let url = format!("http://127.0.0.1:{port}/");
    let ran = load(&url, &["-n", "20", "-c", "5", "--json"]).exits(3);
    let record = record(&ran);
    let summary = &record["summary"];
    assert_eq!((&summary["requests"], &summary["errors"]), (&20.into(), &20.into()));
    assert_eq!(summary["error_kinds"][0]["class"], "connection refused");
    assert_eq!(record["verdict"]["name"], "not-measured");
    let text = load(&url, &["-n", "5"]).exits(3).stdout;
    assert!(text.contains("5 errors") && text.contains("5 x connection refused: "), "{text}");
}

#[test]
fn bad_statuses_are_errors_with_an_example() {
    let provider = provider("fixed:1ms");
    let url = format!("{}/no-such-path", provider.url());
    let record = record(&load(&url, &["-n", "4", "-c", "2", "--json"]).exits(0));
    let summary = &record["summary"];
    assert_eq!((&summary["answered"], &summary["errors"]), (&4.into(), &4.into()));
    assert_eq!(summary["error_kinds"][0]["class"], "status 404");
    load(&url, &["-n", "4", "--fail-if", "errors>50%"]).exits(1);
}

#[test]
fn a_crossed_line_is_named_and_exits_1() {
    let provider = provider("fixed:1ms");
    let url = slow(&provider, 100);
    let run = |line: &str, extra: &[&str]| {
        load(&url, &[&["-n", "10", "-c", "5", "--fail-if", line][..], extra].concat())
    };
    let crossed = run("p95>50ms", &[]).exits(1);
    assert!(crossed.stdout.contains("CROSSED: 1 of 1"), "{crossed:#?}");
    assert!(crossed.stdout.contains("- p95>50ms: it was 1"), "{crossed:#?}");
    assert!(run("p95>50s", &[]).exits(0).stdout.contains("KEPT"));
    run("errors>0", &[]).exits(0);
    run("rate<10000/s", &[]).exits(1);
    run("p95>50ms", &["--exit-zero"]).exits(0);
    run("p95>50ms", &["--fail-if", "errors>0"]).exits(1);
    // What was not waited for does not tell.
    let args = ["-c", "2", "-z", "300ms", "--fail-if", "p95>60s"];
    assert!(load(&slow(&provider, 30_000), &args).exits(3).stdout.contains("CANNOT-TELL"));
}

#[test]
fn samples_have_one_row_for_each_request() {
    let provider = provider("fixed:1ms");
    let directory = tempfile::tempdir().unwrap();
    for name in ["s.csv", "s.jsonl"] {
        let file = directory.path().join(name);
        let args = ["-n", "50", "-c", "5", "--samples", file.to_str().unwrap(), "--json"];
        load(&slow(&provider, 5), &args).exits(0);
        let text = fs::read_to_string(&file).unwrap();
        let headings = usize::from(name == "s.csv");
        assert_eq!(text.lines().count(), 50 + headings, "{text}");
        if headings == 0 {
            let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            let mut numbers: Vec<u64> = rows.map(|row| row["seq"].as_u64().unwrap()).collect();
            numbers.sort_unstable();
            assert_eq!(numbers, (0..50).collect::<Vec<u64>>());
        }
    }
}

#[test]
fn an_interrupted_run_prints_what_it_has() {
    let provider = provider("fixed:1ms");
    let url = slow(&provider, 20);
    let child = Waitscope::new("load").args([&url, "-z", "1m", "-c", "4", "--json"]).spawn();
    std::thread::sleep(Duration::from_secs(3));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let ran = Ran::of(child.wait_with_output().unwrap()).exits(130);
    let record = record(&ran);
    assert_eq!(record["interrupted"], true);
    assert!(record["summary"]["answered"].as_u64().unwrap() >= 20, "{record:#}");
}

#[test]
fn a_reader_that_went_away_is_no_panic() {
    let provider = provider("fixed:1ms");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let ran = Waitscope::new("load")
        .args([&slow(&provider, 1), "-n", "20"])
        .stdout(writer)
        .run_uncaptured()
        .exits(0);
    assert!(ran.stderr.is_empty(), "{ran:#?}");
}

#[test]
fn an_interrupt_without_a_reader_ends_quietly_with_130() {
    let provider = provider("fixed:1ms");
    for json in [&["--json"][..], &[]] {
        let (reader, writer) = std::io::pipe().unwrap();
        let child = Waitscope::new("load")
            .args([&slow(&provider, 20), "-z", "1m", "-c", "4"])
            .args(json)
            .stdout(writer)
            .spawn_uncaptured();
        std::thread::sleep(Duration::from_secs(2));
        drop(reader);
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let ran = Ran::of(child.wait_with_output().unwrap()).exits(130);
        assert!(ran.stderr.is_empty(), "{ran:#?}");
    }
}

#[test]
fn limits_of_the_client_are_said_aloud() {
    let provider = provider("fixed:1ms");
    let url = slow(&provider, 50);
    let words = |args: &[&str]| {
        let text = load(&url, args).exits(0).stdout;
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let text = words(&["-n", "80", "-c", "4"]);
    assert!(text.contains("-c 4 is a limit of this client"), "{text}");
    assert!(text.contains("a server with 4 threads") && text.contains("a closed loop"), "{text}");
    let text = words(&["--rate", "100/s", "-n", "20", "--max-in-flight", "1"]);
    assert!(text.contains("--max-in-flight 1 is a limit of this client"), "{text}");
    let text = words(&["--rate", "20/s", "-n", "10"]);
    assert!(!text.contains("limit of this client"), "{text}");
}

#[test]
fn several_urls_and_bodies_are_all_sent_and_secrets_are_in_no_record() {
    let provider = provider("fixed:1ms");
    let directory = tempfile::tempdir().unwrap();
    let urls = directory.path().join("urls.txt");
    let more = format!("# more\n{}\n\n{}\n", slow(&provider, 2), slow(&provider, 3));
    fs::write(&urls, more).unwrap();
    let ran = Waitscope::new("load")
        .args([&slow(&provider, 1), "--urls", urls.to_str().unwrap(), "-n", "9"])
        .args(["--bearer", "t0p-s3cret", "--json"])
        .run()
        .exits(0);
    let record = record(&ran);
    assert_eq!(
        (&record["inputs"]["url_count"], &record["summary"]["answered"]),
        (&3.into(), &9.into())
    );
    assert!(!ran.stdout.contains("s3cret"), "{ran:#?}");
}

#[test]
fn bad_input_gets_one_line_and_exit_2() {
    let cases: [(&[&str], &[&str]); 14] = [
        (&[], &["needs the URL", "waitscope provider"]),
        (&["127.0.0.1:1"], &["no scheme"]),
        (&["http://h/", "-n", "0"], &["--requests", "whole number"]),
        (&["http://h/", "--rate", "100"], &["--rate", "such as 100/s"]),
        (&["http://h/", "--rate", "100/s", "-c", "5"], &["--rate", "--concurrency"]),
        (&["http://h/", "--rate", "1/s", "--stages", "1/s:1s"], &["--rate", "--stages"]),
        (&["http://h/", "--max-in-flight", "5"], &["--rate"]),
        (&["http://h/", "--arrivals-file", "no-such"], &["cannot read no-such"]),
        (&["http://h/", "--urls", "no-such"], &["cannot read no-such"]),
        (&["http://h/", "--fail-if", "p95>500"], &["--fail-if", "no unit"]),
        (&["http://h/", "--samples", "x.txt"], &[".csv or .jsonl"]),
        (&["http://h/", "--auth", "me"], &["USER:PASSWORD"]),
        (&["http://h/", "--warmup", "on"], &["auto, off, or a duration"]),
        (&["http://h/", "--unix-socket"], &["--unix-socket"]),
    ];
    for (args, words) in cases {
        Waitscope::new("load").args(args).run().exits(2).complains(words);
    }
}
