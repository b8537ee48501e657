//! Server-sent events in pieces: how many tokens they bring.

/// The fields of which a token is the value: those of `/v1/stream` and of a chat's delta.
const FIELDS: [&[u8]; 2] = [br#""token":"#, br#""content":"#];

/// Events under way.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// The bytes of the one that has not ended.
    event: Vec<u8>,
}

impl Events {
    /// Takes the next bytes; tells how many tokens are complete with them. Events without a text,
    /// such as a chat's first and last one and `[DONE]`, are none.
    pub(super) fn read(&mut self, bytes: &[u8]) -> u32 {
        let mut tokens = 0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.event.extend_from_slice(line);
            if self.event.ends_with(b"\n\n") {
                tokens += u32::from(is_token(&self.event));
                self.event.clear();
            }
        }
        tokens
    }
}

/// Whether one of the fields has a text that is not empty.
fn is_token(event: &[u8]) -> bool {
    FIELDS.iter().any(|field| {
        let Some(at) = event.windows(field.len()).position(|window| window == *field) else {
            return false;
        };
        let value = event[at + field.len()..].trim_ascii_start();
        value.first() == Some(&b'"') && value.get(1) != Some(&b'"')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_events_with_a_text_are_tokens() {
        for (text, tokens) in [
            ("data: {\"token\":\"Who \"}\n\n", 1),
            ("data: {\"token\": \"Who \"}\n\ndata: {\"token\": \"is \"}\n\n", 2),
            ("data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n", 0),
            ("data: {\"choices\":[{\"delta\":{\"content\":\"Hell\"}}]}\n\n", 1),
            ("data: {\"choices\":[{\"delta\":{}}],\"usage\":null}\n\n", 0),
            ("data: {\"delta\":{\"content\": null}}\n\n", 0),
            ("data: [DONE]\n\n", 0),
            (": ping\n\n", 0),
            ("data: {\"token\":\"Who \"}\n", 0),
        ] {
            for size in 1..=text.len() {
                let mut events = Events::default();
                let seen: u32 = text.as_bytes().chunks(size).map(|piece| events.read(piece)).sum();
                assert_eq!(seen, tokens, "{text:?} in pieces of {size}");
            }
        }
    }
}
