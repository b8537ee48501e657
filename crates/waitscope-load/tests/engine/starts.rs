//! Which requests start, how many, and what is counted of them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use http::Method;
use waitscope_load::engine::{Cancel, Progress, Sink, Stop, Warmup, run};
use waitscope_load::pacer::{Arrivals, Open, Pacer, Profile};
use waitscope_process::own_peak_memory_bytes;

use crate::fixture::{End, Run, ms};
use crate::server::{Server, wait};

#[test]
fn several_threads_count_exactly() {
    let server = Server::after(0);
    for threads in [1, 2, 3, 50] {
        let before = server.requests();
        let ran = Run::get(&server.url("/")).users(7).requests(1001).threads(threads).run();
        ran.all_well(1001);
        assert_eq!(server.requests() - before, 1001);
        assert_eq!(ran.measured.threads, threads.min(7));
        let numbers: BTreeSet<u64> = ran.samples.iter().map(|sample| sample.seq).collect();
        assert_eq!(numbers.len(), 1001);
        assert_eq!(ran.measured.tally.service.count(), 1001);
    }
}

#[test]
fn slots_differ_over_all_threads() {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let noted = Arc::clone(&seen);
    let server = Server::new(move |request, peer| {
        let both = format!("{} {}", request.path, String::from_utf8_lossy(&request.body));
        assert!(noted.lock().unwrap().insert(both), "sent twice: {request:?}");
        peer.answer("ok")
    });
    let url = server.url("/{{seq}}");
    let body = b"{\"id\": \"{{uuid}}\", \"n\": {{seq}}}";
    let run = Run::request(&Method::POST, &url, body).users(6).requests(300).threads(3);
    run.run().all_well(300);
    let first = std::mem::take(&mut *seen.lock().unwrap());
    let paths: BTreeSet<u64> =
        first.iter().map(|both| both[1..].split(' ').next().unwrap().parse().unwrap()).collect();
    assert!(paths.iter().copied().eq(0..300), "each number once");
    run.run().all_well(300);
    assert_eq!(*seen.lock().unwrap(), first, "the same seed sends the same bytes");
}

#[test]
fn requests_go_to_all_targets_in_turn() {
    let (first, second) = (Server::after(0), Server::after(0));
    let run = Run::get(&first.url("/")).and(&second).requests(10);
    run.run().all_well(10);
    assert_eq!((first.requests(), second.requests()), (5, 5));
    assert_eq!((first.connections(), second.connections()), (1, 1));
}

#[test]
fn the_start_up_is_left_out() {
    let server = Server::after(5);
    let run = Run::get(&server.url("/")).users(4).requests(20);
    let ran = run.clone().warmup(Warmup::FirstOfEachUser).run();
    let tally = &ran.measured.tally;
    assert_eq!((tally.warmup, tally.requests(), tally.reused), (4, 16, 16));
    assert_eq!(tally.service.count(), 16);
    let ran = run.clone().warmup(Warmup::Until(ms(0))).run();
    assert_eq!(ran.measured.tally.warmup, 0);
    let ran = run.warmup(Warmup::Until(ms(60_000))).run();
    assert_eq!((ran.measured.tally.warmup, ran.measured.tally.requests()), (20, 0));
    assert!(ran.measured.tally.in_flight_seconds.abs() < 1e-6);
}

#[test]
fn a_cap_on_those_in_flight_counts_what_it_holds_back() {
    let server = Server::after(500);
    for threads in [1, 2, 9] {
        let run = Run::get(&server.url("/")).rate(100.0).millis(1_950).threads(threads);
        let ran = run.max_in_flight(5).run();
        let tally = &ran.measured.tally;
        assert_eq!(tally.max_in_flight, 5, "{threads} threads");
        // 195 were due: the first five at once, then five per half second.
        assert_eq!(tally.requests(), 195, "{threads} threads");
        assert!((10..=20).contains(&(tally.requests() - tally.unsent)), "{} unsent", tally.unsent);
        let started = ran.ends().iter().filter(|end| **end != End::Unsent).count() as u64;
        assert_eq!(tally.held_back, started - 5);
        assert!(tally.response.quantile(0.5) > tally.service.quantile(0.5), "the wait counts");
    }
}

#[test]
fn poisson_arrivals_are_those_of_their_seed() {
    let server = Server::after(0);
    let profile = Profile::constant(300.0).unwrap();
    let arrivals = Arrivals::Poisson { profile, seed: 21 };
    let mut pacer = Pacer::Open(Open::new(arrivals.clone(), 0, 1));
    let due = std::iter::from_fn(|| pacer.take(Duration::from_nanos(999_999_999)));
    let expected: Vec<Duration> = due.map(|start| start.intended).collect();
    let ran = Run::get(&server.url("/")).arrivals(arrivals).millis(1_000).drain(5_000);
    let ran = ran.threads(2).run();
    ran.all_well(expected.len() as u64);
    let mut intended: Vec<Duration> = ran.samples.iter().map(|sample| sample.intended).collect();
    intended.sort_unstable();
    assert_eq!(intended, expected);
}

#[test]
fn a_trace_is_replayed_to_its_end() {
    let server = Server::after(20);
    let times = [0, 5, 5, 40, 120].map(ms);
    let mut run = Run::get(&server.url("/")).arrivals(Arrivals::Trace(times.into()));
    run.0.stop = Stop::default();
    let ran = run.run();
    ran.all_well(5);
    assert!(ran.measured.elapsed >= ms(140));
}

#[test]
fn finishing_lets_end_what_has_started() {
    let server = Server::after(300);
    let (cancel, begin) = (Cancel::new(), Instant::now());
    let run = Run::get(&server.url("/")).rate(50.0).millis(60_000).threads(2);
    let ran = std::thread::scope(|scope| {
        scope.spawn(|| {
            // Between two that are due.
            wait(510);
            cancel.finish();
        });
        run.run_until(&cancel)
    });
    let tally = &ran.measured.tally;
    assert_eq!((tally.unfinished, tally.unsent), (0, 0), "nothing was due after the word");
    assert!(tally.answered() >= 5, "{}", tally.answered());
    assert!(begin.elapsed() < ms(10_000));
    assert!(!ran.measured.stopped);
}

#[test]
fn stopping_ends_at_once() {
    let server = Server::after(20_000);
    for threads in [1, 2] {
        let (cancel, begin) = (Cancel::new(), Instant::now());
        let run = Run::get(&server.url("/")).users(4).requests(8).threads(threads);
        let ran = std::thread::scope(|scope| {
            scope.spawn(|| {
                wait(200);
                cancel.stop();
            });
            run.run_until(&cancel)
        });
        assert_eq!(ran.ends(), [End::Unfinished; 4]);
        assert!(ran.measured.stopped);
        assert!(begin.elapsed() < ms(5_000));
        assert!(run.run_until(&cancel).samples.is_empty(), "it stays stopped");
    }
}

/// The most memory that this process has had, after so many ended requests.
#[derive(Default)]
struct Memory(Vec<(u64, u64)>);

impl Sink for Memory {
    fn tick(&mut self, progress: Progress) {
        self.0.push((progress.ended, own_peak_memory_bytes().unwrap()));
    }
}

#[test]
fn a_hundred_thousand_answers_take_no_memory() {
    let server = Server::after(0);
    let mut memory = Memory::default();
    let run_of = Run::get(&server.url("/")).users(8).requests(100_000);
    let measured = run(&run_of.0, &mut memory, &Cancel::new()).unwrap();
    assert_eq!(measured.tally.statuses[&200], 100_000);
    assert_eq!(measured.tally.service.count(), 100_000);
    let (_, early) = *memory.0.iter().find(|(ended, _)| *ended > 5_000).unwrap();
    let (_, late) = *memory.0.last().unwrap();
    assert!(late < early + 2_000_000, "{early} bytes grew to {late}");
}
