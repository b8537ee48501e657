//! The simulated provider against the same endpoints on uvicorn (uvloop, httptools, FastAPI).

mod gaps;
mod measure;
mod open;
mod requests;
mod servers;

use super::{Scenario, Subject};

pub(super) const SUBJECT: Subject = Subject {
    name: "provider",
    peer: "benches/provider",
    scenarios: &[requests::SCENARIO, gaps::SCENARIO, open::SCENARIO],
};
