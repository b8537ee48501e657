//! The rate-limit headers: `x-ratelimit-*` (`OpenAI`, "Rate limits") and `anthropic-ratelimit-*`
//! (Anthropic, "Rate limits").

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use waitscope_wire::rate_limit::{format_reset, format_rfc3339};

use crate::dialect::Dialect;
use crate::model::quota::LimitState;

/// The names of one limit's three headers.
struct Names {
    limit: HeaderName,
    remaining: HeaderName,
    reset: HeaderName,
}

macro_rules! names {
    ($family:literal, $limit:literal, $($order:tt)*) => {
        names!(@ $family, $limit, $($order)*)
    };
    (@ $family:literal, $limit:literal, what first) => {
        Names {
            limit: HeaderName::from_static(concat!($family, "-limit-", $limit)),
            remaining: HeaderName::from_static(concat!($family, "-remaining-", $limit)),
            reset: HeaderName::from_static(concat!($family, "-reset-", $limit)),
        }
    };
    (@ $family:literal, $limit:literal, what last) => {
        Names {
            limit: HeaderName::from_static(concat!($family, "-", $limit, "-limit")),
            remaining: HeaderName::from_static(concat!($family, "-", $limit, "-remaining")),
            reset: HeaderName::from_static(concat!($family, "-", $limit, "-reset")),
        }
    };
}

/// The headers' names; nothing for a limit that the dialect does not know.
fn names(dialect: Dialect, limit: &str) -> Option<Names> {
    Some(match (dialect, limit) {
        (Dialect::OpenAi, "requests") => names!("x-ratelimit", "requests", what first),
        (Dialect::OpenAi, "tokens") => names!("x-ratelimit", "tokens", what first),
        (Dialect::Anthropic, "requests") => names!("anthropic-ratelimit", "requests", what last),
        (Dialect::Anthropic, "tokens") => names!("anthropic-ratelimit", "tokens", what last),
        (Dialect::Anthropic, "input-tokens") => {
            names!("anthropic-ratelimit", "input-tokens", what last)
        }
        (Dialect::Anthropic, "output-tokens") => {
            names!("anthropic-ratelimit", "output-tokens", what last)
        }
        _ => return None,
    })
}

/// Inserts the headers that tell these limits. `now` is the wall clock since 1970.
pub(crate) fn insert(
    headers: &mut HeaderMap,
    dialect: Dialect,
    limits: &[LimitState],
    now: Duration,
) {
    for limit in limits {
        insert_one(headers, dialect, limit, now);
    }
    if dialect == Dialect::Anthropic {
        // Without a kind it is the one of the token limits that is closer to its end.
        let tokens = limits.iter().filter(|limit| limit.name.ends_with("-tokens"));
        if let Some(scarce) = tokens.max_by_key(|limit| limit.reset) {
            insert_one(headers, dialect, &LimitState { name: "tokens", ..*scarce }, now);
        }
    }
}

fn insert_one(headers: &mut HeaderMap, dialect: Dialect, limit: &LimitState, now: Duration) {
    let Some(names) = names(dialect, limit.name) else { return };
    let reset = match dialect {
        Dialect::OpenAi => format_reset(limit.reset),
        Dialect::Anthropic => format_rfc3339(now + limit.reset),
    };
    headers.insert(names.limit, limit.limit.into());
    headers.insert(names.remaining, limit.remaining.into());
    if let Ok(reset) = HeaderValue::try_from(reset) {
        headers.insert(names.reset, reset);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(dialect: Dialect, limits: &[LimitState]) -> Vec<String> {
        let mut headers = HeaderMap::new();
        insert(&mut headers, dialect, limits, Duration::from_hours(497_664));
        let mut lines: Vec<String> =
            headers.iter().map(|(n, v)| format!("{n}: {}", v.to_str().unwrap())).collect();
        lines.sort();
        lines
    }

    fn limit(name: &'static str, remaining: u64, reset_ms: u64) -> LimitState {
        LimitState { name, limit: 100, remaining, reset: Duration::from_millis(reset_ms) }
    }

    #[test]
    fn each_dialect_has_its_own_headers() {
        assert_eq!(
            told(Dialect::OpenAi, &[limit("requests", 99, 600), limit("tokens", 100, 0)]),
            [
                "x-ratelimit-limit-requests: 100",
                "x-ratelimit-limit-tokens: 100",
                "x-ratelimit-remaining-requests: 99",
                "x-ratelimit-remaining-tokens: 100",
                "x-ratelimit-reset-requests: 600ms",
                "x-ratelimit-reset-tokens: 0s",
            ]
        );
        let limits = [limit("input-tokens", 7, 2_000), limit("output-tokens", 5, 60_000)];
        assert_eq!(
            told(Dialect::Anthropic, &limits),
            [
                "anthropic-ratelimit-input-tokens-limit: 100",
                "anthropic-ratelimit-input-tokens-remaining: 7",
                "anthropic-ratelimit-input-tokens-reset: 2026-10-10T00:00:02Z",
                "anthropic-ratelimit-output-tokens-limit: 100",
                "anthropic-ratelimit-output-tokens-remaining: 5",
                "anthropic-ratelimit-output-tokens-reset: 2026-10-10T00:01:00Z",
                "anthropic-ratelimit-tokens-limit: 100",
                "anthropic-ratelimit-tokens-remaining: 5",
                "anthropic-ratelimit-tokens-reset: 2026-10-10T00:01:00Z",
            ]
        );
        assert_eq!(told(Dialect::OpenAi, &[]), [""; 0]);
    }
}
