//! A real server that is not ours: the FastAPI example under `stall`, in its three modes.

use std::process::Command;

use waitscope_process::ServerChild;

use super::fixture::{START_TIMEOUT, TICKET, Waitscope, provider};
use super::records::keeps_to_the_schema;

/// The interpreter with the pinned packages; `cargo xtask test` sets it up.
fn python() -> Command {
    let python = std::env::var_os("WAITSCOPE_PYTHON")
        .expect("WAITSCOPE_PYTHON is not set: run the tests with `cargo xtask test`");
    Command::new(python)
}

fn example(mode: &str, provider: &ServerChild, directory: &std::path::Path) -> ServerChild {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/python/intake.py");
    let mut command = python();
    command
        .args([script, "--port", "0"])
        .env("INTAKE_MODE", mode)
        .env("PROVIDER_URL", provider.url())
        .current_dir(directory);
    // httpx obeys these, and no proxy leads to this machine.
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        command.env_remove(name);
    }
    ServerChild::start(command, START_TIMEOUT).unwrap()
}

#[test]
fn a_fastapi_service_shows_the_same_shape() {
    let provider = provider("fixed:300ms");
    let directory = tempfile::tempdir().unwrap();
    for (mode, code) in [("async", 0), ("thread", 0), ("blocking", 1)] {
        let server = example(mode, &provider, directory.path());
        let ran = Waitscope::new("stall")
            .args([&format!("{}/v1/tickets", server.url()), "--body", TICKET])
            .args(["-n", "4", "-c", "4", "--max-health", "600ms", "--json"])
            .run()
            .exits(code);
        let record = ran.record();
        keeps_to_the_schema(&record);
        let summary = &record["summary"];
        assert_eq!(summary["statuses"]["201"], 4, "{mode}: {summary}");
        let wall_s = summary["wall_s"].as_f64().unwrap();
        // Each ticket waits 3 x 0.3 s: all four at once, or one after the other.
        if mode == "blocking" {
            assert!(wall_s >= 3.6, "{summary}");
            assert!(summary["health_slowest_ms"].as_f64().unwrap() > 800.0, "{summary}");
        } else {
            assert!(wall_s < 3.0, "{mode}: {summary}");
        }
        assert!(summary["server_cpu_seconds"].is_number(), "{mode}: {summary}");
    }
}
