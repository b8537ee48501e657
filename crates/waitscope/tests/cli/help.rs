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
fn an_argument_that_is_no_text_is_refused_and_no_panic() {
    use std::os::unix::ffi::OsStrExt;
    let odd = std::ffi::OsStr::from_bytes(b"\xff");
    Waitscope::new("stall").args([odd]).run().exits(2).complains(&["UTF-8"]);
    Waitscope::bare().args([odd]).run().exits(2).complains(&["error"]);
}

#[test]
fn flags_of_other_tools_are_understood_or_answered_plainly() {
    let ran = Waitscope::new("stall").args(["http://h/", "--insecure"]).run().exits(2);
    assert!(!ran.stderr.contains("-- --insecure"), "{ran:#?}");
    for args in [["-d", "@no-such-file"], ["--data", "@no-such-file"]] {
        let ran = Waitscope::new("stall").args(["http://h/"]).args(args).run();
        ran.exits(2).complains(&["cannot read no-such-file"]);
    }
}

#[test]
fn secrets_are_in_no_error() {
    let ran = Waitscope::new("stall").args(["ftp://me:s3cret@h/"]).run().exits(2);
    assert!(!ran.stderr.contains("s3cret"), "{ran:#?}");
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join(".env"), "PROVIDER_API_KEY=sk-s3cret key\n").unwrap();
    let tickets = || Waitscope::new("tickets").directory(directory.path());
    let ran = tickets().run().exits(2);
    assert!(!ran.stderr.contains("s3cret"), "{ran:#?}");
    ran.complains(&[".env", "quotes"]);
    std::fs::write(directory.path().join(".env"), "A=\0\n").unwrap();
    tickets().run().exits(2).complains(&[".env", "NUL"]);
    // Help is help, whatever stands in `.env`.
    assert!(tickets().args(["--help"]).run().exits(0).stdout.contains("--intake-mode"));
}

#[test]
fn servers_refuse_bad_settings_with_one_line() {
    let cases: [(&[&str], &[&str]); 11] = [
        (&["tickets", "--db-pool-size", "4294967295"], &["from 1 to 1024"]),
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
