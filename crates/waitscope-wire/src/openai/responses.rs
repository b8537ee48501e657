//! `POST /v1/responses`.

mod input;
mod prompt_tokens;
mod request;
mod response;
mod stream;
mod tools;

pub use input::{Content, FunctionCallOutput, Input, Item, Message, Part, PartKind, Role};
pub use prompt_tokens::of_input;
pub use request::{Request, TextConfig, TextFormat, Truncation};
pub use response::{
    FunctionCall, IncompleteDetails, InputTokensDetails, OutputItem, OutputMessage, OutputPart,
    OutputTokensDetails, Reasoning, Response, ResponseError, Status, Usage,
};
pub use stream::StreamEvent;
pub use tools::{FunctionTool, NamedFunction, Tool, ToolChoice};
