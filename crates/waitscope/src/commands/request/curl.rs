//! A pasted curl command as a request: what a browser's "Copy as cURL" and API documents have.
//!
//! Pure: files and variables come in as functions. No error repeats a value, which may be a secret.

mod data;
mod options;
#[cfg(test)]
mod tests;
mod url;

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HOST,
    REFERER, TRANSFER_ENCODING, USER_AGENT,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method};

use super::shell::{self, Variables};
use data::Kind;
use options::{CurlOption, Meaning};

/// Reads a file of data.
pub(super) type Files<'a> = &'a dyn Fn(&str) -> Result<Vec<u8>, String>;

/// The request of a curl command; what the command leaves open is `None`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Pasted {
    pub(crate) url: Option<String>,
    /// `None` for POST with a body and GET without.
    pub(super) method: Option<Method>,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Bytes>,
    pub(crate) unix_socket: Option<PathBuf>,
    /// What was not taken over.
    pub(super) notes: Vec<&'static str>,
}

/// Reads a command; the word `curl` in front of it may be missing.
///
/// # Errors
/// When it is not one command, or asks for something that is not sent from here.
pub(super) fn parse(
    text: &str,
    variables: Variables<'_>,
    files: Files<'_>,
) -> Result<Pasted, String> {
    // A prompt is often copied with the command.
    let text = text.trim_start();
    let text = text.strip_prefix("$ ").unwrap_or(text);
    let mut words = shell::words(text, variables)?;
    if words.first().is_some_and(|word| [&b"curl"[..], b"curl.exe"].contains(&word.as_slice())) {
        words.remove(0);
    }
    if words.is_empty() {
        return Err("no command is there: quote all of it, or save it and give @FILE".into());
    }
    let mut command = Command::default();
    let mut words = words.into_iter();
    let mut only_urls = false;
    while let Some(word) = words.next() {
        match word.as_slice() {
            _ if only_urls => command.urls.push(text_of(word, "the URL")?),
            b"--" => only_urls = true,
            [b'-', b'-', name @ ..] => command.long(name, &mut words, files)?,
            [b'-', letters @ ..] if !letters.is_empty() => {
                command.short(letters, &mut words, files)?;
            }
            _ => command.urls.push(text_of(word, "the URL")?),
        }
    }
    command.finish()
}

/// What the options have said so far.
#[derive(Debug, Default)]
struct Command {
    urls: Vec<String>,
    method: Option<Method>,
    headers: HeaderMap,
    /// Headers that curl is told to leave out.
    removed: Vec<HeaderName>,
    data: Option<Vec<u8>>,
    is_json: bool,
    to_query: bool,
    head: bool,
    authorization: Option<String>,
    cookies: Vec<String>,
    /// Headers by options of their own: a `-H` of the same name wins.
    others: Vec<(HeaderName, String)>,
    unix_socket: Option<PathBuf>,
    glob_off: bool,
    insecure: bool,
    notes: Vec<&'static str>,
}

impl Command {
    /// After `--`.
    fn long(
        &mut self,
        name: &[u8],
        words: &mut impl Iterator<Item = Vec<u8>>,
        files: Files<'_>,
    ) -> Result<(), String> {
        let equals = name.iter().position(|byte| *byte == b'=');
        let glued = equals.map(|at| name[at + 1..].to_vec());
        let name = str::from_utf8(&name[..equals.unwrap_or(name.len())]).unwrap_or_default();
        let is_name = |char: char| char.is_ascii_alphanumeric() || "-.".contains(char);
        let shown = if name.chars().all(is_name) { format!("--{name}") } else { "--...".into() };
        let Some(option) = options::by_name(name) else { return Err(unknown(&shown)) };
        let value = match (option.takes_value, glued) {
            (true, Some(glued)) => glued,
            (true, None) => words.next().ok_or_else(|| format!("{shown} needs a value"))?,
            (false, None) => Vec::new(),
            (false, Some(_)) => return Err(format!("{shown} takes no value")),
        };
        self.apply(option, &shown, value, files)
    }

    /// After `-`: flags in a row, the last of which may have a value.
    fn short(
        &mut self,
        letters: &[u8],
        words: &mut impl Iterator<Item = Vec<u8>>,
        files: Files<'_>,
    ) -> Result<(), String> {
        for (at, letter) in letters.iter().enumerate() {
            let letter = char::from(*letter);
            let shown =
                if letter.is_ascii_graphic() { format!("-{letter}") } else { "-...".into() };
            let Some(option) = options::by_letter(letter) else { return Err(unknown(&shown)) };
            if !option.takes_value {
                self.apply(option, &shown, Vec::new(), files)?;
                continue;
            }
            let value = match &letters[at + 1..] {
                [] => words.next().ok_or_else(|| format!("{shown} needs a value"))?,
                // Nothing else that begins so is a method; elsewhere it is a part of the value.
                [b'=', glued @ ..] if option.meaning == Meaning::Method => glued.to_vec(),
                glued => glued.to_vec(),
            };
            return self.apply(option, &shown, value, files);
        }
        Ok(())
    }

    fn apply(
        &mut self,
        option: &CurlOption,
        shown: &str,
        value: Vec<u8>,
        files: Files<'_>,
    ) -> Result<(), String> {
        match option.meaning {
            Meaning::Data(kind) => {
                self.is_json |= kind == Kind::Json;
                return data::append(self.data.get_or_insert_default(), kind, &value, files);
            }
            Meaning::Header => return self.header(&value),
            _ => {}
        }
        let text = text_of(value, shown)?;
        match option.meaning {
            Meaning::Data(_) | Meaning::Header | Meaning::Nothing => {}
            Meaning::Method => {
                let method = super::method(&text).map_err(|known| format!("{shown}: {known}"))?;
                self.method = Some(method);
            }
            Meaning::Get => self.to_query = true,
            Meaning::Head => self.head = true,
            Meaning::User => self.authorization = Some(basic(&text)?),
            Meaning::Bearer => self.authorization = Some(format!("Bearer {text}")),
            Meaning::Agent if text.is_empty() => self.removed.push(USER_AGENT),
            Meaning::Agent => self.others.push((USER_AGENT, text)),
            Meaning::Referer => {
                // `;auto` is about redirects.
                let text = text.strip_suffix(";auto").unwrap_or(&text).to_owned();
                self.others.extend((!text.is_empty()).then_some((REFERER, text)));
            }
            // An empty one only turns curl's cookies on.
            Meaning::Cookie if text.is_empty() => {}
            Meaning::Cookie if !text.contains('=') => {
                return Err(format!(
                    "{shown}: a file of cookies is not read: write them as NAME=VALUE"
                ));
            }
            Meaning::Cookie => self.cookies.push(text),
            Meaning::Url => self.urls.push(text),
            Meaning::UnixSocket => self.unix_socket = Some(text.into()),
            Meaning::Compressed => self.others.push((ACCEPT_ENCODING, "gzip".into())),
            Meaning::GlobOff => self.glob_off = true,
            Meaning::Insecure => self.insecure = true,
            Meaning::Note(note) if self.notes.contains(&note) => {}
            Meaning::Note(note) => self.notes.push(note),
            Meaning::Refused(advice) => {
                return Err(format!("{shown} is not supported: {advice}"));
            }
        }
        Ok(())
    }

    /// One `-H`. `NAME:` takes a header away, and `NAME;` is an empty one.
    fn header(&mut self, text: &[u8]) -> Result<(), String> {
        let is_colon = |byte: &u8| *byte == b':';
        match text {
            // HTTP/2's own (RFC 9113, 8.3), which browsers copy: URL and method say the same.
            [b':', ..] => return Ok(()),
            [b'@', ..] => return Err("-H @FILE is not read: write the headers out".into()),
            [name @ .., b';'] if !text.iter().any(is_colon) => {
                return self.add_header(name, b"");
            }
            _ => {}
        }
        let Some(at) = text.iter().position(is_colon) else {
            return Err("a header (-H) is NAME: VALUE".into());
        };
        self.add_header(&text[..at], &text[at..])
    }

    /// `value` begins with its colon, or is empty for a header that has no value.
    fn add_header(&mut self, name: &[u8], value: &[u8]) -> Result<(), String> {
        let (name, content) = super::header_parts(name, value.strip_prefix(b":").unwrap_or(value))?;
        let is_removal = !value.is_empty() && content.is_empty();
        // A body has one length, and connections are kept, whatever was copied with them.
        let is_framing = [CONTENT_LENGTH, TRANSFER_ENCODING].contains(&name);
        let keeps_alive =
            name == CONNECTION && content.as_bytes().eq_ignore_ascii_case(b"keep-alive");
        if is_removal {
            self.removed.push(name);
        } else if !is_framing && !keeps_alive {
            self.headers.append(name, content);
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Pasted, String> {
        if self.urls.len() > 1 {
            return Err("it has more than one URL: give one, and further ones as arguments".into());
        }
        if self.head && self.data.is_some() && !self.to_query {
            return Err("-I sends no body: leave it or the data out, or add -G".into());
        }
        let mut url = self.urls.pop();
        if let Some(text) = url.take() {
            url = Some(url::whole(&text, self.glob_off)?);
        }
        let plain = url.as_ref().is_some_and(|url| url.starts_with("http://"));
        if self.insecure && !plain {
            return Err("-k (--insecure) is not supported: name the server's certificate in \
                        SSL_CERT_FILE in the environment"
                .into());
        }
        if self.to_query
            && let Some(data) = self.data.take()
        {
            let url = url.as_mut().ok_or("-G needs the URL in the command as well")?;
            *url = url::with_query(url, &text_of(data, "the data for -G")?);
        }
        self.add_others()?;
        self.check_removed()?;
        let implied = [(self.head, Method::HEAD), (self.to_query, Method::GET)];
        let implied = implied.into_iter().find(|(is_so, _)| *is_so).map(|(_, method)| method);
        Ok(Pasted {
            url,
            method: self.method.or(implied),
            headers: self.headers,
            body: self.data.map(Bytes::from),
            unix_socket: self.unix_socket,
            notes: self.notes,
        })
    }

    /// Adds what options other than `-H` say, where no `-H` says it.
    fn add_others(&mut self) -> Result<(), String> {
        let mut others = std::mem::take(&mut self.others);
        others.extend(self.authorization.take().map(|value| (AUTHORIZATION, value)));
        others.extend((!self.cookies.is_empty()).then(|| (COOKIE, self.cookies.join(";"))));
        if self.is_json {
            let json = || "application/json".to_owned();
            others.extend([(CONTENT_TYPE, json()), (ACCEPT, json())]);
        } else if self.data.is_some() {
            others.push((CONTENT_TYPE, "application/x-www-form-urlencoded".into()));
        }
        // The last one of a name counts.
        for (name, value) in others.into_iter().rev() {
            if self.headers.contains_key(&name) || self.removed.contains(&name) {
                continue;
            }
            let value = HeaderValue::from_str(&value).map_err(|_| {
                format!("the value of {name} has characters that no header may have")
            })?;
            self.headers.insert(name, value);
        }
        for name in [AUTHORIZATION, COOKIE] {
            if let http::header::Entry::Occupied(mut entry) = self.headers.entry(name) {
                entry.iter_mut().for_each(|value| value.set_sensitive(true));
            }
        }
        Ok(())
    }

    /// Headers that are always sent cannot be left out.
    fn check_removed(&self) -> Result<(), String> {
        let has_body = self.data.as_ref().is_some_and(|data| !data.is_empty());
        let always = |name: &HeaderName| {
            [HOST, ACCEPT, USER_AGENT].contains(name) || (has_body && *name == CONTENT_TYPE)
        };
        match self.removed.iter().find(|name| always(name) && !self.headers.contains_key(*name)) {
            Some(name) => Err(format!("{name} is always sent: give it a value")),
            None => Ok(()),
        }
    }
}

fn basic(user: &str) -> Result<String, String> {
    if user.contains(':') {
        return Ok(format!("Basic {}", STANDARD.encode(user)));
    }
    Err("-u needs USER:PASSWORD, as no password is asked for".into())
}

fn text_of(bytes: Vec<u8>, what: &str) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|_| format!("{what} is no text in UTF-8"))
}

fn unknown(shown: &str) -> String {
    format!("the option {shown} of curl is not known here: leave it out if it changes nothing")
}
