//! What is wrong with a request.

use serde::ser::{Serialize, SerializeMap, Serializer};

/// What is wrong, field by field. A fault of the request's body as a whole stands under `body`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FieldErrors(Vec<(String, String)>);

impl FieldErrors {
    /// A sender of a thousand unknown fields does not need to hear about each one.
    pub(super) const MAX_UNKNOWN: usize = 10;
    /// Characters of a field's name that are repeated to its sender.
    pub(super) const MAX_NAME: usize = 40;

    /// One fault.
    pub(crate) fn of(field: &str, message: &str) -> Self {
        let mut errors = Self::default();
        errors.add(field, message);
        errors
    }

    /// Notes a fault.
    pub(super) fn add(&mut self, field: &str, message: impl Into<String>) {
        self.0.push((field.chars().take(Self::MAX_NAME).collect(), message.into()));
    }

    /// Whether nothing is wrong.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The fields and what is wrong with each.
    #[cfg(test)]
    pub(super) fn into_pairs(self) -> Vec<(String, String)> {
        self.0
    }
}

impl Serialize for FieldErrors {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (field, message) in &self.0 {
            map.serialize_entry(field, message)?;
        }
        map.end()
    }
}
