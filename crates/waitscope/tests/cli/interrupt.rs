//! Ctrl-C at any moment: the exit code, what was measured so far, and no child left behind.

use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::fixture::{Ran, TICKET, Tickets, Waitscope, provider};
use super::records::keeps_to_the_schema;

fn interrupt(child: Child, after: Duration) -> Ran {
    std::thread::sleep(after);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    Ran::of(child.wait_with_output().unwrap())
}

#[test]
fn an_interrupted_stall_prints_what_it_has() {
    let provider = provider("fixed:400ms");
    let tickets = Tickets::start("async", &provider);
    let child = Waitscope::new("stall")
        .args([&tickets.tickets_url(), "--body", TICKET, "-n", "1000", "--json"])
        .spawn();
    let ran = interrupt(child, Duration::from_secs(4)).exits(130);
    let record = ran.record();
    keeps_to_the_schema(&record);
    assert_eq!(record["interrupted"], true);
    assert!(record["summary"]["statuses"]["201"].as_u64().unwrap() >= 4, "{record:#}");
    assert!(record["summary"]["health_count"].as_u64().unwrap() >= 10, "{record:#}");
}

#[test]
fn two_signals_at_once_are_one_wish() {
    // As timeout(1) sends them: to the process, and at once to its group.
    let provider = provider("fixed:400ms");
    let url = format!("{}/v1/complete?ttft=0.4&tokens=1&tok_ms=1", provider.url());
    let child = Waitscope::new("stall").args([&url, "-n", "1000", "--json"]).spawn();
    std::thread::sleep(Duration::from_secs(3));
    for _ in 0..2 {
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    }
    let record = Ran::of(child.wait_with_output().unwrap()).exits(130).record();
    assert_eq!(record["interrupted"], true);
}

#[test]
fn an_interrupt_before_the_first_request_is_130_in_one_line() {
    // A server that takes connections and never answers keeps the baseline waiting.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    let child = Waitscope::new("stall").args([&url]).spawn();
    let ran = interrupt(child, Duration::from_millis(700)).exits(130);
    assert!(ran.stdout.is_empty(), "{ran:#?}");
    ran.complains(&["interrupted"]);
}

#[test]
fn an_interrupted_demo_keeps_what_it_has_and_leaves_no_process_behind() {
    let demo = Waitscope::new("demo").args(["--json"]).spawn();
    let servers = servers_of(&demo);
    let ran = interrupt(demo, Duration::from_secs(3)).exits(130);
    assert!(!servers.iter().any(|pid| is_alive(*pid)), "{servers:?}");
    let record = ran.record();
    keeps_to_the_schema(&record);
    assert_eq!(record["runs"][0]["name"], "async");
    assert_eq!(record["interrupted"], true);
}

#[test]
fn a_demo_whose_provider_dies_keeps_the_modes_that_it_has() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("demo.json");
    let demo = Waitscope::new("demo").args(["--output", file.to_str().unwrap()]).spawn();
    let provider = servers_of(&demo)[0];
    // The first mode takes some 5 to 6 s.
    std::thread::sleep(Duration::from_secs(8));
    kill_process(Pid::from_raw(provider).unwrap(), Signal::KILL).unwrap();
    let ran = Ran::of(demo.wait_with_output().unwrap()).exits(3);
    assert!(ran.stdout.contains("intake mode: async"), "{ran:#?}");
    let record = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    keeps_to_the_schema(&record);
    assert_eq!(record["runs"][0]["name"], "async");
    assert_eq!(record["summary"]["as_expected"], false);
    ran.complains(&["provider"]);
}

#[test]
fn children_end_even_when_the_demo_is_killed() {
    let mut demo = Waitscope::new("demo").args(["--json"]).spawn();
    let servers = servers_of(&demo);
    demo.kill().unwrap();
    demo.wait().unwrap();
    let killed = Instant::now();
    while servers.iter().any(|pid| is_alive(*pid)) {
        assert!(killed.elapsed() < Duration::from_secs(30), "a child lives on");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Waits until the demo has its two servers, and returns their processes.
fn servers_of(demo: &Child) -> Vec<i32> {
    let parent = i32::try_from(demo.id()).unwrap();
    let started = Instant::now();
    loop {
        let mut children: Vec<(u64, i32)> = procfs::process::all_processes()
            .unwrap()
            .filter_map(|process| process.ok()?.stat().ok())
            .filter(|stat| stat.ppid == parent)
            .map(|stat| (stat.starttime, stat.pid))
            .collect();
        if children.len() == 2 {
            // The provider is started first.
            children.sort_unstable();
            return children.into_iter().map(|(_, pid)| pid).collect();
        }
        assert!(started.elapsed() < Duration::from_mins(1), "no servers: {children:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A process that ended but was not collected yet, as in a container without an init, is gone.
fn is_alive(pid: i32) -> bool {
    let stat = procfs::process::Process::new(pid).and_then(|process| process.stat());
    stat.is_ok_and(|stat| stat.state != 'Z')
}
