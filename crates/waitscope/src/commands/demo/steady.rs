//! The steady part of the demo: users who ask again and again, for longer than one ticket takes.

use std::time::Duration;

use waitscope_load::engine::{
    self, Cancel, Endpoint, Schedule, Sink, Stop as End, Tally, Turns, Warmup,
};
use waitscope_load::pacer::Pace;
use waitscope_load::stall::Config;
use waitscope_record::SteadyRow;

use crate::exit::Failure;
use crate::progress::Progress;
use crate::stop::Stop;

/// So many users, each with one ticket at a time, for so long.
const USERS: u32 = 8;
const LASTS: Duration = Duration::from_secs(40);

/// Runs the users against the service of `config`.
pub(super) fn measure(
    config: &Config,
    progress: &Progress,
    stop: &Stop,
) -> Result<SteadyRow, Failure> {
    let load = engine::Config {
        endpoints: vec![Endpoint::of(&config.request.target).map_err(Failure::cannot_measure)?],
        templates: config.request.templates(0, true).map_err(Failure::cannot_measure)?,
        turns: Turns::InOrder,
        schedule: Schedule::Closed { users: USERS, pace: Pace::AtOnce },
        stop: End { after: Some(LASTS), ..End::default() },
        timeout: config.timeout,
        keep_alive: true,
        max_in_flight: None,
        warmup: Warmup::Off,
        threads: 1,
        seed: 0,
        details: false,
    };
    let cancel = Cancel::new();
    let mut watch = Watch { progress, stop, cancel: cancel.clone() };
    let measured = engine::run(&load, &mut watch, &cancel).map_err(Failure::cannot_measure)?;
    if measured.stopped {
        return Err(Failure::Interrupted);
    }
    Ok(row(&measured.tally))
}

/// The seconds of the run, for a progress display.
pub(super) fn seconds() -> u64 {
    LASTS.as_secs()
}

fn row(tally: &Tally) -> SteadyRow {
    let created = tally.statuses.get(&201).copied().unwrap_or(0);
    let three_digits = |value: f64| (value * 1e3).round() / 1e3;
    SteadyRow {
        users: USERS.into(),
        lasts_s: LASTS.as_secs_f64(),
        created,
        unfinished: tally.unfinished,
        failed: tally.requests() - created - tally.unfinished,
        tickets_per_s: three_digits(created as f64 / LASTS.as_secs_f64()),
        ticket_p50_ms: tally.service.median().map(|p50| three_digits(p50.as_secs_f64() * 1e3)),
    }
}

/// Shows the time, and ends the run when the user does.
struct Watch<'a> {
    progress: &'a Progress,
    stop: &'a Stop,
    cancel: Cancel,
}

impl Sink for Watch<'_> {
    fn tick(&mut self, progress: engine::Progress) {
        self.progress.at(progress.elapsed.as_secs());
        if self.stop.token.is_cancelled() {
            self.cancel.stop();
        }
    }
}
