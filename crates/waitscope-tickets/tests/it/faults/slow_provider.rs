//! A provider that is slower than its timeout for a while.

use std::sync::Arc;
use std::time::Duration;

use waitscope_tickets::{Config, IntakeMode};

use super::load::Load;
use crate::fixture::{Behaviour, Database, FakeProvider, Service, settings};

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_hangs_for_a_while_costs_only_those_who_asked() {
    for mode in IntakeMode::ALL {
        for database in Database::each() {
            let provider = FakeProvider::start(Duration::from_millis(10));
            let service = Arc::new(Service::start(Config {
                provider_timeout: Duration::from_millis(200),
                ..settings(mode, &database, &provider)
            }));
            let load = Load::start(&service, mode);
            for task in ["classify", "embed"] {
                load.accepts(8).await;
                provider.behave(task, Behaviour::Hang);
                load.refuses(if mode == IntakeMode::Blocking { 2 } else { 8 }).await;
                provider.behave(task, Behaviour::Good);
            }
            load.accepts(16).await;
            let errors = [(503, "ai_unavailable")];
            let lost_answers = load.end().await.balance(&database, &service, &errors).await;
            assert_eq!(lost_answers, 0, "{mode}: {}", database.kind());
        }
    }
}
