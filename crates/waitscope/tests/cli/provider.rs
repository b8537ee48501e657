//! The provider as a program: the same in every process, from flags and from a file.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::fixture::{Ran, Waitscope};

const FLAGS: [&str; 12] = [
    "--port",
    "0",
    "--speed",
    "0",
    "--quota",
    "off",
    "--seed",
    "7",
    "--latency",
    "mixture:500ms,0.4,5%,80s,0.2",
    "--fault",
    "status=503@20%",
];

/// 200 calls; every fourth content comes twice.
fn calls() -> Vec<(&'static str, String)> {
    let call = |number: usize| {
        let text = format!("Question {}", number % 160);
        let messages = json!([{"role": "user", "content": text}]);
        let (path, body) = match number % 4 {
            0 => ("/v1/embeddings", json!({"model": "m", "input": text})),
            1 => ("/v1/responses", json!({"model": "m", "input": text, "stream": true})),
            2 => ("/v1/messages", json!({"model": "m", "max_tokens": 50, "messages": messages})),
            _ => ("/v1/chat/completions", json!({"model": "m", "messages": messages})),
        };
        (path, body.to_string())
    };
    (0..200).map(call).collect()
}

/// What each content was answered: status, planned latency, how many bytes. Sorted.
type Answers = BTreeMap<String, Vec<(u16, String, usize)>>;

fn ask_all(url: &str, calls: &[(&'static str, String)], threads: usize) -> Answers {
    let (next, answers) = (AtomicUsize::new(0), Mutex::new(Answers::new()));
    let agent: ureq::Agent =
        ureq::Agent::config_builder().http_status_as_error(false).proxy(None).build().into();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((path, body)) = calls.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let mut answer = agent.post(format!("{url}{path}")).send(body).unwrap();
                    let planned = answer.headers().get("openai-processing-ms");
                    let planned = planned.map_or("", |ms| ms.to_str().unwrap()).to_owned();
                    let length = answer.body_mut().read_to_string().unwrap().len();
                    let answer = (answer.status().as_u16(), planned, length);
                    answers.lock().unwrap().entry(body.clone()).or_default().push(answer);
                }
            });
        }
    });
    let mut answers = answers.into_inner().unwrap();
    for answers in answers.values_mut() {
        answers.sort();
    }
    answers
}

#[test]
fn another_process_order_and_concurrency_change_nothing() {
    let calls = calls();
    let reversed: Vec<_> = calls.iter().rev().cloned().collect();
    let ask = |calls: &[_], threads| {
        let provider = Waitscope::new("provider").args(FLAGS).serve();
        ask_all(provider.url(), calls, threads)
    };
    let first = ask(&calls, 1);
    assert_eq!(first.values().map(Vec::len).sum::<usize>(), 200);
    let statuses = first.values().flatten().map(|(status, _, _)| *status);
    let refused = statuses.filter(|status| *status == 503).count();
    // 40 expected, with a standard deviation of 5.7.
    assert!((15..=65).contains(&refused), "{refused}");
    let far = first.values().flatten().filter(|(_, ms, _)| ms.len() == 5).count();
    assert!((1..=30).contains(&far), "{far} calls come from the far tail");
    assert_eq!(ask(&reversed, 8), first);
}

#[test]
fn a_file_says_what_flags_say() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("provider.toml");
    let file = "port = 0\nspeed = 0\nquota = \"off\"\nseed = 7\n\
                latency = \"mixture:500ms,0.4,5%,80s,0.2\"\nfault = [\"status=503@20%\"]\n";
    std::fs::write(&path, file).unwrap();
    let (flags, file) = (
        Waitscope::new("provider").args(FLAGS).serve(),
        Waitscope::new("provider").args(["--config".as_ref(), path.as_os_str()]).serve(),
    );
    let calls = calls();
    assert_eq!(ask_all(file.url(), &calls, 4), ask_all(flags.url(), &calls, 4));
}

#[test]
fn bad_options_and_files_are_answered_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bad.toml");
    std::fs::write(&path, "seed = 1\nfault = [\n  \"reset\",\n  \"explode\",\n]\n").unwrap();
    let path = path.to_str().unwrap();
    for (args, hint) in [
        (["--config", path], "bad.toml:4: unknown fault `explode`"),
        (["--config", "/nowhere.toml"], "cannot read --config /nowhere.toml"),
        (["--log", "/nowhere/truth.jsonl"], "cannot write --log /nowhere/truth.jsonl"),
        (["--latency", "file:/nowhere.jsonl"], "/nowhere.jsonl"),
    ] {
        let ran = Waitscope::new("provider").args(["--port", "0"]).args(args).run();
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(hint), "{ran:?}");
    }
}

#[test]
fn the_last_line_says_how_late_it_was() {
    let mut child = Waitscope::new("provider").args(FLAGS).spawn();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    let calls: Vec<_> = calls().into_iter().take(10).collect();
    ask_all(line.trim().strip_prefix("listening on ").unwrap(), &calls, 1);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    line.clear();
    stdout.read_line(&mut line).unwrap();
    assert!(line.starts_with("10 calls, "), "{line}");
    assert!(line.contains("written later than planned by"), "{line}");
    Ran::of(child.wait_with_output().unwrap()).exits(0);
}
