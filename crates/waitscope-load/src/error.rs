//! Why a request got no answer.

use std::io;
use std::time::Duration;

use rustls::CertificateError;

use crate::http1::ResponseError;

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

    pub(crate) fn lookup(error: &io::Error) -> Self {
        Self::new(ErrorClass::Lookup, error.to_string())
    }

    pub(crate) fn no_address() -> Self {
        Self::new(ErrorClass::Lookup, "the name stands for no address")
    }

    pub(crate) fn timeout(after: Duration) -> Self {
        Self::new(ErrorClass::Timeout, format!("no complete answer within {after:?}"))
    }

    pub(crate) fn connect(address: &dyn std::fmt::Display, error: &io::Error) -> Self {
        let class = match error.kind() {
            // A socket in the file system is not there, or as many wait for it as it lets wait.
            io::ErrorKind::ConnectionRefused
            | io::ErrorKind::NotFound
            | io::ErrorKind::WouldBlock => ErrorClass::Refused,
            io::ErrorKind::ConnectionReset => ErrorClass::Reset,
            io::ErrorKind::TimedOut
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkDown
            | io::ErrorKind::NetworkUnreachable => ErrorClass::Unreachable,
            _ => ErrorClass::Local,
        };
        Self::new(class, format!("{address}: {error}"))
    }

    pub(crate) fn tls(detail: &str) -> Self {
        Self::new(ErrorClass::Tls, detail)
    }

    pub(crate) fn handshake(error: &io::Error) -> Self {
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

    /// What came is no complete answer.
    pub(crate) fn response(error: ResponseError) -> Self {
        let class = match error {
            ResponseError::Closed | ResponseError::HeadCutShort => ErrorClass::Closed,
            ResponseError::BodyCutShort => ErrorClass::BodyCutShort,
            ResponseError::NotHttp
            | ResponseError::HeadTooLarge
            | ResponseError::BadLength
            | ResponseError::BadChunk
            | ResponseError::EndlessProvisional => ErrorClass::NotHttp,
        };
        Self::new(class, error.to_string())
    }

    /// The connection failed while it was in use.
    pub(crate) fn broken(error: &io::Error, within_body: bool) -> Self {
        let class = match error.kind() {
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => ErrorClass::Reset,
            io::ErrorKind::TimedOut => ErrorClass::Unreachable,
            io::ErrorKind::InvalidData => ErrorClass::Tls,
            _ if within_body => ErrorClass::BodyCutShort,
            _ => ErrorClass::Closed,
        };
        Self::new(class, error.to_string())
    }
}
