//! One line of a recording.

use serde::Deserialize;
use serde_json::Value;

use super::Kind;
use crate::config::MAX_WAIT;
use crate::model::Task;

/// The fields that are heeded, whatever they hold: a wrong one is told by its name.
#[derive(Debug, Deserialize)]
pub(super) struct Line {
    latency_ms: Option<Value>,
    ttft_ms: Option<Value>,
    gaps_ms: Option<Value>,
    task: Option<Value>,
    path: Option<Value>,
    status: Option<Value>,
    error: Option<Value>,
}

/// A call's times in microseconds.
#[derive(Debug)]
pub(super) struct Times {
    pub(super) latency_us: u32,
    pub(super) ttft_us: Option<u32>,
    /// From the first token to each of the later ones.
    pub(super) offsets: Option<Vec<u32>>,
}

impl Line {
    /// Reads a line.
    ///
    /// # Errors
    /// When it is no JSON object.
    pub(super) fn parse(line: &[u8]) -> Result<Self, String> {
        // A list would be read as the fields in their order.
        if line.trim_ascii_start().first() != Some(&b'{') {
            return Err(
                "is no JSON object; write one per line, such as {\"latency_ms\": 512.5}".into()
            );
        }
        serde_json::from_slice(line).map_err(|error| {
            let nan = ["NaN", "Infinity"]
                .into_iter()
                .find(|word| line.windows(word.len()).any(|window| window == word.as_bytes()));
            let hint = nan.map_or_else(
                || "write one per line, or remove the line".to_owned(),
                |nan| format!("JSON has no {nan}: remove the line"),
            );
            format!("is no JSON object at column {}; {hint}", error.column())
        })
    }

    /// Whether the call ended in an error: these are not replayed.
    pub(super) fn failed(&self) -> bool {
        let is_success = |status: u64| (100..400).contains(&status);
        let failed = match &self.status {
            Some(Value::Number(status)) => !status.as_u64().is_some_and(is_success),
            Some(Value::String(status)) => {
                !status.eq_ignore_ascii_case("ok") && !status.parse().is_ok_and(is_success)
            }
            _ => false,
        };
        failed || self.error.is_some()
    }

    /// The task that the line names.
    pub(super) fn task(&self) -> Option<Task> {
        let name = self.task.as_ref()?.as_str()?;
        Task::ALL.into_iter().find(|task| task.name() == name)
    }

    /// The kind of endpoint, by the task or the path.
    pub(super) fn kind(&self) -> Kind {
        const TEXT: [&str; 4] = ["/completions", "/responses", "/messages", "/generate"];
        match (self.task(), self.path.as_ref().and_then(Value::as_str)) {
            (Some(Task::Embed), _) => Kind::Embeddings,
            (Some(_), _) => Kind::Text,
            (None, None) => Kind::Unknown,
            (None, Some(path)) => {
                let path = path.trim_end_matches('/');
                if path.ends_with("/embeddings") {
                    Kind::Embeddings
                } else if TEXT.iter().any(|end| path.ends_with(end)) {
                    Kind::Text
                } else {
                    Kind::Other
                }
            }
        }
    }

    /// Its times.
    ///
    /// # Errors
    /// When there are none, or none that can be.
    pub(super) fn times(&self) -> Result<Times, String> {
        let latency = self.latency_ms.as_ref().map(|ms| micros("latency_ms", ms)).transpose()?;
        let ttft = self.ttft_ms.as_ref().map(|ms| micros("ttft_ms", ms)).transpose()?;
        let offsets = self.gaps_ms.as_ref().map(offsets_us).transpose()?;
        let Some(ttft_us) = ttft else {
            let missing = "has no latency_ms: add it, or ttft_ms and gaps_ms (milliseconds)";
            return match (latency, offsets) {
                (Some(latency_us), None) => Ok(Times { latency_us, ttft_us: None, offsets: None }),
                // Gaps that follow an unknown start are of no use, but the latency is.
                (Some(latency_us), Some(gaps)) if gaps.is_empty() => {
                    Ok(Times { latency_us, ttft_us: None, offsets: None })
                }
                (_, Some(_)) => Err("has gaps_ms without ttft_ms: add it (milliseconds)".into()),
                (None, None) => Err(missing.into()),
            };
        };
        if latency.is_some_and(|latency| latency < ttft_us) {
            return Err("has more than latency_ms in ttft_ms: mend one of them".into());
        }
        let last = offsets.as_ref().and_then(|offsets| offsets.last()).copied().unwrap_or(0);
        let tokens_us = u64::from(ttft_us) + u64::from(last);
        if u128::from(tokens_us) > MAX_WAIT.as_micros() {
            return Err("ttft_ms and gaps_ms add up to more than an hour: shorten them".into());
        }
        let tokens_us = u32::try_from(tokens_us).unwrap_or(u32::MAX);
        // Without any gap, a known latency says more about the tokens of a longer answer.
        let offsets = offsets.filter(|offsets| !offsets.is_empty() || latency.is_none());
        Ok(Times { latency_us: latency.unwrap_or(tokens_us), ttft_us: Some(ttft_us), offsets })
    }
}

/// Adds the gaps up.
fn offsets_us(gaps_ms: &Value) -> Result<Vec<u32>, String> {
    let list = || "gaps_ms must be a list of numbers (milliseconds)".to_owned();
    let gaps = gaps_ms.as_array().ok_or_else(list)?;
    let mut sum = 0_u32;
    gaps.iter()
        .map(|gap| {
            let gap = if gap.is_number() { micros("gaps_ms", gap)? } else { return Err(list()) };
            sum = sum.saturating_add(gap);
            Ok(sum)
        })
        .collect()
}

fn micros(field: &str, ms: &Value) -> Result<u32, String> {
    let number = ms.as_f64().ok_or_else(|| format!("{field} must be a number (milliseconds)"))?;
    let max_ms = MAX_WAIT.as_secs_f64() * 1_000.0;
    if !(0.0..=max_ms).contains(&number) {
        return Err(format!("{field} is {ms}: use 0 to {max_ms} (milliseconds)"));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "0 to 3.6e9 microseconds"
    )]
    let micros = (number * 1_000.0).round() as u32;
    Ok(micros)
}
