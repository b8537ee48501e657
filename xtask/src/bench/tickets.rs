//! The reference service against the FastAPI example, both in front of the simulated provider. The
//! service has a core to itself; the provider, the client and `PostgreSQL` share the other one.

mod cpu;
mod databases;
mod hold;
mod measure;
mod memory;
mod planned;
mod services;
mod users;

use super::{Scenario, Subject};

pub(super) const SUBJECT: Subject = Subject {
    name: "tickets",
    peer: "benches/tickets",
    scenarios: &[users::SCENARIO, hold::SCENARIO, cpu::SCENARIO, memory::SCENARIO],
};
