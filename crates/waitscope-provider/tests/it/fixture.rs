//! A provider that runs, and a client that asks it.

use std::time::{Duration, Instant};

use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};
use waitscope_provider::{Config, Running};
use waitscope_wire::sse::{Decoder, Event};

/// Without waits and without quota: for tests of what is answered.
pub(crate) fn instant() -> Config {
    Config { speed: 0.0, quota: false, ..Config::default() }
}

pub(crate) struct Provider {
    running: Running,
    client: Client,
}

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) text: String,
    pub(crate) took: Duration,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        let mut decoder = Decoder::new();
        decoder.push(self.text.as_bytes());
        std::iter::from_fn(|| decoder.next_event().unwrap()).collect()
    }
}

impl Provider {
    pub(crate) fn start(config: Config) -> Self {
        // Fails when another test has installed it already, which is as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().no_proxy().build().unwrap();
        Self { running: waitscope_provider::start(config).unwrap(), client }
    }

    /// `127.0.0.1:PORT`, for clients that write their own bytes.
    pub(crate) fn address(&self) -> &str {
        self.running.url().strip_prefix("http://").unwrap()
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.running.url()))
    }

    pub(crate) async fn send(&self, request: RequestBuilder) -> Answer {
        let start = Instant::now();
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await.unwrap();
        Answer { status, headers, text, took: start.elapsed() }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(self.request(Method::GET, path)).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_text(path, body.to_string()).await
    }

    pub(crate) async fn post_text(&self, path: &str, body: impl Into<reqwest::Body>) -> Answer {
        self.send(self.request(Method::POST, path).body(body)).await
    }

    pub(crate) async fn chat(&self, extra: &Value) -> Answer {
        self.post("/v1/chat/completions", &chat(extra)).await
    }

    pub(crate) async fn stats(&self) -> Value {
        self.get("/admin/stats").await.json()
    }

    /// Asks until `done` says yes; fails after 10 s.
    pub(crate) async fn until(&self, path: &str, done: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            let answer = self.get(path).await.json();
            if done(&answer) {
                return answer;
            }
            assert!(start.elapsed() < Duration::from_secs(10), "still {answer}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// A sensible chat body, changed by `extra`.
pub(crate) fn chat(extra: &Value) -> Value {
    merged(
        json!({"model": "chat-small", "messages": [{"role": "user", "content": "My invoice!"}]}),
        extra,
    )
}

/// A sensible embeddings body, changed by `extra`.
pub(crate) fn embeddings(extra: &Value) -> Value {
    merged(json!({"model": "embed-small", "input": "My invoice!"}), extra)
}

fn merged(mut base: Value, extra: &Value) -> Value {
    base.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    base
}
