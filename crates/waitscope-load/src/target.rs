//! Where requests go: a URL, parsed once.

use std::net::SocketAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use url::{Host, Url};

/// A server and a path on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    url: Url,
    tls: bool,
}

/// Why a text is not the URL of a server.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum TargetError {
    /// No text at all.
    #[error("the URL is empty: write one such as http://127.0.0.1:8000/chat")]
    Empty,
    /// The text has no scheme.
    #[error("`{0}` has no scheme: write http://{0}")]
    NoScheme(String),
    /// Not HTTP.
    #[error("the scheme of `{url}` is {scheme}: only http and https are spoken here")]
    WrongScheme {
        /// The text.
        url: String,
        /// Its scheme.
        scheme: String,
    },
    /// No URL at all.
    #[error("`{url}` is not a URL: {reason}")]
    Malformed {
        /// The text.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl Target {
    /// Parses an `http://` or `https://` URL.
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        let text = text.trim();
        let shown = without_credentials(text);
        if text.is_empty() {
            return Err(TargetError::Empty);
        }
        if !text.contains("://") {
            return Err(TargetError::NoScheme(shown));
        }
        let url = Url::parse(text).map_err(|error| TargetError::Malformed {
            url: shown.clone(),
            reason: error.to_string(),
        })?;
        let tls = match url.scheme() {
            "http" => false,
            "https" => true,
            scheme => {
                let scheme = scheme.to_owned();
                return Err(TargetError::WrongScheme { url: shown, scheme });
            }
        };
        if url.port() == Some(0) {
            let reason = "port 0 takes no connections".to_owned();
            return Err(TargetError::Malformed { url: shown, reason });
        }
        Ok(Self { url, tls })
    }

    /// The target of `reference` as seen from here: a path on the same server, or a whole URL.
    pub fn join(&self, reference: &str) -> Result<Self, TargetError> {
        if reference.contains("://") {
            return Self::parse(reference);
        }
        let path =
            if reference.starts_with('/') { reference.into() } else { format!("/{reference}") };
        let mut url = self.url.clone();
        url.set_fragment(None);
        let (path, query) = match path.split_once('?') {
            Some((path, query)) => (path.to_owned(), Some(query.to_owned())),
            None => (path, None),
        };
        url.set_path(&path);
        url.set_query(query.as_deref());
        Ok(Self { url, tls: self.tls })
    }

    /// Whether the connection is encrypted.
    pub fn is_tls(&self) -> bool {
        self.tls
    }

    /// The host: a name, or an address without brackets.
    pub fn host(&self) -> String {
        match self.url.host() {
            Some(Host::Domain(name)) => name.to_owned(),
            Some(Host::Ipv4(ip)) => ip.to_string(),
            Some(Host::Ipv6(ip)) => ip.to_string(),
            None => String::new(),
        }
    }

    /// The port, the scheme's own when the URL names none.
    pub fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or(if self.tls { 443 } else { 80 })
    }

    /// The value of the `Host` header (RFC 9110, 7.2): IPv6 in brackets, a default port left out.
    pub fn host_header(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        match self.url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    /// Path and query: the request target in origin form (RFC 9112, 3.2.1).
    pub fn path_and_query(&self) -> String {
        match self.url.query() {
            Some(query) => format!("{}?{query}", self.url.path()),
            None => self.url.path().to_owned(),
        }
    }

    /// Name and password of the URL's user part, percent-decoded; `None` when it has none.
    pub fn credentials(&self) -> Option<(String, String)> {
        if self.url.username().is_empty() && self.url.password().is_none() {
            return None;
        }
        let decode = |text: &str| {
            percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
        };
        Some((decode(self.url.username()), decode(self.url.password().unwrap_or_default())))
    }

    /// The value of `Authorization` for the URL's user part (RFC 7617).
    pub fn basic_authorization(&self) -> Option<String> {
        let (name, password) = self.credentials()?;
        Some(format!("Basic {}", STANDARD.encode(format!("{name}:{password}"))))
    }

    /// The URL for a reader and for records: without user name and password.
    pub fn display(&self) -> String {
        let mut url = self.url.clone();
        // Both fail only for URLs that cannot have a host, and those are no targets.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        url.set_fragment(None);
        url.to_string()
    }

    /// Looks the host up; blocks meanwhile.
    ///
    /// # Errors
    /// When the name is not known; the list is never empty.
    pub fn addresses(&self) -> std::io::Result<Vec<SocketAddr>> {
        use std::net::ToSocketAddrs;
        let addresses: Vec<SocketAddr> = (self.host(), self.port()).to_socket_addrs()?.collect();
        if addresses.is_empty() {
            return Err(std::io::Error::new(std::io::ErrorKind::NotFound, "no address"));
        }
        Ok(addresses)
    }
}

/// The text without user name and password, for a message that others may read.
fn without_credentials(text: &str) -> String {
    let start = text.find("://").map_or(0, |at| at + 3);
    let end = text[start..].find(['/', '?', '#']).map_or(text.len(), |at| start + at);
    match text[start..end].rfind('@') {
        Some(at) => format!("{}{}", &text[..start], &text[start + at + 1..]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_become_targets() {
        let cases = [
            ("http://127.0.0.1:8000", "127.0.0.1", 8000, "127.0.0.1:8000", "/"),
            ("http://[::1]:8000/", "::1", 8000, "[::1]:8000", "/"),
            ("https://example.com/a?b=c#d", "example.com", 443, "example.com", "/a?b=c"),
            ("http://example.com:80/", "example.com", 80, "example.com", "/"),
            (" http://LOCALHOST:1/x y ", "localhost", 1, "localhost:1", "/x%20y"),
        ];
        for (text, host, port, header, path) in cases {
            let target = Target::parse(text).unwrap();
            let got = (target.host(), target.port(), target.host_header(), target.path_and_query());
            assert_eq!(got, (host.into(), port, header.into(), path.into()), "{text}");
        }
    }

    #[test]
    fn what_is_no_target_says_why() {
        let cases = [
            ("localhost:8000/x", "write http://localhost:8000/x"),
            ("", "the URL is empty"),
            ("ftp://host/", "the scheme of `ftp://host/` is ftp"),
            ("http://", "not a URL"),
            ("http://host:99999/", "not a URL"),
            ("http://host:0/", "port 0"),
        ];
        for (text, expected) in cases {
            let error = Target::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn a_reference_is_a_path_or_a_url() {
        let base = Target::parse("http://127.0.0.1:8000/v1/tickets?a=b#c").unwrap();
        let cases = [
            ("/health", "http://127.0.0.1:8000/health"),
            ("healthz?deep=1", "http://127.0.0.1:8000/healthz?deep=1"),
            ("http://127.0.0.1:9000/live", "http://127.0.0.1:9000/live"),
        ];
        for (reference, expected) in cases {
            assert_eq!(base.join(reference).unwrap().display(), expected, "{reference}");
        }
        assert!(base.join("ftp://x/").is_err());
    }

    #[test]
    fn secrets_are_in_no_error() {
        for text in ["ftp://me:s3cret@h/", "me:s3cret@h/x", "http://me:s3cret@h:99999/"] {
            let error = Target::parse(text).unwrap_err().to_string();
            assert!(!error.contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn secrets_in_the_url_are_used_but_not_shown() {
        let target = Target::parse("http://me:p%40ss@127.0.0.1:8000/x").unwrap();
        assert_eq!(target.credentials(), Some(("me".into(), "p@ss".into())));
        assert_eq!(target.display(), "http://127.0.0.1:8000/x");
        assert_eq!(Target::parse("http://h/").unwrap().credentials(), None);
    }
}
