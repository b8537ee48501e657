//! What the provider decides: how long a call takes, what it answers, whether it is admitted.
//!
//! Pure and seeded: no clock, no socket, no randomness of its own. Time comes in as an argument,
//! draws come from a hash of the seed and the call (see [`attempts`]), so that the same calls get
//! the same latencies and answers in any order and at any concurrency.

pub mod answer;
pub mod attempts;
pub mod chat;
pub mod embedding;
pub mod fault;
pub mod gaps;
pub mod latency;
pub mod messages;
pub mod quota;
pub mod recent;
pub mod recorded;
pub mod recording;
pub mod recording_fit;
pub mod reply;
pub mod responses;
pub mod schedule;
pub mod script;
pub mod validity;

use waitscope_wire::openai::chat::{FormatKind, Request};

/// What a call asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// A chat call that asks for JSON.
    Classify,
    /// Any other chat call.
    DraftReply,
    /// An embeddings call.
    Embed,
}

impl Task {
    /// All tasks.
    pub const ALL: [Self; 3] = [Self::Classify, Self::DraftReply, Self::Embed];

    /// The task of a chat call: a `response_format` other than plain text makes it a classify.
    pub fn of_chat(request: &Request) -> Self {
        match &request.response_format {
            Some(format) if format.kind != FormatKind::Text => Self::Classify,
            _ => Self::DraftReply,
        }
    }

    /// Its name in the counts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Classify => "classify",
            Self::DraftReply => "draft_reply",
            Self::Embed => "embed",
        }
    }
}
