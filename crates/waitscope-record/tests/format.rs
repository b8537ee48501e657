//! The format: the committed schema is current, records keep to it, readers are tolerant.

use waitscope_record::{
    Body, Cell, DemoInputs, DemoSummary, ErrorKind, Finding, LatencyFigures, LoadInputs, LoadPart,
    LoadStage, LoadSummary, Machine, ModeRow, Part, ReadError, Record, Series, Severity,
    StallInputs, StallSummary, Verdict, from_json, json_schema,
};

const COMMITTED: &str = include_str!("../schema/waitscope-1.json");

fn stall() -> Record {
    let inputs = StallInputs {
        url: "http://127.0.0.1:8400/v1/tickets".into(),
        method: "POST".into(),
        requests: 8,
        concurrency: 4,
        health: "http://127.0.0.1:8400/health".into(),
        every_ms: 100.0,
        probe: "scheduled".into(),
        max_health_ms: 250.0,
        timeout_ms: 120_000.0,
    };
    let summary = StallSummary {
        requests: 8,
        concurrency: 4,
        wall_s: 18.8,
        statuses: [("201".into(), 8)].into(),
        health_median_ms: Some(4400.0),
        parts: vec![Part { name: "db".into(), median_ms: 1.5, share_percent: 0.1 }],
        ..StallSummary::default()
    };
    let mut record = Record::new(
        Body::Stall { inputs, summary: Box::new(summary) },
        "0.1.0",
        "2026-01-02T03:04:05Z".into(),
    );
    record.machine = Some(Machine {
        os: "Linux 6.1".into(),
        arch: "x86_64".into(),
        cpu_model: None,
        cpus: 2,
        memory_bytes: Some(1 << 34),
        open_files_limit: Some(20_000),
    });
    record.series.push(Series {
        name: "requests".into(),
        unit: None,
        columns: vec!["start_ms".into(), "status".into(), "error".into()],
        rows: vec![
            vec![Cell::Number(0.5), Cell::Number(201.0), Cell::Missing(())],
            vec![Cell::Number(0.7), Cell::Missing(()), Cell::Text("reset".into())],
        ],
    });
    record.findings.push(Finding {
        name: "html-health".into(),
        severity: Severity::Note,
        message: "the health answer is HTML".into(),
        count: 1,
    });
    record.verdict = Some(Verdict {
        name: "stalled".into(),
        sentence: "It stalls.".into(),
        evidence: vec!["188 probes".into()],
        next: vec![],
    });
    record
}

fn load() -> Record {
    let inputs = LoadInputs {
        urls: vec!["http://127.0.0.1:8000/chat".into()],
        schedule: "open".into(),
        arrivals: Some("poisson".into()),
        stages: vec![LoadStage { rate_per_s: 10.0, duration_s: 30.0 }],
        ..LoadInputs::default()
    };
    let figures =
        LatencyFigures { count: 2, lower_bounds: vec!["max".into()], ..Default::default() };
    let summary = LoadSummary {
        statuses: [("200".into(), 1)].into(),
        error_kinds: vec![ErrorKind { class: "timeout".into(), count: 1, example: "2 s".into() }],
        response: Some(figures),
        parts: vec![LoadPart {
            name: "db".into(),
            count: 1,
            p50_ms: 1.0,
            p99_ms: 1.0,
            share_percent: 50.0,
        }],
        ..LoadSummary::default()
    };
    let body = Body::Load { inputs: Box::new(inputs), summary: Box::new(summary) };
    Record::new(body, "0.1.0", "2026-01-02T03:04:05Z".into())
}

fn demo() -> Record {
    let inputs = DemoInputs { requests: 8, concurrency: 4, probe: "scheduled".into(), seed: 21 };
    let row = ModeRow {
        mode: "async".into(),
        wall_s: 5.0,
        health_median_ms: Some(1.0),
        health_slowest_ms: None,
        tickets_per_s: 1.6,
        provider_max_in_flight: 4,
        steady: None,
    };
    let summary = DemoSummary { modes: vec![row], as_expected: true, surprises: vec![] };
    let mut record =
        Record::new(Body::Demo { inputs, summary }, "0.1.0", "2026-01-02T03:04:05Z".into());
    let mut run = stall();
    run.machine = None;
    run.name = Some("async".into());
    record.runs.push(run);
    record
}

#[test]
fn the_committed_schema_is_current() {
    assert_eq!(
        json_schema().unwrap(),
        COMMITTED,
        "run: cargo run -p waitscope-record --example schema > \
         crates/waitscope-record/schema/waitscope-1.json"
    );
}

#[test]
fn records_keep_to_the_schema_and_come_back_the_same() {
    let schema = serde_json::from_str(COMMITTED).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for record in [stall(), load(), demo()] {
        let json = record.to_json().unwrap();
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        let errors: Vec<String> = validator.iter_errors(&value).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}");
        assert_eq!(from_json(&json).unwrap(), record);
        assert_eq!(value["kind"], record.body.kind());
    }
}

#[test]
fn the_schema_refuses_what_is_no_record() {
    let schema = serde_json::from_str(COMMITTED).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut broken: serde_json::Value = serde_json::from_str(&stall().to_json().unwrap()).unwrap();
    assert!(validator.is_valid(&broken));
    broken["summary"]["wall_s"] = "long".into();
    assert!(!validator.is_valid(&broken));
}

#[test]
fn readers_ignore_what_they_do_not_know() {
    let mut value: serde_json::Value = serde_json::from_str(&stall().to_json().unwrap()).unwrap();
    value["of_a_later_version"] = 1.into();
    value["summary"]["of_a_later_version"] = 1.into();
    assert_eq!(from_json(&value.to_string()).unwrap(), stall());
}

#[test]
fn other_schemas_are_refused_with_a_clear_line() {
    let with_schema = |schema: &str| {
        let mut value: serde_json::Value =
            serde_json::from_str(&stall().to_json().unwrap()).unwrap();
        value["schema"] = schema.into();
        from_json(&value.to_string()).unwrap_err()
    };
    assert!(matches!(with_schema("waitscope/2"), ReadError::Newer { .. }));
    assert!(with_schema("waitscope/2").to_string().contains("use a newer waitscope"));
    assert!(matches!(with_schema("other/9"), ReadError::Foreign { .. }));
    assert!(matches!(from_json("{"), Err(ReadError::Malformed(_))));
    assert!(matches!(from_json("{}"), Err(ReadError::Malformed(_))));
}
