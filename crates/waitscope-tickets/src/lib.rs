//! The reference service: a help desk's intake with three ways of waiting.
//!
//! Each new ticket asks an AI provider three things in turn (classify, draft a reply, embed) and
//! then answers. [`IntakeMode`] changes one thing about that: who waits for the provider. The
//! rest is the same code, so that a difference seen from outside has one cause.
//!
//! [`run`] serves until it is told to stop; [`app`] is the router alone.

mod config;
mod domain;
mod intake;
mod metrics;
mod provider_client;
mod routes;
mod startup;
mod state;
mod stopwatch;
mod store;
mod trail;
mod workers;

pub use config::{
    ApiKey, ClientKey, Config, DatabaseUrl, IntakeMode, InvalidSetting, PostgresUrl, ProviderUrl,
};
pub use routes::app;
pub use startup::{StartError, run};
pub use state::State;
