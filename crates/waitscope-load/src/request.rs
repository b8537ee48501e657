//! What is sent: one request after another from a list of bodies.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request};
use http_body_util::Full;

use crate::target::Target;

/// Requests that differ only in their body.
#[derive(Debug, Clone)]
pub struct RequestSpec {
    /// Where they go.
    pub target: Target,
    /// Their method.
    pub method: Method,
    /// Headers of the user; they win over those that are set here.
    pub headers: HeaderMap,
    /// The bodies, taken in turn; none means no body.
    pub bodies: Vec<Bytes>,
}

impl RequestSpec {
    /// A `GET` without a body.
    pub fn get(target: Target) -> Self {
        Self { target, method: Method::GET, headers: HeaderMap::new(), bodies: Vec::new() }
    }

    /// The request number `index`, counted from 0.
    ///
    /// # Errors
    /// When the target makes no valid request, a host that is no header value for instance.
    pub fn build(&self, index: u64) -> http::Result<Request<Full<Bytes>>> {
        let body = self.body(index);
        let mut request = Request::builder().method(&self.method).uri(self.target.path_and_query());
        if let Some(headers) = request.headers_mut() {
            let host = HeaderValue::from_str(&self.target.host_header());
            headers.insert(HOST, host.map_err(http::Error::from)?);
            headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
            // Every request has a connection of its own, so the server need not keep it open.
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
            if !body.is_empty() {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            }
            if let Some((name, password)) = self.target.credentials() {
                let token = STANDARD.encode(format!("{name}:{password}"));
                let mut value = HeaderValue::from_str(&format!("Basic {token}"))?;
                value.set_sensitive(true);
                headers.insert(AUTHORIZATION, value);
            }
            for (name, value) in &self.headers {
                headers.insert(name, value.clone());
            }
        }
        request.body(Full::new(body))
    }

    fn body(&self, index: u64) -> Bytes {
        if self.bodies.is_empty() {
            return Bytes::new();
        }
        let count = self.bodies.len() as u64;
        usize::try_from(index % count).map_or_else(|_| Bytes::new(), |i| self.bodies[i].clone())
    }
}

/// Who asks.
const AGENT: &str = concat!("waitscope/", env!("CARGO_PKG_VERSION"));

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(url: &str) -> RequestSpec {
        RequestSpec::get(Target::parse(url).unwrap())
    }

    #[test]
    fn bodies_are_taken_in_turn_and_are_json_unless_said_otherwise() {
        let mut spec = spec("http://h/");
        spec.bodies = vec![Bytes::from_static(b"{\"a\":1}"), Bytes::from_static(b"{\"a\":2}")];
        assert_eq!(spec.body(0), spec.bodies[0]);
        assert_eq!(spec.body(3), spec.bodies[1]);
        assert_eq!(spec.build(0).unwrap().headers()[CONTENT_TYPE], "application/json");
        spec.headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        assert_eq!(spec.build(0).unwrap().headers()[CONTENT_TYPE], "text/plain");
    }

    #[test]
    fn a_user_in_the_url_is_basic_authentication() {
        // The example of RFC 7617, section 2.
        let request = spec("http://Aladdin:open%20sesame@h/").build(0).unwrap();
        assert_eq!(request.headers()[AUTHORIZATION], "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert!(spec("http://h/").build(0).unwrap().headers().get(AUTHORIZATION).is_none());
    }

    #[test]
    fn the_request_has_origin_form_and_a_host() {
        let request = spec("http://[::1]:8000/a?b=1").build(0).unwrap();
        assert_eq!(request.uri(), "/a?b=1");
        assert_eq!(request.headers()[HOST], "[::1]:8000");
        assert!(request.headers().get(CONTENT_TYPE).is_none());
    }
}
