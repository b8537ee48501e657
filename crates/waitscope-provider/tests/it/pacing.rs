//! Streams leave on time. Bounds are generous: the machine may be busy.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::json;
use waitscope_provider::Config;

use crate::fixture::{Provider, chat};

/// When each piece of the body came, from the request's start.
async fn arrivals(request: reqwest::RequestBuilder) -> Vec<Duration> {
    let start = Instant::now();
    let mut response = request.send().await.unwrap();
    let mut arrivals = Vec::new();
    while response.chunk().await.unwrap().is_some() {
        arrivals.push(start.elapsed());
    }
    arrivals
}

#[tokio::test]
async fn tokens_never_drift() {
    let provider = Provider::start(Config::default());
    let arrivals =
        arrivals(provider.request(Method::GET, "/v1/stream?ttft=0.1&tokens=401&tok_ms=5")).await;
    let last = arrivals.last().unwrap();
    // 0.1 s + 400 x 5 ms. Sleeping 5 ms again and again takes 6 to 7 ms each: 0.4 s or more later.
    assert!(*last >= Duration::from_millis(2_099), "{last:?}");
    assert!(*last < Duration::from_millis(2_350), "{last:?}");
    assert!(arrivals.len() > 100, "{} pieces: they are not sent one by one", arrivals.len());
}

#[tokio::test]
async fn a_streamed_call_spreads_its_total() {
    let latency = "fixed:600ms".parse().unwrap();
    let provider = Provider::start(Config { latency, ..Config::default() });
    let body = chat(&json!({"stream": true})).to_string();
    let request = provider.request(Method::POST, "/v1/chat/completions").body(body);
    let arrivals = arrivals(request).await;
    assert!(arrivals[0] >= Duration::from_millis(299), "{:?}", arrivals[0]);
    assert!(arrivals[0] < Duration::from_millis(550), "{:?}", arrivals[0]);
    assert!(*arrivals.last().unwrap() >= Duration::from_millis(599));
    let whole = provider.chat(&json!({})).await;
    assert!(whole.took >= Duration::from_millis(600));
}
