//! `waitscope provider record`: a proxy that records a real provider.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use waitscope_provider::record::{self, Log, Options};

use crate::console;
use crate::exit::{Exit, Failure};
use crate::serving;
use crate::stop::StopArgs;

/// Record a real provider: a proxy that writes the times of each call
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Record a real provider: a proxy that writes the times of each call\n\n\
        Passes every request on to the upstream, unbuffered, and adds a line of JSON for each call \
        to a file: times, sizes, the model, the answer's headers. Keys are passed on and never \
        written; texts only with --bodies. The file can be replayed with `waitscope provider \
        --latency file:FILE` and is judged by `waitscope provider fit FILE`.",
    after_help = "Example:\n  \
        waitscope provider record --upstream https://api.openai.com --output calls.jsonl\n  \
        OPENAI_BASE_URL=http://127.0.0.1:8310/v1 python my_app.py"
)]
pub(crate) struct Args {
    /// The real provider, such as `https://api.openai.com`
    #[arg(long, value_name = "URL")]
    upstream: String,
    /// The port to listen on; 0 takes any free one
    #[arg(long, default_value_t = 8310)]
    port: u16,
    /// The recording; lines are added at its end
    #[arg(long, value_name = "FILE", default_value = "recording.jsonl")]
    output: PathBuf,
    /// Write the texts of requests and answers too
    #[arg(long)]
    bodies: bool,
    #[command(flatten)]
    stop: StopArgs,
}

/// Proxies until it is told to stop.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    // Read here and not by clap, which repeats a wrong value: it may hold a password.
    let upstream = args.upstream.parse().map_err(Failure::usage)?;
    let path = args.output.display();
    let log = Log::append(&args.output)
        .map_err(|error| Failure::usage(format!("cannot write {path}: {error}")))?;
    // For an upstream behind https. A second install is refused and leaves the first in place.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let stop = serving::prepare(args.stop)?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
    let listener = waitscope_serve::bind(address).map_err(Failure::cannot_measure)?;
    let address = listener.local_addr().map_err(Failure::cannot_measure)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::cannot_measure)?;
    serving::announce(address);
    tracing::info!("passing calls on to {upstream} and noting them in {path}");
    let options = Options { upstream, bodies: args.bodies };
    let recorded = runtime
        .block_on(record::serve(listener, options, log, stop.token.clone()))
        .map_err(Failure::cannot_measure)?;
    let (written, lost) = (recorded.logged.written, recorded.logged.lost);
    tracing::info!("{written} calls noted in {path}");
    if lost > 0 {
        console::warn(&format!("{lost} calls could not be noted in {path}"));
    }
    Ok(serving::farewell(recorded.drained))
}
