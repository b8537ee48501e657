//! The events of a streamed answer.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{OutputItem, OutputPart, Response};

/// One event of a streamed answer. Each has its place in the stream, `sequence_number`, from 0.
/// There is no `[DONE]`: a stream ends with `response.completed`, `.incomplete` or `.failed`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openai::responses::FunctionCall;

    /// The events with their bodies behind the sequence number. `@` stands for a response.
    fn cases(response: &Response) -> Vec<(StreamEvent, &'static str)> {
        let sequence_number = 7;
        let (output_index, content_index) = (0, 0);
        let item_id = || "msg_1".to_owned();
        let response = || Box::new(response.clone());
        let item = || {
            let (call_id, name) = ("call_1".to_owned(), "f".to_owned());
            OutputItem::FunctionCall(FunctionCall { call_id, name, ..FunctionCall::default() })
        };
        let item_json = r#""output_index":0,"item":{"type":"function_call","call_id":"call_1","name":"f","arguments":""}"#;
        let part = || OutputPart::text("a");
        let part_json = r#""item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"a","annotations":[]}"#;
        vec![
            (StreamEvent::Created { sequence_number, response: response() }, "@"),
            (StreamEvent::InProgress { sequence_number, response: response() }, "@"),
            (
                StreamEvent::OutputItemAdded { sequence_number, output_index, item: item() },
                item_json,
            ),
            (
                StreamEvent::OutputItemDone { sequence_number, output_index, item: item() },
                item_json,
            ),
            (
                StreamEvent::ContentPartAdded {
                    sequence_number,
                    item_id: item_id(),
                    output_index,
                    content_index,
                    part: part(),
                },
                part_json,
            ),
            (
                StreamEvent::ContentPartDone {
                    sequence_number,
                    item_id: item_id(),
                    output_index,
                    content_index,
                    part: part(),
                },
                part_json,
            ),
            (
                StreamEvent::OutputTextDelta {
                    sequence_number,
                    item_id: item_id(),
                    output_index,
                    content_index,
                    delta: "a".to_owned(),
                    logprobs: Vec::new(),
                },
                r#""item_id":"msg_1","output_index":0,"content_index":0,"delta":"a","logprobs":[]"#,
            ),
            (
                StreamEvent::OutputTextDone {
                    sequence_number,
                    item_id: item_id(),
                    output_index,
                    content_index,
                    text: "a".to_owned(),
                    logprobs: Vec::new(),
                },
                r#""item_id":"msg_1","output_index":0,"content_index":0,"text":"a","logprobs":[]"#,
            ),
            (
                StreamEvent::FunctionCallArgumentsDelta {
                    sequence_number,
                    item_id: item_id(),
                    output_index,
                    delta: "{".to_owned(),
                },
                r#""item_id":"msg_1","output_index":0,"delta":"{""#,
            ),
            (
                StreamEvent::FunctionCallArgumentsDone {
                    sequence_number,
                    item_id: item_id(),
                    output_index,
                    arguments: "{}".to_owned(),
                },
                r#""item_id":"msg_1","output_index":0,"arguments":"{}""#,
            ),
            (StreamEvent::Completed { sequence_number, response: response() }, "@"),
            (StreamEvent::Incomplete { sequence_number, response: response() }, "@"),
            (StreamEvent::Failed { sequence_number, response: response() }, "@"),
            (
                StreamEvent::Error {
                    sequence_number,
                    code: Some("server_error".to_owned()),
                    message: "m".to_owned(),
                    param: None,
                },
                r#""code":"server_error","message":"m","param":null"#,
            ),
        ]
    }

    #[test]
    fn events_have_the_real_form_and_their_name() {
        let response = Response { id: "resp_1".to_owned(), ..Response::default() };
        let response_json = format!(r#""response":{}"#, serde_json::to_string(&response).unwrap());
        for (event, body) in cases(&response) {
            let body = if body == "@" { &response_json } else { body };
            let expected = format!(r#"{{"type":"{}","sequence_number":7,{body}}}"#, event.name());
            assert_eq!(serde_json::to_string(&event).unwrap(), expected);
            assert_eq!(serde_json::from_str::<StreamEvent>(&expected).unwrap(), event);
        }
    }
}
