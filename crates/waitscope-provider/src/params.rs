//! Query parameters.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use axum::extract::Query;
use http::Uri;

use crate::error::ApiError;

/// The longest text parameter: it is kept in a log.
const MAX_TEXT_CHARACTERS: usize = 200;

/// The parameters of a request. Those that no route asks for are ignored.
pub(crate) struct Params(Vec<(String, String)>);

impl Params {
    pub(crate) fn of(uri: &Uri) -> Result<Self, ApiError> {
        let query = Query::try_from_uri(uri);
        query.map(|Query(pairs)| Self(pairs)).map_err(|error| {
            ApiError::bad_request("invalid_query", format!("The query cannot be read: {error}."))
        })
    }

    /// A number within these bounds, or `default` when it is not given.
    pub(crate) fn number<N>(
        &self,
        name: &str,
        default: N,
        allowed: RangeInclusive<N>,
    ) -> Result<N, ApiError>
    where
        N: FromStr + PartialOrd + Display,
    {
        let Some(text) = self.get(name)? else { return Ok(default) };
        let number = text.parse().ok().filter(|number| allowed.contains(number));
        number.ok_or_else(|| {
            let (low, high) = (allowed.start(), allowed.end());
            // Whole numbers have no half.
            let kind = if "0.5".parse::<N>().is_ok() { "a number" } else { "a whole number" };
            let message = format!("Invalid '{name}': expected {kind} from {low} to {high}.");
            ApiError::bad_request("invalid_value", message).about(name)
        })
    }

    /// A text, or "" when it is not given.
    pub(crate) fn text(&self, name: &str) -> Result<String, ApiError> {
        let text = self.get(name)?.unwrap_or_default();
        if text.chars().count() > MAX_TEXT_CHARACTERS {
            let message =
                format!("Invalid '{name}': it is longer than {MAX_TEXT_CHARACTERS} characters.");
            return Err(ApiError::bad_request("string_above_max_length", message).about(name));
        }
        Ok(text.to_owned())
    }

    fn get(&self, name: &str) -> Result<Option<&str>, ApiError> {
        let mut values = self.0.iter().filter(|(key, _)| key == name).map(|(_, v)| v.as_str());
        let value = values.next();
        if values.next().is_some() {
            let message = format!("Invalid '{name}': it is given twice.");
            return Err(ApiError::bad_request("duplicate_parameter", message).about(name));
        }
        Ok(value)
    }
}
