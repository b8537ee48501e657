//! Reads the JSON body of a request, within bounds.

use axum::extract::Request;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http_body_util::BodyExt;

use super::error::ApiError;
use crate::domain::FieldErrors;

/// The largest body that is taken.
pub(super) const MAX_BYTES: usize = 64 * 1024;

/// How much of a larger body is read and thrown away. A client that is still sending when its
/// connection is closed loses the answer.
const MAX_DISCARDED_BYTES: usize = 1024 * 1024;

/// The whole body of a request that says it is JSON, or does not say.
pub(super) async fn read_json(request: Request) -> Result<Vec<u8>, ApiError> {
    let (head, mut body) = request.into_parts();
    if !says_json(&head.headers) {
        return Err(ApiError::UnsupportedMediaType);
    }
    if announced(&head.headers).is_some_and(|bytes| bytes > MAX_DISCARDED_BYTES) {
        return Err(ApiError::BodyTooLarge);
    }
    let mut json = Vec::new();
    let mut received = 0;
    while let Some(frame) = body.frame().await {
        let not_whole = |_| FieldErrors::of("body", "did not arrive whole or in time");
        let data = frame.map_err(not_whole)?.into_data().unwrap_or_default();
        received += data.len();
        if received <= MAX_BYTES {
            json.extend_from_slice(&data);
        } else if received > MAX_DISCARDED_BYTES {
            break;
        }
    }
    if received > MAX_BYTES { Err(ApiError::BodyTooLarge) } else { Ok(json) }
}

/// A body without a type is taken for JSON: there is nothing else it could be.
fn says_json(headers: &HeaderMap) -> bool {
    let plain = headers.get(CONTENT_ENCODING).is_none_or(|coding| coding == "identity");
    let json = headers.get(CONTENT_TYPE).is_none_or(|value| {
        let essence = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
        essence.trim().eq_ignore_ascii_case("application/json")
    });
    plain && json
}

fn announced(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_json_is_json() {
        let cases = [
            ("", "", true),
            ("application/json", "", true),
            ("Application/JSON; charset=utf-8", "", true),
            ("application/json", "identity", true),
            ("application/json", "gzip", false),
            ("application/jsonp", "", false),
            ("text/plain", "", false),
            ("application/x-www-form-urlencoded", "", false),
        ];
        for (content_type, coding, expected) in cases {
            let mut headers = HeaderMap::new();
            for (name, value) in [(CONTENT_TYPE, content_type), (CONTENT_ENCODING, coding)] {
                if !value.is_empty() {
                    headers.insert(name, value.parse().unwrap());
                }
            }
            assert_eq!(says_json(&headers), expected, "{content_type} {coding}");
        }
    }
}
