//! What a client that does everything right gets.

use std::time::Duration;

use serde_json::{Value, json};
use tower::ServiceExt;
use waitscope_tickets::{Config, IntakeMode, State, app};

use crate::fixture::{
    Database, FakeProvider, Service, install_crypto, log_lines, send, settings, start_log, ticket,
};

const LATENCY: Duration = Duration::from_millis(20);

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_comes_back_with_all_of_its_ai_work() {
    for mode in IntakeMode::ALL {
        for database in Database::each() {
            let provider = FakeProvider::start(LATENCY);
            let service = Service::start(settings(mode, &database, &provider));
            let reply = service.post(&ticket()).await;
            assert_eq!(reply.status, 201, "{mode}: {reply:?}");
            assert_eq!(reply.header("location"), Some("/v1/tickets/T-500001"));

            let mut shown = reply.body.clone();
            let created_at = shown["created_at"].take();
            let runs = shown["ai_runs"].take();
            let expected = json!({
                "ticket_id": "T-500001",
                "customer_id": "C-0001",
                "subject": "Charged twice",
                "team": "billing",
                "priority": 2,
                "status": "open",
                "created_at": null,
                "draft_reply": "Dear customer, we look into it.",
                "embedding_version": "text-embedding-3-small/embed-1",
                "ai_runs": null,
            });
            assert_eq!(shown, expected, "{mode}");
            created_at.as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
            check_runs(&runs);

            let embedding = database
                .number("SELECT CAST(length(embedding) AS BIGINT) FROM tickets WHERE id = 500001")
                .await;
            assert_eq!(embedding, 8, "two numbers of four bytes");
            assert_eq!(service.get("/v1/tickets/T-500001").await.body, reply.body, "{mode}");
            assert_eq!(service.post(&ticket()).await.body["ticket_id"], "T-500002");
        }
    }
}

fn check_runs(runs: &Value) {
    let runs = runs.as_array().unwrap();
    let expected = [
        ("classify", "fake-chat", "classify-1", 100, 10, 0.000_021),
        ("draft_reply", "fake-chat", "draft_reply-1", 100, 10, 0.000_021),
        ("embed", "fake-embed", "embed-1", 20, 0, 0.000_000_4),
    ];
    assert_eq!(runs.len(), expected.len());
    for (run, (task, model, prompt_version, tokens_in, tokens_out, cost_usd)) in
        runs.iter().zip(expected)
    {
        assert_eq!(run["task"], task);
        assert_eq!(run["model"], model);
        assert_eq!(run["prompt_version"], prompt_version);
        assert_eq!(run["tokens_in"], tokens_in);
        assert_eq!(run["tokens_out"], tokens_out);
        assert_eq!(run["status"], "ok");
        assert!((run["cost_usd"].as_f64().unwrap() - cost_usd).abs() < 1e-12, "{run}");
        assert!(run["latency_ms"].as_f64().unwrap() >= 19.0, "{run}");
        assert_eq!(run.as_object().unwrap().len(), 8, "{run}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_provider_is_asked_three_things_in_turn() {
    for mode in IntakeMode::ALL {
        for database in Database::each() {
            let provider = FakeProvider::start(LATENCY);
            let service = Service::start(Config {
                provider_api_key: Some("sk-s3cret".parse().unwrap()),
                ..settings(mode, &database, &provider)
            });
            assert_eq!(service.post(&ticket()).await.status, 201);
            let seen = provider.seen();
            assert_eq!(seen.tasks, ["classify", "draft_reply", "embed"], "{mode}");
            assert_eq!(seen.max_in_flight, 1, "{mode}");
            assert_eq!(seen.authorization.as_deref(), Some("Bearer sk-s3cret"));
            let text = "Subject: Charged twice\n\nSee my last two invoices.";
            assert_eq!(seen.bodies[0]["messages"][1]["content"], text);
            assert_eq!(seen.bodies[0]["response_format"]["type"], "json_schema");
            assert_eq!(seen.bodies[0]["model"], "gpt-4o-mini");
            let instructions = seen.bodies[1]["messages"][0]["content"].as_str().unwrap();
            assert!(instructions.contains("the team billing"), "{instructions}");
            assert_eq!(seen.bodies[2]["input"], text);
            assert_eq!(seen.bodies[2]["encoding_format"], "base64");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_says_where_its_time_went() {
    for mode in IntakeMode::ALL {
        for database in Database::each() {
            let provider = FakeProvider::start(LATENCY);
            let service = Service::start(settings(mode, &database, &provider));
            let timing = service.post(&ticket()).await.timing();
            let names: Vec<&str> = timing.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, ["db", "classify", "draft_reply", "embed"], "{mode}");
            assert!(timing[0].1 > 0.0, "{mode}: {timing:?}");
            assert!(timing[1..].iter().all(|(_, ms)| *ms >= 19.0), "{mode}: {timing:?}");
            // Time for the provider is not time for the database, also while a connection is held.
            assert!(timing[0].1 < 60.0, "{mode}: {timing:?}");
            for path in ["/health", "/v1/tickets/T-500001", "/nowhere"] {
                assert_eq!(service.get(path).await.timing()[0].0, "db", "{path}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_has_a_line_for_each_request_and_each_call() {
    start_log();
    for (mode, [on_sqlite, on_postgres]) in
        [(IntakeMode::Async, [2, 2]), (IntakeMode::Thread, [4, 6]), (IntakeMode::Blocking, [2, 2])]
    {
        for (database, queries) in
            [(Database::sqlite(), on_sqlite), (Database::postgres(), on_postgres)]
        {
            let provider = FakeProvider::start(LATENCY);
            let service = Service::start(Config {
                provider_api_key: Some("sk-s3cret".parse().unwrap()),
                ..settings(mode, &database, &provider)
            });
            let id = format!("log-{mode}-{}", database.kind());
            let post = service.request("POST", "/v1/tickets?token=s3cret").json(&ticket());
            let reply = send(post.header("x-request-id", &id)).await;
            assert_eq!(reply.header("x-request-id"), Some(id.as_str()));
            drop(service);

            let lines = log_lines(&format!("id={id}"));
            let tasks: Vec<&str> =
                lines.iter().filter_map(|line| line.strip_prefix("provider ")).collect();
            assert_eq!(tasks.len(), 3, "{lines:?}");
            for (line, task) in tasks.iter().zip(["classify", "draft_reply", "embed"]) {
                assert!(line.starts_with(&format!("{task} ok from=")), "{line}");
                assert!(line.contains("s to=") && line.contains("ms id="), "{line}");
            }
            let request = lines.iter().find(|line| line.starts_with("POST")).unwrap();
            let (start, end) = request.split_once("ms ").unwrap();
            assert!(start.starts_with("POST /v1/tickets 201 "), "{request}");
            assert!(start.rsplit(' ').next().unwrap().parse::<u32>().unwrap() >= 57, "{request}");
            assert_eq!(end, format!("queries={queries} id={id}"));
        }
    }
    assert_eq!(log_lines("s3cret"), [] as [&str; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn request_ids_are_made_up_or_taken_over() {
    for database in Database::each() {
        let provider = FakeProvider::start(LATENCY);
        let service = Service::start(settings(IntakeMode::Async, &database, &provider));
        let own = service.get("/health").await;
        let id = own.header("x-request-id").unwrap();
        assert_eq!(id.len(), 12);
        assert!(id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
        for (sent, taken) in [("trace-7", true), ("two words", false)] {
            let reply = send(service.request("GET", "/nowhere").header("x-request-id", sent)).await;
            assert_eq!(reply.header("x-request-id") == Some(sent), taken, "{sent}");
            assert_eq!(reply.code(), "not_found");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn seeded_tickets_have_no_ai_work() {
    for database in Database::each() {
        let provider = FakeProvider::start(LATENCY);
        let service = Service::start(settings(IntakeMode::Async, &database, &provider));
        let old = service.get("/v1/tickets/T-400050").await;
        assert_eq!(old.status, 200);
        assert_eq!(old.body["ai_runs"], json!([]));
        assert!(old.body["draft_reply"].is_null() && old.body["embedding_version"].is_null());
        let ticket =
            json!({"customer_id": "C-0050", "subject": "s", "body": "", "channel": "chat"});
        assert_eq!(service.post(&ticket).await.status, 201, "the last seeded customer is known");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn health_ready_and_metrics_answer() {
    for mode in IntakeMode::ALL {
        for database in Database::each() {
            let provider = FakeProvider::start(LATENCY);
            let service = Service::start(settings(mode, &database, &provider));
            assert_eq!(service.get("/health").await.body, json!({"status": "ok"}));
            assert_eq!(service.get("/ready").await.body, json!({"status": "ready"}));
            assert_eq!(service.post(&ticket()).await.status, 201);
            let metrics = service.get("/metrics").await;
            assert!(metrics.header("content-type").unwrap().starts_with("application/openmetrics"));
            let text = metrics.body.as_str().unwrap();
            for line in [
                "tickets_http_requests_total{method=\"POST\",route=\"/v1/tickets\",status=\"201\"} 1",
                "tickets_provider_calls_total{task=\"embed\",outcome=\"ok\"} 1",
                "tickets_provider_calls_in_flight 0",
            ] {
                assert!(text.contains(line), "{mode}: no {line} in {text}");
            }
        }
    }
}

#[tokio::test]
async fn the_router_can_be_used_without_a_socket() {
    install_crypto();
    for database in Database::each() {
        let provider = FakeProvider::start(LATENCY);
        let config = settings(IntakeMode::Async, &database, &provider);
        let router = app(State::open(&config).await.unwrap());
        let request = http::Request::post("/v1/tickets")
            .body(axum::body::Body::from(ticket().to_string()))
            .unwrap();
        let response = router.oneshot(request).await.unwrap();
        assert_eq!(response.status(), 201, "a body without a type is JSON");
    }
}
