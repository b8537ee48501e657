//! The answer. Fields stand in the order of the real one.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Request, TextConfig, TextFormat, Tool, ToolChoice, Truncation};

/// An answer, whole or under way.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Response {
    /// `resp_...`.
    pub id: String,
    /// `response`.
    pub object: String,
    /// When it was asked for, in Unix seconds.
    pub created_at: u64,
    /// How far it is.
    pub status: Status,
    /// Why it failed.
    pub error: Option<ResponseError>,
    /// Why it is incomplete.
    pub incomplete_details: Option<IncompleteDetails>,
    /// The request's instructions.
    pub instructions: Option<String>,
    /// The request's most tokens of the answer.
    pub max_output_tokens: Option<u64>,
    /// The model that answers.
    pub model: String,
    /// What the model says and calls.
    pub output: Vec<OutputItem>,
    /// Whether it may call several tools at once.
    pub parallel_tool_calls: bool,
    /// The response that this one goes on from.
    pub previous_response_id: Option<String>,
    /// How much the model thinks first.
    pub reasoning: Option<Reasoning>,
    /// Whether it is kept.
    pub store: bool,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// The form of the text.
    pub text: Option<TextConfig>,
    /// Whether the model calls a tool, and which.
    pub tool_choice: ToolChoice,
    /// The request's tools.
    pub tools: Vec<Tool>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// What to do with too long a conversation.
    pub truncation: Option<Truncation>,
    /// The tokens used; null until the end.
    pub usage: Option<Usage>,
    /// The caller's name for its user.
    pub user: Option<String>,
    /// What the caller notes about it.
    pub metadata: Option<Map<String, Value>>,
}

impl Response {
    /// The answer to `request` before its first token: it repeats the request, with the API's
    /// defaults for what is absent. `created_at` is the time of the call in Unix seconds.
    pub fn started(request: &Request, id: String, created_at: u64) -> Self {
        let text = request.text.clone().unwrap_or_default();
        Self {
            id,
            object: "response".to_owned(),
            created_at,
            status: Status::InProgress,
            error: None,
            incomplete_details: None,
            instructions: request.instructions.clone(),
            max_output_tokens: request.max_output_tokens,
            model: request.model.clone(),
            output: Vec::new(),
            parallel_tool_calls: request.parallel_tool_calls.unwrap_or(true),
            previous_response_id: request.previous_response_id.clone(),
            reasoning: Some(request.reasoning.as_ref().map_or_else(Reasoning::default, |given| {
                let word = |field| given.get(field).and_then(Value::as_str).map(str::to_owned);
                Reasoning { effort: word("effort"), summary: word("summary") }
            })),
            store: request.store.unwrap_or(true),
            temperature: Some(request.temperature.unwrap_or(1.0)),
            text: Some(TextConfig {
                format: Some(text.format.unwrap_or_else(TextFormat::text)),
                ..text
            }),
            tool_choice: request.tool_choice.clone().unwrap_or_default(),
            tools: request.tools.clone().unwrap_or_default(),
            top_p: Some(request.top_p.unwrap_or(1.0)),
            truncation: Some(request.truncation.unwrap_or_default()),
            usage: None,
            user: request.user.clone(),
            metadata: Some(request.metadata.clone().unwrap_or_default()),
        }
    }
}

/// How far a response or one of its items is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = crate::schema::other_is_any))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It is whole.
    #[default]
    Completed,
    /// It is being made.
    InProgress,
    /// It ended early, such as at the most tokens allowed.
    Incomplete,
    /// It failed; of responses only.
    Failed,
    /// A status this reader does not know.
    #[serde(other)]
    Other,
}

/// Why a response failed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ResponseError {
    /// For programs, such as `server_error`.
    pub code: String,
    /// For people.
    pub message: String,
}

/// Why a response is incomplete.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct IncompleteDetails {
    /// `max_output_tokens` or `content_filter`.
    pub reason: Option<String>,
}

impl IncompleteDetails {
    /// It reached the most tokens allowed.
    pub fn max_output_tokens() -> Self {
        Self { reason: Some("max_output_tokens".to_owned()) }
    }
}

/// How much the model thinks first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Reasoning {
    /// `low`, `medium`, `high` and so on.
    pub effort: Option<String>,
    /// How its thoughts are summed up.
    pub summary: Option<String>,
}

/// What the model says or calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = crate::schema::other_is_any))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum OutputItem {
    /// It says something.
    Message(OutputMessage),
    /// It calls a function.
    FunctionCall(FunctionCall),
    /// An item of a type this reader does not know.
    #[serde(other)]
    Other,
}

/// What the model says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OutputMessage {
    /// `msg_...`.
    #[serde(default)]
    pub id: String,
    /// How far it is.
    #[serde(default)]
    pub status: Status,
    /// Always the assistant.
    pub role: super::Role,
    /// Its parts.
    pub content: Vec<OutputPart>,
}

/// One part of what the model says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transform = crate::schema::other_is_any))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum OutputPart {
    /// A text.
    OutputText {
        /// The text.
        text: String,
        /// Citations; never any here.
        #[serde(default)]
        annotations: Vec<Value>,
    },
    /// A part of a type this reader does not know.
    #[serde(other)]
    Other,
}

impl OutputPart {
    /// A text without citations.
    pub fn text(text: impl Into<String>) -> Self {
        Self::OutputText { text: text.into(), annotations: Vec::new() }
    }
}

/// A call to a function: in an answer, and repeated in a later request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "ResponsesFunctionCall")
)]
pub struct FunctionCall {
    /// `fc_...`; requests may leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `call_...`; the function's result refers to it.
    pub call_id: String,
    /// The function's name.
    pub name: String,
    /// The arguments: JSON in a string.
    pub arguments: String,
    /// How far it is; requests may leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
}

/// The token counts of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ResponsesUsage"))]
#[serde(default)]
pub struct Usage {
    /// Tokens of the request.
    pub input_tokens: u64,
    /// What the request's tokens were.
    pub input_tokens_details: InputTokensDetails,
    /// Tokens of the answer.
    pub output_tokens: u64,
    /// What the answer's tokens were.
    pub output_tokens_details: OutputTokensDetails,
    /// Both together.
    pub total_tokens: u64,
}

impl Usage {
    /// The usage of so many tokens, none of them cached or thought with.
    pub fn new(input_tokens: u64, output_tokens: u64) -> Self {
        let total_tokens = input_tokens + output_tokens;
        Self { input_tokens, output_tokens, total_tokens, ..Self::default() }
    }
}

/// Kinds of request tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct InputTokensDetails {
    /// Tokens that the provider had cached.
    pub cached_tokens: u64,
    /// Tokens that the provider wrote to its cache.
    pub cache_write_tokens: u64,
}

/// Kinds of answer tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct OutputTokensDetails {
    /// Tokens the model thought with and did not show.
    pub reasoning_tokens: u64,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::openai::responses::Role;

    fn request(body: Value) -> Request {
        serde_json::from_value(body).unwrap()
    }

    #[test]
    fn a_whole_answer_has_the_real_form() {
        let request = request(json!({"model": "m", "input": "hi"}));
        let message = OutputMessage {
            id: "msg_1".to_owned(),
            status: Status::Completed,
            role: Role::Assistant,
            content: vec![OutputPart::text("Hello")],
        };
        let call = FunctionCall {
            id: Some("fc_1".to_owned()),
            call_id: "call_1".to_owned(),
            name: "f".to_owned(),
            arguments: "{}".to_owned(),
            status: Some(Status::Completed),
        };
        let whole = Response {
            status: Status::Completed,
            output: vec![OutputItem::Message(message), OutputItem::FunctionCall(call)],
            usage: Some(Usage::new(2, 3)),
            ..Response::started(&request, "resp_1".to_owned(), 1_741_476_542)
        };
        let expected = concat!(
            r#"{"id":"resp_1","object":"response","created_at":1741476542,"status":"completed","#,
            r#""error":null,"incomplete_details":null,"instructions":null,"#,
            r#""max_output_tokens":null,"model":"m","output":["#,
            r#"{"type":"message","id":"msg_1","status":"completed","role":"assistant","#,
            r#""content":[{"type":"output_text","text":"Hello","annotations":[]}]},"#,
            r#"{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","#,
            r#""arguments":"{}","status":"completed"}],"#,
            r#""parallel_tool_calls":true,"previous_response_id":null,"#,
            r#""reasoning":{"effort":null,"summary":null},"store":true,"temperature":1.0,"#,
            r#""text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],"top_p":1.0,"#,
            r#""truncation":"disabled","usage":{"input_tokens":2,"#,
            r#""input_tokens_details":{"cached_tokens":0,"cache_write_tokens":0},"output_tokens":3,"#,
            r#""output_tokens_details":{"reasoning_tokens":0},"total_tokens":5},"#,
            r#""user":null,"metadata":{}}"#,
        );
        assert_eq!(serde_json::to_string(&whole).unwrap(), expected);
        assert_eq!(serde_json::from_str::<Response>(expected).unwrap(), whole);
    }

    #[test]
    fn what_was_asked_is_repeated() {
        let asked = json!({
            "instructions": "Be kind.",
            "max_output_tokens": 16,
            "model": "m",
            "parallel_tool_calls": false,
            "previous_response_id": "resp_0",
            "store": false,
            "temperature": 0.5,
            "text": {"format": {"type": "json_object"}, "verbosity": "low"},
            "tool_choice": {"type": "function", "name": "f"},
            "tools": [{"type": "function", "name": "f", "parameters": {}, "strict": true},
                      {"type": "web_search"}],
            "top_p": 0.5,
            "truncation": "auto",
            "user": "u",
            "metadata": {"a": "1"},
        });
        let mut body = asked.clone();
        body["input"] = json!("hi");
        body["reasoning"] = json!({"effort": "low", "other": [1]});
        let started = Response::started(&request(body), "resp_1".to_owned(), 1);
        let written = serde_json::to_value(started).unwrap();
        for (field, value) in asked.as_object().unwrap() {
            assert_eq!(&written[field], value, "{field}");
        }
        assert_eq!(written["reasoning"], json!({"effort": "low", "summary": null}));
        assert_eq!(written["status"], "in_progress");
    }

    #[test]
    fn early_ends_are_told() {
        let cut = IncompleteDetails::max_output_tokens();
        assert_eq!(serde_json::to_value(cut).unwrap(), json!({"reason": "max_output_tokens"}));
        for (status, word) in [(Status::Incomplete, "incomplete"), (Status::Failed, "failed")] {
            assert_eq!(serde_json::to_value(status).unwrap(), word);
        }
    }

    #[test]
    fn lean_and_odd_answers_of_other_providers_are_read() {
        let odd: Response = serde_json::from_value(json!({
            "status": "cancelled", "reasoning": null, "metadata": null, "x": 1,
            "output": [{"type": "reasoning", "id": "rs_1", "summary": []},
                       {"type": "message", "role": "assistant",
                        "content": [{"type": "refusal", "refusal": "No."},
                                    {"type": "output_text", "text": "a", "logprobs": []}]}],
        }))
        .unwrap();
        assert_eq!(odd.status, Status::Other);
        assert_eq!(odd.output[0], OutputItem::Other);
        let OutputItem::Message(message) = &odd.output[1] else { panic!("{odd:?}") };
        assert_eq!(message.content, [OutputPart::Other, OutputPart::text("a")]);
    }
}
