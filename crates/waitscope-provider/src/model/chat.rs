//! A chat call from its request to the last byte of its answer.

use std::time::Duration;

use waitscope_stats::draw::Draws;
use waitscope_wire::openai::Usage;
use waitscope_wire::openai::chat::{
    AnswerMessage, Choice, Chunk, ChunkChoice, ChunkUsage, Completion, Content, Delta,
    FinishReason, Request, Role,
};
use waitscope_wire::{sse, tokens};

use super::{Task, answer, latency, schedule};
use crate::config::{Latency, Mode};

/// The tokens of a classification, in the recorded calls.
const CLASSIFICATION_TOKENS: u64 = 15;
/// The tier that every answer names.
const SERVICE_TIER: &str = "default";
/// The configuration that every answer names.
const SYSTEM_FINGERPRINT: &str = "fp_waitscope";

/// All that is decided about a chat call once it is admitted.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The time from the call's arrival to its full answer.
    pub total: Duration,
    id: String,
    created: u64,
    model: String,
    /// What each of the choices says, token by token.
    tokens: Vec<String>,
    choices: u64,
    finish_reason: FinishReason,
    usage: Usage,
    include_usage: bool,
}

/// A piece of a stream and when it is due, counted from the call's arrival.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timed {
    /// When it is due.
    pub due: Duration,
    /// The bytes to send.
    pub text: String,
}

/// What a call is charged at admission: the prompt's estimate plus the most tokens it may get.
pub fn charge(request: &Request) -> u64 {
    let answer = max_tokens(request).unwrap_or(0) * request.n.unwrap_or(1);
    tokens::of_prompt(&request.messages) + answer
}

fn max_tokens(request: &Request) -> Option<u64> {
    request.max_completion_tokens.or(request.max_tokens)
}

/// The text that is answered: the user's last message.
fn question(request: &Request) -> String {
    let last = request.messages.iter().rev().find(|message| message.role == Role::User);
    let content = last.and_then(|message| message.content.as_ref());
    let texts: Vec<&str> = content.into_iter().flat_map(Content::texts).collect();
    texts.join("\n")
}

impl Plan {
    /// Plans a call. `created` is the time of the call in Unix seconds.
    pub fn new(
        request: &Request,
        latency: Latency,
        mode: Mode,
        mut draws: Draws,
        created: u64,
    ) -> Self {
        let task = Task::of_chat(request);
        let question = question(request);
        let (text, wanted) = if task == Task::Classify {
            (answer::classification(&question), CLASSIFICATION_TOKENS)
        } else {
            let reply = answer::reply(&question);
            let tokens = tokens::of_reply(reply.chars().count());
            (reply, tokens)
        };
        let written = wanted.min(max_tokens(request).unwrap_or(wanted));
        let mut tokens = split(&text, wanted);
        tokens.truncate(usize::try_from(written).unwrap_or(usize::MAX));
        let choices = request.n.unwrap_or(1);
        Self {
            total: latency::planned(latency, mode, task, draws.uniform()),
            id: format!("chatcmpl-{:016x}{:016x}", draws.bits(), draws.bits()),
            created,
            model: request.model.clone(),
            tokens,
            choices,
            finish_reason: if written < wanted { FinishReason::Length } else { FinishReason::Stop },
            usage: Usage::of_chat(tokens::of_prompt(&request.messages), written * choices),
            include_usage: request.stream_options.and_then(|o| o.include_usage).unwrap_or(false),
        }
    }

    /// The tokens of the prompt and of the answer.
    pub fn tokens(&self) -> (u64, u64) {
        (self.usage.prompt_tokens, self.usage.completion_tokens.unwrap_or(0))
    }

    /// The whole answer.
    pub fn completion(&self) -> Completion {
        let choice = |index| Choice {
            index,
            message: AnswerMessage {
                role: Role::Assistant,
                content: Some(self.tokens.concat()),
                refusal: None,
                annotations: Vec::new(),
            },
            logprobs: None,
            finish_reason: Some(self.finish_reason),
        };
        Completion {
            id: self.id.clone(),
            object: "chat.completion".to_owned(),
            created: self.created,
            model: self.model.clone(),
            choices: (0..self.choices).map(choice).collect(),
            usage: Some(self.usage),
            service_tier: Some(SERVICE_TIER.to_owned()),
            system_fingerprint: Some(SYSTEM_FINGERPRINT.to_owned()),
        }
    }

    /// The answer as a stream: the role, the tokens, the reason of the end, the usage if it was
    /// asked for, and `[DONE]`. With several choices each of them gets its part at each step.
    pub fn events(self) -> impl Iterator<Item = Timed> + Send {
        // At most 128,000 tokens are allowed.
        let count = u32::try_from(self.tokens.len()).unwrap_or(u32::MAX);
        let total = self.total;
        let mut due = schedule::spread(total, count).peekable();
        let first = due.peek().copied().unwrap_or(total);
        let steps = std::iter::once((first, Step::Role))
            .chain(due.zip(0..).map(|(due, token)| (due, Step::Token(token))))
            .chain([(total, Step::Finish), (total, Step::Usage), (total, Step::Done)]);
        steps.flat_map(move |(due, step)| {
            self.texts(step).into_iter().map(move |text| Timed { due, text })
        })
    }

    fn texts(&self, step: Step) -> Vec<String> {
        let (delta, finish_reason) = match step {
            Step::Role => {
                (Delta { role: Some(Role::Assistant), content: Some(String::new()) }, None)
            }
            Step::Token(token) => {
                (Delta { role: None, content: Some(self.tokens[token].clone()) }, None)
            }
            Step::Finish => (Delta::default(), Some(self.finish_reason)),
            Step::Usage if self.include_usage => {
                return vec![self.chunk(Vec::new(), ChunkUsage::Counted(self.usage))];
            }
            Step::Usage => return Vec::new(),
            Step::Done => return vec![sse::encode(sse::DONE)],
        };
        let usage = if self.include_usage { ChunkUsage::ToCome } else { ChunkUsage::Absent };
        let chunk = |index| {
            let delta = Some(delta.clone());
            self.chunk(vec![ChunkChoice { index, delta, logprobs: None, finish_reason }], usage)
        };
        (0..self.choices).map(chunk).collect()
    }

    fn chunk(&self, choices: Vec<ChunkChoice>, usage: ChunkUsage) -> String {
        let chunk = Chunk {
            id: self.id.clone(),
            object: "chat.completion.chunk".to_owned(),
            created: self.created,
            model: self.model.clone(),
            service_tier: Some(SERVICE_TIER.to_owned()),
            system_fingerprint: Some(SYSTEM_FINGERPRINT.to_owned()),
            choices,
            usage,
        };
        // Writing strings and numbers to memory cannot fail.
        sse::encode(&serde_json::to_string(&chunk).unwrap_or_default())
    }
}

/// One step of a stream.
#[derive(Clone, Copy)]
enum Step {
    Role,
    Token(usize),
    Finish,
    Usage,
    Done,
}

/// Splits a text into so many tokens of about equal length; fewer when it has fewer characters.
fn split(text: &str, tokens: u64) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let tokens = usize::try_from(tokens).unwrap_or(usize::MAX).clamp(1, characters.len().max(1));
    let boundary = |token: usize| token * characters.len() / tokens;
    (0..tokens).map(|t| characters[boundary(t)..boundary(t + 1)].iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use waitscope_wire::sse::Decoder;

    use super::*;

    fn plan(body: &Value, seed: u64) -> Plan {
        let request = serde_json::from_value(body.clone()).unwrap();
        Plan::new(&request, Latency::Recorded, Mode::Normal, Draws::new(seed), 1_791_590_400)
    }

    fn ask(extra: &Value) -> Value {
        let mut body = json!({"model": "chat-small", "messages": [
            {"role": "system", "content": "Choose among billing, technical and shipping."},
            {"role": "user", "content": "My invoice is wrong."},
        ]});
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        body
    }

    /// The data of every event, parsed; `[DONE]` as a string.
    fn streamed(plan: Plan) -> Vec<(Duration, Value)> {
        plan.events()
            .map(|event| {
                let mut decoder = Decoder::new();
                decoder.push(event.text.as_bytes());
                let data = decoder.next_event().unwrap().unwrap().data;
                (event.due, serde_json::from_str(&data).unwrap_or(Value::String(data)))
            })
            .collect()
    }

    #[test]
    fn a_response_format_makes_a_classification() {
        for (format, is_json) in [
            (json!({"type": "json_object"}), true),
            (json!({"type": "json_schema", "json_schema": {"name": "x"}}), true),
            (json!({"type": "text"}), false),
        ] {
            let completion = plan(&ask(&json!({"response_format": format})), 1).completion();
            let content = completion.choices[0].message.content.clone().unwrap();
            let answer: Option<Value> = serde_json::from_str(&content).ok();
            assert_eq!(answer, is_json.then(|| json!({"team": "billing", "priority": 2})));
        }
    }

    #[test]
    fn the_last_user_message_is_answered_with_usage_counted() {
        let plan = plan(&ask(&json!({})), 1);
        let completion = plan.completion();
        let content = completion.choices[0].message.content.clone().unwrap();
        assert!(content.contains("\"My invoice is wrong.\"") && content.contains("billing team"));
        let usage = completion.usage.unwrap();
        let reply_tokens = tokens::of_reply(content.chars().count());
        assert_eq!(usage.completion_tokens, Some(reply_tokens));
        assert_eq!(usage.total_tokens, usage.prompt_tokens + reply_tokens);
        assert_eq!(plan.tokens(), (usage.prompt_tokens, reply_tokens));
        assert_eq!(completion.choices[0].finish_reason, Some(FinishReason::Stop));
    }

    #[test]
    fn max_tokens_cut_the_answer_and_are_charged() {
        let base = charge(&serde_json::from_value(ask(&json!({}))).unwrap());
        for extra in [json!({"max_tokens": 4}), json!({"max_completion_tokens": 4})] {
            let body = ask(&extra);
            let cut = plan(&body, 1).completion();
            assert_eq!(cut.usage.unwrap().completion_tokens, Some(4));
            assert_eq!(cut.choices[0].finish_reason, Some(FinishReason::Length));
            let content = cut.choices[0].message.content.clone().unwrap();
            assert!(content.starts_with("Hello") && content.len() < 20, "{content}");
            assert_eq!(charge(&serde_json::from_value(body).unwrap()), base + 4);
        }
        let several = ask(&json!({"max_tokens": 4, "n": 3}));
        assert_eq!(charge(&serde_json::from_value(several).unwrap()), base + 12);
    }

    #[test]
    fn a_stream_says_what_the_whole_answer_says() {
        for extra in [
            json!({}),
            json!({"response_format": {"type": "json_object"}}),
            json!({"max_tokens": 1}),
        ] {
            let plan = plan(&ask(&extra), 7);
            let events = streamed(plan.clone());
            let said =
                |event: &Value| event["choices"][0]["delta"]["content"].as_str().map(str::to_owned);
            let content: String = events.iter().filter_map(|(_, event)| said(event)).collect();
            assert_eq!(Some(content), plan.completion().choices[0].message.content);
            let tokens = plan.usage.completion_tokens.unwrap();
            assert_eq!(events.len() as u64, tokens + 3, "role, tokens, finish, [DONE]");
        }
    }

    #[test]
    fn a_stream_has_the_real_order() {
        let events = streamed(plan(&ask(&json!({"stream_options": {"include_usage": true}})), 7));
        let count = events.len();
        let first = &events[0].1;
        assert_eq!(first["choices"][0]["delta"], json!({"role": "assistant", "content": ""}));
        assert_eq!(first["object"], "chat.completion.chunk");
        assert!(first["choices"][0]["logprobs"].is_null());
        for (_, event) in &events[..count - 1] {
            for same in ["id", "created", "model", "system_fingerprint"] {
                assert_eq!(event[same], first[same]);
            }
        }
        for (_, event) in &events[..count - 2] {
            assert_eq!(event.get("usage"), Some(&Value::Null));
        }
        assert_eq!(events[count - 3].1["choices"][0]["finish_reason"], "stop");
        assert_eq!(events[count - 3].1["choices"][0]["delta"], json!({}));
        assert_eq!(events[count - 2].1["choices"], json!([]));
        assert!(events[count - 2].1["usage"]["total_tokens"].as_u64() > Some(0));
        assert_eq!(events[count - 1].1, "[DONE]");
    }

    #[test]
    fn a_stream_takes_as_long_as_the_whole_answer() {
        let plan = plan(&ask(&json!({})), 7);
        let due: Vec<Duration> = plan.clone().events().map(|event| event.due).collect();
        assert!(due.is_sorted());
        assert_eq!(due[0], plan.total / 2);
        assert_eq!(due.last(), Some(&plan.total));
    }

    #[test]
    fn several_choices_are_streamed_side_by_side() {
        let events = streamed(plan(&ask(&json!({"n": 2, "max_tokens": 3})), 7));
        let indexes: Vec<u64> =
            events.iter().filter_map(|(_, e)| e["choices"][0]["index"].as_u64()).collect();
        assert_eq!(indexes, [0, 1].repeat(5), "role, three tokens, finish");
    }

    #[test]
    fn the_same_draws_give_the_same_call() {
        let (one, same, other) =
            (plan(&ask(&json!({})), 7), plan(&ask(&json!({})), 7), plan(&ask(&json!({})), 8));
        assert_eq!((one.total, &one.id), (same.total, &same.id));
        assert_ne!(one.total, other.total);
        assert_ne!(one.id, other.id);
        assert_eq!(one.tokens, other.tokens);
    }
}
