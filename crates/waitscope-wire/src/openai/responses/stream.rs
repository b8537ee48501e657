//! The events of a streamed answer.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{OutputItem, OutputPart, Response};

/// One event of a streamed answer. Each has its place in the stream, `sequence_number`, from 0.
/// There is no `[DONE]`: a stream ends with `response.completed`, `.incomplete` or `.failed`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ResponsesStreamEvent", transform = crate::schema::other_is_any))]
#[serde(tag = "type")]
pub enum StreamEvent {
    /// The response is there, without output.
    #[serde(rename = "response.created")]
    Created {
        /// Its place in the stream.
        sequence_number: u64,
        /// The response so far.
        response: Box<Response>,
    },
    /// The model has begun.
    #[serde(rename = "response.in_progress")]
    InProgress {
        /// Its place in the stream.
        sequence_number: u64,
        /// The response so far.
        response: Box<Response>,
    },
    /// An item begins.
    #[serde(rename = "response.output_item.added")]
    OutputItemAdded {
        /// Its place in the stream.
        sequence_number: u64,
        /// The item's place in the output.
        output_index: u64,
        /// The item so far.
        item: OutputItem,
    },
    /// An item is whole.
    #[serde(rename = "response.output_item.done")]
    OutputItemDone {
        /// Its place in the stream.
        sequence_number: u64,
        /// The item's place in the output.
        output_index: u64,
        /// The item.
        item: OutputItem,
    },
    /// A part of a message begins.
    #[serde(rename = "response.content_part.added")]
    ContentPartAdded {
        /// Its place in the stream.
        sequence_number: u64,
        /// The message.
        item_id: String,
        /// The message's place in the output.
        output_index: u64,
        /// The part's place in the message.
        content_index: u64,
        /// The part so far.
        part: OutputPart,
    },
    /// A part of a message is whole.
    #[serde(rename = "response.content_part.done")]
    ContentPartDone {
        /// Its place in the stream.
        sequence_number: u64,
        /// The message.
        item_id: String,
        /// The message's place in the output.
        output_index: u64,
        /// The part's place in the message.
        content_index: u64,
        /// The part.
        part: OutputPart,
    },
    /// More text.
    #[serde(rename = "response.output_text.delta")]
    OutputTextDelta {
        /// Its place in the stream.
        sequence_number: u64,
        /// The message.
        item_id: String,
        /// The message's place in the output.
        output_index: u64,
        /// The part's place in the message.
        content_index: u64,
        /// The text that is added.
        delta: String,
        /// Token probabilities; not simulated.
        #[serde(default)]
        logprobs: Vec<Value>,
    },
    /// The text is whole.
    #[serde(rename = "response.output_text.done")]
    OutputTextDone {
        /// Its place in the stream.
        sequence_number: u64,
        /// The message.
        item_id: String,
        /// The message's place in the output.
        output_index: u64,
        /// The part's place in the message.
        content_index: u64,
        /// The text.
        text: String,
        /// Token probabilities; not simulated.
        #[serde(default)]
        logprobs: Vec<Value>,
    },
    /// More of a function call's arguments.
    #[serde(rename = "response.function_call_arguments.delta")]
    FunctionCallArgumentsDelta {
        /// Its place in the stream.
        sequence_number: u64,
        /// The call.
        item_id: String,
        /// The call's place in the output.
        output_index: u64,
        /// What is added to the arguments.
        delta: String,
    },
    /// The arguments are whole.
    #[serde(rename = "response.function_call_arguments.done")]
    FunctionCallArgumentsDone {
        /// Its place in the stream.
        sequence_number: u64,
        /// The call.
        item_id: String,
        /// The call's place in the output.
        output_index: u64,
        /// The arguments.
        arguments: String,
    },
    /// The answer is whole.
    #[serde(rename = "response.completed")]
    Completed {
        /// Its place in the stream.
        sequence_number: u64,
        /// The response.
        response: Box<Response>,
    },
    /// The answer ended early, such as at the most tokens allowed.
    #[serde(rename = "response.incomplete")]
    Incomplete {
        /// Its place in the stream.
        sequence_number: u64,
        /// The response.
        response: Box<Response>,
    },
    /// The answer failed.
    #[serde(rename = "response.failed")]
    Failed {
        /// Its place in the stream.
        sequence_number: u64,
        /// The response, with its error.
        response: Box<Response>,
    },
    /// The stream failed.
    #[serde(rename = "error")]
    Error {
        /// Its place in the stream.
        sequence_number: u64,
        /// For programs, such as `server_error`.
        #[serde(default)]
        code: Option<String>,
        /// For people.
        message: String,
        /// The parameter it is about.
        #[serde(default)]
        param: Option<String>,
    },
    /// An event that this reader does not know.
    #[serde(other, rename = "other")]
    Other,
}

impl StreamEvent {
    /// Its type, which is also the name of the server-sent event.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Created { .. } => "response.created",
            Self::InProgress { .. } => "response.in_progress",
            Self::OutputItemAdded { .. } => "response.output_item.added",
            Self::OutputItemDone { .. } => "response.output_item.done",
            Self::ContentPartAdded { .. } => "response.content_part.added",
            Self::ContentPartDone { .. } => "response.content_part.done",
            Self::OutputTextDelta { .. } => "response.output_text.delta",
            Self::OutputTextDone { .. } => "response.output_text.done",
            Self::FunctionCallArgumentsDelta { .. } => "response.function_call_arguments.delta",
            Self::FunctionCallArgumentsDone { .. } => "response.function_call_arguments.done",
            Self::Completed { .. } => "response.completed",
            Self::Incomplete { .. } => "response.incomplete",
            Self::Failed { .. } => "response.failed",
            Self::Error { .. } => "error",
            Self::Other => "other",
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::openai::responses::{FunctionCall, OutputMessage, Role, Status};
    use crate::sse::{Decoder, encode_named};

    fn message(content: Vec<OutputPart>) -> OutputItem {
        let (id, role, status) = ("msg_1".to_owned(), Role::Assistant, Status::Completed);
        OutputItem::Message(OutputMessage { id, status, role, content })
    }

    fn call(arguments: &str) -> OutputItem {
        OutputItem::FunctionCall(FunctionCall {
            id: Some("fc_1".to_owned()),
            call_id: "call_1".to_owned(),
            name: "f".to_owned(),
            arguments: arguments.to_owned(),
            status: None,
        })
    }

    fn response() -> Box<Response> {
        Box::new(Response { id: "resp_1".to_owned(), ..Response::default() })
    }

    /// How a message is streamed; with what follows the sequence number of each event.
    fn of_message() -> Vec<(StreamEvent, &'static str)> {
        let (sequence_number, output_index, content_index) = (7, 0, 0);
        let item_id = || "msg_1".to_owned();
        let (delta, text, logprobs) = ("a".to_owned(), "a".to_owned(), Vec::new);
        let item = message(Vec::new());
        let added = StreamEvent::OutputItemAdded { sequence_number, output_index, item };
        let item = message(vec![OutputPart::text("a")]);
        let done = StreamEvent::OutputItemDone { sequence_number, output_index, item };
        vec![
            (
                added,
                r#""output_index":0,"item":{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[]}"#,
            ),
            (
                StreamEvent::ContentPartAdded {
                    sequence_number,
                    item_id: item_id(),
                    output_index,
                    content_index,
                    part: OutputPart::text(""),
                },
                r#""item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}"#,
            ),
            (
                StreamEvent::OutputTextDelta {
                    sequence_number,
                    item_id: item_id(),
                    output_index,
                    content_index,
                    delta,
                    logprobs: logprobs(),
                },
                r#""item_id":"msg_1","output_index":0,"content_index":0,"delta":"a","logprobs":[]"#,
            ),
            (
                StreamEvent::OutputTextDone {
                    sequence_number,
                    item_id: item_id(),
                    output_index,
                    content_index,
                    text,
                    logprobs: logprobs(),
                },
                r#""item_id":"msg_1","output_index":0,"content_index":0,"text":"a","logprobs":[]"#,
            ),
            (
                StreamEvent::ContentPartDone {
                    sequence_number,
                    item_id: item_id(),
                    output_index,
                    content_index,
                    part: OutputPart::text("a"),
                },
                r#""item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"a","annotations":[]}"#,
            ),
            (
                done,
                r#""output_index":0,"item":{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"a","annotations":[]}]}"#,
            ),
        ]
    }

    /// How a call is streamed.
    fn of_call() -> Vec<(StreamEvent, &'static str)> {
        let (sequence_number, output_index) = (7, 1);
        let item_id = || "fc_1".to_owned();
        let (delta, arguments) = ("{".to_owned(), "{}".to_owned());
        let (begun, whole) = (call(""), call("{}"));
        vec![
            (
                StreamEvent::OutputItemAdded { sequence_number, output_index, item: begun },
                r#""output_index":1,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":""}"#,
            ),
            (
                StreamEvent::FunctionCallArgumentsDelta {
                    sequence_number,
                    item_id: item_id(),
                    output_index,
                    delta,
                },
                r#""item_id":"fc_1","output_index":1,"delta":"{""#,
            ),
            (
                StreamEvent::FunctionCallArgumentsDone {
                    sequence_number,
                    item_id: item_id(),
                    output_index,
                    arguments,
                },
                r#""item_id":"fc_1","output_index":1,"arguments":"{}""#,
            ),
            (
                StreamEvent::OutputItemDone { sequence_number, output_index, item: whole },
                r#""output_index":1,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"{}"}"#,
            ),
        ]
    }

    /// A stream with every event, in order. `@` stands for the response.
    fn stream() -> Vec<(StreamEvent, &'static str)> {
        let sequence_number = 7;
        let code = Some("server_error".to_owned());
        let message = "m".to_owned();
        let opening = [
            (StreamEvent::Created { sequence_number, response: response() }, "@"),
            (StreamEvent::InProgress { sequence_number, response: response() }, "@"),
        ];
        let closing = [
            (StreamEvent::Completed { sequence_number, response: response() }, "@"),
            (StreamEvent::Incomplete { sequence_number, response: response() }, "@"),
            (StreamEvent::Failed { sequence_number, response: response() }, "@"),
            (
                StreamEvent::Error { sequence_number, code, message, param: None },
                r#""code":"server_error","message":"m","param":null"#,
            ),
        ];
        opening.into_iter().chain(of_message()).chain(of_call()).chain(closing).collect()
    }

    #[test]
    fn a_stream_is_written_like_a_real_one_and_read_back_in_order() {
        let response = format!(r#""response":{}"#, serde_json::to_string(&response()).unwrap());
        let mut decoder = Decoder::new();
        for (event, rest) in stream() {
            let rest = if rest == "@" { &response } else { rest };
            let json = serde_json::to_string(&event).unwrap();
            assert_eq!(
                json,
                format!(r#"{{"type":"{}","sequence_number":7,{rest}}}"#, event.name())
            );
            decoder.push(encode_named(event.name(), &json).as_bytes());
        }
        for (event, _) in stream() {
            let read = decoder.next_event().unwrap().unwrap();
            assert_eq!(read.event, event.name());
            assert_eq!(serde_json::from_str::<StreamEvent>(&read.data).unwrap(), event);
        }
        assert_eq!(decoder.next_event(), Ok(None));
    }

    #[test]
    fn unknown_events_are_read_over_and_what_is_missing_is_named() {
        let read = serde_json::from_value::<StreamEvent>;
        let unknown = json!({"type": "response.reasoning_text.delta", "sequence_number": 3});
        assert_eq!(read(unknown).unwrap(), StreamEvent::Other);
        for (event, expected) in [
            (json!({"sequence_number": 1}), "missing field `type`"),
            (
                json!({"type": "response.created", "response": {}}),
                "missing field `sequence_number`",
            ),
            (json!({"type": "error", "sequence_number": 1}), "missing field `message`"),
        ] {
            let error = read(event).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
