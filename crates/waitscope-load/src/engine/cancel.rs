//! How a run is told to end.

use std::io;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::socket::Bell;

/// Ends a run from another thread. Cheap to clone; all clones are one.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<State>);

#[derive(Debug, Default)]
struct State {
    level: AtomicU8,
    bells: Mutex<Vec<Weak<Bell>>>,
}

/// How urgent it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    GoOn,
    /// Nothing is started any more; what is in flight may end.
    Finish,
    /// At once.
    Stop,
}

impl Cancel {
    /// A run that goes on.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts nothing any more, and waits for what is in flight.
    pub fn finish(&self) {
        self.raise(Level::Finish);
    }

    /// Ends at once: what is in flight counts as unfinished.
    pub fn stop(&self) {
        self.raise(Level::Stop);
    }

    /// Whether [`stop`](Self::stop) was called.
    pub fn is_stopped(&self) -> bool {
        self.level() == Level::Stop
    }

    pub(super) fn level(&self) -> Level {
        match self.0.level.load(Ordering::Relaxed) {
            0 => Level::GoOn,
            1 => Level::Finish,
            _ => Level::Stop,
        }
    }

    /// Something that wakes one worker whenever the level rises.
    pub(super) fn bell(&self) -> io::Result<Arc<Bell>> {
        let bell = Arc::new(Bell::new()?);
        let mut bells = self.bells();
        // Those of runs that have ended.
        bells.retain(|bell| bell.strong_count() > 0);
        bells.push(Arc::downgrade(&bell));
        drop(bells);
        Ok(bell)
    }

    fn raise(&self, level: Level) {
        self.0.level.fetch_max(level as u8, Ordering::Relaxed);
        self.bells().iter().filter_map(Weak::upgrade).for_each(|bell| bell.ring());
    }

    fn bells(&self) -> std::sync::MutexGuard<'_, Vec<Weak<Bell>>> {
        self.0.bells.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
