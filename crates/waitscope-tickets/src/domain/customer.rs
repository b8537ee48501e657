//! Customers.

use std::fmt;

/// The number of a customer: `C-` and four or five digits.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(transparent)]
#[schemars(extend("pattern" = Self::PATTERN, "examples" = ["C-0001", "C-0023", "C-0050"]))]
pub(crate) struct CustomerId(String);

impl CustomerId {
    /// The rule, as the API documents it.
    pub(crate) const PATTERN: &str = "^C-[0-9]{4,5}$";

    /// Reads a customer number.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("C-")?;
        let valid =
            (4..=5).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
        valid.then(|| Self(text.to_owned()))
    }

    /// The text of the number.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CustomerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_pattern_is_a_customer_id() {
        for good in ["C-0001", "C-9999", "C-12345"] {
            assert_eq!(CustomerId::parse(good).unwrap().as_str(), good);
        }
        for bad in
            ["", "C-", "C-001", "C-123456", "c-0001", "C-00a1", "C-0001 ", "C-٠٠٠١", "X-0001"]
        {
            assert_eq!(CustomerId::parse(bad), None, "{bad}");
        }
    }
}
