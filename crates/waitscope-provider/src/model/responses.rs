//! A response (`/v1/responses`) from its request to the last event of its answer.

use std::time::Duration;

use waitscope_wire::openai::responses::{
    FunctionCall, IncompleteDetails, OutputItem, OutputMessage, OutputPart, Request, Response,
    Role, Status, StreamEvent, Usage, of_input,
};

use super::reply::{Ask, Finish, Reply};
use super::script::{Event, Part};

/// What a call is charged at admission: the prompt's estimate plus the most tokens it may get.
pub fn charge(request: &Request) -> u64 {
    of_input(request) + request.max_output_tokens.unwrap_or(0)
}

/// What a response request asks for.
pub fn ask(request: &Request) -> Ask {
    let tool = request.called_tool();
    Ask {
        question: request.question(),
        wants_json: request.wants_json(),
        tool: tool.map(|(name, schema)| (name.to_owned(), schema.cloned())),
        max_tokens: request.max_output_tokens,
        prompt_tokens: of_input(request),
    }
}

/// The answer to a response request, as its protocol tells it.
#[derive(Debug, Clone)]
pub struct Plan {
    reply: Reply,
    started: Response,
}

impl Plan {
    /// The answer to `request`. `created` is the time of the call in Unix seconds.
    pub fn new(request: &Request, reply: Reply, created: u64) -> Self {
        let started = Response::started(request, reply.id("resp_"), created);
        Self { reply, started }
    }

    /// The tokens of the prompt and of the answer.
    pub fn tokens(&self) -> (u64, u64) {
        (self.reply.prompt_tokens, self.reply.len().into())
    }

    /// The whole answer.
    pub fn response(&self) -> Response {
        let cut = self.reply.finish == Finish::Length;
        Response {
            status: self.status(),
            incomplete_details: cut.then(IncompleteDetails::max_output_tokens),
            output: vec![self.item(true)],
            usage: Some(Usage::new(self.reply.prompt_tokens, self.reply.len().into())),
            ..self.started.clone()
        }
    }

    /// The answer as a stream, in the real order.
    pub fn events(self) -> impl Iterator<Item = Event> + Send {
        let (first, total) = (self.reply.timing.due(0), self.reply.total());
        let (opening, closing) = (self.opening(), self.closing());
        let (begun, tokens) = (opening.len() as u64, u64::from(self.reply.len()));
        let opening = number(0, opening).map(move |(part, data)| event(first, part, &data));
        let closing =
            number(begun + tokens, closing).map(move |(part, data)| event(total, part, &data));
        let token = move |token| {
            let due = self.reply.timing.due(token);
            event(due, Part::Token, &self.token(token, begun + u64::from(token)))
        };
        opening.chain((0..u32::try_from(tokens).unwrap_or(u32::MAX)).map(token)).chain(closing)
    }

    /// What comes before the first token.
    fn opening(&self) -> Vec<(Part, Unnumbered)> {
        let response = || Box::new(self.started.clone());
        let (created, in_progress, item) = (response(), response(), self.item(false));
        let mut opening: Vec<(Part, Unnumbered)> = vec![
            (
                Part::Open,
                Box::new(|n| StreamEvent::Created { sequence_number: n, response: created }),
            ),
            (
                Part::Open,
                Box::new(|n| StreamEvent::InProgress { sequence_number: n, response: in_progress }),
            ),
            (
                Part::Frame,
                Box::new(|n| StreamEvent::OutputItemAdded {
                    sequence_number: n,
                    output_index: 0,
                    item,
                }),
            ),
        ];
        if self.reply.tool.is_none() {
            let item_id = self.item_id();
            opening.push((
                Part::Frame,
                Box::new(|n| StreamEvent::ContentPartAdded {
                    sequence_number: n,
                    item_id,
                    output_index: 0,
                    content_index: 0,
                    part: OutputPart::text(""),
                }),
            ));
        }
        opening
    }

    fn token(&self, token: u32, sequence_number: u64) -> StreamEvent {
        let (item_id, output_index) = (self.item_id(), 0);
        let delta = self.reply.token(token).to_owned();
        match &self.reply.tool {
            None => StreamEvent::OutputTextDelta {
                sequence_number,
                item_id,
                output_index,
                content_index: 0,
                delta,
                logprobs: Vec::new(),
            },
            Some(_) => StreamEvent::FunctionCallArgumentsDelta {
                sequence_number,
                item_id,
                output_index,
                delta,
            },
        }
    }

    /// What comes after the last token.
    fn closing(&self) -> Vec<(Part, Unnumbered)> {
        let (item, response) = (self.item(true), Box::new(self.response()));
        let mut closing = if self.reply.tool.is_some() {
            let (item_id, arguments) = (self.item_id(), self.reply.text().to_owned());
            let done: Unnumbered = Box::new(|n| StreamEvent::FunctionCallArgumentsDone {
                sequence_number: n,
                item_id,
                output_index: 0,
                arguments,
            });
            vec![(Part::Frame, done)]
        } else {
            self.text_done()
        };
        closing.push((
            Part::Frame,
            Box::new(|n| StreamEvent::OutputItemDone { sequence_number: n, output_index: 0, item }),
        ));
        let cut = response.status == Status::Incomplete;
        closing.push((
            Part::End,
            Box::new(move |n| {
                if cut {
                    StreamEvent::Incomplete { sequence_number: n, response }
                } else {
                    StreamEvent::Completed { sequence_number: n, response }
                }
            }),
        ));
        closing
    }

    fn text_done(&self) -> Vec<(Part, Unnumbered)> {
        let (item_id, same_id) = (self.item_id(), self.item_id());
        let text = self.reply.text().to_owned();
        let part = OutputPart::text(text.clone());
        vec![
            (
                Part::Frame,
                Box::new(|n| StreamEvent::OutputTextDone {
                    sequence_number: n,
                    item_id,
                    output_index: 0,
                    content_index: 0,
                    text,
                    logprobs: Vec::new(),
                }),
            ),
            (
                Part::Frame,
                Box::new(|n| StreamEvent::ContentPartDone {
                    sequence_number: n,
                    item_id: same_id,
                    output_index: 0,
                    content_index: 0,
                    part,
                }),
            ),
        ]
    }

    /// The one item of the output, with what it says or before that.
    fn item(&self, full: bool) -> OutputItem {
        let (id, said) = (self.item_id(), if full { self.reply.text() } else { "" });
        let status = if full { self.status() } else { Status::InProgress };
        match &self.reply.tool {
            None => {
                let content = if full { vec![OutputPart::text(said)] } else { Vec::new() };
                OutputItem::Message(OutputMessage { id, status, role: Role::Assistant, content })
            }
            Some(name) => OutputItem::FunctionCall(FunctionCall {
                id: Some(id),
                status: Some(status),
                arguments: said.to_owned(),
                call_id: self.reply.part_id("call_"),
                name: name.clone(),
            }),
        }
    }

    fn item_id(&self) -> String {
        self.reply.part_id(if self.reply.tool.is_some() { "fc_" } else { "msg_" })
    }

    fn status(&self) -> Status {
        match self.reply.finish {
            Finish::Length => Status::Incomplete,
            Finish::Stop | Finish::Tool => Status::Completed,
        }
    }
}

/// An event that still needs its sequence number.
type Unnumbered = Box<dyn FnOnce(u64) -> StreamEvent + Send>;

fn number(
    from: u64,
    events: Vec<(Part, Unnumbered)>,
) -> impl Iterator<Item = (Part, StreamEvent)> + Send {
    events.into_iter().zip(from..).map(|((part, event), number)| (part, event(number)))
}

/// What ends a stream early.
pub fn stream_error(sequence_number: u64) -> (Option<&'static str>, String) {
    let error = StreamEvent::Error {
        sequence_number,
        code: Some("server_error".to_owned()),
        message: "A simulated fault ends this stream.".to_owned(),
        param: None,
    };
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
    use serde_json::{Value, json};
    use waitscope_stats::draw::Draws;

    use super::*;
    use crate::config::{Config, Mode};
    use crate::model::latency::Conditions;

    fn plan(extra: &Value) -> Plan {
        let mut body = json!({"model": "m", "input": "My invoice is wrong."});
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let request: Request = serde_json::from_value(body).unwrap();
        let conditions = Conditions { mode: Mode::Normal, in_flight: 1 };
        let model = Config::default().latency_model();
        let reply = Reply::plan(&super::ask(&request), &model, conditions, Draws::new(7));
        Plan::new(&request, reply, 7)
    }

    /// The data of every event.
    fn streamed(plan: Plan) -> Vec<Value> {
        let parse = |event: Event| {
            let json: Value = serde_json::from_str(&event.data).unwrap();
            assert_eq!(json["type"], event.name.unwrap());
            json
        };
        plan.events().map(parse).collect()
    }

    #[track_caller]
    fn check(extra: &Value, last: &str, between: &[&str], delta: &str) {
        let plan = plan(extra);
        let whole = serde_json::to_value(plan.response()).unwrap();
        let events = streamed(plan);
        let numbers: Vec<u64> =
            events.iter().map(|event| event["sequence_number"].as_u64().unwrap()).collect();
        assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>());
        let mut names: Vec<&str> = events.iter().map(|e| e["type"].as_str().unwrap()).collect();
        names.dedup();
        let frame = ["response.created", "response.in_progress", "response.output_item.added"];
        let expected = [&frame[..], between, &["response.output_item.done", last]].concat();
        assert_eq!(names, expected);
        assert_eq!(events.last().unwrap()["response"], whole);
        assert_eq!(events[0]["response"]["output"], json!([]));
        let said: String = events
            .iter()
            .filter(|event| event["type"] == delta)
            .filter_map(|event| event["delta"].as_str())
            .collect();
        let item = &whole["output"][0];
        let told = item.get("arguments").unwrap_or(&item["content"][0]["text"]);
        assert_eq!(told, &json!(said));
    }

    #[test]
    fn a_stream_says_what_the_whole_answer_says_in_the_real_order() {
        let text = [
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.done",
            "response.content_part.done",
        ];
        check(&json!({}), "response.completed", &text, text[1]);
        check(&json!({"max_output_tokens": 16}), "response.incomplete", &text, text[1]);
        let arguments =
            ["response.function_call_arguments.delta", "response.function_call_arguments.done"];
        let tool = json!({"type": "function", "name": "f", "parameters": {"required": ["a"],
            "properties": {"a": {"type": "string"}}}});
        check(&json!({"tools": [tool]}), "response.completed", &arguments, arguments[0]);
    }

    #[test]
    fn a_cut_response_says_why() {
        let whole = plan(&json!({})).response();
        assert_eq!((whole.status, whole.incomplete_details), (Status::Completed, None));
        let cut = plan(&json!({"max_output_tokens": 16})).response();
        assert_eq!(cut.status, Status::Incomplete);
        assert_eq!(cut.incomplete_details, Some(IncompleteDetails::max_output_tokens()));
        assert_eq!(cut.usage.unwrap().output_tokens, 16);
    }
}
