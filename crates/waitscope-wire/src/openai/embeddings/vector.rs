//! Embedding vectors as JSON numbers or as base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

/// How the vectors are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EncodingFormat {
    /// An array of numbers: what the API does when nothing is asked for.
    #[default]
    Float,
    /// Little-endian 32-bit floats in base64: what both official SDKs ask for by default.
    Base64,
}

/// An embedding vector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "an array of numbers or a base64 string")]
pub enum Vector {
    /// An array of numbers.
    Float(Vec<f32>),
    /// Little-endian 32-bit floats in base64 (RFC 4648, with padding).
    Base64(String),
}

/// A base64 vector that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VectorError {
    /// Not base64.
    #[error("the embedding is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// Not whole 32-bit floats.
    #[error("the embedding is {0} bytes long, which is no multiple of 4")]
    Length(usize),
}

impl Vector {
    /// Writes `values` in this format.
    pub fn encode(values: Vec<f32>, format: EncodingFormat) -> Self {
        match format {
            EncodingFormat::Float => Self::Float(values),
            EncodingFormat::Base64 => {
                let bytes: Vec<u8> = values.into_iter().flat_map(f32::to_le_bytes).collect();
                Self::Base64(STANDARD.encode(bytes))
            }
        }
    }

    /// Reads the values.
    ///
    /// # Errors
    /// When it is a string that is not base64 of whole 32-bit floats.
    pub fn decode(&self) -> Result<Vec<f32>, VectorError> {
        let text = match self {
            Self::Float(values) => return Ok(values.clone()),
            Self::Base64(text) => text,
        };
        let bytes = STANDARD.decode(text)?;
        let (floats, rest) = bytes.as_chunks::<4>();
        if !rest.is_empty() {
            return Err(VectorError::Length(bytes.len()));
        }
        Ok(floats.iter().map(|float| f32::from_le_bytes(*float)).collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn base64_is_little_endian() {
        // 1.0 is 0x3F80_0000 and -2.5 is 0xC020_0000: bytes 00 00 80 3f 00 00 20 c0.
        let vector = Vector::encode(vec![1.0, -2.5], EncodingFormat::Base64);
        assert_eq!(vector, Vector::Base64("AACAPwAAIMA=".to_owned()));
    }

    #[test]
    fn broken_base64_is_refused() {
        let broken = |text: &str| Vector::Base64(text.to_owned()).decode().unwrap_err();
        assert!(matches!(broken("?"), VectorError::Base64(_)));
        assert_eq!(broken("AACA"), VectorError::Length(3));
    }

    proptest! {
        #[test]
        fn both_formats_keep_every_bit(values in proptest::collection::vec(-1e30..1e30_f32, 0..20)) {
            for format in [EncodingFormat::Float, EncodingFormat::Base64] {
                let vector = Vector::encode(values.clone(), format);
                let json = serde_json::to_string(&vector).unwrap();
                let back: Vector = serde_json::from_str(&json).unwrap();
                prop_assert_eq!(back.decode().unwrap(), values.clone());
            }
        }
    }
}
