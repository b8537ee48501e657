//! The load generator against its peers, all of them on one core, against one server on another.

mod cpu;
mod hold;
mod install;
mod nginx;
mod observe;
mod tools;

use super::{Scenario, Subject};

pub(super) const SUBJECT: Subject =
    Subject { name: "load", peer: "benches/load", scenarios: &[cpu::SCENARIO, hold::SCENARIO] };
