//! What the intake modes change, and nothing else.

use std::time::{Duration, Instant};

use waitscope_tickets::{Config, IntakeMode};

use crate::fixture::{Behaviour, Database, FakeProvider, Service, at_once, settings};

const LATENCY: Duration = Duration::from_millis(200);

/// Each mode on each database.
fn each(check: impl AsyncFn(IntakeMode, Database)) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for mode in IntakeMode::ALL {
        for database in Database::each() {
            runtime.block_on(check(mode, database));
        }
    }
}

#[test]
fn four_tickets_take_the_time_of_one_or_of_four() {
    each(async |mode, database| {
        let provider = FakeProvider::start(LATENCY);
        let service = Service::start(settings(mode, &database, &provider));
        let (_, one) = at_once(&service, 1).await;
        let (replies, four) = at_once(&service, 4).await;
        assert!(replies.iter().all(|reply| reply.status == 201), "{mode}: {replies:?}");
        let ratio = four.as_secs_f64() / one.as_secs_f64();
        let at_once = provider.seen().max_in_flight;
        if mode == IntakeMode::Blocking {
            assert!(ratio > 3.0, "{mode}: {four:?} against {one:?}");
            assert_eq!(at_once, 1, "{mode}");
        } else {
            assert!(ratio < 2.0, "{mode}: {four:?} against {one:?}");
            assert_eq!(at_once, 4, "{mode}");
        }
    });
}

#[test]
fn health_answers_while_tickets_wait_unless_the_event_loop_is_held() {
    each(async |mode, database| {
        let provider = FakeProvider::start(LATENCY);
        let service = Service::start(settings(mode, &database, &provider));
        let tickets = at_once(&service, 4);
        let probes = async {
            provider.calls(1).await;
            let mut times = Vec::new();
            while provider.seen().in_flight > 0 {
                let started = Instant::now();
                assert_eq!(service.get("/health").await.status, 200);
                times.push(started.elapsed());
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            times.sort();
            times
        };
        let (_, times) = tokio::join!(tickets, probes);
        let (median, slowest) = (times[times.len() / 2], times[times.len() - 1]);
        if mode == IntakeMode::Blocking {
            assert!(slowest > LATENCY, "{mode}: {times:?}");
        } else {
            assert!(median < LATENCY / 4, "{mode}: {times:?}");
            assert!(times.len() > 5, "{mode}: {times:?}");
        }
    });
}

#[test]
fn a_held_connection_is_missed_by_the_next_ticket() {
    each(async |mode, database| {
        let provider = FakeProvider::start(LATENCY);
        let service = Service::start(Config {
            db_pool_size: 1.try_into().unwrap(),
            db_pool_timeout: Duration::from_millis(300),
            ..settings(mode, &database, &provider)
        });
        let (mut replies, _) = at_once(&service, 2).await;
        replies.sort_by_key(|reply| reply.status);
        let statuses: Vec<u16> = replies.iter().map(|reply| reply.status).collect();
        match mode {
            IntakeMode::Async => assert_eq!(statuses, [201, 201]),
            IntakeMode::Thread => {
                assert_eq!(statuses, [201, 503]);
                assert_eq!(replies[1].code(), "database_busy");
                assert_eq!(replies[1].header("retry-after"), Some("2"));
                assert_eq!(database.new_tickets().await, 1);
            }
            // The second ticket may have to wait for the connection while the first one holds the
            // event loop: its timeout passes then.
            IntakeMode::Blocking => assert_eq!(statuses[0], 201),
        }
    });
}

/// Each ticket is refused after its first call, so that six tickets are six calls.
async fn six_calls(mode: IntakeMode, database: &Database, slots: Option<usize>) -> (usize, Times) {
    let provider = FakeProvider::start(Duration::from_millis(100));
    provider.behave("classify", Behaviour::Status(400, &[]));
    let service = Service::start(Config {
        provider_max_concurrency: slots.map(|slots| slots.try_into().unwrap()),
        ..settings(mode, database, &provider)
    });
    let (replies, wall) = at_once(&service, 6).await;
    let mut waits_ms: Vec<f64> = Vec::new();
    for reply in replies {
        assert_eq!((reply.status, reply.code()), (502, "ai_bad_answer"));
        let timing = reply.timing();
        assert_eq!(timing[1].0, "classify");
        waits_ms.push(timing[1].1);
    }
    assert_eq!(provider.seen().tasks.len(), 6);
    waits_ms.sort_by(f64::total_cmp);
    (provider.seen().max_in_flight, Times { wall_ms: wall.as_secs_f64() * 1e3, waits_ms })
}

struct Times {
    wall_ms: f64,
    waits_ms: Vec<f64>,
}

#[test]
fn six_calls_with_two_slots_take_three_rounds() {
    each(async |mode, database| {
        // A busy machine adds to the time, so the fastest of some tries is held against the upper
        // bound; the lower one holds for every try.
        let mut fastest_ms = f64::INFINITY;
        for _ in 0..3 {
            let (at_once, times) = six_calls(mode, &database, Some(2)).await;
            if mode == IntakeMode::Blocking {
                assert_eq!(at_once, 1, "one event loop calls once at a time");
                return;
            }
            assert_eq!(at_once, 2, "{mode}");
            assert!(times.wall_ms > 290.0, "{mode}: {} ms", times.wall_ms);
            // The wait for a slot is part of the reported time: the last ones waited two rounds.
            assert!(times.waits_ms[5] > 220.0, "{mode}: {:?}", times.waits_ms);
            fastest_ms = fastest_ms.min(times.wall_ms);
            if fastest_ms < 500.0 {
                return;
            }
        }
        panic!("{mode}: {fastest_ms} ms are five rounds or more");
    });
}

#[test]
fn six_calls_without_a_bound_take_one_round() {
    each(async |mode, database| {
        let (at_once, times) = six_calls(mode, &database, None).await;
        if mode != IntakeMode::Blocking {
            assert!(at_once > 2, "{mode}: {at_once}");
            assert!(times.waits_ms[0] < 200.0, "{mode}: {:?}", times.waits_ms);
        }
    });
}

#[test]
fn the_slots_are_shared_by_all_event_loops() {
    each(async |mode, database| {
        let provider = FakeProvider::start(Duration::from_millis(50));
        let service = Service::with_event_loops(
            4,
            Config {
                provider_max_concurrency: Some(2.try_into().unwrap()),
                ..settings(mode, &database, &provider)
            },
        );
        let (replies, _) = at_once(&service, 12).await;
        assert!(replies.iter().all(|reply| reply.status == 201), "{mode}: {replies:?}");
        assert_eq!(provider.seen().max_in_flight, 2, "{mode}");
    });
}

#[test]
fn writing_does_not_wait_for_a_held_event_loop() {
    each(async |mode, database| {
        let provider = FakeProvider::start(Duration::from_millis(150));
        let service = Service::start(Config {
            // Less than a ticket holds the event loop, and much more than writing takes.
            db_pool_timeout: Duration::from_millis(300),
            ..settings(mode, &database, &provider)
        });
        let user = async || {
            for _ in 0..3 {
                let (replies, _) = at_once(&service, 1).await;
                assert_eq!(replies[0].status, 201, "{mode}: {replies:?}");
            }
        };
        tokio::join!(user(), user(), user());
    });
}

#[test]
fn worker_threads_are_bounded() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        for database in Database::each() {
            let provider = FakeProvider::start(LATENCY);
            let service = Service::start(Config {
                threads: 3.try_into().unwrap(),
                ..settings(IntakeMode::Thread, &database, &provider)
            });
            let (replies, _) = at_once(&service, 7).await;
            assert!(replies.iter().all(|reply| reply.status == 201), "{replies:?}");
            assert_eq!(provider.seen().max_in_flight, 3);
        }
    });
}
