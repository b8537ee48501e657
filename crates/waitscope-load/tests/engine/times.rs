//! What the times say, and that none is lost.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use waitscope_load::ErrorClass;
use waitscope_load::engine::Stop;
use waitscope_load::pacer::Arrivals;
use waitscope_stats::latencies::Latencies;

use crate::fixture::End::{Error, Status, Unfinished};
use crate::fixture::{Run, ms};
use crate::server::{Server, Then, wait};

fn at(latencies: &Latencies, quantile: f64) -> Duration {
    latencies.quantile(quantile).unwrap()
}

#[test]
fn what_is_running_when_the_time_is_up_counts_with_its_age_timing() {
    let server = Server::after(20_000);
    let ran = Run::get(&server.url("/")).users(5).millis(400).run();
    assert_eq!(ran.ends(), [Unfinished; 5]);
    let tally = &ran.measured.tally;
    assert_eq!((tally.unfinished, tally.requests()), (5, 5));
    assert!(at(&tally.service, 0.0) >= ms(350), "{:?}", tally.service.quantile(0.0));
    let censored = tally.censored_service.as_ref().unwrap();
    assert_eq!(censored.count(), 5);
    assert!(censored.fastest() >= Some(ms(350)), "{:?}", censored.fastest());
    assert!(ran.measured.elapsed < ms(10_000), "it does not wait");
    assert!(tally.service.slowest() <= Some(ran.measured.elapsed), "nobody waited longer");
    let drained = Run::get(&Server::after(600).url("/")).users(5).millis(300).drain(10_000).run();
    assert_eq!(drained.ends(), [Status(200); 5], "unless it is told to");
}

#[test]
fn the_first_byte_is_the_first_byte_timing() {
    let server = Server::new(|_, peer| {
        for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n01234567890123456789" {
            peer.send([*byte]);
            wait(8);
        }
        Then::Next
    });
    let ran = Run::get(&server.url("/")).requests(2).run();
    ran.all_well(2);
    for sample in &ran.samples {
        let first = sample.first_byte.unwrap().saturating_sub(sample.start);
        // 59 bytes, 8 ms apart.
        assert!(sample.service() >= ms(440), "{:?}", sample.service());
        assert!(first < ms(200), "{first:?} of {:?}", sample.service());
        assert_eq!(sample.bytes, 59);
    }
}

#[test]
fn a_constant_server_has_its_time_as_the_median_timing() {
    let server = Server::after(500);
    let ran = Run::get(&server.url("/")).users(10).requests(20).run();
    ran.all_well(20);
    let median = at(&ran.measured.tally.service, 0.5);
    assert!((ms(500)..ms(600)).contains(&median), "{median:?}");
}

/// A server that stands still once, for 1.4 s from the 50th request on.
fn freezes() -> Server {
    let door = Arc::new(Mutex::new(()));
    Server::new(move |request, peer| {
        // Those that come meanwhile wait for the door.
        let _entered = door.lock().unwrap();
        wait(if request.in_all == 50 { 1_400 } else { 1 });
        peer.answer("ok")
    })
}

#[test]
fn a_frozen_server_shows_in_the_open_loop_only_timing() {
    let server = freezes();
    let open = Run::get(&server.url("/")).rate(100.0).millis(4_000).drain(20_000);
    let ran = open.max_in_flight(1).run();
    let tally = &ran.measured.tally;
    assert_eq!(tally.requests(), 400);
    // 1.4 s at 100 per second: a third of all requests was due during the freeze.
    assert!(at(&tally.response, 0.99) >= ms(1_000), "{:?}", tally.response.quantile(0.99));
    assert!(at(&tally.response, 0.80) >= ms(300), "{:?}", tally.response.quantile(0.8));
    assert!(at(&tally.service, 0.99) < ms(500), "{:?}", tally.service.quantile(0.99));
    assert!(at(&tally.lag, 0.99) >= ms(1_000), "late starts are the difference");
    let server = freezes();
    let ran = Run::get(&server.url("/")).millis(4_000).run();
    let tally = &ran.measured.tally;
    assert!(tally.answered() > 200);
    assert!(at(&tally.response, 0.99) < ms(500), "{:?}", tally.response.quantile(0.99));
    assert!(tally.service.slowest() >= Some(ms(1_400)));
}

#[test]
fn without_an_answer_the_timeout_ends_it_timing() {
    let server = Server::after(20_000);
    let run = Run::get(&server.url("/")).users(3).requests(6).timeout(ms(300));
    let ran = run.run();
    assert_eq!(ran.ends(), [Error(ErrorClass::Timeout); 6]);
    let tally = &ran.measured.tally;
    assert_eq!((tally.timeouts, tally.service.count()), (6, 6));
    assert!(at(&tally.service, 0.0) >= ms(299));
    assert!(ran.measured.elapsed < ms(10_000));
}

#[test]
fn a_timeout_without_end_waits_timing() {
    for timeout in [Duration::MAX, Duration::from_mins(10)] {
        let server = Server::after(700);
        let ran = Run::get(&server.url("/")).timeout(timeout).requests(2).run();
        ran.all_well(2);
        assert!(at(&ran.measured.tally.service, 0.0) >= ms(699));
    }
}

#[test]
fn a_request_that_is_sent_again_has_no_more_time_than_others_timing() {
    // The second request on the first connection is not read, and the connection closed after a
    // while; the next connection gives no answer at all.
    let server = Server::new(|request, peer| {
        if request.in_all == 1 {
            wait(20_000);
        }
        peer.answer("ok");
        peer.wait_for_more();
        wait(400);
        Then::Close
    });
    let ran = Run::get(&server.url("/")).requests(2).timeout(ms(900)).run();
    assert_eq!(ran.ends(), [Status(200), Error(ErrorClass::Timeout)]);
    let last = &ran.samples[1];
    assert!(last.resent);
    assert!((ms(899)..ms(1_250)).contains(&last.service()), "{:?}", last.service());
}

#[test]
fn a_high_rate_is_kept_while_there_is_capacity_timing() {
    let server = Server::after(0);
    let ran = Run::get(&server.url("/")).rate(10_000.0).millis(2_000).drain(20_000).run();
    ran.all_well(20_000);
    let tally = &ran.measured.tally;
    assert_eq!((tally.unsent, tally.held_back, tally.unfinished), (0, 0, 0));
    assert_eq!(tally.lag.count(), 20_000);
    // Without a busy machine beside it, it is some 50 us.
    assert!(at(&tally.lag, 0.5) < ms(50), "{:?}", tally.lag.median());
}

/// 200 starts at once each 20 ms, as a timer makes them that is late.
#[test]
fn bursts_at_a_high_rate_lose_no_start_timing() {
    let server = Server::after(0);
    let bursts = (0..50_u64).flat_map(|burst| [ms(burst * 20); 200]);
    let mut run = Run::get(&server.url("/")).arrivals(Arrivals::Trace(bursts.collect()));
    run.0.stop = Stop::default();
    for threads in [1, 2] {
        let ran = run.clone().threads(threads).run();
        ran.all_well(10_000);
        let tally = &ran.measured.tally;
        assert_eq!((tally.unsent, tally.held_back, tally.unfinished), (0, 0, 0));
        assert_eq!((tally.response.count(), tally.lag.count()), (10_000, 10_000));
    }
    assert_eq!(server.requests(), 20_000);
}

#[test]
fn starts_are_on_time_to_less_than_a_millisecond_timing() {
    let server = Server::after(0);
    let ran = Run::get(&server.url("/")).rate(97.0).millis(2_000).drain(5_000).run();
    let lag = at(&ran.measured.tally.lag, 0.25);
    assert!(lag < Duration::from_micros(400), "a quarter is later than {lag:?}");
}

#[test]
fn an_answer_without_end_holds_nobody_up_timing() {
    let over = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&over);
    let flood = Server::new(move |_, peer| {
        peer.send("HTTP/1.1 200 OK\r\n\r\n");
        let block = vec![b'x'; 1_000_000];
        while !told.load(Ordering::SeqCst) {
            peer.send(&block);
        }
        Then::Close
    });
    let beside = Server::after(0);
    // Even numbers flood; an answer of theirs never ends.
    let ran = Run::get(&flood.url("/")).and(&beside).rate(20.0).millis(1_000).run();
    over.store(true, Ordering::SeqCst);
    let tally = &ran.measured.tally;
    assert!(tally.answered() >= 3, "{} answers beside the flood", tally.answered());
    assert!(tally.unfinished >= 3 && tally.requests() == 20, "{} unfinished", tally.unfinished);
    assert!(ran.measured.elapsed < ms(10_000), "{:?}", ran.measured.elapsed);
}

#[test]
fn the_mean_in_flight_follows_from_the_latencies_timing() {
    let server = Server::after(50);
    let ran = Run::get(&server.url("/")).users(6).millis(1_500).run();
    let tally = &ran.measured.tally;
    let sum: f64 = ran.samples.iter().map(|sample| sample.service().as_secs_f64()).sum();
    let off = (tally.in_flight_seconds - sum).abs();
    assert!(off < 1e-6, "{sum} s of requests, {} s in flight", tally.in_flight_seconds);
    assert!((5.0..6.01).contains(&(sum / tally.wall().as_secs_f64())));
}

#[test]
fn a_slow_sink_sees_every_sample() {
    struct Slow(AtomicU64);
    impl waitscope_load::engine::Sink for Slow {
        fn wants_samples(&self) -> bool {
            true
        }
        fn sample(&mut self, _: &waitscope_load::engine::Sample) {
            if self.0.fetch_add(1, Ordering::SeqCst).is_multiple_of(100) {
                wait(1);
            }
        }
    }
    let server = Server::after(0);
    let run = Run::get(&server.url("/")).users(4).requests(5_000);
    let mut slow = Slow(AtomicU64::new(0));
    waitscope_load::engine::run(&run.0, &mut slow, &waitscope_load::engine::Cancel::new()).unwrap();
    assert_eq!(slow.0.load(Ordering::SeqCst), 5_000);
}
