//! `POST /v1/chat/completions`.

mod content;
mod request;
mod response;

pub use content::{Content, Part, PartKind};
pub use request::{FormatKind, Message, Request, ResponseFormat, Role, Stop, StreamOptions};
pub use response::{
    AnswerMessage, Choice, Chunk, ChunkChoice, ChunkUsage, Completion, Delta, FinishReason,
};
