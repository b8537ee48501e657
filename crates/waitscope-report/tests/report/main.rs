//! Records as text, as a user sees them.

mod fixtures;
mod headline;
mod meaning;
mod odd;
mod run;
mod snapshots;
