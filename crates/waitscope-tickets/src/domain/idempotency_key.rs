//! The key under which a client may repeat a request.

/// What a client sent as `Idempotency-Key` (IETF draft-ietf-httpapi-idempotency-key-header): 1 to
/// 255 printable ASCII characters. Quotes, which the draft asks for, are characters like others.
#[derive(Debug, Clone, PartialEq, Eq, schemars::JsonSchema)]
#[schemars(extend("pattern" = Self::PATTERN))]
pub(crate) struct IdempotencyKey(String);

impl IdempotencyKey {
    /// The header's name, as errors call it.
    pub(crate) const HEADER: &str = "Idempotency-Key";
    /// The rule, as the API documents it. Space around a header's value does not belong to it.
    pub(crate) const PATTERN: &str = "^[!-~]([ -~]{0,253}[!-~])?$";
    /// The longest key.
    pub(crate) const MAX_LEN: usize = 255;

    /// Reads the value of the header.
    pub(crate) fn parse(value: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(value).ok()?.trim_matches(' ');
        let printable = |byte: u8| (b' '..=b'~').contains(&byte);
        let usable = (1..=Self::MAX_LEN).contains(&text.len()) && text.bytes().all(printable);
        usable.then(|| Self(text.to_owned()))
    }

    /// The text of the key.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_short_and_printable() {
        let longest = "x".repeat(255);
        for good in ["a", "8e03978e-40d5-43dd-bc93-6894a57f9324", "\"quoted\"", "a b", &longest] {
            assert_eq!(IdempotencyKey::parse(good.as_bytes()).unwrap().as_str(), good);
        }
        let too_long = "x".repeat(256);
        for bad in ["", "  ", "ü", "a\tb", "a\0b", &too_long] {
            assert_eq!(IdempotencyKey::parse(bad.as_bytes()), None, "{bad:?}");
        }
        assert_eq!(IdempotencyKey::parse(b"\xff"), None);
    }
}
