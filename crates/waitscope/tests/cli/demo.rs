//! `waitscope demo`: the main job, with the shapes that it must show.

use super::fixture::Waitscope;
use super::records::keeps_to_the_schema;

fn number(value: &serde_json::Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn the_three_modes_have_their_shapes() {
    let ran = Waitscope::new("demo").args(["--json"]).run().exits(0);
    let record = ran.record();
    keeps_to_the_schema(&record);
    assert_eq!(record["kind"], "demo");
    let runs = record["runs"].as_array().unwrap();
    let names: Vec<&str> = runs.iter().map(|run| run["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["async", "thread", "blocking"]);
    for (run, row) in runs.iter().zip(record["summary"]["modes"].as_array().unwrap()) {
        let summary = &run["summary"];
        assert_eq!(summary["statuses"]["201"], 8, "{summary}");
        if run["name"] == "blocking" {
            assert!(number(&summary["wall_s"]) >= 15.0, "{summary}");
            assert!(number(&summary["health_slowest_ms"]) > 4000.0, "{summary}");
            assert_eq!(run["verdict"]["name"], "stalled");
            assert_eq!(row["provider_max_in_flight"], 1);
        } else {
            assert!(number(&summary["wall_s"]) <= 7.0, "{summary}");
            assert!(number(&summary["health_median_ms"]) < 20.0, "{summary}");
            assert_eq!(row["provider_max_in_flight"], 4);
        }
    }
}

#[test]
fn sequential_probes_hide_the_stall_in_few_answers() {
    let ran = Waitscope::new("demo").args(["--probe", "sequential"]).run().exits(0);
    for mode in ["async", "thread", "blocking"] {
        assert!(ran.stdout.contains(mode), "{ran:#?}");
    }
    let counts: Vec<u32> = ran
        .stdout
        .lines()
        .filter(|line| line.starts_with("GET /health during that time: "))
        .map(|line| line.split(' ').nth(5).unwrap().parse().unwrap())
        .collect();
    let [asynchronous, thread, blocking] = counts[..] else { panic!("{counts:?}") };
    assert!((30..=70).contains(&asynchronous) && (30..=70).contains(&thread), "{counts:?}");
    assert!((2..=8).contains(&blocking), "{counts:?}");
}
