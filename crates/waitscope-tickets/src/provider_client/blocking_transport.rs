//! Waiting as a thread: whatever else the thread has to do waits too.

use std::io;

use super::ProviderError;
use super::answer::{Answer, MAX_ANSWER_BYTES, too_large};
use crate::config::{ApiKey, Config, ProviderUrl};

/// A pool of connections without a bound of its own.
#[derive(Debug)]
pub(super) struct BlockingTransport {
    agent: ureq::Agent,
    url: ProviderUrl,
    key: Option<ApiKey>,
}

impl BlockingTransport {
    pub(super) fn new(config: &Config) -> Self {
        let tls = ureq::tls::TlsConfig::builder()
            .root_certs(ureq::tls::RootCerts::PlatformVerifier)
            .build();
        let agent = ureq::Agent::config_builder()
            .user_agent(super::USER_AGENT)
            .timeout_global(Some(config.provider_timeout))
            .max_idle_age(super::IDLE_TIMEOUT)
            // Its own default keeps three connections: all other workers would connect anew.
            .max_idle_connections(usize::MAX)
            .max_idle_connections_per_host(usize::MAX)
            // A proxy from the environment would be measured in the provider's place.
            .proxy(None)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .tls_config(tls)
            .build()
            .new_agent();
        Self { agent, url: config.provider_url.clone(), key: config.provider_api_key.clone() }
    }

    /// Sends a request and receives the whole answer; the calling thread waits for both.
    pub(super) fn post(&self, path: &str, body: &[u8]) -> Result<Answer, ProviderError> {
        self.exchange(path, body).map_err(|error| explain(&error))
    }

    fn exchange(&self, path: &str, body: &[u8]) -> Result<Answer, ureq::Error> {
        let mut request =
            self.agent.post(self.url.endpoint(path)).header("content-type", "application/json");
        if let Some(key) = &self.key {
            request = request.header("authorization", key.bearer());
        }
        let (head, mut body) = request.send(body)?.into_parts();
        let body = body.with_config().limit(MAX_ANSWER_BYTES as u64).read_to_vec()?;
        Ok(Answer { status: head.status, headers: head.headers, body })
    }
}

fn explain(error: &ureq::Error) -> ProviderError {
    match error {
        ureq::Error::Timeout(_) => ProviderError::Timeout,
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::TimedOut => ProviderError::Timeout,
        ureq::Error::BodyExceedsLimit(_) => too_large(),
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            ProviderError::Unavailable("no connection".to_owned())
        }
        ureq::Error::HostNotFound | ureq::Error::ConnectionFailed => {
            ProviderError::Unavailable("no connection".to_owned())
        }
        _ => ProviderError::Unavailable("the connection broke".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Barrier};
    use std::thread;

    use super::*;

    const THREADS: usize = 8;

    /// Answers every request on a connection once so many requests wait for their answer.
    fn answer(stream: TcpStream, together: &Barrier) {
        let mut requests = BufReader::new(stream.try_clone().unwrap());
        let mut stream = stream;
        loop {
            let mut length = 0;
            loop {
                let mut line = String::new();
                if requests.read_line(&mut line).unwrap_or(0) == 0 {
                    return;
                }
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            requests.read_exact(&mut vec![0; length]).unwrap();
            together.wait();
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").unwrap();
        }
    }

    #[test]
    fn every_thread_finds_a_connection_again() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        // Ends with the test's process.
        thread::spawn(move || {
            let together = Arc::new(Barrier::new(THREADS));
            for stream in listener.incoming() {
                counted.fetch_add(1, Ordering::SeqCst);
                let together = Arc::clone(&together);
                thread::spawn(move || answer(stream.unwrap(), &together));
            }
        });
        let config = Config { provider_url: url.parse().unwrap(), ..Config::default() };
        let transport = BlockingTransport::new(&config);
        for _round in 0..3 {
            thread::scope(|scope| {
                for _ in 0..THREADS {
                    scope.spawn(|| {
                        let answer = transport.post("/embeddings", b"{}").unwrap();
                        assert_eq!(answer.body, b"ok");
                    });
                }
            });
        }
        assert_eq!(connections.load(Ordering::SeqCst), THREADS);
    }
}
