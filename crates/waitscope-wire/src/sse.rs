//! Server-sent events: `text/event-stream` as the WHATWG HTML standard defines it (section 9.2).

mod decode;
mod encode;

pub use decode::{Decoder, Event, EventTooLong};
pub use encode::{DONE, encode, encode_named};
