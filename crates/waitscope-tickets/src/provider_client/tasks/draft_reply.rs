//! What could be answered?

use waitscope_wire::openai::chat;

use super::{Endpoint, ProviderError, Task, TaskAnswer, chat_answer, chat_request, to_json};
use crate::domain::{Named, NewTicket, TaskName, Team};

/// Asks for a free text.
#[derive(Debug)]
pub(crate) struct DraftReply<'a> {
    pub(crate) ticket: &'a NewTicket,
    /// Who will send the reply.
    pub(crate) team: Team,
}

impl Task for DraftReply<'_> {
    type Output = String;

    const NAME: TaskName = TaskName::DraftReply;
    const PROMPT_VERSION: &'static str = "draft_reply-1";
    const ENDPOINT: Endpoint = Endpoint::Chat;

    fn request(&self, model: &str) -> Result<Vec<u8>, ProviderError> {
        let instructions = format!(
            "Draft a short, friendly reply to the support ticket in the name of the team {}. \
             Promise nothing that the ticket does not settle.",
            self.team.name()
        );
        to_json(&chat::Request {
            max_tokens: Some(200),
            ..chat_request(model, instructions, self.ticket)
        })
    }

    fn read(&self, _model: &str, body: &[u8]) -> Result<TaskAnswer<String>, ProviderError> {
        chat_answer(body)
    }
}
