//! Reads the JSON body of a request, within bounds.

use axum::extract::Request;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use waitscope_serve::{BodyError, BodyLimits, read_body};

use super::error::ApiError;
use crate::domain::FieldErrors;

/// The largest body that is taken, and how much of a larger one is thrown away.
pub(super) const LIMITS: BodyLimits = BodyLimits { taken: 64 * 1024, discarded: 1024 * 1024 };

/// The whole body of a request that says it is JSON, or does not say.
pub(super) async fn read_json(request: Request) -> Result<Vec<u8>, ApiError> {
    if !says_json(request.headers()) {
        return Err(ApiError::UnsupportedMediaType);
    }
    read_body(request, LIMITS).await.map_err(|error| match error {
        BodyError::TooLarge => ApiError::BodyTooLarge,
        BodyError::Broken(_) => FieldErrors::of("body", "did not arrive whole or in time").into(),
    })
}

/// A body without a type is taken for JSON: there is nothing else it could be.
fn says_json(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(CONTENT_ENCODING).iter();
    let plain = codings.all(|coding| coding.as_bytes().eq_ignore_ascii_case(b"identity"));
    let json = headers.get(CONTENT_TYPE).is_none_or(|value| {
        let essence = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
        essence.trim().eq_ignore_ascii_case("application/json")
    });
    plain && json
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
