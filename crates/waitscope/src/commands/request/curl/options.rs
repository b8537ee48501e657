//! curl's options, and what becomes of each. Source: curl(1), 8.x.

use super::data::Kind;

/// One option of curl's.
#[derive(Debug)]
pub(super) struct CurlOption {
    short: Option<char>,
    long: &'static str,
    /// Whether a value follows.
    pub(super) takes_value: bool,
    pub(super) meaning: Meaning,
}

/// What an option does to the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    Method,
    Header,
    Data(Kind),
    Get,
    Head,
    User,
    Bearer,
    Agent,
    Referer,
    Cookie,
    Url,
    UnixSocket,
    Compressed,
    GlobOff,
    Insecure,
    /// Nothing: it is about how curl behaves, or what it does with the answer.
    Nothing,
    /// It is not taken over, which the user should know.
    Note(&'static str),
    /// Another request, or another way to the server: refused with this advice.
    Refused(&'static str),
}

const REDIRECTS: Meaning =
    Meaning::Note("redirects are not followed: the answer that redirects is the one measured");
const TIMEOUT: Meaning = Meaning::Note("its time limits are not taken over: give --timeout");
const RETRY: Meaning = Meaning::Note("its retries are not taken over: each request is sent once");
const ADDRESS: Meaning =
    Meaning::Note("-4 and -6 are not taken over: write an address into the URL");
const HTTP_1: Meaning =
    Meaning::Refused("requests are HTTP/1.1: leave it out to measure them as that");
const FORM: Meaning = Meaning::Refused(
    "multipart forms are not built: give the body as --data-binary @FILE with its Content-Type",
);
const FILE: Meaning = Meaning::Refused("send the file with -X PUT --data-binary @FILE");
const PROXY: Meaning = Meaning::Refused("no proxy is used: leave it out to measure without one");
const CERTIFICATE: Meaning =
    Meaning::Refused("no client certificate is sent: measure a port that asks for none");
const AUTHORITY: Meaning =
    Meaning::Refused("leave it out, and name the file in SSL_CERT_FILE in the environment");
const ROUTE: Meaning =
    Meaning::Refused("write the address into the URL, and the name into -H 'Host: NAME'");
const LOGIN: Meaning = Meaning::Refused("only basic and bearer authentication are sent");
const SEVERAL: Meaning = Meaning::Refused("give one request per run");
const ELSEWHERE: Meaning = Meaning::Refused("write out what the file has");
const SHAPE: Meaning = Meaning::Refused("leave it out to measure without it");

const fn flag(short: char, long: &'static str, meaning: Meaning) -> CurlOption {
    option(short, long, false, meaning)
}

const fn value(short: char, long: &'static str, meaning: Meaning) -> CurlOption {
    option(short, long, true, meaning)
}

const fn option(
    short: char,
    long: &'static str,
    takes_value: bool,
    meaning: Meaning,
) -> CurlOption {
    let short = if short == NONE { None } else { Some(short) };
    CurlOption { short, long, takes_value, meaning }
}

/// No short form.
const NONE: char = ' ';

/// What is understood.
const OPTIONS: &[CurlOption] = &[
    value('X', "request", Meaning::Method),
    value('H', "header", Meaning::Header),
    value('d', "data", Meaning::Data(Kind::Text)),
    value(NONE, "data-ascii", Meaning::Data(Kind::Text)),
    value(NONE, "data-raw", Meaning::Data(Kind::Raw)),
    value(NONE, "data-binary", Meaning::Data(Kind::Binary)),
    value(NONE, "data-urlencode", Meaning::Data(Kind::UrlEncoded)),
    value(NONE, "json", Meaning::Data(Kind::Json)),
    flag('G', "get", Meaning::Get),
    flag('I', "head", Meaning::Head),
    value('u', "user", Meaning::User),
    value(NONE, "oauth2-bearer", Meaning::Bearer),
    value('A', "user-agent", Meaning::Agent),
    value('e', "referer", Meaning::Referer),
    value('b', "cookie", Meaning::Cookie),
    value(NONE, "url", Meaning::Url),
    value(NONE, "unix-socket", Meaning::UnixSocket),
    flag(NONE, "compressed", Meaning::Compressed),
    flag('g', "globoff", Meaning::GlobOff),
    flag('k', "insecure", Meaning::Insecure),
    flag('s', "silent", Meaning::Nothing),
    flag('S', "show-error", Meaning::Nothing),
    flag('v', "verbose", Meaning::Nothing),
    flag('i', "include", Meaning::Nothing),
    flag(NONE, "show-headers", Meaning::Nothing),
    flag('f', "fail", Meaning::Nothing),
    flag(NONE, "fail-with-body", Meaning::Nothing),
    flag(NONE, "fail-early", Meaning::Nothing),
    flag('N', "no-buffer", Meaning::Nothing),
    flag('#', "progress-bar", Meaning::Nothing),
    flag(NONE, "no-progress-meter", Meaning::Nothing),
    flag(NONE, "styled-output", Meaning::Nothing),
    flag('q', "disable", Meaning::Nothing),
    value('o', "output", Meaning::Nothing),
    value(NONE, "output-dir", Meaning::Nothing),
    flag(NONE, "create-dirs", Meaning::Nothing),
    flag('O', "remote-name", Meaning::Nothing),
    flag('J', "remote-header-name", Meaning::Nothing),
    flag('R', "remote-time", Meaning::Nothing),
    value('w', "write-out", Meaning::Nothing),
    value('D', "dump-header", Meaning::Nothing),
    value('c', "cookie-jar", Meaning::Nothing),
    value(NONE, "trace", Meaning::Nothing),
    value(NONE, "trace-ascii", Meaning::Nothing),
    flag(NONE, "trace-time", Meaning::Nothing),
    value(NONE, "stderr", Meaning::Nothing),
    flag(NONE, "basic", Meaning::Nothing),
    flag(NONE, "http1.1", Meaning::Nothing),
    flag(NONE, "tcp-nodelay", Meaning::Nothing),
    flag(NONE, "tlsv1", Meaning::Nothing),
    flag(NONE, "tlsv1.2", Meaning::Nothing),
    value(NONE, "proto", Meaning::Nothing),
    value(NONE, "proto-redir", Meaning::Nothing),
    flag(NONE, "ssl-no-revoke", Meaning::Nothing),
    value(NONE, "noproxy", Meaning::Nothing),
    value(NONE, "keepalive-time", Meaning::Nothing),
    flag('L', "location", REDIRECTS),
    flag(NONE, "location-trusted", REDIRECTS),
    value(NONE, "max-redirs", Meaning::Nothing),
    value('m', "max-time", TIMEOUT),
    value(NONE, "connect-timeout", TIMEOUT),
    value('y', "speed-time", TIMEOUT),
    value('Y', "speed-limit", TIMEOUT),
    value(NONE, "retry", RETRY),
    value(NONE, "retry-delay", RETRY),
    value(NONE, "retry-max-time", RETRY),
    flag(NONE, "retry-connrefused", RETRY),
    flag(NONE, "retry-all-errors", RETRY),
    flag('4', "ipv4", ADDRESS),
    flag('6', "ipv6", ADDRESS),
    value('F', "form", FORM),
    value(NONE, "form-string", FORM),
    value('T', "upload-file", FILE),
    value('x', "proxy", PROXY),
    value('U', "proxy-user", PROXY),
    value(NONE, "proxy-header", PROXY),
    value(NONE, "preproxy", PROXY),
    value(NONE, "socks5", PROXY),
    value(NONE, "socks5-hostname", PROXY),
    value('E', "cert", CERTIFICATE),
    value(NONE, "key", CERTIFICATE),
    value(NONE, "cacert", AUTHORITY),
    value(NONE, "capath", AUTHORITY),
    value(NONE, "resolve", ROUTE),
    value(NONE, "connect-to", ROUTE),
    value(NONE, "interface", SHAPE),
    value(NONE, "limit-rate", SHAPE),
    value('r', "range", Meaning::Refused("write it as -H 'Range: bytes=...'")),
    flag('0', "http1.0", HTTP_1),
    flag(NONE, "http2", HTTP_1),
    flag(NONE, "http2-prior-knowledge", HTTP_1),
    flag(NONE, "http3", HTTP_1),
    flag(NONE, "http3-only", HTTP_1),
    flag(NONE, "digest", LOGIN),
    flag(NONE, "ntlm", LOGIN),
    flag(NONE, "negotiate", LOGIN),
    flag(NONE, "anyauth", LOGIN),
    value(NONE, "aws-sigv4", LOGIN),
    flag('n', "netrc", LOGIN),
    flag(NONE, "next", SEVERAL),
    flag(':', "next", SEVERAL),
    flag('Z', "parallel", SEVERAL),
    value('K', "config", ELSEWHERE),
];

/// The option of this letter.
pub(super) fn by_letter(letter: char) -> Option<&'static CurlOption> {
    OPTIONS.iter().find(|option| option.short == Some(letter))
}

/// The option of this name, without its dashes.
pub(super) fn by_name(name: &str) -> Option<&'static CurlOption> {
    let exactly = |name: &str| OPTIONS.iter().find(|option| option.long == name);
    // A flag that changes nothing does not when it is turned off either.
    let turned_off = || {
        exactly(name.strip_prefix("no-")?)
            .filter(|option| !option.takes_value && option.meaning == Meaning::Nothing)
    };
    exactly(name).or_else(turned_off)
}
