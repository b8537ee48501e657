//! What an HTTP answer of the provider means, however it was received.

use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};

use super::ProviderError;

/// The largest answer that is read. The longest real one, a vector of 3,072 decimal numbers, has
/// some 70 KB.
pub(super) const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;

/// A whole answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl Answer {
    /// The body of a successful answer; the other ones become one of the four errors.
    pub(super) fn successful(self) -> Result<Vec<u8>, ProviderError> {
        let status = self.status;
        if status.is_success() {
            return Ok(self.body);
        }
        let advice = match status {
            StatusCode::TOO_MANY_REQUESTS => {
                return Err(ProviderError::RateLimited { retry_after: retry_after(&self.headers) });
            }
            StatusCode::REQUEST_TIMEOUT | StatusCode::GATEWAY_TIMEOUT => {
                return Err(ProviderError::Timeout);
            }
            status if status.is_server_error() => {
                return Err(ProviderError::Unavailable(format!("it answered {}", status.as_u16())));
            }
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ": check PROVIDER_API_KEY",
            StatusCode::NOT_FOUND => ": check PROVIDER_URL and the models",
            status if status.is_redirection() => ": check PROVIDER_URL",
            _ => "",
        };
        let status = status.as_u16();
        Err(ProviderError::Rejected(format!("the provider refused the call with {status}{advice}")))
    }
}

/// The answer that is too large to be a right one.
pub(super) fn too_large() -> ProviderError {
    ProviderError::Rejected(format!("the provider's answer has over {MAX_ANSWER_BYTES} bytes"))
}

/// When the provider would take the call: `retry-after-ms`, which some providers add, or
/// `Retry-After` in seconds (RFC 9110, 10.2.3; its other form, a date, is not read).
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number =
        |name: &str| -> Option<f64> { headers.get(name)?.to_str().ok()?.trim().parse().ok() };
    let seconds = match number("retry-after-ms") {
        Some(ms) => ms / 1000.0,
        None => number(RETRY_AFTER.as_str())?,
    };
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Headers = &'static [(&'static str, &'static str)];

    fn answer(status: u16, headers: Headers) -> Answer {
        let headers =
            headers.iter().map(|(n, v)| (n.parse().unwrap(), v.parse().unwrap())).collect();
        Answer { status: StatusCode::from_u16(status).unwrap(), headers, body: b"ok".to_vec() }
    }

    #[test]
    fn each_status_is_one_of_four_errors() {
        let cases = [
            (200, Ok("ok")),
            (301, Err("rejected")),
            (400, Err("rejected")),
            (401, Err("rejected")),
            (404, Err("rejected")),
            (408, Err("timeout")),
            (422, Err("rejected")),
            (429, Err("rate_limited")),
            (500, Err("unavailable")),
            (503, Err("unavailable")),
            (504, Err("timeout")),
            (529, Err("unavailable")),
        ];
        for (status, expected) in cases {
            let outcome = answer(status, &[]).successful();
            match (&outcome, expected) {
                (Ok(body), Ok(text)) => assert_eq!(body, text.as_bytes()),
                (Err(error), Err(kind)) => assert_eq!(error.kind(), kind, "{status}"),
                _ => panic!("{status}: {outcome:?}"),
            }
        }
    }

    #[test]
    fn the_finer_retry_header_wins() {
        let cases: [(Headers, Option<u64>); 8] = [
            (&[], None),
            (&[("retry-after", "30")], Some(30_000)),
            (&[("retry-after", "30"), ("retry-after-ms", "450")], Some(450)),
            (&[("retry-after-ms", "0")], Some(0)),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "NaN")], None),
            (&[("retry-after", "1e400")], None),
            (&[("retry-after", "Fri, 31 Dec 1999 23:59:59 GMT")], None),
        ];
        for (headers, expected_ms) in cases {
            let retry_after = expected_ms.map(Duration::from_millis);
            let error = answer(429, headers).successful().unwrap_err();
            assert_eq!(error, ProviderError::RateLimited { retry_after }, "{headers:?}");
        }
    }
}
