//! More answers than some tools have room for.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use waitscope_load::engine::{Cancel, Progress, Sample, Sink, run};
use waitscope_process::own_peak_memory_bytes;

use crate::fixture::{Run, ms};

const REQUESTS: u64 = 1_000_100;
const USERS: u32 = 32;

/// Every service time as it came, and the most memory that this process had by then.
struct Kept {
    times_ns: Vec<u32>,
    count: usize,
    /// After a tenth of the requests, when all buffers have their size, and at the end.
    early_bytes: Option<u64>,
    late_bytes: u64,
}

impl Sink for Kept {
    fn wants_samples(&self) -> bool {
        true
    }

    fn sample(&mut self, sample: &Sample) {
        self.times_ns[self.count] = u32::try_from(sample.service().as_nanos()).unwrap();
        self.count += 1;
    }

    fn tick(&mut self, progress: Progress) {
        self.late_bytes = own_peak_memory_bytes().unwrap();
        if progress.ended > REQUESTS / 10 {
            self.early_bytes.get_or_insert(self.late_bytes);
        }
    }
}

/// Gives an answer for every read: a client without pipelining asks in one write each time. All
/// connections have their turns on one thread, which saves most of its waking up.
fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let accepted = listener.incoming().take(USERS as usize).map(Result::unwrap);
        let mut streams: Vec<TcpStream> = accepted.collect();
        for stream in &streams {
            stream.set_nodelay(true).unwrap();
            // A user who has ended must not hold the others up.
            stream.set_read_timeout(Some(ms(1))).unwrap();
        }
        while !streams.is_empty() {
            streams.retain_mut(answer);
        }
    });
    url
}

/// Whether the connection goes on.
fn answer(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0; 1024]) {
        Ok(0) => false,
        Ok(_) => stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").is_ok(),
        Err(error) => error.kind() == ErrorKind::WouldBlock,
    }
}

/// One after the other with other tests of time, as it needs the machine.
#[test]
fn a_million_answers_are_counted_right_in_flat_memory_timing() {
    let room = usize::try_from(REQUESTS).unwrap();
    // Every page of it is touched before the run.
    let mut kept =
        Kept { times_ns: vec![u32::MAX; room], count: 0, early_bytes: None, late_bytes: 0 };
    let config = Run::get(&serve()).users(USERS).requests(REQUESTS);
    let measured = run(&config.0, &mut kept, &Cancel::new()).unwrap();
    let tally = &measured.tally;
    assert_eq!((kept.count, tally.requests()), (room, REQUESTS));
    assert_eq!((tally.statuses[&200], tally.service.count()), (REQUESTS, REQUESTS));
    assert_eq!((tally.response.count(), tally.first_byte.count()), (REQUESTS, REQUESTS));
    assert_eq!((tally.connections, tally.reused), (USERS.into(), REQUESTS - u64::from(USERS)));

    let times = &mut kept.times_ns;
    let sum: u64 = times.iter().map(|time| u64::from(*time)).sum();
    assert_eq!(tally.service.total(), Duration::from_nanos(sum));
    assert_eq!(tally.service.mean().unwrap().as_micros(), u128::from(sum / REQUESTS / 1000));
    times.sort_unstable();
    for of_10_000 in [5_000_u32, 9_000, 9_900, 9_990, 9_999] {
        let quantile = f64::from(of_10_000) / 1e4;
        let rank = usize::try_from((u64::from(of_10_000) * REQUESTS).div_ceil(10_000)).unwrap();
        let exact_us = f64::from(times[rank - 1]) / 1e3;
        let got_us = tally.service.quantile(quantile).unwrap().as_secs_f64() * 1e6;
        // A microsecond, or three digits.
        let off_us = (got_us - exact_us).abs();
        assert!(off_us <= 1.0 + exact_us / 500.0, "p{quantile}: {got_us} and not {exact_us} us");
    }
    assert_eq!(tally.service.slowest(), times.last().map(|ns| Duration::from_nanos((*ns).into())));
    let (early, late) = (kept.early_bytes.unwrap(), kept.late_bytes);
    assert!(late < early + 4_000_000, "{early} bytes grew to {late}");
}
