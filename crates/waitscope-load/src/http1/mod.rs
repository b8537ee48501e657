//! HTTP/1.1 without I/O: what bytes mean (RFC 9112).

mod chunked;
#[cfg(test)]
mod cuts;
mod framing;
mod response;

pub use framing::Framing;
pub use response::{Head, MAX_HEAD, Parsed, Receiver, ResponseError, ResponseParser};
