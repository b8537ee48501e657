//! The key that clients must know.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use subtle::ConstantTimeEq;

use super::InvalidSetting;

/// A secret that clients send as `X-API-Key`.
#[derive(Clone)]
pub struct ClientKey(Arc<[u8]>);

impl ClientKey {
    /// Whether a client sent this very key. How long that takes tells nothing but whether the
    /// length is right.
    pub(crate) fn is(&self, sent: &[u8]) -> bool {
        self.0.ct_eq(sent).into()
    }
}

impl fmt::Debug for ClientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientKey(***)")
    }
}

impl FromStr for ClientKey {
    type Err = InvalidSetting;

    fn from_str(text: &str) -> Result<Self, InvalidSetting> {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(InvalidSetting(
                "API_KEY must be one word of printable ASCII characters".into(),
            ));
        }
        Ok(Self(text.as_bytes().into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_very_key_is_the_key() {
        let key: ClientKey = "s3cret".parse().unwrap();
        let cases = [("s3cret", true), ("s3creT", false), ("s3cre", false), ("s3crets", false)];
        for (sent, expected) in cases {
            assert_eq!(key.is(sent.as_bytes()), expected, "{sent}");
        }
        assert!(!key.is(b""));
        assert!(!format!("{key:?}").contains("s3cret"));
        for bad in ["", "two words", "umläut"] {
            assert!(bad.parse::<ClientKey>().is_err(), "{bad}");
        }
    }
}
