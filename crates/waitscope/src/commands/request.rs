//! The flags that describe a request, shared by the commands that send some.

use std::io::Read;
use std::path::Path;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use waitscope_load::{RequestSpec, Target};

use crate::exit::Failure;

/// The largest file of bodies: more than that is a mistake.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// What to send.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RequestArgs {
    /// The request method; POST when there is a body, otherwise GET
    #[arg(short = 'X', long, alias = "request", value_parser = method, help_heading = "Request")]
    method: Option<Method>,
    /// A header, such as 'Authorization: Bearer abc'; repeatable
    #[arg(short = 'H', long, value_name = "NAME:VALUE", value_parser = header,
          help_heading = "Request")]
    header: Vec<(HeaderName, HeaderValue)>,
    /// The body: text, or @FILE; JSON unless a Content-Type header says otherwise
    #[arg(short = 'd', long, alias = "data", value_name = "TEXT|@FILE", help_heading = "Request")]
    body: Option<String>,
    /// One body per line, taken in turn
    #[arg(long, value_name = "FILE.jsonl", conflicts_with = "body", help_heading = "Request")]
    bodies: Option<String>,
}

impl RequestArgs {
    /// The requests to `target` that the flags describe.
    pub(crate) fn spec(&self, target: Target) -> Result<RequestSpec, Failure> {
        let bodies = match (&self.body, &self.bodies) {
            (Some(body), _) => vec![body_text(body)?],
            (None, Some(file)) => lines(&read(file)?, file)?,
            (None, None) => Vec::new(),
        };
        let method = self.method.clone().unwrap_or(if bodies.is_empty() {
            Method::GET
        } else {
            Method::POST
        });
        let mut headers = HeaderMap::new();
        for (name, value) in &self.header {
            headers.append(name, value.clone());
        }
        Ok(RequestSpec { target, method, headers, bodies })
    }
}

fn method(text: &str) -> Result<Method, String> {
    let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    let upper = text.to_ascii_uppercase();
    match Method::from_bytes(upper.as_bytes()) {
        Ok(method) if known.contains(&upper.as_str()) => Ok(method),
        _ => Err(format!("known are {}", known.join(", "))),
    }
}

pub(super) fn header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let Some((name, value)) = text.split_once(':') else {
        return Err("write NAME:VALUE, such as 'X-API-Key: abc'".into());
    };
    let name = HeaderName::from_bytes(name.trim().as_bytes())
        .map_err(|_| format!("`{}` is no header name", name.trim()))?;
    if [http::header::CONTENT_LENGTH, http::header::TRANSFER_ENCODING].contains(&name) {
        return Err(format!("{name} follows from the body and cannot be set"));
    }
    let value = HeaderValue::from_bytes(value.trim().as_bytes())
        .map_err(|_| format!("the value of {name} has characters that no header may have"))?;
    Ok((name, value))
}

fn body_text(body: &str) -> Result<Bytes, Failure> {
    match body.strip_prefix('@') {
        Some(file) => read(file).map(Bytes::from),
        None => Ok(Bytes::copy_from_slice(body.as_bytes())),
    }
}

/// Reads a file of a bounded size.
pub(super) fn read(file: &str) -> Result<Vec<u8>, Failure> {
    let fail = |error: std::io::Error| Failure::usage(format!("cannot read {file}: {error}"));
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(Path::new(file)).map_err(fail)?;
    opened.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(Failure::usage(format!("{file} is larger than {} MiB", MAX_FILE_BYTES >> 20)));
    }
    Ok(bytes)
}

/// The bodies of a JSON-lines file (jsonlines.org): each line that is not blank must be JSON.
fn lines(bytes: &[u8], file: &str) -> Result<Vec<Bytes>, Failure> {
    let mut bodies = Vec::new();
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        if let Err(error) = serde_json::from_slice::<serde::de::IgnoredAny>(line) {
            return Err(Failure::usage(format!("{file}, line {}: not JSON: {error}", index + 1)));
        }
        bodies.push(Bytes::copy_from_slice(line));
    }
    if bodies.is_empty() {
        return Err(Failure::usage(format!("{file} has no line with a body")));
    }
    Ok(bodies)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_name_and_value() {
        let cases = [
            ("X-API-Key: abc", Ok(("x-api-key", "abc"))),
            ("a:b:c", Ok(("a", "b:c"))),
            ("Empty:", Ok(("empty", ""))),
            ("no colon", Err("NAME:VALUE")),
            ("sp ace: x", Err("no header name")),
            ("x: a\nb", Err("no header may have")),
            ("Content-Length: 5", Err("follows from the body")),
        ];
        for (text, expected) in cases {
            match (header(text), expected) {
                (Ok((name, value)), Ok(want)) => {
                    assert_eq!((name.as_str(), value.to_str().unwrap()), want);
                }
                (Err(got), Err(want)) => assert!(got.contains(want), "{text}: {got}"),
                (got, want) => panic!("{text}: got {got:?}, wanted {want:?}"),
            }
        }
    }

    #[test]
    fn methods_are_the_known_ones() {
        assert_eq!(method("post"), Ok(Method::POST));
        assert!(method("FETCH").unwrap_err().contains("PATCH"));
        assert!(method("").is_err());
    }

    #[test]
    fn bodies_are_json_lines() {
        let bodies = lines(b"{\"a\":1}\r\n\n [2] \n", "f").unwrap();
        assert_eq!(bodies, ["{\"a\":1}", "[2]"]);
        let message = |bytes: &[u8]| match lines(bytes, "f.jsonl").unwrap_err() {
            Failure::Usage(error) => error.to_string(),
            other => panic!("{other:?}"),
        };
        assert!(message(b"{}\n{oops\n").contains("f.jsonl, line 2"));
        assert!(message(b"\n \n").contains("no line"));
    }
}
