//! Why a request got no answer.

use std::error::Error as _;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use rustls::CertificateError;

/// The kinds of trouble that are counted apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorClass {
    /// The host's name is not known.
    Lookup,
    /// Nobody listens there.
    Refused,
    /// The address cannot be reached.
    Unreachable,
    /// No encrypted connection.
    Tls,
    /// The peer reset the connection.
    Reset,
    /// The peer closed the connection before it answered.
    Closed,
    /// The answer's body ended early.
    BodyCutShort,
    /// What came was no HTTP.
    NotHttp,
    /// No complete answer in time.
    Timeout,
    /// This process ran out of something.
    Local,
}

impl ErrorClass {
    /// Its name in records and on the screen.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lookup => "unknown host",
            Self::Refused => "connection refused",
            Self::Unreachable => "unreachable",
            Self::Tls => "TLS failed",
            Self::Reset => "connection reset",
            Self::Closed => "closed without an answer",
            Self::BodyCutShort => "body cut short",
            Self::NotHttp => "not HTTP",
            Self::Timeout => "timeout",
            Self::Local => "out of local resources",
        }
    }

    /// What to try when the very first connection ends like this.
    pub fn hint(self) -> &'static str {
        match self {
            Self::Lookup => "check the spelling of the host",
            Self::Refused => "start the server, or name the port that it listens on",
            Self::Tls => "check the scheme (http or https) and the certificate",
            Self::Local => "raise the limits of this machine",
            Self::Unreachable
            | Self::Reset
            | Self::Closed
            | Self::BodyCutShort
            | Self::NotHttp
            | Self::Timeout => "check the address, and that the server is up",
        }
    }
}

/// Why one request got no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {detail}", .class.name())]
pub struct RequestError {
    /// The kind of trouble.
    pub class: ErrorClass,
    /// The first-hand report.
    pub detail: String,
}

impl RequestError {
    fn new(class: ErrorClass, detail: impl Into<String>) -> Self {
        Self { class, detail: detail.into() }
    }

    pub(super) fn lookup(error: &io::Error) -> Self {
        Self::new(ErrorClass::Lookup, error.to_string())
    }

    pub(super) fn no_address() -> Self {
        Self::new(ErrorClass::Lookup, "the name stands for no address")
    }

    pub(super) fn timeout(after: Duration) -> Self {
        Self::new(ErrorClass::Timeout, format!("no complete answer within {after:?}"))
    }

    pub(super) fn connect(address: SocketAddr, error: &io::Error) -> Self {
        let class = match error.kind() {
            io::ErrorKind::ConnectionRefused => ErrorClass::Refused,
            io::ErrorKind::ConnectionReset => ErrorClass::Reset,
            io::ErrorKind::TimedOut
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable => ErrorClass::Unreachable,
            _ => ErrorClass::Local,
        };
        Self::new(class, format!("{address}: {error}"))
    }

    pub(super) fn tls(detail: &str) -> Self {
        Self::new(ErrorClass::Tls, detail)
    }

    pub(super) fn handshake(error: &io::Error) -> Self {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        let hint = match inner {
            None if error.kind() == io::ErrorKind::UnexpectedEof => " (does it speak plain http?)",
            Some(rustls::Error::InvalidMessage(_)) => " (does it speak plain http?)",
            Some(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)) => {
                " (name the authority that signed it in SSL_CERT_FILE)"
            }
            _ => "",
        };
        Self::new(ErrorClass::Tls, format!("{error}{hint}"))
    }

    /// An error before the head of the answer was complete.
    pub(super) fn http(error: &hyper::Error) -> Self {
        let class = match io_kind(error) {
            Some(io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe) => ErrorClass::Reset,
            None if error.is_parse() => ErrorClass::NotHttp,
            _ => ErrorClass::Closed,
        };
        Self::new(class, chain(error))
    }

    /// An error inside the body of the answer.
    pub(super) fn body(error: &hyper::Error) -> Self {
        let class = match io_kind(error) {
            Some(io::ErrorKind::ConnectionReset) => ErrorClass::Reset,
            // A peer that closes in the middle of a body; a malformed chunk ends it early as well.
            _ => ErrorClass::BodyCutShort,
        };
        Self::new(class, chain(error))
    }
}

fn io_kind(error: &hyper::Error) -> Option<io::ErrorKind> {
    let mut source = error.source();
    while let Some(cause) = source {
        if let Some(io) = cause.downcast_ref::<io::Error>() {
            return Some(io.kind());
        }
        source = cause.source();
    }
    None
}

/// The error and all that caused it, in one line.
fn chain(error: &hyper::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
