//! `POST /v1/chat/completions`.

mod content;
mod request;
mod response;
mod tools;

pub use content::{Content, Part, PartKind};
pub use request::{FormatKind, Message, Request, ResponseFormat, Role, Stop, StreamOptions};
pub use response::{
    AnswerMessage, Choice, Chunk, ChunkChoice, ChunkUsage, Completion, Delta, FinishReason,
};
pub use tools::{
    ChosenTool, Function, FunctionCall, FunctionDelta, FunctionName, Tool, ToolCall, ToolCallDelta,
    ToolChoice, ToolKind, ToolMode,
};
