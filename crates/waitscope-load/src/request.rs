//! What is sent: one request after another from a list of bodies.

use bytes::Bytes;
use http::{HeaderMap, Method};

use crate::target::Target;
use crate::template::{Parts, Template, TemplateError};

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

    /// The requests as bytes: one for each body, or one without. `endpoint` is the target's place in
    /// the list of the run.
    ///
    /// # Errors
    /// When a header contradicts the body.
    pub fn templates(
        &self,
        endpoint: usize,
        keep_alive: bool,
    ) -> Result<Vec<Template>, TemplateError> {
        let no_body = [Bytes::new()];
        let bodies = if self.bodies.is_empty() { &no_body[..] } else { &self.bodies };
        let template = |body: &Bytes| {
            Template::new(&Parts {
                target: &self.target,
                endpoint,
                method: &self.method,
                headers: &self.headers,
                body,
                keep_alive,
            })
        };
        bodies.iter().map(template).collect()
    }
}

/// Who asks.
pub(crate) const AGENT: &str = concat!("waitscope/", env!("CARGO_PKG_VERSION"));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::Filling;

    fn text(spec: &RequestSpec, index: usize) -> String {
        let templates = spec.templates(0, false).unwrap();
        let filling = Filling { seq: 0, seed: 0 };
        String::from_utf8(templates[index % templates.len()].render(filling)).unwrap()
    }

    fn spec(url: &str) -> RequestSpec {
        RequestSpec::get(Target::parse(url).unwrap())
    }

    #[test]
    fn each_body_is_a_request_and_json_unless_said_otherwise() {
        let mut spec = spec("http://h/");
        spec.bodies = vec![Bytes::from_static(b"{\"a\":1}"), Bytes::from_static(b"{\"a\":2}")];
        assert_eq!(spec.templates(0, false).unwrap().len(), 2);
        assert!(text(&spec, 1).ends_with("{\"a\":2}"));
        assert!(text(&spec, 0).contains("content-type: application/json\r\n"));
        spec.headers.insert(http::header::CONTENT_TYPE, "text/plain".parse().unwrap());
        assert!(text(&spec, 0).contains("content-type: text/plain\r\n"));
        assert!(!text(&spec, 0).contains("json"));
    }

    #[test]
    fn a_user_in_the_url_is_basic_authentication() {
        // The example of RFC 7617, section 2.
        let request = text(&spec("http://Aladdin:open%20sesame@h/"), 0);
        assert!(request.contains("authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n"));
        assert!(!text(&spec("http://h/"), 0).contains("authorization"));
    }

    #[test]
    fn a_request_of_its_own_connection_says_so() {
        let request = text(&spec("http://[::1]:8000/a?b=1"), 0);
        assert!(request.starts_with("GET /a?b=1 HTTP/1.1\r\nhost: [::1]:8000\r\n"), "{request}");
        assert!(request.contains("connection: close\r\n"), "{request}");
        assert!(!request.contains("content-type"), "{request}");
    }
}
