//! What a model says to a call, whatever the protocol.

use std::sync::OnceLock;
use std::time::Duration;

use serde_json::{Map, Value, json};
use waitscope_stats::draw::Draws;
use waitscope_wire::tokens;

use super::latency::{Conditions, LatencyModel};
use super::schedule::Timing;
use super::{Task, answer, latency};

/// The tokens of a classification, in the recorded calls.
const CLASSIFICATION_TOKENS: u64 = 15;
/// How deep a tool's schema is filled in.
const SCHEMA_DEPTH: usize = 8;

/// What a call asks for, whatever the protocol.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ask {
    /// The text that is answered: the user's last message.
    pub question: String,
    /// Whether the answer is to be JSON.
    pub wants_json: bool,
    /// The tool to be called, if any: its name and the JSON Schema of its arguments.
    pub tool: Option<(String, Option<Value>)>,
    /// The most tokens of the answer.
    pub max_tokens: Option<u64>,
    /// About how many tokens the prompt has.
    pub prompt_tokens: u64,
}

impl Ask {
    /// What it is counted as.
    pub fn task(&self) -> Task {
        if self.wants_json { Task::Classify } else { Task::DraftReply }
    }
}

/// Why a reply ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// It is complete.
    Stop,
    /// It reached the most tokens allowed.
    Length,
    /// It is a call to a tool.
    Tool,
}

/// What a model says, token by token, and when.
#[derive(Debug, Clone)]
pub struct Reply {
    /// When each token is due.
    pub timing: Timing,
    /// Random bits for ids.
    pub bits: [u64; 2],
    /// Why it ends.
    pub finish: Finish,
    /// The tool that it calls; the tokens are the call's arguments then.
    pub tool: Option<String>,
    /// About how many tokens the prompt has.
    pub prompt_tokens: u64,
    text: String,
    len: u32,
    /// Where each token ends in the text; only a stream needs to know.
    ends: OnceLock<Box<[u32]>>,
}

impl Reply {
    /// Plans the reply to a call.
    pub fn plan(ask: &Ask, model: &LatencyModel, conditions: Conditions, mut draws: Draws) -> Self {
        let (text, wanted) = match &ask.tool {
            Some((_, schema)) => {
                let arguments = arguments(schema.as_ref(), &ask.question);
                let tokens = tokens::of_reply(arguments.chars().count());
                (arguments, tokens)
            }
            None if ask.wants_json => {
                (answer::classification(&ask.question), CLASSIFICATION_TOKENS)
            }
            None => {
                let reply = answer::reply(&ask.question);
                let tokens = tokens::of_reply(reply.chars().count());
                (reply, tokens)
            }
        };
        let written = wanted.min(ask.max_tokens.unwrap_or(wanted));
        let (text, len) = cut(text, wanted, written);
        let finish = match &ask.tool {
            _ if written < wanted => Finish::Length,
            Some(_) => Finish::Tool,
            None => Finish::Stop,
        };
        let timing = latency::plan(model, conditions, ask.task(), len, &mut draws);
        Self {
            timing,
            bits: [draws.bits(), draws.bits()],
            finish,
            tool: ask.tool.as_ref().map(|(name, _)| name.clone()),
            prompt_tokens: ask.prompt_tokens,
            text,
            len,
            ends: OnceLock::new(),
        }
    }

    /// The time to the full answer.
    pub fn total(&self) -> Duration {
        self.timing.total
    }

    /// All that is said.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many tokens it has.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// One token's text; empty beyond the last one.
    pub fn token(&self, token: u32) -> &str {
        let token = token as usize;
        let ends = self.ends.get_or_init(|| ends(&self.text, self.len));
        let start = token.checked_sub(1).map_or(Some(0), |before| ends.get(before).copied());
        match (start, ends.get(token)) {
            (Some(start), Some(end)) => &self.text[start as usize..*end as usize],
            _ => "",
        }
    }

    /// An id that depends on the call's draws.
    pub fn id(&self, prefix: &str) -> String {
        let [high, low] = self.bits;
        format!("{prefix}{high:016x}{low:016x}")
    }

    /// The id of a part of the answer.
    pub fn part_id(&self, prefix: &str) -> String {
        format!("{prefix}{:016x}", self.bits[0] ^ self.bits[1].rotate_left(17))
    }
}

/// Keeps the first `written` of the `wanted` tokens of a text, which are of about equal length; a
/// text has at most as many tokens as characters.
fn cut(mut text: String, wanted: u64, written: u64) -> (String, u32) {
    let characters = text.chars().count();
    let wanted = usize::try_from(wanted).unwrap_or(usize::MAX).clamp(1, characters.max(1));
    let written = usize::try_from(written).unwrap_or(usize::MAX).min(wanted);
    if written < wanted {
        let kept = written * characters / wanted;
        let end = text.char_indices().nth(kept).map_or(text.len(), |(at, _)| at);
        text.truncate(end);
    }
    (text, u32::try_from(written).unwrap_or(u32::MAX))
}

/// Where each of so many tokens of about equal length ends, in bytes.
fn ends(text: &str, tokens: u32) -> Box<[u32]> {
    let characters = text.chars().count() as u64;
    let mut offsets = text.char_indices().map(|(at, character)| at + character.len_utf8());
    let mut taken = 0;
    let mut last = 0;
    let end = |token| {
        let end = u64::from(token) * characters / u64::from(tokens);
        while taken < end {
            last = offsets.next().unwrap_or(last);
            taken += 1;
        }
        u32::try_from(last).unwrap_or(u32::MAX)
    };
    (1..=tokens).map(end).collect()
}

/// Arguments that fit a tool's schema: what is required is filled in, texts with the question.
fn arguments(schema: Option<&Value>, question: &str) -> String {
    match schema.map(|schema| Filler { root: schema, question }.example(schema, SCHEMA_DEPTH)) {
        Some(value @ Value::Object(_)) => value.to_string(),
        _ => "{}".to_owned(),
    }
}

/// Fills in a JSON Schema.
struct Filler<'a> {
    /// What `$ref` points into.
    root: &'a Value,
    question: &'a str,
}

impl Filler<'_> {
    /// A value that fits a schema, as far as it says its type plainly.
    fn example(&self, schema: &Value, depth: usize) -> Value {
        if depth == 0 {
            return Value::Null;
        }
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            let target = reference.strip_prefix('#').and_then(|at| self.root.pointer(at));
            return target.map_or(Value::Null, |target| self.example(target, depth - 1));
        }
        if let Some(value) = schema.get("const").or_else(|| schema.get("default")) {
            return value.clone();
        }
        if let Some(first) = schema.get("enum").and_then(|values| values.get(0)) {
            return first.clone();
        }
        for choice in ["anyOf", "oneOf", "allOf"] {
            if let Some(first) = schema.get(choice).and_then(|choices| choices.get(0)) {
                return self.example(first, depth - 1);
            }
        }
        let kind =
            schema.get("type").and_then(|kind| kind.as_str().or_else(|| kind.get(0)?.as_str()));
        match kind {
            Some("string") => json!(self.question.chars().take(60).collect::<String>()),
            Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(1)),
            Some("boolean") => json!(true),
            Some("null") => Value::Null,
            Some("array") => match schema.get("items") {
                Some(items) => json!([self.example(items, depth - 1)]),
                None => json!([]),
            },
            _ => Value::Object(self.properties(schema, depth)),
        }
    }

    /// The required properties of an object; all of them when it does not say which.
    fn properties(&self, schema: &Value, depth: usize) -> Map<String, Value> {
        let properties = schema.get("properties").and_then(Value::as_object);
        let fill = |schema: &Value| self.example(schema, depth - 1);
        let Some(required) = schema.get("required").and_then(Value::as_array) else {
            let all = properties.into_iter().flatten();
            return all.map(|(name, schema)| (name.clone(), fill(schema))).collect();
        };
        let names = required.iter().filter_map(Value::as_str);
        names
            .map(|name| {
                let schema = properties.and_then(|properties| properties.get(name));
                (name.to_owned(), schema.map_or(Value::Null, fill))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::gaps::Gaps;
    use super::super::latency::Latency;
    use super::*;
    use crate::config::Mode;

    fn reply(ask: &Ask) -> Reply {
        let model = LatencyModel {
            latency: Latency::Recorded,
            gaps: Gaps::Equal,
            slowdown_per_in_flight: 0.0,
        };
        let conditions = Conditions { mode: Mode::Normal, in_flight: 1 };
        Reply::plan(ask, &model, conditions, Draws::new(7))
    }

    #[test]
    fn a_tool_is_called_with_what_its_schema_requires() {
        let schema = json!({"type": "object", "required": ["city", "unit", "days", "tags"],
        "properties": {
            "city": {"type": "string"},
            "unit": {"enum": ["celsius", "fahrenheit"]},
            "days": {"type": ["integer", "null"], "minimum": 3},
            "tags": {"type": "array", "items": {"anyOf": [{"type": "boolean"}]}},
            "extra": {"type": "string"},
        }});
        for (schema, expected) in [
            (Some(schema), json!({"city": "Bern?", "unit": "celsius", "days": 3, "tags": [true]})),
            (Some(json!({"properties": {"a": {"type": "null"}}})), json!({"a": null})),
            (
                Some(json!({"$defs": {"C": {"enum": ["red"]}}, "required": ["c", "d"],
                    "properties": {"c": {"$ref": "#/$defs/C"}}})),
                json!({"c": "red", "d": null}),
            ),
            (
                Some(json!({"properties": {"a": {"$ref": "#/properties/a"}, "b": {"$ref": "x"}}})),
                json!({"a": null, "b": null}),
            ),
            (Some(json!(true)), json!({})),
            (None, json!({})),
        ] {
            let question = "Bern?".to_owned();
            let tool = Some(("weather".to_owned(), schema));
            let reply = reply(&Ask { question, tool, ..Ask::default() });
            let arguments: Value = serde_json::from_str(reply.text()).unwrap();
            assert_eq!(arguments, expected);
            assert_eq!((reply.finish, reply.tool.as_deref()), (Finish::Tool, Some("weather")));
        }
    }

    #[test]
    fn a_schema_that_holds_itself_ends() {
        let mut schema = json!({"type": "string"});
        for _ in 0..100 {
            schema = json!({"type": "object", "properties": {"a": schema}});
        }
        assert!(arguments(Some(&schema), "x").len() < 100);
    }

    #[test]
    fn tokens_are_cut_at_the_most_allowed() {
        let ask = Ask { question: "My invoice!".to_owned(), ..Ask::default() };
        let whole = reply(&ask);
        let cut = reply(&Ask { max_tokens: Some(4), ..ask });
        assert_eq!((whole.finish, cut.finish), (Finish::Stop, Finish::Length));
        assert_eq!(cut.len(), 4);
        assert!(whole.text().starts_with(cut.text()));
        assert_eq!((cut.token(4), cut.token(u32::MAX)), ("", ""));
    }

    proptest! {
        #[test]
        fn tokens_make_up_the_text(text in "\\PC{0,80}", wanted in 0..50_u64) {
            let (kept, tokens) = cut(text.clone(), wanted, wanted / 2);
            prop_assert!(text.starts_with(&kept) && u64::from(tokens) <= wanted / 2);
            prop_assert!(tokens > 0 || kept.is_empty());
            let ends = ends(&kept, tokens);
            prop_assert!(ends.is_sorted());
            prop_assert!(ends.iter().all(|end| kept.is_char_boundary(*end as usize)));
            prop_assert!(ends.last().is_none_or(|end| *end as usize == kept.len()));
        }
    }
}
