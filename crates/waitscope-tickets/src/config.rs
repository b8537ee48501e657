//! The settings of the service, checked when they are read.

mod client_key;
mod database_url;

use std::fmt;
use std::num::{NonZeroU16, NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use http::{HeaderValue, Uri};

pub use client_key::ClientKey;
pub use database_url::{DatabaseUrl, PostgresUrl};

/// Everything that can be set. The number of event loops is the number of listeners that
/// [`run`](crate::run) is given.
#[derive(Debug, Clone)]
pub struct Config {
    /// Who waits for the provider.
    pub intake_mode: IntakeMode,
    /// Where the tickets are kept.
    pub database_url: DatabaseUrl,
    /// Whether connections are kept for the next use; otherwise each use opens one of its own.
    pub db_pool: bool,
    /// Connections in the database pool of each event loop.
    pub db_pool_size: NonZeroU32,
    /// How long a request waits for a free connection, for another writer of the database, and for
    /// the answer to a statement, before it is answered with 503.
    pub db_pool_timeout: Duration,
    /// Worker threads of each event loop; only [`IntakeMode::Thread`] has any.
    pub threads: NonZeroU16,
    /// What clients must send as `X-API-Key`; anybody is served when there is none.
    pub api_key: Option<ClientKey>,
    /// Any OpenAI-compatible API.
    pub provider_url: ProviderUrl,
    /// Sent as a bearer token, when there is one.
    pub provider_api_key: Option<ApiKey>,
    /// The longest a single call may take, from its first byte sent to its last byte received.
    pub provider_timeout: Duration,
    /// Calls in flight, over all event loops; `None` is no bound.
    pub provider_max_concurrency: Option<NonZeroUsize>,
    /// The model that classifies and drafts replies.
    pub provider_chat_model: String,
    /// The model that embeds.
    pub provider_embed_model: String,
    /// How long requests in flight may take to finish once the service is told to stop.
    pub drain: Duration,
}

impl Default for Config {
    fn default() -> Self {
        const POOL_SIZE: NonZeroU32 = NonZeroU32::new(10).unwrap();
        const THREADS: NonZeroU16 = NonZeroU16::new(40).unwrap();
        Self {
            intake_mode: IntakeMode::Async,
            database_url: DatabaseUrl::Sqlite(PathBuf::from("tickets.db")),
            db_pool: true,
            db_pool_size: POOL_SIZE,
            db_pool_timeout: Duration::from_secs(5),
            threads: THREADS,
            api_key: None,
            provider_url: ProviderUrl("http://127.0.0.1:8300/v1".into()),
            provider_api_key: None,
            provider_timeout: Duration::from_secs(30),
            provider_max_concurrency: None,
            provider_chat_model: "gpt-4o-mini".into(),
            provider_embed_model: "text-embedding-3-small".into(),
            drain: Duration::from_secs(10),
        }
    }
}

/// Why a setting cannot be used. The message says how to mend it and holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidSetting(String);

/// Who waits for the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntakeMode {
    /// A task that gives the event loop back while it waits, and holds no database connection.
    Async,
    /// A worker thread, which holds one database connection with an open transaction for the
    /// whole request.
    Thread,
    /// The event loop itself: the mistake, on purpose.
    Blocking,
}

impl IntakeMode {
    /// All modes, in the order in which they are told about.
    pub const ALL: [Self; 3] = [Self::Async, Self::Thread, Self::Blocking];

    /// The name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Async => "async",
            Self::Thread => "thread",
            Self::Blocking => "blocking",
        }
    }
}

impl fmt::Display for IntakeMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for IntakeMode {
    type Err = InvalidSetting;

    fn from_str(text: &str) -> Result<Self, InvalidSetting> {
        Self::ALL.into_iter().find(|mode| mode.name() == text).ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            InvalidSetting(format!("unknown intake mode `{text}`; the known ones are {known}"))
        })
    }
}

/// The base address of an OpenAI-compatible API, such as `http://127.0.0.1:8300/v1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderUrl(String);

impl ProviderUrl {
    /// Whether calls are surely not encrypted.
    pub(crate) fn is_plain(&self) -> bool {
        self.0.starts_with("http:")
    }

    /// The address of one endpoint, such as `/chat/completions`.
    pub(crate) fn endpoint(&self, path: &str) -> String {
        format!("{}{path}", self.0)
    }
}

impl fmt::Display for ProviderUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ProviderUrl {
    type Err = InvalidSetting;

    /// Takes the base with its path or, for `/v1`, without it.
    fn from_str(text: &str) -> Result<Self, InvalidSetting> {
        let example = "write it like http://127.0.0.1:8300/v1";
        let uri: Uri = text
            .trim_end_matches('/')
            .parse()
            .map_err(|_| InvalidSetting(format!("the provider's URL cannot be read; {example}")))?;
        let (Some(scheme @ ("http" | "https")), Some(authority)) =
            (uri.scheme_str(), uri.authority())
        else {
            return Err(InvalidSetting(format!(
                "the provider's URL needs http:// or https:// and a host; {example}"
            )));
        };
        if authority.as_str().contains('@') {
            return Err(InvalidSetting(
                "the provider's URL holds a user name or password; use PROVIDER_API_KEY".into(),
            ));
        }
        if uri.query().is_some() {
            return Err(InvalidSetting(format!(
                "the provider's URL must not have a query; {example}"
            )));
        }
        let path = if uri.path() == "/" { "/v1" } else { uri.path() };
        Ok(Self(format!("{scheme}://{authority}{path}")))
    }
}

/// A secret: it can be sent, and never be shown.
#[derive(Clone)]
pub struct ApiKey(HeaderValue);

impl ApiKey {
    /// The value of the `Authorization` header.
    pub(crate) fn bearer(&self) -> HeaderValue {
        self.0.clone()
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(***)")
    }
}

impl FromStr for ApiKey {
    type Err = InvalidSetting;

    fn from_str(text: &str) -> Result<Self, InvalidSetting> {
        let readable = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        let header = HeaderValue::try_from(format!("Bearer {text}"));
        match header {
            Ok(mut value) if readable => {
                value.set_sensitive(true);
                Ok(Self(value))
            }
            _ => Err(InvalidSetting(
                "the API key must be one word of printable ASCII characters".into(),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn check<T: FromStr<Err = InvalidSetting> + fmt::Display>(
        cases: &[(&str, Result<&str, &str>)],
    ) {
        for (text, expected) in cases {
            match (text.parse::<T>(), expected) {
                (Ok(got), Ok(want)) => assert_eq!(got.to_string(), *want, "{text}"),
                (Err(got), Err(want)) => assert!(got.0.contains(want), "{text}: {got}"),
                (got, want) => panic!("{text}: {:?}, wanted {want:?}", got.map(|g| g.to_string())),
            }
        }
    }

    #[test]
    fn intake_modes() {
        check::<IntakeMode>(&[
            ("async", Ok("async")),
            ("thread", Ok("thread")),
            ("blocking", Ok("blocking")),
            ("Async", Err("async, thread, blocking")),
            ("", Err("unknown intake mode ``")),
        ]);
    }

    #[test]
    fn provider_urls() {
        check::<ProviderUrl>(&[
            ("http://127.0.0.1:8300", Ok("http://127.0.0.1:8300/v1")),
            ("http://127.0.0.1:8300/", Ok("http://127.0.0.1:8300/v1")),
            ("http://127.0.0.1:8300/v1", Ok("http://127.0.0.1:8300/v1")),
            ("http://127.0.0.1:8300/v1/", Ok("http://127.0.0.1:8300/v1")),
            ("https://ai.example/openai/v1", Ok("https://ai.example/openai/v1")),
            ("ftp://127.0.0.1/v1", Err("http:// or https://")),
            ("127.0.0.1:8300", Err("http:// or https://")),
            ("http://", Err("http:// or https://")),
            ("http://a b/v1", Err("cannot be read")),
            ("http://me:s3cret@ai.example/v1", Err("PROVIDER_API_KEY")),
            ("http://ai.example/v1?key=s3cret", Err("must not have a query")),
        ]);
        let url: ProviderUrl = "http://127.0.0.1:8300".parse().unwrap();
        assert_eq!(url.endpoint("/embeddings"), "http://127.0.0.1:8300/v1/embeddings");
        assert_eq!(Config::default().provider_url, url);
    }

    #[test]
    fn an_api_key_is_sent_and_never_shown() {
        let key: ApiKey = "sk-s3cret".parse().unwrap();
        assert_eq!(key.bearer(), "Bearer sk-s3cret");
        let config = Config { provider_api_key: Some(key.clone()), ..Config::default() };
        for shown in [format!("{key:?}"), format!("{:?}", key.bearer()), format!("{config:?}")] {
            assert!(!shown.contains("s3cret"), "{shown}");
        }
        for bad in ["", "two words", "line\nbreak", "umläut"] {
            let error = bad.parse::<ApiKey>().unwrap_err().to_string();
            assert!(bad.is_empty() || !error.contains(bad), "{error}");
        }
    }
}
