//! A provider for tests: on its own thread and runtime, so that a caller that holds its own event
//! loop does not hold the provider.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio_util::sync::{CancellationToken, DropGuard};
use waitscope_serve::Patience;

use crate::config::Config;
use crate::server::Provider;

/// A provider that runs; dropping it stops it and cuts the calls in flight.
#[derive(Debug)]
pub struct Running {
    url: String,
    stop: Option<DropGuard>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// Where it listens: `http://127.0.0.1:PORT`.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It can only have panicked, which it has printed by itself.
            let _ = thread.join();
        }
    }
}

/// Starts a provider on a free port.
///
/// # Errors
/// When there is no port, thread or runtime to be had, and when the truth log cannot be created.
pub fn start(config: Config) -> io::Result<Running> {
    let listener = waitscope_serve::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
        .map_err(io::Error::other)?;
    let url = format!("http://{}", listener.local_addr()?);
    let provider = Provider::new(config)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let stop = CancellationToken::new();
    let stopped = stop.clone();
    let patience = Patience { drain: Duration::ZERO, ..Patience::default() };
    let thread = std::thread::Builder::new().name("provider".to_owned()).spawn(move || {
        let serving = provider.serve(listener, stopped, patience);
        if let Err(error) = runtime.block_on(serving) {
            tracing::error!(%error, "the provider ended");
        }
    })?;
    Ok(Running { url, stop: Some(stop.drop_guard()), thread: Some(thread) })
}
