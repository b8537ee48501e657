//! `waitscope tickets`: the reference service.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::{NonZeroU16, NonZeroU32, NonZeroUsize};
use std::str::FromStr;
use std::time::Duration;

use waitscope_tickets::{Config, IntakeMode, InvalidSetting};

use crate::exit::{Exit, Failure};
use crate::serving;
use crate::stop::StopArgs;
use crate::units::{count, positive_duration_or_seconds};

/// A help desk's intake that waits for an AI provider in one of three ways
///
/// Every new ticket asks the provider three things in turn, then answers. --intake-mode changes
/// who waits: a task, a worker thread, or (the mistake, on purpose) the event loop. Listens on
/// 127.0.0.1; every setting is also read from the environment and from `.env`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Keys are read from the environment alone: PROVIDER_API_KEY for the provider, and \
        API_KEY,\nwhich clients must then send as X-API-Key.\n\n\
        Example, with `waitscope provider` running:\n  \
        waitscope tickets --intake-mode thread\n  \
        curl http://127.0.0.1:8400/v1/tickets -d '{\"customer_id\": \"C-0001\", \
        \"subject\": \"Charged twice\", \"body\": \"\", \"channel\": \"email\"}' \
        -H 'Content-Type: application/json'"
)]
pub(crate) struct Args {
    /// The port to listen on; 0 takes any free one
    #[arg(long, env = "PORT", hide_env_values = true, default_value_t = 8400)]
    port: u16,
    /// Who waits for the provider: async, thread or blocking
    #[arg(long, env, hide_env_values = true, value_name = "MODE")]
    #[arg(default_value_t = Config::default().intake_mode)]
    intake_mode: IntakeMode,
    /// Worker threads of an event loop, in the mode thread
    #[arg(long, env, hide_env_values = true, value_name = "N")]
    #[arg(default_value_t = Config::default().threads, value_parser = some::<NonZeroU16>)]
    threads: NonZeroU16,
    /// Event loops; one is what one uvicorn process has
    #[arg(long, env, hide_env_values = true, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = some::<u16>)]
    event_loops: u16,
    /// The database: sqlite:FILE, made when it is missing, or postgres://USER:PASSWORD@HOST:PORT/NAME
    #[arg(long, env, hide_env_values = true, value_name = "URL")]
    #[arg(default_value_t = Config::default().database_url.to_string())]
    database_url: String,
    /// Whether database connections are kept; false opens one for each use
    #[arg(long, env, hide_env_values = true, value_name = "true|false", default_value_t = true)]
    #[arg(action = clap::ArgAction::Set)]
    db_pool: bool,
    /// Database connections of an event loop
    #[arg(long, env, hide_env_values = true, value_name = "N")]
    #[arg(default_value_t = Config::default().db_pool_size, value_parser = some::<NonZeroU32>)]
    db_pool_size: NonZeroU32,
    /// How long a request waits for a database connection
    #[arg(long, env, hide_env_values = true, value_name = "DURATION", default_value = "5s")]
    #[arg(value_parser = positive_duration_or_seconds)]
    db_pool_timeout: Duration,
    /// The provider: any OpenAI-compatible API
    #[arg(long, env, hide_env_values = true, value_name = "URL")]
    #[arg(default_value_t = Config::default().provider_url.to_string())]
    provider_url: String,
    /// The longest a call to the provider may take
    #[arg(long, env, hide_env_values = true, value_name = "DURATION", default_value = "30s")]
    #[arg(value_parser = positive_duration_or_seconds)]
    provider_timeout: Duration,
    /// Calls to the provider in flight, over all event loops; no bound when left out
    #[arg(long, env, hide_env_values = true, value_name = "N")]
    provider_max_concurrency: Option<NonZeroUsize>,
    /// The model that classifies and drafts replies
    #[arg(long, env, hide_env_values = true, value_name = "NAME")]
    #[arg(default_value_t = Config::default().provider_chat_model)]
    provider_chat_model: String,
    /// The model that embeds
    #[arg(long, env, hide_env_values = true, value_name = "NAME")]
    #[arg(default_value_t = Config::default().provider_embed_model)]
    provider_embed_model: String,
    #[command(flatten)]
    stop: StopArgs,
}

/// Reads a number of threads, loops or connections: more than these are a mistake.
fn some<T: FromStr>(text: &str) -> Result<T, String> {
    const MOST: u64 = 1024;
    count(MOST)(text)?.to_string().parse().map_err(|_| format!("must be at most {MOST}"))
}

/// Serves until it is told to stop.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let config = Config {
        api_key: secret("API_KEY")?,
        provider_api_key: secret("PROVIDER_API_KEY")?,
        ..args.config()?
    };
    // For a provider behind https. A second install is refused and leaves the first in place.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let stop = serving::prepare(args.stop)?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
    let listeners = waitscope_serve::bind_shared(address, args.event_loops.into())
        .map_err(Failure::cannot_measure)?;
    let address = listeners
        .first()
        .map_or(Ok(address), std::net::TcpListener::local_addr)
        .map_err(Failure::cannot_measure)?;
    let drained =
        waitscope_tickets::run(listeners, &config, &stop.token, || serving::announce(address))
            .map_err(Failure::cannot_measure)?;
    Ok(serving::farewell(drained))
}

impl Args {
    /// URLs are read here and not by clap, which repeats a wrong value: it may hold a password.
    fn config(&self) -> Result<Config, Failure> {
        Ok(Config {
            intake_mode: self.intake_mode,
            database_url: self.database_url.parse().map_err(Failure::usage)?,
            db_pool: self.db_pool,
            db_pool_size: self.db_pool_size,
            db_pool_timeout: self.db_pool_timeout,
            threads: self.threads,
            provider_url: self.provider_url.parse().map_err(Failure::usage)?,
            provider_timeout: self.provider_timeout,
            provider_max_concurrency: self.provider_max_concurrency,
            provider_chat_model: self.provider_chat_model.clone(),
            provider_embed_model: self.provider_embed_model.clone(),
            ..Config::default()
        })
    }
}

/// A key on the command line could be read by every user of the machine.
fn secret<T: FromStr<Err = InvalidSetting>>(name: &str) -> Result<Option<T>, Failure> {
    match std::env::var(name) {
        Ok(key) if !key.is_empty() => key.parse().map(Some).map_err(Failure::usage),
        Err(std::env::VarError::NotUnicode(_)) => {
            Err(Failure::usage(format!("{name} is not text")))
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn config(line: &str) -> Result<Config, String> {
        let words = std::iter::once("tickets").chain(line.split_whitespace());
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        line.args.config().map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn flags_become_a_config() {
        assert_eq!(format!("{:?}", config("").unwrap()), format!("{:?}", Config::default()));
        let all = "--intake-mode thread --threads 3 --database-url sqlite:x.db --db-pool false --db-pool-size 1 \
            --db-pool-timeout 300ms --provider-url http://127.0.0.1:1 --provider-timeout 2s \
            --provider-max-concurrency 4 --provider-chat-model c --provider-embed-model e";
        let expected = Config {
            intake_mode: IntakeMode::Thread,
            threads: 3.try_into().unwrap(),
            database_url: "sqlite:x.db".parse().unwrap(),
            db_pool: false,
            db_pool_size: 1.try_into().unwrap(),
            db_pool_timeout: Duration::from_millis(300),
            provider_url: "http://127.0.0.1:1/v1".parse().unwrap(),
            provider_timeout: Duration::from_secs(2),
            provider_max_concurrency: Some(4.try_into().unwrap()),
            provider_chat_model: "c".into(),
            provider_embed_model: "e".into(),
            ..Config::default()
        };
        assert_eq!(format!("{:?}", config(all).unwrap()), format!("{expected:?}"));
    }

    #[test]
    fn wrong_values_are_answered_with_right_ones() {
        for (line, hint) in [
            ("--intake-mode=fast", "async, thread, blocking"),
            ("--database-url=mysql://me:s3cret@host/db", "sqlite:FILE"),
            ("--database-url=postgres://me:s3cret@host:x/db", "postgres://USER:PASSWORD@HOST"),
            ("--db-pool=maybe", "true, false"),
            ("--provider-url=http://me:s3cret@host", "PROVIDER_API_KEY"),
            ("--db-pool-size=0", "from 1 to 1024"),
            ("--db-pool-timeout=0", "more than zero"),
            ("--db-pool-timeout=5sec", "us, ms, s, m, h"),
            ("--provider-timeout=-1", "negative"),
            ("--provider-max-concurrency=0", "zero"),
            ("--threads=0", "from 1 to 1024"),
            ("--event-loops=0", "from 1 to 1024"),
            ("--port=65536", "65535"),
        ] {
            let error = config(line).unwrap_err();
            assert!(error.contains(hint), "{line}: {error}");
            assert!(!error.contains("s3cret"), "{line}: {error}");
        }
    }
}
