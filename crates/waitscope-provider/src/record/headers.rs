//! Which headers are passed on, and which are written.

use http::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST, LOCATION, TE,
    TRAILER, TRANSFER_ENCODING, UPGRADE, USER_AGENT,
};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use super::secrets::{Secrets, is_secret};

/// Headers that belong to one connection and are not passed on (RFC 9110, 7.6.1).
const HOP_BY_HOP: [HeaderName; 8] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-authenticate"),
    HeaderName::from_static("proxy-authorization"),
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// The request headers that are written: the others may say who asks.
const WRITTEN_OF_REQUEST: [HeaderName; 6] = [
    ACCEPT,
    CONTENT_TYPE,
    USER_AGENT,
    HeaderName::from_static("anthropic-version"),
    HeaderName::from_static("anthropic-beta"),
    HeaderName::from_static("openai-beta"),
];

/// What of a request's headers goes to the upstream.
pub(super) fn of_request(headers: &HeaderMap) -> HeaderMap {
    let mut passed = end_to_end(headers);
    for own in [HOST, CONTENT_LENGTH, EXPECT] {
        passed.remove(own);
    }
    // A compressed stream could not be read on its way.
    passed.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    passed
}

/// What of an answer's headers goes to the client.
pub(super) fn of_answer(headers: &HeaderMap) -> HeaderMap {
    end_to_end(headers)
}

fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    let mut passed = headers.clone();
    let named = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    for name in named.flat_map(|value| value.split(',')) {
        if let Ok(name) = name.trim().parse::<HeaderName>() {
            passed.remove(name);
        }
    }
    for name in HOP_BY_HOP {
        passed.remove(name);
    }
    passed
}

/// What of a request's headers is written.
pub(super) fn written_of_request(headers: &HeaderMap, secrets: &Secrets) -> Map<String, Value> {
    written(headers, secrets, |name| WRITTEN_OF_REQUEST.contains(name))
}

/// What of an answer's headers is written: not those that hold secrets by their name, and not
/// where a redirect leads, which may be a signed URL.
pub(super) fn written_of_answer(headers: &HeaderMap, secrets: &Secrets) -> Map<String, Value> {
    // `x-ratelimit-remaining-tokens` and its like count tokens.
    let counts = |name: &HeaderName| name.as_str().contains("ratelimit");
    written(headers, secrets, |name| {
        *name != LOCATION && (counts(name) || !is_secret(name.as_str()))
    })
}

fn written(
    headers: &HeaderMap,
    secrets: &Secrets,
    fits: impl Fn(&HeaderName) -> bool,
) -> Map<String, Value> {
    let names = headers.keys().filter(|name| fits(name));
    let values = |name: &HeaderName| {
        let values = headers.get_all(name).iter();
        let values: Vec<_> =
            values.map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
        secrets.redact(values.join(", ")).into_owned()
    };
    names.map(|name| (name.to_string(), Value::String(values(name)))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn what_belongs_to_a_connection_stays_there() {
        let request = headers(&[
            ("authorization", "Bearer k"),
            ("accept-encoding", "gzip, br"),
            ("connection", "keep-alive, X-Hop"),
            ("x-hop", "1"),
            ("te", "trailers"),
            ("host", "127.0.0.1:8310"),
            ("content-length", "7"),
            ("expect", "100-continue"),
            ("x-custom", "a"),
            ("x-custom", "b"),
        ]);
        let expected = headers(&[
            ("authorization", "Bearer k"),
            ("accept-encoding", "identity"),
            ("x-custom", "a"),
            ("x-custom", "b"),
        ]);
        assert_eq!(of_request(&request), expected);
        let answer = headers(&[("transfer-encoding", "chunked"), ("content-type", "a/b")]);
        assert_eq!(of_answer(&answer), headers(&[("content-type", "a/b")]));
    }

    #[test]
    fn only_harmless_headers_are_written() {
        let request = headers(&[
            ("authorization", "Bearer sk-1234"),
            ("content-type", "application/json"),
            ("user-agent", "me sk-1234"),
            ("x-custom", "a"),
        ]);
        let secrets = Secrets::of(&request, &"/".parse().unwrap());
        let written = written_of_request(&request, &secrets);
        let expected = json!({"content-type": "application/json", "user-agent": "me [redacted]"});
        assert_eq!(Value::Object(written), expected);
        let answer = headers(&[
            ("set-cookie", "a=b"),
            ("x-auth-token", "t"),
            ("location", "https://h/?sig=1"),
            ("x-ratelimit-remaining-tokens", "9"),
            ("x-request-id", "r"),
            ("x-echo", "sk-1234"),
            ("via", "a"),
            ("via", "b"),
        ]);
        let expected = json!({"x-ratelimit-remaining-tokens": "9", "x-request-id": "r",
            "x-echo": "[redacted]", "via": "a, b"});
        assert_eq!(Value::Object(written_of_answer(&answer, &secrets)), expected);
    }
}
