//! The real provider's URL.

use std::fmt;
use std::str::FromStr;

use http::Uri;

/// The base of a real provider's URL: scheme, host and, if need be, the start of the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    origin: String,
    /// Without a slash at its end; empty when there is none.
    base: String,
}

/// Why a text is no [`Upstream`]. The message holds nothing of the text, which may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("--upstream {0}; write it like https://api.openai.com")]
pub struct InvalidUpstream(&'static str);

impl FromStr for Upstream {
    type Err = InvalidUpstream;

    fn from_str(text: &str) -> Result<Self, InvalidUpstream> {
        let uri: Uri = text.parse().map_err(|_| InvalidUpstream("is no URL"))?;
        let (Some(scheme @ ("http" | "https")), Some(authority)) =
            (uri.scheme_str(), uri.authority())
        else {
            return Err(InvalidUpstream("needs http:// or https:// and a host"));
        };
        if authority.as_str().contains('@') {
            return Err(InvalidUpstream(
                "holds a user name or password: send them in the client's headers",
            ));
        }
        if uri.query().is_some() || text.contains('#') {
            return Err(InvalidUpstream("has a query or fragment: send them with each request"));
        }
        let base = uri.path().trim_end_matches('/').to_owned();
        Ok(Self { origin: format!("{scheme}://{authority}"), base })
    }
}

impl fmt::Display for Upstream {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{}{}", self.origin, self.base)
    }
}

impl Upstream {
    /// Where a request for this path and query goes. A base that the path has already is not
    /// repeated: clients may be given a URL with or without `/v1`.
    pub(super) fn url(&self, path_and_query: &str) -> String {
        let rest = path_and_query.strip_prefix(&self.base);
        let has_base = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']));
        let base = if has_base { "" } else { self.base.as_str() };
        format!("{}{base}{path_and_query}", self.origin)
    }

    /// Whether calls are surely not encrypted.
    pub(super) fn is_plain(&self) -> bool {
        self.origin.starts_with("http:")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_go_to_the_upstream_and_nowhere_else() {
        for (upstream, asked, expected) in [
            ("https://h", "/v1/models", "https://h/v1/models"),
            ("https://h/", "/v1/models?a=b", "https://h/v1/models?a=b"),
            ("https://h/v1", "/v1/models", "https://h/v1/models"),
            ("https://h/v1/", "/models", "https://h/v1/models"),
            ("https://h/v1", "/v10/models", "https://h/v1/v10/models"),
            ("https://h/v1", "/v1", "https://h/v1"),
            ("http://127.0.0.1:8300/openai", "//evil/x", "http://127.0.0.1:8300/openai//evil/x"),
            ("http://h:1", "//evil/x", "http://h:1//evil/x"),
        ] {
            let parsed: Upstream = upstream.parse().unwrap();
            assert_eq!(parsed.url(asked), expected);
            assert_eq!(parsed.is_plain(), upstream.starts_with("http:"));
        }
    }

    #[test]
    fn what_is_no_upstream_is_refused_without_repeating_it() {
        for (text, hint) in [
            ("", "no URL"),
            ("api.openai.com", "needs http:// or https://"),
            ("/v1", "needs http:// or https://"),
            ("ftp://h", "needs http:// or https://"),
            ("https://me:s3cret@h", "password"),
            ("https://h/?key=s3cret", "query"),
            ("https://h/#s3cret", "fragment"),
        ] {
            let error = text.parse::<Upstream>().unwrap_err().to_string();
            assert!(error.contains(hint) && error.contains("https://api.openai.com"), "{error}");
            assert!(!error.contains("s3cret"));
        }
    }
}
