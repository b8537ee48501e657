//! `waitscope provider fit`: how well each latency model fits a recording.

use std::fmt::Write as _;

use waitscope_provider::model::recording_fit::{
    GapsFit, GroupFit, Quantiles, RecordingFit, TimesFit, fit,
};
use waitscope_provider::open_recording;

use crate::console;
use crate::exit::{Exit, Failure};

/// Show how well each latency model fits a recording
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Show how well each latency model fits a recording\n\n\
        Fits every --latency model to a file of `waitscope provider record`, or to any JSON lines \
        with latency_ms, and says which one to use. The distance is the largest difference between \
        the share of calls below a time and the model's (Kolmogorov-Smirnov): 0 fits, 1 does not \
        at all.",
    after_help = "Example:\n  waitscope provider fit recording.jsonl"
)]
pub(crate) struct Args {
    /// The recording
    file: String,
    /// Print one JSON object on stdout and nothing else
    #[arg(long)]
    json: bool,
}

/// Prints the fits.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let recording = open_recording(&args.file).map_err(Failure::usage)?;
    let fit = fit(&recording);
    let printed = if args.json {
        serde_json::to_string_pretty(&fit).map_err(Failure::cannot_measure)? + "\n"
    } else {
        text(&fit)
    };
    console::print(&printed).map_err(|error| {
        Failure::cannot_measure(format!("cannot write the result to stdout: {error}"))
    })?;
    Ok(Exit::Clean)
}

fn text(fit: &RecordingFit) -> String {
    let failed = match fit.failed {
        0 => String::new(),
        failed => format!("; {failed} more ended in an error and take no part"),
    };
    let mut page = format!("{}: {}{failed}\n", fit.file, counted(fit.calls, "call"));
    for group in &fit.groups {
        page += &section(group, &fit.file);
    }
    page
}

fn section(group: &GroupFit, file: &str) -> String {
    let name = match group.endpoint {
        "text" => "Text answers",
        "embeddings" => "Embeddings",
        "other" => "Other endpoints",
        _ => "Calls",
    };
    let latency = &group.latency;
    let heading = format!("{name}: time to the full answer");
    let mut page = times(&heading, "--latency", latency);
    let best = latency.models.iter().find(|model| model.name == latency.best);
    if let Some(best) = best {
        let _ = writeln!(
            page,
            "  The formula that fits best: --latency {}\n  The calls themselves: --latency \
             file:{file}",
            best.latency
        );
    }
    for warning in &latency.warnings {
        let _ = writeln!(page, "  Beware: {warning}");
    }
    if let Some(ttft) = &group.ttft {
        page += &times(&format!("{name}: time to the first token"), "formula", ttft);
    }
    if let Some(gaps) = &group.gaps {
        page += &between_tokens(name, gaps);
    }
    page
}

fn times(heading: &str, formula: &str, fit: &TimesFit) -> String {
    let mut page = format!("\n{heading}, {}\n", counted(fit.calls, "call"));
    let _ = writeln!(page, "  {:<9} {:>8} {}  {formula}", "", "distance", headings());
    let _ = writeln!(page, "  {:<9} {:>8} {}", "measured", "", row(&fit.measured));
    for model in &fit.models {
        let (name, distance) = (model.name, format!("{:.3}", model.ks_distance));
        let figures = row(&model.quantiles);
        let _ = writeln!(page, "  {name:<9} {distance:>8} {figures}  {}", model.latency);
    }
    page
}

fn between_tokens(name: &str, fit: &GapsFit) -> String {
    let (streams, gaps) = (counted(fit.streams, "stream"), counted(fit.count, "gap"));
    let mut page = format!("\n{name}: gaps between tokens, {gaps} of {streams}\n");
    let _ = writeln!(page, "  {:<18} {}", "", headings());
    let _ = writeln!(page, "  {:<18} {}", "measured", row(&fit.measured));
    if let Some(gaps) = &fit.gaps {
        let _ = writeln!(page, "  How they vary inside a stream: --gaps {gaps}");
    }
    page
}

fn headings() -> String {
    let [p50, p90, p99, max] = ["p50", "p90", "p99", "max"];
    format!("{p50:>9} {p90:>9} {p99:>9} {max:>9}")
}

fn row(quantiles: &Quantiles) -> String {
    let Quantiles { p50_ms, p90_ms, p99_ms, max_ms } = *quantiles;
    let [p50, p90, p99, max] = [p50_ms, p90_ms, p99_ms, max_ms].map(time);
    format!("{p50:>9} {p90:>9} {p99:>9} {max:>9}")
}

fn time(ms: f64) -> String {
    match ms {
        ms if ms < 10.0 => format!("{ms:.2} ms"),
        ms if ms < 10_000.0 => format!("{ms:.0} ms"),
        ms => format!("{:.1} s", ms / 1_000.0),
    }
}

fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

#[cfg(test)]
mod tests {
    use waitscope_provider::model::recording::Recording;

    use super::*;

    #[test]
    fn a_fit_is_told_in_tables() {
        let mut lines = vec![r#"{"status": 503}"#.to_owned()];
        lines.extend((0..40).map(|call| {
            let ttft = 300 + 5 * call;
            let gap = 30 + call % 7;
            format!(r#"{{"path": "/v1/chat/completions", "ttft_ms": {ttft}, "gaps_ms": [{gap}, 40, 55]}}"#)
        }));
        lines.push(r#"{"path": "/v1/embeddings", "latency_ms": 120}"#.to_owned());
        let recording = Recording::read("r.jsonl", lines.join("\n").as_bytes()).unwrap();
        let page = text(&fit(&recording));
        for expected in [
            "r.jsonl: 41 calls; 1 more ended in an error",
            "Text answers: time to the full answer, 40 calls",
            "Text answers: time to the first token, 40 calls",
            "Text answers: gaps between tokens, 120 gaps of 40 streams",
            "--gaps varied:0.",
            "The formula that fits best: --latency lognormal:5",
            "The calls themselves: --latency file:r.jsonl",
            "Embeddings: time to the full answer, 1 call\n",
            "Beware: too few calls to tell models apart (1)",
            "120 ms",
        ] {
            assert!(page.contains(expected), "`{expected}` is missing:\n{page}");
        }
        assert!(page.lines().all(|line| line.trim_end() == line), "{page}");
    }

    #[test]
    fn times_are_short() {
        for (ms, expected) in
            [(0.5, "0.50 ms"), (9.994, "9.99 ms"), (512.4, "512 ms"), (81_234.0, "81.2 s")]
        {
            assert_eq!(time(ms), expected);
        }
    }
}
