//! Tells when a probe is due, from a thread of its own: the runtime's timers round to 1 ms, as
//! much as a health answer takes.

use std::time::{Duration, Instant};

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::pacer::Constant;

/// The intended starts, each sent when it is due. Ends by itself once it is dropped.
pub(super) type Ticks = UnboundedReceiver<Duration>;

/// Starts to tell: `every`, counted from `begin`, the first one at once.
///
/// # Errors
/// When the system gives no thread.
#[expect(clippy::disallowed_methods, reason = "a plain thread that does nothing but wait")]
pub(super) fn start(begin: Instant, every: Duration) -> std::io::Result<Ticks> {
    let (sender, receiver) = unbounded_channel();
    std::thread::Builder::new().name("ticker".into()).spawn(move || {
        let mut pacer = Constant::new(every);
        loop {
            let intended = pacer.take();
            std::thread::sleep((begin + intended).saturating_duration_since(Instant::now()));
            if sender.send(intended).is_err() {
                break;
            }
        }
    })?;
    Ok(receiver)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_come_in_order_and_not_before_they_are_due() {
        let begin = Instant::now();
        let mut ticks = start(begin, Duration::from_millis(20)).unwrap();
        for number in 0..5 {
            let intended = ticks.blocking_recv().unwrap();
            assert_eq!(intended, Duration::from_millis(20) * number);
            assert!(begin.elapsed() >= intended);
        }
    }
}
