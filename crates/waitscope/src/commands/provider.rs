//! `waitscope provider`: the simulated AI provider.

use std::net::{Ipv4Addr, SocketAddr};

use waitscope_provider::{Config, Latency, Mode, parse_speed};

use crate::exit::{Exit, Failure};
use crate::serving;
use crate::stop::StopArgs;

/// A simulated AI provider that waits like the real one
#[derive(Debug, clap::Args)]
#[command(
    long_about = "A simulated AI provider that waits like the real one\n\n\
        Speaks the OpenAI API (chat completions whole and streamed, embeddings, models) on \
        127.0.0.1, with recorded latencies and a quota, the same way every time. Any API key is \
        taken.",
    after_help = "Example:\n  \
        waitscope provider --latency lognormal:500ms,0.4 --quota off\n  \
        curl 'http://127.0.0.1:8300/v1/stream?ttft=0.4&tokens=40&tok_ms=40'"
)]
pub(crate) struct Args {
    /// The port to listen on; 0 takes any free one
    #[arg(long, default_value_t = 8300)]
    port: u16,
    /// normal; slow (8 times as long); outage (503 after 30 ms); quota (a tenth of it)
    #[arg(long, default_value_t = Config::default().mode, value_name = "MODE")]
    mode: Mode,
    /// Whether calls are charged to a quota per model, with 429 when it is used up
    #[arg(long, default_value = "on", value_name = "on|off")]
    quota: Switch,
    /// Divides every wait, 0 takes them away; the quota is never sped up
    #[arg(long, default_value_t = Config::default().speed, value_parser = parse_speed,
          allow_negative_numbers = true)]
    speed: f64,
    /// Decides all latencies, together with each request's content
    #[arg(long, default_value_t = Config::default().seed)]
    seed: u64,
    /// recorded, fixed:DURATION or lognormal:MEDIAN,SIGMA
    #[arg(long, default_value_t = Config::default().latency)]
    latency: Latency,
    #[command(flatten)]
    stop: StopArgs,
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Switch {
    On,
    Off,
}

impl Args {
    fn config(&self) -> Config {
        Config {
            mode: self.mode,
            quota: self.quota == Switch::On,
            speed: self.speed,
            seed: self.seed,
            latency: self.latency,
        }
    }
}

/// Serves until it is told to stop.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let stop = serving::prepare(args.stop)?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
    let listener = waitscope_serve::bind(address).map_err(Failure::cannot_measure)?;
    let address = listener.local_addr().map_err(Failure::cannot_measure)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::cannot_measure)?;
    serving::announce(address);
    let served = waitscope_provider::serve(listener, args.config(), stop.token.clone());
    Ok(serving::farewell(runtime.block_on(served).map_err(Failure::cannot_measure)?))
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
        let words = std::iter::once("provider").chain(line.split_whitespace());
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        Ok(line.args.config())
    }

    #[test]
    fn flags_become_a_config() {
        assert_eq!(config(""), Ok(Config::default()));
        let all = "--mode slow --quota off --speed 0 --seed 7 --latency fixed:500ms";
        let expected = Config {
            mode: Mode::Slow,
            quota: false,
            speed: 0.0,
            seed: 7,
            latency: "fixed:500ms".parse().unwrap(),
        };
        assert_eq!(config(all), Ok(expected));
    }

    #[test]
    fn unknown_values_are_answered_with_the_known_ones() {
        for (line, hint) in [
            ("--mode fast", "normal, slow, outage or quota"),
            ("--latency random", "lognormal:MEDIAN,SIGMA"),
            ("--latency fixed:5", "us, ms, s, m or h"),
            ("--speed -1", "0.001"),
            ("--speed NaN", "0.001"),
            ("--quota maybe", "on, off"),
            ("--port 65536", "65535"),
            ("--seed x", "invalid digit"),
        ] {
            let error = config(&line.replacen(' ', "=", 1)).unwrap_err();
            assert!(error.contains(hint), "{line}: {error}");
        }
    }
}
