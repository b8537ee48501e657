//! What must never be written: the keys that a request carries.

use std::borrow::Cow;

use http::{HeaderMap, Uri};
use percent_encoding::percent_decode_str;

/// Parts of the names of headers and query parameters that hold secrets.
const SECRET_NAMES: [&str; 10] =
    ["key", "token", "secret", "auth", "passw", "cookie", "signature", "sig", "credential", "code"];
/// Shorter values are no secrets, and taking them out would riddle every text.
const SHORTEST: usize = 4;
/// What stands in a secret's place.
const REDACTED: &str = "[redacted]";

/// The secrets of one request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Secrets(Vec<String>);

impl Secrets {
    /// Those in the headers and the query of a request.
    pub(super) fn of(headers: &HeaderMap, uri: &Uri) -> Self {
        let mut secrets = Self::default();
        for (name, value) in headers {
            if is_secret(name.as_str()) {
                let value = String::from_utf8_lossy(value.as_bytes());
                // `Bearer KEY`, `name=value; name=value`
                value.split([' ', ';', '=', ',']).for_each(|part| secrets.add(part));
                secrets.add(&value);
            }
        }
        for pair in uri.query().unwrap_or_default().split('&') {
            if let Some((name, value)) = pair.split_once('=')
                && is_secret(name)
            {
                secrets.add(value);
            }
        }
        // The longest first: what is left of one must not hide in what was taken out.
        secrets.0.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.0.dedup();
        secrets
    }

    /// Adds a value, as it is and as it may be repeated.
    fn add(&mut self, value: &str) {
        let value = value.trim();
        let decoded = percent_decode_str(value).decode_utf8_lossy();
        for form in [value, &decoded] {
            self.add_form(form.to_owned());
            // As some write it in JSON.
            self.add_form(form.replace('/', "\\/"));
        }
    }

    fn add_form(&mut self, form: String) {
        let is_scheme = SCHEMES.iter().any(|scheme| form.eq_ignore_ascii_case(scheme));
        if form.len() >= SHORTEST && !is_scheme {
            self.0.push(form);
        }
    }

    /// A text without them.
    pub(super) fn redact<'a>(&self, text: impl Into<Cow<'a, str>>) -> Cow<'a, str> {
        let mut text = text.into();
        for secret in &self.0 {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), REDACTED).into();
            }
        }
        text
    }

    /// A text without them that was cut off after so many bytes: the beginning of one that the cut
    /// left at its end goes too.
    pub(super) fn redact_cut(&self, text: &str) -> String {
        let mut text = self.redact(text).into_owned();
        let longest = self.0.first().map_or(0, String::len);
        let mut end = text.len().saturating_sub(longest);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text
    }
}

/// Names of authentication schemes, which are no secrets.
const SCHEMES: [&str; 3] = ["bearer", "basic", "digest"];

/// Whether a header or query parameter of this name may hold a secret.
pub(super) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(headers: &[(&'static str, &str)], uri: &str) -> Secrets {
        let headers = headers
            .iter()
            .map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap()));
        Secrets::of(&headers.collect(), &uri.parse().unwrap())
    }

    #[test]
    fn keys_are_taken_out_wherever_they_came_in() {
        for (headers, uri) in [
            (vec![("authorization", "Bearer sk-12/34")], "/"),
            (vec![("authorization", "sk-12/34")], "/"),
            (vec![("api-key", "sk-12/34")], "/"),
            (vec![("x-api-key", "sk-12/34")], "/"),
            (vec![("x-goog-api-key", " sk-12/34 ")], "/"),
            (vec![("cookie", "session=sk-12/34; a=b")], "/"),
            (vec![], "/?a=b&key=sk-12/34"),
            (vec![], "/?api-key=sk-12%2F34"),
            (vec![], "/?access_token=sk-12%2f34&x=y"),
        ] {
            let secrets = secrets(&headers, uri);
            for text in ["sk-12/34", "wrong key: sk-12/34!", r#"{"error": "sk-12\/34"}"#] {
                let redacted = secrets.redact(text);
                assert!(!redacted.contains("34") && redacted.contains("[redacted]"), "{redacted}");
            }
        }
    }

    #[test]
    fn other_texts_stay() {
        let headers = vec![("authorization", "Bearer x"), ("accept", "text/event-stream")];
        let secrets = secrets(&headers, "/?api-version=2024-10-21&key=&q");
        for text in ["Bearer of news", "text/event-stream", "2024-10-21", "x"] {
            assert_eq!(secrets.redact(text), text);
        }
    }

    #[test]
    fn a_cut_leaves_no_beginning_of_a_key() {
        let secrets = secrets(&[("api-key", "sk-1234567890")], "/");
        for cut in 0..40 {
            let text = "0123456789 é sk-1234567890 0123456789";
            let Some(cut) = text.get(..cut) else { continue };
            let written = secrets.redact_cut(cut);
            assert!(!written.contains("sk-"), "{written}");
        }
    }

    #[test]
    fn names_of_secrets() {
        for (name, secret) in [
            ("Authorization", true),
            ("x-amz-security-token", true),
            ("set-cookie", true),
            ("content-type", false),
            ("anthropic-version", false),
        ] {
            assert_eq!(is_secret(name), secret, "{name}");
        }
    }
}
