//! Reading request bodies: bounded, and every failure told in the API's own form.

use std::error::Error;

use axum::extract::Request;
use http::StatusCode;
use serde::de::DeserializeOwned;
use waitscope_serve::{BodyError, BodyLimits, BodyStalled};

use crate::error::ApiError;

/// The longest body that is taken, and how much of a longer one is thrown away.
const LIMITS: BodyLimits = BodyLimits { taken: 16 * 1024 * 1024, discarded: 128 * 1024 * 1024 };

/// Reads a body.
///
/// # Errors
/// 413 when it is too long, 408 when it stops coming, 400 when it breaks off.
pub(crate) async fn read(request: Request) -> Result<Vec<u8>, ApiError> {
    waitscope_serve::read_body(request, LIMITS).await.map_err(|error| match error {
        BodyError::TooLarge => {
            let message = format!("The body is longer than {} MiB.", LIMITS.taken / (1024 * 1024));
            ApiError::request(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", message)
        }
        BodyError::Broken(error) => broken(&error),
    })
}

fn broken(error: &axum::Error) -> ApiError {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.is::<BodyStalled>() {
            let message = "The body stopped coming; send it without long pauses.";
            return ApiError::request(StatusCode::REQUEST_TIMEOUT, "body_timeout", message);
        }
        cause = error.source();
    }
    ApiError::bad_request("body_broken", format!("The body broke off: {error}."))
}

/// Reads a JSON object.
///
/// # Errors
/// 400, naming the field where the trouble is.
pub(crate) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    // A struct would be read from an array as well, field by field.
    if body.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
        let message = "The body is not a JSON object: it must start with '{'.";
        return Err(ApiError::bad_request("invalid_json", message));
    }
    serde_json::from_slice(body).map_err(|error| explain::<T>(body, &error))
}

/// Reads the body once more, slowly, to find where the trouble is.
fn explain<T: DeserializeOwned>(body: &[u8], error: &serde_json::Error) -> ApiError {
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let path = serde_path_to_error::deserialize::<_, T>(&mut deserializer)
        .err()
        .map(|error| error.path().to_string())
        // A field whose name is not complete is a question mark, the whole body a dot.
        .map(|path| path.trim_end_matches(['?', '.']).to_owned())
        .filter(|path| !path.is_empty());
    let text = error.to_string();
    if !error.is_data() {
        let error = ApiError::bad_request("invalid_json", format!("The body is not JSON: {text}."));
        return match path {
            Some(path) => error.about(path),
            None => error,
        };
    }
    // These two are about a field of the object that the path leads to.
    let field = |prefix| {
        let name = text.strip_prefix(prefix)?.split('`').next()?;
        Some(path.iter().map(String::as_str).chain([name]).collect::<Vec<_>>().join("."))
    };
    let (code, param) = if let Some(param) = field("missing field `") {
        ("missing_required_parameter", Some(param))
    } else if let Some(param) = field("duplicate field `") {
        ("duplicate_parameter", Some(param))
    } else if text.starts_with("invalid type") {
        ("invalid_type", path)
    } else {
        ("invalid_value", path)
    };
    let Some(param) = param else { return ApiError::bad_request(code, in_plain_words(&text)) };
    let message = format!("Invalid '{param}': {}.", in_plain_words(&text));
    ApiError::bad_request(code, message).about(param)
}

/// Replaces the names of Rust types.
fn in_plain_words(text: &str) -> String {
    [
        ("expected u64", "expected a whole number, 0 or more"),
        ("expected u32", "expected a whole number, 0 or more"),
        ("expected i64", "expected a whole number"),
        ("expected f64", "expected a number"),
        ("expected struct", "expected an object,"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (rust, plain)| text.replace(rust, plain))
}
