//! A chat call from its request to the last byte of its answer.

use waitscope_wire::openai::Usage;
use waitscope_wire::openai::chat::{
    AnswerMessage, Choice, Chunk, ChunkChoice, ChunkUsage, Completion, Content, Delta,
    FinishReason, FunctionCall, FunctionDelta, Request, Role, ToolCall, ToolCallDelta, ToolKind,
};
use waitscope_wire::{sse, tokens};

use super::Task;
use super::reply::{Ask, Finish, Reply};
use super::script::{Event, Part};

/// The tier that every answer names.
const SERVICE_TIER: &str = "default";
/// The configuration that every answer names.
const SYSTEM_FINGERPRINT: &str = "fp_waitscope";

/// What a call is charged at admission: the prompt's estimate plus the most tokens it may get.
pub fn charge(request: &Request) -> u64 {
    let answer = max_tokens(request).unwrap_or(0) * choices(request);
    tokens::of_chat(request) + answer
}

/// What a chat call asks for.
pub fn ask(request: &Request) -> Ask {
    Ask {
        question: question(request),
        wants_json: Task::of_chat(request) == Task::Classify,
        tool: request.called_tool().map(|(name, schema)| (name.to_owned(), schema.cloned())),
        max_tokens: max_tokens(request),
        prompt_tokens: tokens::of_chat(request),
    }
}

fn max_tokens(request: &Request) -> Option<u64> {
    request.max_completion_tokens.or(request.max_tokens)
}

fn choices(request: &Request) -> u64 {
    request.n.unwrap_or(1)
}

/// The text that is answered: the user's last message.
fn question(request: &Request) -> String {
    let last = request.messages.iter().rev().find(|message| message.role == Role::User);
    let content = last.and_then(|message| message.content.as_ref());
    let texts: Vec<&str> = content.into_iter().flat_map(Content::texts).collect();
    texts.join("\n")
}

/// The answer to a chat call, as its protocol tells it.
#[derive(Debug, Clone)]
pub struct Plan {
    reply: Reply,
    created: u64,
    model: String,
    choices: u64,
    usage: Usage,
    include_usage: bool,
}

impl Plan {
    /// The answer to `request`. `created` is the time of the call in Unix seconds.
    pub fn new(request: &Request, reply: Reply, created: u64) -> Self {
        let choices = choices(request);
        let asked = request.stream_options.and_then(|options| options.include_usage);
        Self {
            created,
            model: request.model.clone(),
            choices,
            usage: Usage::of_chat(reply.prompt_tokens, u64::from(reply.len()) * choices),
            include_usage: asked.unwrap_or(false),
            reply,
        }
    }

    /// Tells the usage at the end of a stream, though nobody asked.
    #[must_use]
    pub fn with_usage(self) -> Self {
        Self { include_usage: true, ..self }
    }

    /// The tokens of the prompt and of the answer.
    pub fn tokens(&self) -> (u64, u64) {
        (self.usage.prompt_tokens, self.usage.completion_tokens.unwrap_or(0))
    }

    /// The whole answer.
    pub fn completion(&self) -> Completion {
        let choice = |index| Choice {
            index,
            message: self.message(),
            logprobs: None,
            finish_reason: Some(self.finish_reason()),
        };
        Completion {
            id: self.reply.id("chatcmpl-"),
            object: "chat.completion".to_owned(),
            created: self.created,
            model: self.model.clone(),
            choices: (0..self.choices).map(choice).collect(),
            usage: Some(self.usage),
            service_tier: Some(SERVICE_TIER.to_owned()),
            system_fingerprint: Some(SYSTEM_FINGERPRINT.to_owned()),
        }
    }

    fn message(&self) -> AnswerMessage {
        let text = self.reply.text().to_owned();
        let (content, tool_calls) = match &self.reply.tool {
            None => (Some(text), None),
            Some(name) => {
                let function = FunctionCall { name: name.clone(), arguments: text };
                let id = self.reply.part_id("call_");
                (None, Some(vec![ToolCall { id, kind: ToolKind::Function, function }]))
            }
        };
        let (role, annotations) = (Role::Assistant, Vec::new());
        AnswerMessage { role, content, refusal: None, annotations, tool_calls }
    }

    /// The answer as a stream: the role, the tokens, the reason of the end, the usage if it was
    /// asked for, and `[DONE]`. With several choices each of them gets its part at each step.
    pub fn events(self) -> impl Iterator<Item = Event> + Send {
        let tokens = (0..self.reply.len()).map(Step::Token);
        let steps = std::iter::once(Step::Role).chain(tokens).chain([
            Step::Finish,
            Step::Usage,
            Step::Done,
        ]);
        steps.flat_map(move |step| self.step(step))
    }

    fn step(&self, step: Step) -> Vec<Event> {
        let timing = &self.reply.timing;
        let (due, part) = match step {
            Step::Role => (timing.due(0), Part::Open),
            Step::Token(token) => (timing.due(token), Part::Token),
            Step::Finish => (timing.total, Part::Finish),
            Step::Usage => (timing.total, Part::Usage),
            Step::Done => (timing.total, Part::End),
        };
        let (delta, finish_reason) = match step {
            Step::Role => (self.opening(), None),
            Step::Token(token) => (self.said(self.reply.token(token)), None),
            Step::Finish => (Delta::default(), Some(self.finish_reason())),
            Step::Usage if self.include_usage => {
                let data = self.chunk(Vec::new(), ChunkUsage::Counted(self.usage));
                return vec![Event::new(due, part, data)];
            }
            Step::Usage => return Vec::new(),
            Step::Done => return vec![Event::new(due, part, sse::DONE.to_owned())],
        };
        let usage = if self.include_usage { ChunkUsage::ToCome } else { ChunkUsage::Absent };
        let chunk = |index| {
            let delta = Some(delta.clone());
            let choice = ChunkChoice { index, delta, logprobs: None, finish_reason };
            Event::new(due, part, self.chunk(vec![choice], usage))
        };
        (0..self.choices).map(chunk).collect()
    }

    /// The role, and the tool that is called if one is.
    fn opening(&self) -> Delta {
        let mut delta = Delta { role: Some(Role::Assistant), ..self.said("") };
        for call in delta.tool_calls.iter_mut().flatten() {
            call.id = Some(self.reply.part_id("call_"));
            call.kind = Some(ToolKind::Function);
            if let Some(function) = &mut call.function {
                function.name.clone_from(&self.reply.tool);
            }
        }
        delta
    }

    /// A piece of the text, or of the arguments.
    fn said(&self, piece: &str) -> Delta {
        let piece = Some(piece.to_owned());
        if self.reply.tool.is_none() {
            return Delta { content: piece, ..Delta::default() };
        }
        let function = Some(FunctionDelta { name: None, arguments: piece });
        let call = ToolCallDelta { index: 0, id: None, kind: None, function };
        Delta { tool_calls: Some(vec![call]), ..Delta::default() }
    }

    fn chunk(&self, choices: Vec<ChunkChoice>, usage: ChunkUsage) -> String {
        let chunk = Chunk {
            id: self.reply.id("chatcmpl-"),
            object: "chat.completion.chunk".to_owned(),
            created: self.created,
            model: self.model.clone(),
            service_tier: Some(SERVICE_TIER.to_owned()),
            system_fingerprint: Some(SYSTEM_FINGERPRINT.to_owned()),
            choices,
            usage,
        };
        // Writing strings and numbers to memory cannot fail.
        serde_json::to_string(&chunk).unwrap_or_default()
    }

    fn finish_reason(&self) -> FinishReason {
        match self.reply.finish {
            Finish::Stop => FinishReason::Stop,
            Finish::Length => FinishReason::Length,
            Finish::Tool => FinishReason::ToolCalls,
        }
    }
}

/// One step of a stream.
#[derive(Clone, Copy)]
enum Step {
    Role,
    Token(u32),
    Finish,
    Usage,
    Done,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};
    use waitscope_stats::draw::Draws;

    use super::*;
    use crate::config::{Config, Mode};
    use crate::model::latency::Conditions;

    fn plan(body: &Value, seed: u64) -> Plan {
        let request = serde_json::from_value(body.clone()).unwrap();
        let model = Config::default().latency_model();
        let conditions = Conditions { mode: Mode::Normal, in_flight: 1 };
        let reply = Reply::plan(&super::ask(&request), &model, conditions, Draws::new(seed));
        Plan::new(&request, reply, 1_791_590_400)
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
                let data = event.data;
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
        assert_eq!(due[0], plan.reply.total() / 2);
        assert_eq!(due.last(), Some(&plan.reply.total()));
    }

    #[test]
    fn several_choices_are_streamed_side_by_side() {
        let events = streamed(plan(&ask(&json!({"n": 2, "max_tokens": 3})), 7));
        let indexes: Vec<u64> =
            events.iter().filter_map(|(_, e)| e["choices"][0]["index"].as_u64()).collect();
        assert_eq!(indexes, [0, 1].repeat(5), "role, three tokens, finish");
    }

    #[test]
    fn tools_are_called_in_pieces() {
        let schema = json!({"type": "object", "required": ["city"],
            "properties": {"city": {"type": "string"}}});
        let function = json!({"name": "weather", "parameters": schema});
        let plan = plan(&ask(&json!({"tools": [{"type": "function", "function": function}]})), 7);
        let choice = plan.completion().choices.remove(0);
        assert_eq!(choice.finish_reason, Some(FinishReason::ToolCalls));
        assert_eq!(choice.message.content, None);
        let call = choice.message.tool_calls.unwrap().remove(0);
        assert_eq!(call.function.name, "weather");
        assert_eq!(call.function.arguments, r#"{"city":"My invoice is wrong."}"#);

        let events = streamed(plan);
        let pieces: Vec<&Value> = events
            .iter()
            .map(|(_, event)| &event["choices"][0]["delta"]["tool_calls"][0])
            .collect();
        assert_eq!((&pieces[0]["id"], &pieces[0]["type"]), (&json!(call.id), &json!("function")));
        assert_eq!(pieces[0]["function"], json!({"name": "weather", "arguments": ""}));
        assert_eq!(pieces[1].get("id"), None);
        let said = pieces.iter().filter_map(|piece| piece["function"]["arguments"].as_str());
        assert_eq!(said.collect::<String>(), call.function.arguments);
        assert!(events.len() > 5, "{} events", events.len());
        let finish = &events[events.len() - 2].1["choices"][0];
        assert_eq!(finish["finish_reason"], "tool_calls");
    }

    #[test]
    fn the_same_draws_give_the_same_call() {
        let (one, same, other) =
            (plan(&ask(&json!({})), 7), plan(&ask(&json!({})), 7), plan(&ask(&json!({})), 8));
        assert_eq!((one.reply.total(), one.reply.bits), (same.reply.total(), same.reply.bits));
        assert_ne!(one.reply.total(), other.reply.total());
        assert_ne!(one.reply.bits, other.reply.bits);
        assert_eq!(one.reply.text(), other.reply.text());
    }
}
