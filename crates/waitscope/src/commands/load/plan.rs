//! From the flags to what the engine runs, checked before the first request.

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use waitscope_load::engine::{self, Address, Config, Endpoint, Schedule, Stop, Turns};
use waitscope_load::pacer::{Arrivals as Starts, Pace, Profile};
use waitscope_load::template::{Parts, Template};
use waitscope_load::{RequestSpec, Target};
use waitscope_record::{LoadInputs, LoadStage};

use super::{Args, Arrivals, ConnectionArgs, OpenArgs, Warmup, arrivals, health};
use crate::commands::request::{Pasted, read};
use crate::exit::Failure;

/// What -n is without an end.
const REQUESTS: u64 = 200;
/// What -c is.
const CONCURRENCY: u64 = 10;
/// What -z is for a rate without an end.
const DURATION: Duration = Duration::from_secs(10);
/// The most requests that are prepared: URLs times bodies.
const MOST_TEMPLATES: usize = 100_000;
/// URLs that a record names.
const NAMED_URLS: usize = 10;
/// Files that are open besides connections.
const OTHER_FILES: u64 = 32;

/// What is run, and what the record says of it.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) config: Config,
    pub(super) inputs: LoadInputs,
    pub(super) health: Option<health::Plan>,
}

/// What runs when, and for how long.
struct Times {
    schedule: Schedule,
    stop: Stop,
    warmup: engine::Warmup,
    inputs: LoadInputs,
}

/// Reads the files and looks the hosts up.
pub(super) fn of(args: &Args) -> Result<Plan, Failure> {
    args.health.check(&args.fail_if)?;
    let pasted = args.request.pasted(args.output.quiet)?;
    let targets = targets(args, &pasted)?;
    let mut spec = args.request.spec(targets[0].clone(), &pasted)?;
    if (args.connection.auth.is_some() || args.connection.bearer.is_some())
        && !args.request.sets(&AUTHORIZATION)
    {
        spec.headers.remove(AUTHORIZATION);
    }
    authorize(&mut spec.headers, &args.connection)?;
    let unix_socket = args.connection.unix_socket.as_ref().or(pasted.unix_socket.as_ref());
    let mut times = times(args)?;
    times.inputs.unix_socket = unix_socket.map(|path| path.display().to_string());
    check_resources(&times.inputs, args.connection.no_keepalive, &targets[0])?;
    let keep_alive = !args.connection.no_keepalive;
    let (endpoints, templates) = requests(&targets, &spec, keep_alive, unix_socket)?;
    let find = |target: &Target| lookup(target, unix_socket);
    let health = args.health.plan(&targets[0], args.connection.timeout, find)?;
    let threads = threads(args.connection.threads);
    let turns = if spec.bodies.len() > 1 { Turns::Shuffled } else { Turns::InOrder };
    let config = Config {
        endpoints,
        templates,
        turns,
        schedule: times.schedule,
        stop: times.stop,
        timeout: args.connection.timeout,
        keep_alive,
        max_in_flight: args.open.max_in_flight,
        warmup: times.warmup,
        threads,
        seed: args.connection.seed,
        details: true,
    };
    let inputs = LoadInputs {
        urls: targets.iter().take(NAMED_URLS).map(Target::display).collect(),
        url_count: targets.len() as u64,
        method: spec.method.to_string(),
        body_count: spec.bodies.len() as u64,
        timeout_ms: args.connection.timeout.as_secs_f64() * 1e3,
        keep_alive,
        threads: threads.into(),
        seed: args.connection.seed,
        fail_if: args.fail_if.iter().map(|limit| limit.text.clone()).collect(),
        ..times.inputs
    };
    Ok(Plan { config, inputs, health })
}

fn targets(args: &Args, pasted: &Pasted) -> Result<Vec<Target>, Failure> {
    let mut urls = args.urls.clone();
    if let Some(file) = &args.urls_file {
        let text = String::from_utf8(read(file)?)
            .map_err(|_| Failure::usage(format!("{file} is no text in UTF-8")))?;
        let lines = text.lines().map(str::trim);
        urls.extend(lines.filter(|l| !l.is_empty() && !l.starts_with('#')).map(str::to_owned));
    }
    let urls = pasted.or_own_url(urls)?;
    if urls.is_empty() {
        return Err(Failure::usage(
            "load needs the URL of a running server, such as http://127.0.0.1:8000/; with no \
             server at hand, start `waitscope provider`",
        ));
    }
    urls.iter().map(|url| Target::parse(url).map_err(Failure::usage)).collect()
}

/// Adds the credentials of a flag, or else of the environment; a header of the user's wins.
fn authorize(headers: &mut HeaderMap, args: &ConnectionArgs) -> Result<(), Failure> {
    let from_environment = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let is_given = args.auth.is_some() || args.bearer.is_some();
    let or_environment = |given: &Option<String>, name| {
        given.clone().or_else(|| from_environment(name).filter(|_| !is_given))
    };
    let basic = or_environment(&args.auth, "WAITSCOPE_AUTH");
    let bearer = or_environment(&args.bearer, "WAITSCOPE_BEARER");
    let value = match (basic, bearer) {
        _ if headers.contains_key(AUTHORIZATION) => return Ok(()),
        (Some(_), Some(_)) => {
            return Err(Failure::usage(
                "both WAITSCOPE_AUTH and WAITSCOPE_BEARER are set: unset one of them",
            ));
        }
        (Some(basic), None) if !basic.contains(':') => {
            return Err(Failure::usage("--auth: write USER:PASSWORD"));
        }
        (Some(basic), None) => format!("Basic {}", STANDARD.encode(basic)),
        (None, Some(bearer)) => format!("Bearer {bearer}"),
        (None, None) => return Ok(()),
    };
    let mut value = HeaderValue::from_str(&value)
        .map_err(|_| Failure::usage("--bearer has characters that no header may have"))?;
    value.set_sensitive(true);
    headers.insert(AUTHORIZATION, value);
    Ok(())
}

fn times(args: &Args) -> Result<Times, Failure> {
    let open = &args.open;
    if open.rate.is_some() || open.stages.is_some() || open.arrivals_file.is_some() {
        open_times(args)
    } else {
        Ok(closed_times(args))
    }
}

fn closed_times(args: &Args) -> Times {
    let duration = args.amount.duration;
    let requests = args.amount.requests.or_else(|| duration.is_none().then_some(REQUESTS));
    let most = requests.unwrap_or(u64::MAX);
    let users = args.closed.concurrency.unwrap_or(CONCURRENCY).min(most);
    let is_burst = requests == Some(users) && duration.is_none() && args.closed.pace.is_none();
    let warmup = match args.amount.warmup {
        Warmup::Until(end) => engine::Warmup::Until(end),
        Warmup::Auto if requests.is_none_or(|requests| requests >= users.saturating_mul(10)) => {
            engine::Warmup::FirstOfEachUser
        }
        Warmup::Off | Warmup::Auto => engine::Warmup::Off,
    };
    let inputs = LoadInputs {
        schedule: if is_burst { "burst" } else { "closed" }.into(),
        concurrency: Some(users),
        pace_ms: args.closed.pace.map(|pace| pace.as_secs_f64() * 1e3),
        ..amounts(args, requests, duration, warmup)
    };
    // Users are at most MOST_USERS.
    let users = u32::try_from(users).unwrap_or(u32::MAX);
    let pace = args.closed.pace.map_or(Pace::AtOnce, Pace::Every);
    Times {
        schedule: Schedule::Closed { users, pace },
        stop: Stop { requests, after: duration, drain: args.amount.drain },
        warmup,
        inputs,
    }
}

fn open_times(args: &Args) -> Result<Times, Failure> {
    let open = &args.open;
    let seed = args.connection.seed;
    let (starts, lasts) = starts(open, seed)?;
    let requests = args.amount.requests;
    let has_end = requests.is_some() || open.arrivals_file.is_some();
    let asked = args.amount.duration.or(lasts.is_none().then_some(DURATION).filter(|_| !has_end));
    let after = [asked, lasts].into_iter().flatten().min();
    let warmup = match args.amount.warmup {
        Warmup::Until(end) => engine::Warmup::Until(end),
        Warmup::Off | Warmup::Auto => engine::Warmup::Off,
    };
    let arrivals = match starts {
        Starts::Constant(_) => "constant",
        Starts::Poisson { .. } => "poisson",
        Starts::Trace(_) => "file",
    };
    let stage = |stage: &waitscope_load::pacer::Stage| LoadStage {
        rate_per_s: stage.rate_per_s,
        duration_s: stage.lasts.as_secs_f64(),
    };
    let inputs = LoadInputs {
        schedule: "open".into(),
        arrivals: Some(arrivals.into()),
        rate_per_s: open.rate,
        stages: open.stages.iter().flat_map(|stages| &stages.stages).map(stage).collect(),
        replay_speed: open.arrivals_file.as_ref().map(|_| open.replay_speed),
        max_in_flight: open.max_in_flight,
        ..amounts(args, requests, after, warmup)
    };
    Ok(Times {
        schedule: Schedule::Open(starts),
        stop: Stop { requests, after, drain: args.amount.drain },
        warmup,
        inputs,
    })
}

/// The intended starts, and how long they go on where they have an end of their own.
fn starts(open: &OpenArgs, seed: u64) -> Result<(Starts, Option<Duration>), Failure> {
    if let Some(file) = &open.arrivals_file {
        let text = String::from_utf8(read(file)?)
            .map_err(|_| Failure::usage(format!("{file} is no text in UTF-8")))?;
        let times = arrivals::trace(&text, open.replay_speed)
            .map_err(|error| Failure::usage(format!("{file}: {error}")))?;
        return Ok((Starts::Trace(Arc::from(times)), None));
    }
    let profile = match (&open.stages, open.rate) {
        (Some(stages), _) => stages.profile.clone(),
        (None, rate) => Profile::constant(rate.unwrap_or_default()).map_err(Failure::usage)?,
    };
    let lasts = profile.lasts();
    let starts = match open.arrivals {
        Some(Arrivals::Poisson) => Starts::Poisson { profile, seed },
        Some(Arrivals::Constant) | None => Starts::Constant(profile),
    };
    Ok((starts, lasts))
}

fn amounts(
    args: &Args,
    requests: Option<u64>,
    duration: Option<Duration>,
    warmup: engine::Warmup,
) -> LoadInputs {
    LoadInputs {
        requests,
        duration_s: duration.map(|duration| duration.as_secs_f64()),
        drain_s: args.amount.drain.as_secs_f64(),
        warmup: match warmup {
            engine::Warmup::Off => "off".into(),
            engine::Warmup::FirstOfEachUser => "first-of-each-user".into(),
            engine::Warmup::Until(end) => format!("{}s", end.as_secs_f64()),
        },
        ..LoadInputs::default()
    }
}

/// Whether this process may have as many connections as it is going to open.
fn check_resources(inputs: &LoadInputs, fresh: bool, target: &Target) -> Result<(), Failure> {
    let Some(connections) = inputs.concurrency.or(inputs.max_in_flight) else { return Ok(()) };
    if let Some(limit) = waitscope_process::open_files_limit()
        && connections + OTHER_FILES > limit
    {
        return Err(Failure::cannot_measure(format!(
            "{connections} connections at once need {} open files, and this process may have \
             {limit}: ask for at most {}, or raise the hard limit (ulimit -Hn)",
            connections + OTHER_FILES,
            limit.saturating_sub(OTHER_FILES)
        )));
    }
    // Connections to a loopback address come from as many addresses as they need.
    let has_sources = inputs.unix_socket.is_some() || target.host().starts_with("127.");
    let has_sources = has_sources || target.host() == "localhost";
    if let Some(ports) = waitscope_process::local_ports().filter(|_| !has_sources)
        && connections > ports
    {
        let rest = if fresh { "; without keep-alive even fewer" } else { "" };
        return Err(Failure::cannot_measure(format!(
            "{connections} connections at once to one address need as many ports, and this machine \
             has {ports}: ask for at most that{rest}, or widen net.ipv4.ip_local_port_range"
        )));
    }
    Ok(())
}

/// The servers, and one request for each URL and body.
fn requests(
    targets: &[Target],
    spec: &RequestSpec,
    keep_alive: bool,
    unix_socket: Option<&PathBuf>,
) -> Result<(Vec<Endpoint>, Vec<Template>), Failure> {
    let no_body = [bytes::Bytes::new()];
    let bodies = if spec.bodies.is_empty() { &no_body[..] } else { &spec.bodies };
    if targets.len().saturating_mul(bodies.len()) > MOST_TEMPLATES {
        return Err(Failure::usage(format!(
            "{} URLs with {} bodies each are more than {MOST_TEMPLATES} different requests: give \
             fewer",
            targets.len(),
            bodies.len()
        )));
    }
    let mut known: Vec<(bool, String, u16)> = Vec::new();
    let (mut endpoints, mut templates) = (Vec::new(), Vec::new());
    for target in targets {
        let server = (target.is_tls(), target.host(), target.port());
        let endpoint = known.iter().position(|other| *other == server);
        let endpoint = if let Some(endpoint) = endpoint {
            endpoint
        } else {
            endpoints.push(lookup(target, unix_socket)?);
            known.push(server);
            endpoints.len() - 1
        };
        for body in bodies {
            let (method, headers) = (&spec.method, &spec.headers);
            let parts = Parts { target, endpoint, method, headers, body, keep_alive };
            templates.push(Template::new(&parts).map_err(Failure::usage)?);
        }
    }
    Ok((endpoints, templates))
}

fn lookup(target: &Target, unix_socket: Option<&PathBuf>) -> Result<Endpoint, Failure> {
    let failed = |error: waitscope_load::RequestError| {
        Failure::cannot_measure(format!("{}: {error}; {}", target.display(), error.class.hint()))
    };
    let Some(path) = unix_socket else { return Endpoint::of(target).map_err(failed) };
    let tls = target.is_tls().then(|| engine::Tls::new(&target.host())).transpose();
    Ok(Endpoint { addresses: vec![Address::Unix(path.clone())], tls: tls.map_err(failed)? })
}

/// Half of the processors, so that a server on the same machine has the others; one for each of
/// them at most.
fn threads(asked: Option<u64>) -> u32 {
    let cpus = std::thread::available_parallelism().map_or(1, NonZero::get);
    let cpus = u32::try_from(cpus).unwrap_or(u32::MAX);
    let asked = asked.map(|asked| u32::try_from(asked).unwrap_or(u32::MAX));
    asked.unwrap_or(cpus / 2).clamp(1, cpus)
}
