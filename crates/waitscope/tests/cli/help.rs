//! Help texts, usage errors and the README's own examples.

use std::path::Path;

use super::fixture::Waitscope;

/// `tests/cmd/*.trycmd`, and the blocks of the README that are marked `console`.
/// `TRYCMD=overwrite` writes what the binary says now.
#[test]
fn help_and_usage_are_as_written() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    trycmd::TestCases::new().case("tests/cmd/*.trycmd").case(readme).env("COLUMNS", "100");
}

#[test]
fn bad_input_gets_one_line_and_exit_2() {
    let missing = "no-such-file.jsonl";
    let cases: [(&[&str], &[&str]); 22] = [
        (&["stall"], &["needs the URL", "waitscope demo"]),
        (&["stall", "127.0.0.1:8000"], &["no scheme", "http://127.0.0.1:8000"]),
        (&["stall", "ftp://127.0.0.1/"], &["scheme", "ftp", "http and https"]),
        (&["stall", "http://"], &["not a URL"]),
        (&["stall", "http://127.0.0.1:0/"], &["port 0"]),
        (&["stall", "http://h/", "-n", "0"], &["--requests", "whole number from 1 to 10000"]),
        (&["stall", "http://h/", "-n", "-5"], &["'-5'", "whole number from 1 to 10000"]),
        (&["stall", "http://h/", "-c", "0"], &["--concurrency", "whole number"]),
        (&["stall", "http://h/", "-c", "many"], &["many"]),
        (&["stall", "http://h/", "--every", "100"], &["no unit", "ms, s, m, h"]),
        (&["stall", "http://h/", "--every", "1ms"], &["at least 10ms"]),
        (&["stall", "http://h/", "--every", "-1s"], &["--every", "negative"]),
        (&["stall", "http://h/", "--timeout", "0s"], &["more than zero"]),
        (&["stall", "http://h/", "--max-health", "fast"], &["--max-health"]),
        (&["stall", "http://h/", "--probe", "often"], &["scheduled and sequential"]),
        (&["stall", "http://h/", "--method", "FETCH"], &["GET", "POST"]),
        (&["stall", "http://h/", "--header", "oops"], &["NAME:VALUE"]),
        (&["stall", "http://h/", "--body", "@no-such-file"], &["cannot read no-such-file"]),
        (&["stall", "http://h/", "--bodies", missing], &["cannot read", missing]),
        (&["stall", "http://h/", "--output", "/no/such/dir/x"], &["cannot write /no/such/dir/x"]),
        (&["stall", "http://h/", "--health", "gopher://x/"], &["--health", "gopher"]),
        (&["stahl"], &["unrecognized subcommand 'stahl'", "stall"]),
    ];
    for (args, words) in cases {
        Waitscope::new(args[0]).args(&args[1..]).run().exits(2).complains(words);
    }
}

#[test]
fn servers_refuse_bad_settings_with_one_line() {
    let cases: [(&[&str], &[&str]); 10] = [
        (&["provider", "--port", "99999"], &["--port"]),
        (&["provider", "--mode", "asleep"], &["--mode", "outage"]),
        (&["provider", "--speed", "-1"], &["--speed"]),
        (&["provider", "--speed", "NaN"], &["--speed"]),
        (&["provider", "--latency", "fixed:500"], &["--latency", "500"]),
        (&["provider", "--latency", "lognormal:1s"], &["--latency"]),
        (&["provider", "--quota", "maybe"], &["--quota"]),
        (&["tickets", "--intake-mode", "lazy"], &["--intake-mode", "blocking"]),
        (&["tickets", "--threads", "0"], &["--threads"]),
        (&["tickets", "--db-pool-timeout", "5days"], &["--db-pool-timeout"]),
    ];
    for (args, words) in cases {
        Waitscope::new(args[0]).args(&args[1..]).run().exits(2).complains(words);
    }
}
