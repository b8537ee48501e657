//! The list of tickets.

use std::collections::BTreeSet;
use std::time::Duration;

use waitscope_tickets::IntakeMode;

use crate::fixture::{Database, FakeProvider, Service, settings, ticket};

/// The numbers on all pages of a list, in order.
async fn all_pages(service: &Service, query: &str, limit: usize) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    let mut after = String::new();
    loop {
        let page = service.get(&format!("/v1/tickets?{query}limit={limit}{after}")).await;
        assert_eq!(page.status, 200, "{page:?}");
        let tickets = page.body["tickets"].as_array().unwrap();
        assert!(tickets.len() <= limit, "{page:?}");
        ids.extend(tickets.iter().map(|t| t["ticket_id"].as_str().unwrap().to_owned()));
        let Some(next) = page.body["next"].as_str() else { return ids };
        assert_eq!(ids.last().map(String::as_str), Some(next), "{page:?}");
        after = format!("&after={next}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_hold_every_ticket_once_and_the_newest_first() {
    for mode in IntakeMode::ALL {
        for database in Database::each() {
            let provider = FakeProvider::start(Duration::ZERO);
            let service = Service::start(settings(mode, &database, &provider));
            assert_eq!(service.post(&ticket()).await.status, 201);
            for limit in [1, 7, 17, 50, 51, 100] {
                let ids = all_pages(&service, "", limit).await;
                assert_eq!(ids.len(), 51, "{mode} {limit}");
                assert_eq!(ids[0], "T-500001", "{mode} {limit}");
                assert!(ids.is_sorted_by(|a, b| a > b), "{mode} {limit}: {ids:?}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_that_comes_in_meanwhile_moves_no_page() {
    for database in Database::each() {
        let provider = FakeProvider::start(Duration::ZERO);
        let service = Service::start(settings(IntakeMode::Async, &database, &provider));
        let first = service.get("/v1/tickets?limit=10").await;
        let after = first.body["next"].as_str().unwrap();
        let before = service.get(&format!("/v1/tickets?limit=10&after={after}")).await.body;
        assert_eq!(service.post(&ticket()).await.status, 201);
        let second = service.get(&format!("/v1/tickets?limit=10&after={after}")).await.body;
        assert_eq!(second, before);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_choose_what_fits_all_of_them() {
    for database in Database::each() {
        let provider = FakeProvider::start(Duration::ZERO);
        let service = Service::start(settings(IntakeMode::Async, &database, &provider));
        assert_eq!(service.post(&ticket()).await.status, 201);
        let all: BTreeSet<String> = all_pages(&service, "", 100).await.into_iter().collect();
        for (name, values) in [
            ("status", vec!["open", "pending", "closed"]),
            ("team", vec!["billing", "account", "technical", "shipping", "general"]),
        ] {
            let mut found = BTreeSet::new();
            for value in values {
                let query = format!("{name}={value}&");
                for id in all_pages(&service, &query, 5).await {
                    let shown = service.get(&format!("/v1/tickets/{id}")).await;
                    assert_eq!(shown.body[name], value, "{id}");
                    assert!(found.insert(id), "a ticket has one {name}");
                }
            }
            assert_eq!(found, all, "every ticket has a {name}");
        }
        // `C-0001` has one seeded ticket and the new one.
        let own = all_pages(&service, "customer_id=C-0001&", 1).await;
        assert_eq!(own.len(), 2, "{own:?}");
        let both = all_pages(&service, "customer_id=C-0001&team=billing&status=open&", 1).await;
        assert_eq!(both, ["T-500001"]);
        assert_eq!(all_pages(&service, "customer_id=C-99999&", 1).await, [""; 0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_query_is_told_its_parameters() {
    for database in Database::each() {
        let provider = FakeProvider::start(Duration::ZERO);
        let service = Service::start(settings(IntakeMode::Async, &database, &provider));
        for (query, fields) in [
            ("limit=0", vec!["limit"]),
            ("limit=101&status=new", vec!["limit", "status"]),
            ("page=2", vec!["page"]),
            ("after=T-1", vec!["after"]),
            ("team=billing&team=general", vec!["team"]),
            ("status=open%00", vec!["status"]),
        ] {
            let reply = service.get(&format!("/v1/tickets?{query}")).await;
            assert_eq!((reply.status, reply.code()), (422, "invalid_request"), "{query}");
            let found: Vec<&String> =
                reply.body["error"]["fields"].as_object().unwrap().keys().collect();
            assert_eq!(found, fields, "{query}");
        }
        let last = service.get("/v1/tickets?after=T-999999999999999999&limit=1").await;
        assert_eq!(last.body["tickets"].as_array().unwrap().len(), 1, "{last:?}");
    }
}
