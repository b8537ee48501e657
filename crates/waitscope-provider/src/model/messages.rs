//! An Anthropic message from its request to the last event of its answer.

use std::time::Duration;

use serde_json::Value;
use waitscope_wire::anthropic::error::{Detail, kind_of};
use waitscope_wire::anthropic::messages::{Answer, AnswerBlock, Request, Role, StopReason, Usage};
use waitscope_wire::anthropic::stream::{BlockDelta, DeltaUsage, MessageDelta, StreamEvent};

use super::reply::{Ask, Finish, Reply};
use super::script::{Event, Part};

/// What a message request asks for.
pub fn ask(request: &Request) -> Ask {
    let tool = request.called_tool();
    Ask {
        question: request.question(),
        wants_json: false,
        tool: tool.map(|tool| (tool.name.clone(), tool.input_schema.clone())),
        max_tokens: request.max_tokens,
        prompt_tokens: request.prompt_tokens(),
    }
}

/// The answer to a message request, as its protocol tells it.
#[derive(Debug, Clone)]
pub struct Plan {
    reply: Reply,
    model: String,
}

impl Plan {
    /// The answer to `request`.
    pub fn new(request: &Request, reply: Reply) -> Self {
        Self { reply, model: request.model.clone() }
    }

    /// The tokens of the prompt and of the answer.
    pub fn tokens(&self) -> (u64, u64) {
        (self.reply.prompt_tokens, self.reply.len().into())
    }

    /// The whole answer.
    pub fn answer(&self) -> Answer {
        let content = match self.block(true) {
            AnswerBlock::Text { text } if text.is_empty() => Vec::new(),
            block => vec![block],
        };
        let output_tokens = self.reply.len().into();
        Answer {
            content,
            stop_reason: Some(self.stop_reason()),
            usage: Usage { output_tokens, ..self.usage() },
            ..self.started()
        }
    }

    /// The answer as a stream: its start, its block begun, its tokens, the block's end, why it
    /// ended, and its end. A ping follows the block's begin, as in the real streams.
    pub fn events(self) -> impl Iterator<Item = Event> + Send {
        let (first, total) = (self.reply.timing.due(0), self.reply.total());
        let opening = [
            event(first, Part::Open, &StreamEvent::MessageStart { message: self.started() }),
            event(
                first,
                Part::Frame,
                &StreamEvent::ContentBlockStart { index: 0, content_block: self.block(false) },
            ),
            event(first, Part::Noise, &StreamEvent::Ping),
        ];
        let delta = MessageDelta { stop_reason: Some(self.stop_reason()), stop_sequence: None };
        let usage = DeltaUsage { output_tokens: self.reply.len().into() };
        let closing = [
            event(total, Part::Frame, &StreamEvent::ContentBlockStop { index: 0 }),
            event(total, Part::Finish, &StreamEvent::MessageDelta { delta, usage }),
            event(total, Part::End, &StreamEvent::MessageStop),
        ];
        let tokens = (0..self.reply.len()).map(move |token| self.token(token));
        opening.into_iter().chain(tokens).chain(closing)
    }

    fn token(&self, token: u32) -> Event {
        let text = self.reply.token(token).to_owned();
        let delta = match &self.reply.tool {
            None => BlockDelta::TextDelta { text },
            Some(_) => BlockDelta::InputJsonDelta { partial_json: text },
        };
        let delta = StreamEvent::ContentBlockDelta { index: 0, delta };
        event(self.reply.timing.due(token), Part::Token, &delta)
    }

    /// The message before anything is said.
    fn started(&self) -> Answer {
        Answer {
            id: self.reply.id("msg_"),
            kind: "message".to_owned(),
            role: Role::Assistant,
            model: self.model.clone(),
            content: Vec::new(),
            stop_reason: None,
            stop_sequence: None,
            usage: self.usage(),
        }
    }

    /// The usage at the start: the first token is on its way.
    fn usage(&self) -> Usage {
        let input_tokens = self.reply.prompt_tokens;
        Usage { input_tokens, output_tokens: 1, ..Usage::default() }
    }

    /// The one block of the answer, with what it says or before that.
    fn block(&self, full: bool) -> AnswerBlock {
        let said = if full { self.reply.text() } else { "" };
        match &self.reply.tool {
            None => AnswerBlock::Text { text: said.to_owned() },
            Some(name) => {
                // Arguments that were cut are no JSON; the real API tells an empty input then.
                let empty = || Value::Object(serde_json::Map::new());
                let input = serde_json::from_str(said).unwrap_or_else(|_| empty());
                AnswerBlock::ToolUse { id: self.reply.part_id("toolu_"), name: name.clone(), input }
            }
        }
    }

    fn stop_reason(&self) -> StopReason {
        match self.reply.finish {
            Finish::Stop => StopReason::EndTurn,
            Finish::Length => StopReason::MaxTokens,
            Finish::Tool => StopReason::ToolUse,
        }
    }
}

/// What ends a stream early.
pub fn stream_error(_place: u64) -> (Option<&'static str>, String) {
    let kind = kind_of(529).to_owned();
    let message = "A simulated fault ends this stream.".to_owned();
    let error = StreamEvent::Error { error: Detail { kind, message } };
    (Some(error.name()), json(&error))
}

fn event(due: Duration, part: Part, event: &StreamEvent) -> Event {
    Event::new(due, part, json(event)).named(event.name())
}

fn json(event: &StreamEvent) -> String {
    // Writing strings and numbers to memory cannot fail.
    serde_json::to_string(event).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use waitscope_stats::draw::Draws;

    use super::*;
    use crate::config::{Config, Mode};
    use crate::model::latency::Conditions;

    fn plan(extra: &Value) -> Plan {
        let mut body = json!({"model": "m", "max_tokens": 200,
            "messages": [{"role": "user", "content": "My invoice is wrong."}]});
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let request: Request = serde_json::from_value(body).unwrap();
        let conditions = Conditions { mode: Mode::Normal, in_flight: 1 };
        let model = Config::default().latency_model();
        let reply = Reply::plan(&super::ask(&request), &model, conditions, Draws::new(7));
        Plan::new(&request, reply)
    }

    #[test]
    fn a_stream_says_what_the_whole_answer_says_in_the_real_order() {
        let weather = json!({"name": "weather", "input_schema": {"required": ["city"],
            "properties": {"city": {"type": "string"}}}});
        for (extra, stop_reason) in [
            (json!({}), "end_turn"),
            (json!({"max_tokens": 3}), "max_tokens"),
            (json!({"tools": [weather]}), "tool_use"),
        ] {
            let plan = plan(&extra);
            let answer = serde_json::to_value(plan.answer()).unwrap();
            assert_eq!(answer["stop_reason"], stop_reason);
            let total = plan.reply.total();
            let events: Vec<Event> = plan.events().collect();
            let mut names: Vec<&str> = events.iter().map(|event| event.name.unwrap()).collect();
            names.dedup();
            assert_eq!(
                names,
                [
                    "message_start",
                    "content_block_start",
                    "ping",
                    "content_block_delta",
                    "content_block_stop",
                    "message_delta",
                    "message_stop",
                ]
            );
            assert_eq!(events.last().unwrap().due, total);
            let json = |event: &Event| serde_json::from_str::<Value>(&event.data).unwrap();
            let said: String = events
                .iter()
                .filter_map(|event| {
                    let delta = json(event)["delta"].clone();
                    let text = delta.get("text").or(delta.get("partial_json"))?;
                    text.as_str().map(str::to_owned)
                })
                .collect();
            let block = &answer["content"][0];
            match block["type"].as_str().unwrap() {
                "text" => assert_eq!(block["text"], said),
                _ => assert_eq!(block["input"], serde_json::from_str::<Value>(&said).unwrap()),
            }
            let finish = json(&events[events.len() - 2]);
            assert_eq!(finish["delta"]["stop_reason"], stop_reason);
            assert_eq!(finish["usage"], json!({"output_tokens": answer["usage"]["output_tokens"]}));
            assert_eq!(json(&events[0])["message"]["content"], json!([]));
            assert_eq!(json(&events[0])["message"]["id"], answer["id"]);
        }
    }
}
