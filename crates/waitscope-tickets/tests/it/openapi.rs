//! What the document says of the API is what the service does.

use std::time::Duration;

use serde_json::{Value, json};
use waitscope_tickets::{Config, IntakeMode};

use crate::fixture::{Behaviour, Database, FakeProvider, Reply, Service, send, settings, ticket};

/// The document of a service.
struct Document(Value);

impl Document {
    async fn of(service: &Service) -> Self {
        Self(service.get("/openapi.json").await.body)
    }

    /// The answer is one that the document tells of, in its status, its headers and every field.
    #[track_caller]
    fn check(&self, method: &str, path: &str, reply: &Reply) {
        let response = &self.0["paths"][path][method]["responses"][reply.status.to_string()];
        assert!(response.is_object(), "{method} {path}: {} is not described", reply.status);
        for (name, reference) in response["headers"].as_object().unwrap() {
            let header = self.at(reference["$ref"].as_str().unwrap());
            match reply.header(name) {
                Some(value) => {
                    // A header is text, and its schema may want a number.
                    let value = match header["schema"]["type"].as_str() {
                        Some("integer") => json!(value.parse::<u64>().unwrap()),
                        _ => json!(value),
                    };
                    self.validate(&header["schema"], &value, name);
                }
                None => assert_ne!(header["required"], true, "{method} {path}: no {name}"),
            }
        }
        let content = response["content"].as_object().unwrap();
        let (media_type, described) = content.iter().next().unwrap();
        let sent = reply.header("content-type").unwrap();
        assert_eq!(sent.split(';').next(), Some(media_type.as_str()), "{method} {path}");
        self.validate(&described["schema"], &reply.body, &format!("{method} {path}"));
    }

    #[track_caller]
    fn validate(&self, schema: &Value, value: &Value, what: &str) {
        let mut root = schema.clone();
        root["components"] = closed(self.0["components"].clone());
        let options = jsonschema::options().should_validate_formats(true);
        let validator = options.build(&root).unwrap();
        let errors: Vec<String> =
            validator.iter_errors(value).map(|error| error.to_string()).collect();
        assert_eq!(errors, [] as [&str; 0], "{what}: {value}");
    }

    fn at(&self, reference: &str) -> &Value {
        self.0.pointer(reference.strip_prefix('#').unwrap()).unwrap()
    }
}

/// Lets no object have more than its properties, so that a field without description is found.
fn closed(mut schema: Value) -> Value {
    match &mut schema {
        Value::Object(fields) => {
            for value in fields.values_mut() {
                *value = closed(value.take());
            }
            if fields.get("type") == Some(&json!("object")) && fields.contains_key("properties") {
                fields.insert("additionalProperties".to_owned(), json!(false));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = closed(item.take())),
        _ => {}
    }
    schema
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_as_described() {
    for database in Database::each() {
        let provider = FakeProvider::start(Duration::ZERO);
        let service = Service::start(settings(IntakeMode::Async, &database, &provider));
        let document = Document::of(&service).await;

        let created = service.post(&ticket()).await;
        assert_eq!(created.status, 201);
        document.check("post", "/v1/tickets", &created);
        for id in ["T-500001", "T-400001", "T-400050", "T-999999", "nonsense"] {
            let reply = service.get(&format!("/v1/tickets/{id}")).await;
            document.check("get", "/v1/tickets/{id}", &reply);
        }
        for (query, status) in
            [("", 200), ("?limit=100", 200), ("?after=T-400001", 200), ("?limit=0&x=1", 422)]
        {
            let reply = service.get(&format!("/v1/tickets{query}")).await;
            assert_eq!(reply.status, status, "{query}");
            document.check("get", "/v1/tickets", &reply);
        }
        for path in ["/health", "/ready", "/metrics"] {
            document.check("get", path, &service.get(path).await);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_are_as_described() {
    let (provider, database) = (FakeProvider::start(Duration::ZERO), Database::sqlite());
    let service = Service::start(settings(IntakeMode::Async, &database, &provider));
    let document = Document::of(&service).await;
    let check = |status: u16, reply: Reply| {
        assert_eq!(reply.status, status, "{reply:?}");
        document.check("post", "/v1/tickets", &reply);
    };
    let post = || service.request("POST", "/v1/tickets");
    let with = |field: &str, value: &str| {
        let mut changed = ticket();
        changed[field] = json!(value);
        changed
    };
    check(404, service.post(&with("customer_id", "C-9999")).await);
    check(413, service.post(&with("body", &"x".repeat(70_000))).await);
    check(415, send(post().header("content-type", "text/plain").body("x")).await);
    check(422, service.post(&with("channel", "fax")).await);
    check(422, send(post().header("idempotency-key", "").json(&ticket())).await);
    check(201, send(post().header("idempotency-key", "a").json(&ticket())).await);
    check(422, send(post().header("idempotency-key", "a").json(&with("body", "x"))).await);
    provider.behave("embed", Behaviour::Status(429, &[("retry-after", "7")]));
    let busy = service.post(&ticket()).await;
    assert_eq!(busy.header("retry-after"), Some("7"));
    check(503, busy);
    provider.behave("embed", Behaviour::Status(500, &[]));
    check(503, service.post(&ticket()).await);
    provider.behave("embed", Behaviour::Status(400, &[]));
    check(502, service.post(&ticket()).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_described_when_one_is_asked_for() {
    let (provider, database) = (FakeProvider::start(Duration::ZERO), Database::sqlite());
    for key in [None, Some("s3cret")] {
        let service = Service::start(Config {
            api_key: key.map(|key| key.parse().unwrap()),
            ..settings(IntakeMode::Async, &database, &provider)
        });
        let document = Document::of(&service).await;
        let schemes = &document.0["components"]["securitySchemes"];
        assert_eq!(schemes.is_object(), key.is_some());
        for (path, methods) in document.0["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let locked = key.is_some() && path.starts_with("/v1/");
                assert_eq!(operation["security"].is_array(), locked, "{path}");
                assert_eq!(operation["responses"]["401"].is_object(), locked, "{path}");
                let path_of_one = path.replace("{id}", "T-400001");
                let request = service.request(&method.to_uppercase(), &path_of_one);
                let reply = send(request.header("x-api-key", "wrong")).await;
                assert_eq!(reply.status == 401, locked, "{path}: {reply:?}");
                document.check(method, path, &reply);
            }
        }
        assert!(!document.0.to_string().contains("s3cret"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_document_is_shown_like_everything_else() {
    let (provider, database) = (FakeProvider::start(Duration::ZERO), Database::sqlite());
    let service = Service::start(settings(IntakeMode::Async, &database, &provider));
    for path in ["/openapi.json", "/docs", "/docs/", "/docs/swagger-ui-bundle.js"] {
        for method in ["GET", "HEAD"] {
            let reply = send(service.request(method, path)).await;
            // The client follows the one redirect.
            assert_eq!(reply.status, 200, "{method} {path}");
            assert!(reply.header("x-request-id").is_some(), "{method} {path}");
            assert!(reply.header("server-timing").is_some(), "{method} {path}");
        }
        let reply = send(service.request("POST", path)).await;
        assert_eq!((reply.status, reply.code()), (405, "method_not_allowed"), "{path}");
        assert_eq!(reply.header("allow"), Some("GET,HEAD"), "{path}");
    }
    let nothing = service.get("/docs/nothing").await;
    assert_eq!((nothing.status, nothing.code()), (404, "not_found"));
}
