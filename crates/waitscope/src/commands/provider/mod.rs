//! `waitscope provider`: the simulated AI provider, and what records a real one for it.

mod fit;
mod options;
mod record;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use waitscope_provider::{Latency, Provider};
use waitscope_serve::Patience;

use self::options::Options;

use crate::exit::{Exit, Failure};
use crate::serving;
use crate::stop::StopArgs;

/// Where it listens unless it is told otherwise.
const DEFAULT_PORT: u16 = 8300;

/// A simulated AI provider that waits like the real one
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    subcommand_help_heading = "Recordings of a real provider",
    long_about = "A simulated AI provider that waits like the real one\n\n\
        Speaks the OpenAI API (chat completions, responses, embeddings, models) and the Anthropic \
        API (messages) on 127.0.0.1, whole and streamed, with recorded latencies, a quota and \
        faults on demand, the same way every time. Any API key is taken.",
    after_help = "Example:\n  \
        waitscope provider --latency lognormal:500ms,0.4 --quota off --fault status=529@1%\n  \
        curl 'http://127.0.0.1:8300/v1/stream?ttft=0.4&tokens=40&tok_ms=40'"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    tool: Option<Tool>,
    /// Read options from a file (TOML; the same names as the flags, which win over it)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    stop: StopArgs,
}

/// What is done instead of serving.
#[derive(Debug, clap::Subcommand)]
enum Tool {
    Record(record::Args),
    Fit(fit::Args),
}

/// Serves until it is told to stop, or runs the tool that was named.
pub(crate) fn run(args: Args) -> Result<Exit, Failure> {
    match args.tool {
        None => serve(args),
        Some(Tool::Record(args)) => record::run(&args),
        Some(Tool::Fit(args)) => fit::run(&args),
    }
}

fn serve(args: Args) -> Result<Exit, Failure> {
    let options = match &args.config {
        Some(path) => args.options.or(Options::read(path)?),
        None => args.options,
    };
    let stop = serving::prepare(args.stop)?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, options.port.unwrap_or(DEFAULT_PORT)));
    let listener = waitscope_serve::bind(address).map_err(Failure::cannot_measure)?;
    let address = listener.local_addr().map_err(Failure::cannot_measure)?;
    let config = options.config();
    if let Latency::File(recording) = &config.latency {
        tracing::info!("replaying {}", recording.summary());
    }
    let log = config.log.clone();
    let provider = Provider::new(config).map_err(|error| {
        let path = log.unwrap_or_default();
        Failure::usage(format!("cannot write --log {}: {error}", path.display()))
    })?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::cannot_measure)?;
    serving::announce(address);
    let served = provider.serve(listener, stop.token.clone(), Patience::default());
    let (drained, summary) = runtime.block_on(served).map_err(Failure::cannot_measure)?;
    serving::last_word(&summary.to_string());
    Ok(serving::farewell(drained))
}
