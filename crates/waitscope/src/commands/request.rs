//! The flags that describe a request, shared by the commands that send some.

mod curl;
mod shell;

use std::io::Read;
use std::path::Path;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method};
use waitscope_load::{RequestSpec, Target};

use crate::console;
use crate::exit::Failure;

pub(crate) use curl::Pasted;

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
    /// URL, method, headers and body from a curl command, such as a browser's "Copy as cURL";
    /// @FILE reads it from there, @- from standard input. Other flags win over it
    #[arg(
        long,
        value_name = "COMMAND|@FILE",
        allow_hyphen_values = true,
        help_heading = "Request"
    )]
    curl: Option<String>,
}

impl RequestArgs {
    /// The command of `--curl`, nothing without that flag; says on stderr what of it is not taken
    /// over, unless `quiet`.
    pub(crate) fn pasted(&self, quiet: bool) -> Result<Pasted, Failure> {
        let Some(text) = &self.curl else { return Ok(Pasted::default()) };
        let text = match text.strip_prefix('@') {
            Some("-") => command_text(read("/dev/stdin")?)?,
            Some(file) => command_text(read(file)?)?,
            None => text.clone(),
        };
        let pasted = curl::parse(&text, &|name| std::env::var(name).ok(), &read_file)
            .map_err(|error| Failure::usage(format!("--curl: {error}")))?;
        if !quiet {
            for note in &pasted.notes {
                console::warn(&format!("--curl: {note}"));
            }
        }
        Ok(pasted)
    }

    /// The requests to `target` that the flags describe, and the pasted command where they do not.
    pub(crate) fn spec(&self, target: Target, pasted: &Pasted) -> Result<RequestSpec, Failure> {
        let bodies = match (&self.body, &self.bodies) {
            (None, None) => pasted.body.iter().cloned().collect(),
            _ if pasted.body.is_some() => {
                return Err(Failure::usage(
                    "--curl has a body of its own: leave it or --body and --bodies out",
                ));
            }
            (Some(body), _) => vec![body_text(body)?],
            (None, Some(file)) => lines(&read(file)?, file)?,
        };
        let implied = if bodies.is_empty() { Method::GET } else { Method::POST };
        let method = self.method.as_ref().or(pasted.method.as_ref()).cloned().unwrap_or(implied);
        let mut headers = pasted.headers.clone();
        for (name, _) in &self.header {
            headers.remove(name);
        }
        for (name, value) in &self.header {
            headers.append(name, value.clone());
        }
        Ok(RequestSpec { target, method, headers, bodies })
    }

    /// Whether a flag, and not a pasted command, sets this header.
    pub(crate) fn sets(&self, name: &HeaderName) -> bool {
        self.header.iter().any(|(given, _)| given == name)
    }
}

impl Pasted {
    /// The URLs that are given as arguments, or else the command's own.
    pub(crate) fn or_own_url(&self, given: Vec<String>) -> Result<Vec<String>, Failure> {
        let Some(own) = &self.url else { return Ok(given) };
        if given.is_empty() {
            return Ok(vec![own.clone()]);
        }
        let own = Target::parse(own).map_err(|error| Failure::usage(format!("--curl: {error}")))?;
        for url in &given {
            let url = Target::parse(url).map_err(Failure::usage)?;
            if url != own {
                return Err(Failure::usage(format!(
                    "--curl asks {} and not {}: give one URL only",
                    own.display(),
                    url.display()
                )));
            }
        }
        Ok(given)
    }
}

fn command_text(bytes: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(bytes)
        .map_err(|_| Failure::usage("--curl: the file of the command is no text in UTF-8"))
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
    let (name, value) = header_parts(name.as_bytes(), value.as_bytes())?;
    if [http::header::CONTENT_LENGTH, http::header::TRANSFER_ENCODING].contains(&name) {
        return Err(format!("{name} follows from the body and cannot be set"));
    }
    Ok((name, value))
}

fn header_parts(name: &[u8], value: &[u8]) -> Result<(HeaderName, HeaderValue), String> {
    let name = name.trim_ascii();
    let name = HeaderName::from_bytes(name)
        .map_err(|_| format!("`{}` is no header name", String::from_utf8_lossy(name)))?;
    let value = HeaderValue::from_bytes(value.trim_ascii())
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
    read_file(file).map_err(Failure::usage)
}

fn read_file(file: &str) -> Result<Vec<u8>, String> {
    let fail = |error: std::io::Error| format!("cannot read {file}: {error}");
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(Path::new(file)).map_err(fail)?;
    opened.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("{file} is larger than {} MiB", MAX_FILE_BYTES >> 20));
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
