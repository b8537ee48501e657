//! Records as a measuring run would write them, from small models of the servers.

use waitscope_record::{
    Body, Cell, DemoInputs, DemoSummary, Finding, ModeRow, Part, Record, Series, Severity,
    StallInputs, StallSummary, Verdict,
};

const MAX_HEALTH_MS: f64 = 250.0;

/// One request: start, end, and status or error.
pub(crate) struct Request {
    pub(crate) start_ms: f64,
    pub(crate) end_ms: Option<f64>,
    pub(crate) answer: Result<u16, &'static str>,
    pub(crate) parts_ms: Vec<f64>,
}

/// One probe: intended start, end unless it was still out, and whether it was answered well.
pub(crate) struct Probe {
    pub(crate) intended_ms: f64,
    pub(crate) end_ms: Option<f64>,
    pub(crate) ok: bool,
}

impl Probe {
    fn failed(&self) -> bool {
        !self.ok && self.end_ms.is_some()
    }
}

/// The record of a run that saw these requests and probes.
pub(crate) fn stall(
    concurrency: u64,
    parts: &[&str],
    requests: &[Request],
    probes: &[Probe],
) -> Record {
    let ends = requests.iter().filter_map(|request| request.end_ms);
    let wall_s = ends.fold(0.0, f64::max) / 1000.0;
    let mut summary = StallSummary {
        requests: requests.len() as u64,
        concurrency,
        wall_s,
        unfinished: requests.iter().filter(|request| request.end_ms.is_none()).count() as u64,
        health_calm_median_ms: Some(1.2),
        server_cpu_seconds: Some(wall_s * 0.0122),
        server_cpu_percent: Some(1.22),
        client_cpu_seconds: 0.08,
        client_lag_p99_ms: 1.1,
        parts: shares(parts, requests),
        ..StallSummary::default()
    };
    for request in requests.iter().filter(|request| request.end_ms.is_some()) {
        match request.answer {
            Ok(status) => *summary.statuses.entry(status.to_string()).or_default() += 1,
            Err(_) => summary.errors += 1,
        }
    }
    let good = probes.iter().filter(|probe| probe.ok);
    let mut waits: Vec<f64> =
        good.filter_map(|probe| Some(probe.end_ms? - probe.intended_ms)).collect();
    waits.sort_by(f64::total_cmp);
    summary.health_count = waits.len() as u64;
    summary.health_failed = probes.iter().filter(|probe| probe.failed()).count() as u64;
    summary.health_median_ms = waits.get(waits.len() / 2).copied();
    summary.health_slowest_ms = waits.last().copied();
    let stalled = waits.last().is_some_and(|slowest| *slowest > MAX_HEALTH_MS);
    let body = Body::Stall {
        inputs: inputs(requests.len() as u64, concurrency),
        summary: Box::new(summary),
    };
    let mut record = Record::new(body, "0.1.0", "2026-01-02T03:04:05Z".into());
    record.series = vec![request_series(parts, requests), health_series(probes)];
    record.verdict =
        Some(if stalled { stalled_verdict(&waits, probes.len()) } else { responsive_verdict() });
    record
}

fn inputs(requests: u64, concurrency: u64) -> StallInputs {
    StallInputs {
        url: "http://127.0.0.1:8400/v1/tickets".into(),
        method: "POST".into(),
        requests,
        concurrency,
        health: "http://127.0.0.1:8400/health".into(),
        every_ms: 100.0,
        probe: "scheduled".into(),
        max_health_ms: MAX_HEALTH_MS,
        timeout_ms: 120_000.0,
    }
}

fn stalled_verdict(waits_ms: &[f64], probes: usize) -> Verdict {
    let slow = waits_ms.iter().filter(|wait| **wait > MAX_HEALTH_MS).count();
    let slowest_s = waits_ms.iter().copied().fold(0.0, f64::max) / 1000.0;
    Verdict {
        name: "stalled".into(),
        sentence: format!(
            "the server waits (1.2 % of a core) while /health takes up to {slowest_s:.1} s"
        ),
        evidence: vec![
            format!("{slow} of {probes} health answers were slower than 250 ms"),
            "the server used 1.2 % of one core, so it was waiting, not working".into(),
        ],
        next: vec![
            "look for a blocking call (a synchronous HTTP client, a database driver, sleep) inside \
             an async handler"
                .into(),
            "run the same again with -c 1: if a single request holds health as well, it is not a \
             matter of load"
                .into(),
        ],
    }
}

fn responsive_verdict() -> Verdict {
    Verdict {
        name: "responsive".into(),
        sentence: "health answers stayed fast while requests waited.".into(),
        evidence: vec![],
        next: vec![],
    }
}

fn shares(names: &[&str], requests: &[Request]) -> Vec<Part> {
    let total = |request: &Request| request.end_ms.unwrap_or(request.start_ms) - request.start_ms;
    let sum: f64 = requests.iter().map(total).sum();
    let part = |name: &str, time: &dyn Fn(&Request) -> f64| {
        let mut times: Vec<f64> = requests.iter().map(time).collect();
        times.sort_by(f64::total_cmp);
        Part {
            name: name.into(),
            median_ms: times[times.len() / 2],
            share_percent: 100.0 * times.iter().sum::<f64>() / sum,
        }
    };
    let mut parts: Vec<Part> = names
        .iter()
        .enumerate()
        .map(|(at, name)| part(name, &|request| request.parts_ms.get(at).copied().unwrap_or(0.0)))
        .collect();
    if !parts.is_empty() {
        parts.push(part("other", &|request| total(request) - request.parts_ms.iter().sum::<f64>()));
    }
    parts
}

fn request_series(parts: &[&str], requests: &[Request]) -> Series {
    let mut columns: Vec<String> =
        ["start_ms", "end_ms", "status", "error"].map(String::from).to_vec();
    columns.extend(parts.iter().map(|name| format!("part.{name}_ms")));
    let row = |request: &Request| {
        let status = request.answer.ok().filter(|_| request.end_ms.is_some());
        let mut row = vec![
            Cell::Number(request.start_ms),
            Cell::maybe(request.end_ms),
            Cell::maybe(status.map(f64::from)),
            request.answer.err().map_or(Cell::Missing(()), |error| Cell::Text(error.into())),
        ];
        row.extend((0..parts.len()).map(|at| Cell::maybe(request.parts_ms.get(at).copied())));
        row
    };
    Series {
        name: "requests".into(),
        unit: None,
        columns,
        rows: requests.iter().map(row).collect(),
    }
}

fn health_series(probes: &[Probe]) -> Series {
    let columns = ["intended_ms", "start_ms", "end_ms", "status", "error", "ok"].map(String::from);
    let row = |probe: &Probe| {
        let error = if probe.failed() { Cell::Text("timeout".into()) } else { Cell::Missing(()) };
        vec![
            Cell::Number(probe.intended_ms),
            Cell::Number(probe.intended_ms + 0.3),
            Cell::maybe(probe.end_ms),
            Cell::maybe(probe.ok.then_some(200.0)),
            error,
            Cell::Number(f64::from(u8::from(probe.ok))),
        ]
    };
    Series {
        name: "health".into(),
        unit: None,
        columns: columns.to_vec(),
        rows: probes.iter().map(row).collect(),
    }
}

/// The three calls of a ticket, which vary from ticket to ticket.
fn calls_ms(ticket: usize) -> [f64; 3] {
    let wave = [0.0, 0.12, -0.07, 0.2, -0.1, 0.05, 0.15, -0.04][ticket % 8];
    [910.0 * (1.0 + wave), 1100.0 * (1.0 - wave / 2.0), 200.0 * (1.0 + wave / 3.0)]
}

pub(crate) const PARTS: [&str; 4] = ["db", "classify", "draft_reply", "embed"];

/// Tickets 4 at a time, each in the time of its own calls.
fn concurrent(tickets: usize, parts: bool) -> Vec<Request> {
    let mut slots = [0.0_f64; 4];
    let ticket = |number: usize| {
        let calls = calls_ms(number);
        let slot = if number < 4 { number } else { earliest(&slots) };
        let start_ms = slots[slot];
        let end_ms = start_ms + 9.0 + calls.iter().sum::<f64>();
        slots[slot] = end_ms + 0.4;
        let parts_ms = if parts { vec![3.4, calls[0], calls[1], calls[2]] } else { vec![] };
        Request { start_ms, end_ms: Some(end_ms), answer: Ok(201), parts_ms }
    };
    (0..tickets).map(ticket).collect()
}

fn earliest(slots: &[f64; 4]) -> usize {
    (0..4).min_by(|a, b| slots[*a].total_cmp(&slots[*b])).unwrap_or(0)
}

/// Health probes of a server whose loop is always free.
pub(crate) fn fast_probes(until_ms: f64) -> Vec<Probe> {
    let times = (0..).map(|at| f64::from(at) * 100.0).take_while(|ms| *ms < until_ms);
    times
        .enumerate()
        .map(|(at, intended_ms)| {
            let wait_ms = 1.0 + [0.1, 0.0, 0.4, 0.2][at % 4];
            Probe { intended_ms, end_ms: Some(intended_ms + wait_ms), ok: true }
        })
        .collect()
}

/// Health probes of a server whose loop is free only at these times.
pub(crate) fn held_probes(until_ms: f64, free_ms: &[f64]) -> Vec<Probe> {
    let mut probes = fast_probes(until_ms);
    for probe in &mut probes {
        let free = free_ms.iter().find(|free| **free > probe.intended_ms);
        probe.end_ms = free.map(|free| free + 1.0);
        probe.ok = free.is_some();
    }
    probes
}

/// The `async` mode: 8 tickets in about 5 s.
pub(crate) fn concurrent_run(parts: bool) -> Record {
    let names: &[&str] = if parts { &PARTS } else { &[] };
    stall(4, names, &concurrent(8, parts), &fast_probes(4600.0))
}

/// The `blocking` mode: one ticket after another, 18.8 s, and health only in the gaps between
/// rounds.
pub(crate) fn blocking_run(parts: bool) -> Record {
    let names: &[&str] = if parts { &PARTS } else { &[] };
    let mut slots = [0.0_f64; 4];
    let mut free_ms = 0.0_f64;
    let mut requests = Vec::new();
    for number in 0..8 {
        let calls = calls_ms(number).map(|ms| ms * 1.052);
        let slot = number % 4;
        free_ms = free_ms.max(slots[slot]) + 5.0 + calls.iter().sum::<f64>();
        let parts_ms = if parts { vec![3.4, calls[0], calls[1], calls[2]] } else { vec![] };
        requests.push(Request {
            start_ms: slots[slot],
            end_ms: Some(free_ms),
            answer: Ok(201),
            parts_ms,
        });
        slots[slot] = free_ms + 0.4;
    }
    stall(4, names, &requests, &held_probes(free_ms, &[600.0, 10_400.0, free_ms]))
}

/// Answers of several kinds, connections that break, and a probe that got no answer in time.
pub(crate) fn failing_run() -> Record {
    let mut requests = concurrent(8, false);
    requests[1].answer = Ok(503);
    requests[1].end_ms = Some(420.0);
    requests[2].answer = Err("connection reset");
    requests[2].end_ms = Some(900.0);
    requests[5].answer = Ok(503);
    requests[6].answer = Err("connection reset");
    requests[7].answer = Err("closed without an answer");
    let mut probes = fast_probes(4600.0);
    for probe in &mut probes[12..15] {
        probe.ok = false;
    }
    probes[30].ok = false;
    probes[30].end_ms = Some(3000.0 + 120_000.0);
    let mut record = stall(4, &[], &requests, &probes);
    change(&mut record, |_, summary| {
        summary.health_slowest_ms = Some(120_000.0);
        summary.health_censored = 1;
    });
    record.verdict = Some(Verdict {
        name: "health-failed".into(),
        sentence: "4 health probes failed while requests were in flight.".into(),
        evidence: vec![],
        next: vec!["read the server's log around the failed probes".into()],
    });
    record.findings = vec![
        finding("request-failed", Severity::Warning, "2 requests ended with connection reset", 2),
        finding("few-probes", Severity::Note, "fewer than 50 probes: the quantiles are rough", 1),
    ];
    record
}

/// The user stopped a blocking run early.
pub(crate) fn interrupted_run() -> Record {
    let requests = (0..4).map(|number| Request {
        start_ms: f64::from(number) * 0.2,
        end_ms: (number == 0).then_some(2300.0),
        answer: Ok(201),
        parts_ms: vec![],
    });
    let requests: Vec<Request> = requests.collect();
    let mut record = stall(4, &[], &requests, &held_probes(3200.0, &[600.0]));
    record.interrupted = true;
    change(&mut record, |_, summary| {
        summary.wall_s = 3.2;
        summary.health_censored = 26;
        summary.health_slowest_ms = Some(2600.0);
        summary.health_median_ms = Some(1200.0);
    });
    record
}

/// A health endpoint on another server that answers with a web page.
pub(crate) fn html_health_run() -> Record {
    let mut record = concurrent_run(false);
    change(&mut record, |inputs, _| {
        inputs.health = "http://probe:secret@127.0.0.1:9000/status?full=1".into();
    });
    let message = "the health endpoint answers with a web page (text/html)";
    record.findings.push(finding("html-health", Severity::Note, message, 46));
    record
}

/// More requests than rows: `requests` of them, `at_once` at a time.
pub(crate) fn many_requests_run(requests: usize, at_once: usize) -> Record {
    let request = |number: usize| {
        let took_ms = 300.0 + [0.0, 240.0, 80.0, 400.0, 160.0][number % 5];
        let start_ms = (number / at_once) as f64 * 720.0;
        let answer = if number % 17 == 16 { Ok(503) } else { Ok(200) };
        Request { start_ms, end_ms: Some(start_ms + took_ms), answer, parts_ms: vec![] }
    };
    let requests: Vec<Request> = (0..requests).map(request).collect();
    stall(at_once as u64, &[], &requests, &fast_probes(3000.0))
}

/// The demo as it should come out.
pub(crate) fn demo() -> Record {
    let modes = vec![
        mode("async", 4.6, Some(1.1), Some(1.4), 4),
        mode("thread", 4.7, Some(1.3), Some(3.9), 4),
        mode("blocking", 18.8, Some(4400.0), Some(9800.0), 1),
    ];
    let mut record = demo_of(DemoSummary { modes, as_expected: true, surprises: vec![] });
    for (name, mut run) in [
        ("async", concurrent_run(true)),
        ("thread", concurrent_run(true)),
        ("blocking", blocking_run(true)),
    ] {
        run.name = Some(name.into());
        record.runs.push(run);
    }
    record
}

/// The same demo, stopped in its last mode before any ticket was finished.
pub(crate) fn interrupted_demo() -> Record {
    let mut record = demo();
    record.interrupted = true;
    let mut run = interrupted_run();
    change(&mut run, |_, summary| {
        summary.statuses.clear();
        summary.unfinished = 4;
    });
    run.series[0].rows[0][1..3].fill(Cell::Missing(()));
    run.name = Some("blocking".into());
    record.runs[2] = run;
    if let Body::Demo { summary, .. } = &mut record.body {
        summary.modes[2] = mode("blocking", 3.2, Some(1200.0), Some(2600.0), 1);
        summary.modes[2].tickets_per_s = 0.0;
    }
    record
}

/// A demo of which only the figures matter.
pub(crate) fn demo_of(summary: DemoSummary) -> Record {
    let inputs = DemoInputs { requests: 8, concurrency: 4, probe: "scheduled".into(), seed: 21 };
    Record::new(Body::Demo { inputs, summary }, "0.1.0", "2026-01-02T03:04:05Z".into())
}

pub(crate) fn mode(
    name: &str,
    wall_s: f64,
    median: Option<f64>,
    slowest: Option<f64>,
    calls: u64,
) -> ModeRow {
    ModeRow {
        mode: name.into(),
        wall_s,
        health_median_ms: median,
        health_slowest_ms: slowest,
        tickets_per_s: 8.0 / wall_s,
        provider_max_in_flight: calls,
        steady: None,
    }
}

/// Changes the figures of a `stall` record.
pub(crate) fn change(
    record: &mut Record,
    change: impl FnOnce(&mut StallInputs, &mut StallSummary),
) {
    if let Body::Stall { inputs, summary } = &mut record.body {
        change(inputs, summary);
    }
}

fn finding(name: &str, severity: Severity, message: &str, count: u64) -> Finding {
    Finding { name: name.into(), severity, message: message.into(), count }
}
