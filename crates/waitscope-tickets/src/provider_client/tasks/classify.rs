//! Which team, and how urgent?

use serde::Deserialize;
use serde_json::json;
use waitscope_wire::openai::chat;

use super::{
    Endpoint, ProviderError, Task, TaskAnswer, bad_answer, chat_answer, chat_request, to_json,
};
use crate::domain::{Classification, Named, NewTicket, Priority, TaskName, Team};

/// Asks for a JSON object by a schema.
#[derive(Debug)]
pub(crate) struct Classify<'a>(pub(crate) &'a NewTicket);

impl Task for Classify<'_> {
    type Output = Classification;

    const NAME: TaskName = TaskName::Classify;
    const PROMPT_VERSION: &'static str = "classify-1";
    const ENDPOINT: Endpoint = Endpoint::Chat;

    fn request(&self, model: &str) -> Result<Vec<u8>, ProviderError> {
        let instructions = format!(
            "Classify the support ticket. Choose the team that should work on it ({}) and its \
             priority: 1 for now, 2 for soon, 3 for when there is time.",
            Team::names().join(", ")
        );
        to_json(&chat::Request {
            response_format: Some(chat::ResponseFormat {
                kind: chat::FormatKind::JsonSchema,
                json_schema: Some(json!({
                    "name": "classification",
                    "strict": true,
                    "schema": {
                        "type": "object",
                        "properties": {
                            "team": {"type": "string", "enum": Team::names()},
                            "priority": {"type": "integer", "enum": [1, 2, 3]},
                        },
                        "required": ["team", "priority"],
                        "additionalProperties": false,
                    },
                })),
            }),
            max_tokens: Some(60),
            temperature: Some(0.0),
            ..chat_request(model, instructions, self.0)
        })
    }

    fn read(&self, _model: &str, body: &[u8]) -> Result<TaskAnswer<Classification>, ProviderError> {
        let answer = chat_answer(body)?;
        let output =
            parse(&answer.output).ok_or_else(|| bad_answer("names no team or priority"))?;
        Ok(TaskAnswer { output, model: answer.model, usage: answer.usage })
    }
}

fn parse(text: &str) -> Option<Classification> {
    #[derive(Deserialize)]
    struct Answer {
        team: String,
        priority: i64,
    }
    let answer: Answer = serde_json::from_str(text).ok()?;
    Some(Classification {
        team: Team::from_name(&answer.team)?,
        priority: Priority::new(answer.priority)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_teams_and_priorities_are_taken() {
        let billing = Classification { team: Team::Billing, priority: Priority::new(1).unwrap() };
        let cases = [
            (r#"{"team": "billing", "priority": 1}"#, Some(billing)),
            (r#"{"team": "billing", "priority": 1, "why": "money"}"#, Some(billing)),
            (r#"{"team": "kitchen", "priority": 1}"#, None),
            (r#"{"team": "billing", "priority": 4}"#, None),
            (r#"{"team": "billing", "priority": "1"}"#, None),
            (r#"{"team": "billing"}"#, None),
            ("billing, 1", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text), expected, "{text}");
        }
    }
}
