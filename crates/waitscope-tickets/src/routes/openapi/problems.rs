//! The errors that operations answer with, as the document tells of them.

use serde_json::{Value, json};

/// One kind of error. Its status and code are those of [`ApiError`](crate::routes::error::ApiError).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) status: u16,
    pub(super) code: &'static str,
    /// When it is answered.
    pub(super) when: &'static str,
}

const fn problem(status: u16, code: &'static str, when: &'static str) -> Problem {
    Problem { status, code, when }
}

pub(super) const UNAUTHORIZED: Problem =
    problem(401, "unauthorized", "the header X-API-Key is missing or wrong");
pub(super) const NO_CUSTOMER: Problem = problem(404, "not_found", "there is no such customer");
pub(super) const NO_TICKET: Problem = problem(404, "not_found", "there is no such ticket");
pub(super) const TOO_LARGE: Problem = problem(413, "body_too_large", "the body has over 64 KiB");
pub(super) const NOT_JSON: Problem = problem(
    415,
    "unsupported_media_type",
    "a type other than application/json, or a Content-Encoding",
);
pub(super) const INVALID: Problem =
    problem(422, "invalid_request", "something is wrong, missing or unknown: see fields");
pub(super) const KEY_REUSED: Problem =
    problem(422, "idempotency_key_reused", "the key has been used with another body");
pub(super) const INTERNAL: Problem = problem(500, "internal_error", "a fault of the service");
pub(super) const AI_BAD_ANSWER: Problem =
    problem(502, "ai_bad_answer", "the AI provider refused, or its answer cannot be used");
pub(super) const AI_BUSY: Problem = problem(503, "ai_busy", "the AI provider is rate-limiting");
pub(super) const AI_UNAVAILABLE: Problem =
    problem(503, "ai_unavailable", "the AI provider fails, or does not answer in time");
pub(super) const DATABASE_BUSY: Problem =
    problem(503, "database_busy", "no connection, or no turn to write, in time");
pub(super) const DATABASE_UNAVAILABLE: Problem =
    problem(503, "database_unavailable", "the database is gone, full or read-only");

/// What every use of the database may come to.
pub(super) const OF_DATABASE: [Problem; 3] = [INTERNAL, DATABASE_BUSY, DATABASE_UNAVAILABLE];

/// The response for all problems of one status.
pub(super) fn response(status: u16, problems: &[Problem]) -> Value {
    let codes: Vec<&str> = problems.iter().map(|problem| problem.code).collect();
    let whens: Vec<String> =
        problems.iter().map(|problem| format!("`{}`: {}", problem.code, problem.when)).collect();
    let mut narrower = json!({"code": {"enum": codes}});
    if status != 422 {
        narrower["fields"] = json!({"maxProperties": 0});
    }
    let mut headers = super::common_headers();
    match status {
        401 => headers["WWW-Authenticate"] = json!({"$ref": "#/components/headers/Challenge"}),
        503 => headers["Retry-After"] = json!({"$ref": "#/components/headers/RetryAfter"}),
        _ => {}
    }
    json!({
        "description": whens.join("; "),
        "headers": headers,
        "content": {"application/json": {"schema": {
            "$ref": "#/components/schemas/Error",
            "properties": {"error": {"properties": narrower}},
        }}},
    })
}

/// The shape of all errors.
pub(super) fn schema(request_id: &Value) -> Value {
    json!({
        "description": "What all errors look like.",
        "type": "object",
        "required": ["error"],
        "properties": {"error": {
            "type": "object",
            "required": ["code", "message", "request_id", "fields"],
            "properties": {
                "code": {"description": "For programs.", "type": "string"},
                "message": {"description": "For people.", "type": "string", "minLength": 1},
                "request_id": request_id,
                "fields": {
                    "description": "What is wrong, by the name of a field, parameter or header.",
                    "type": "object",
                    "additionalProperties": {"type": "string", "minLength": 1},
                },
            },
        }},
    })
}
