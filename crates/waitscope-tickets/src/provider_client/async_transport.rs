//! Waiting as a task: the thread does other work.

use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};

use super::answer::{Answer, MAX_ANSWER_BYTES, too_large};
use super::{ClientError, ProviderError};
use crate::config::{Config, ProviderUrl};

/// A pool of connections without a bound of its own.
#[derive(Debug)]
pub(super) struct AsyncTransport {
    client: reqwest::Client,
    url: ProviderUrl,
}

impl AsyncTransport {
    pub(super) fn new(config: &Config) -> Result<Self, ClientError> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = &config.provider_api_key {
            headers.insert(AUTHORIZATION, key.bearer());
        }
        let client = reqwest::Client::builder()
            .default_headers(headers)
            .user_agent(super::USER_AGENT)
            .timeout(config.provider_timeout)
            .pool_idle_timeout(super::IDLE_TIMEOUT)
            // A proxy from the environment would be measured in the provider's place.
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            // For plain http no certificate is ever looked at, and a machine without any is fine.
            .tls_danger_accept_invalid_certs(config.provider_url.is_plain())
            .build()?;
        Ok(Self { client, url: config.provider_url.clone() })
    }

    /// Sends a request and receives the whole answer.
    pub(super) async fn post(&self, path: &str, body: Vec<u8>) -> Result<Answer, ProviderError> {
        let request = self.client.post(self.url.endpoint(path)).body(body);
        let mut response = request.send().await.map_err(|error| explain(&error))?;
        let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| explain(&error))? {
            if body.len() + chunk.len() > MAX_ANSWER_BYTES {
                return Err(too_large());
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Answer { status, headers, body })
    }
}

fn explain(error: &reqwest::Error) -> ProviderError {
    if error.is_timeout() {
        return ProviderError::Timeout;
    }
    let what = if error.is_connect() { "no connection" } else { "the connection broke" };
    ProviderError::Unavailable(what.to_owned())
}
