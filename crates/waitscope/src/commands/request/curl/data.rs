//! What `-d` and its kin put into the body.

use super::Files;

/// How an option's value becomes a part of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `-d`: text, or a file without its line ends.
    Text,
    /// `--data-raw`: text, with an `@` too.
    Raw,
    /// `--data-binary`: text, or a file as it is.
    Binary,
    /// `--json`: the same, and nothing is put between two of them.
    Json,
    /// `--data-urlencode`: `TEXT`, `=TEXT`, `NAME=TEXT`, `@FILE` or `NAME@FILE`.
    UrlEncoded,
}

/// Appends one value to what the body has so far, as curl(1) says under `--data`, `--json` and
/// `--data-urlencode`.
///
/// # Errors
/// When a file cannot be read.
pub(super) fn append(
    body: &mut Vec<u8>,
    kind: Kind,
    value: &[u8],
    files: Files<'_>,
) -> Result<(), String> {
    if !body.is_empty() && kind != Kind::Json {
        body.push(b'&');
    }
    match (kind, value) {
        (Kind::UrlEncoded, _) => append_encoded(body, value, files)?,
        (Kind::Text, [b'@', name @ ..]) => {
            let bytes = files(&file_name(name)?)?;
            body.extend(bytes.into_iter().filter(|byte| !b"\r\n\0".contains(byte)));
        }
        (Kind::Binary | Kind::Json, [b'@', name @ ..]) => body.extend(files(&file_name(name)?)?),
        _ => body.extend_from_slice(value),
    }
    Ok(())
}

fn append_encoded(body: &mut Vec<u8>, value: &[u8], files: Files<'_>) -> Result<(), String> {
    let find = |wanted: u8| value.iter().position(|byte| *byte == wanted);
    let Some(at) = find(b'=').or_else(|| find(b'@')) else {
        body.extend(encoded(value));
        return Ok(());
    };
    let (name, content) = (&value[..at], &value[at + 1..]);
    if !name.is_empty() {
        body.extend_from_slice(name);
        body.push(b'=');
    }
    if value[at] == b'@' {
        body.extend(encoded(&files(&file_name(content)?)?));
    } else {
        body.extend(encoded(content));
    }
    Ok(())
}

/// Percent-encoded, and a space as `+`, as curl does since 7.75.
fn encoded(bytes: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = Vec::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b' ' => out.push(b'+'),
            byte if byte.is_ascii_alphanumeric() || b"-._~".contains(byte) => out.push(*byte),
            byte => {
                let digit = |four_bits: u8| DIGITS[usize::from(four_bits & 0xf)];
                out.extend([b'%', digit(byte >> 4), digit(*byte)]);
            }
        }
    }
    out
}

fn file_name(bytes: &[u8]) -> Result<String, String> {
    match str::from_utf8(bytes) {
        Ok("-") => Err("its data is read from standard input: save it, and give @FILE".into()),
        Ok(name) => Ok(name.to_owned()),
        Err(_) => Err("the name of a file of data is no text in UTF-8".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_joined_as_curl_does() {
        let files = |name: &str| match name {
            "f" => Ok(b"a b\r\n\0c&\n".to_vec()),
            _ => Err(format!("cannot read {name}")),
        };
        let cases: &[(&[(Kind, &str)], &str)] = &[
            (&[(Kind::Text, "a=1"), (Kind::Raw, "b=2")], "a=1&b=2"),
            (&[(Kind::Text, ""), (Kind::Text, "b")], "b"),
            (&[(Kind::Text, "@f"), (Kind::Raw, "@f")], "a bc&&@f"),
            (&[(Kind::Binary, "@f")], "a b\r\n\0c&\n"),
            (&[(Kind::Json, "{\"a\":"), (Kind::Json, "1}")], "{\"a\":1}"),
            (&[(Kind::Json, "[1]"), (Kind::Text, "x")], "[1]&x"),
            (&[(Kind::UrlEncoded, "a b&c~é")], "a+b%26c~%C3%A9"),
            (&[(Kind::UrlEncoded, "=a=b")], "a%3Db"),
            (&[(Kind::UrlEncoded, "n=a b@c")], "n=a+b%40c"),
            (&[(Kind::UrlEncoded, "@f")], "a+b%0D%0A%00c%26%0A"),
            (&[(Kind::UrlEncoded, "n@f"), (Kind::Text, "x=y")], "n=a+b%0D%0A%00c%26%0A&x=y"),
        ];
        for (values, expected) in cases {
            let mut body = Vec::new();
            for (kind, value) in *values {
                append(&mut body, *kind, value.as_bytes(), &files).unwrap();
            }
            assert_eq!(str::from_utf8(&body), Ok(*expected), "{values:?}");
        }
        let error = |value: &str| append(&mut vec![], Kind::Text, value.as_bytes(), &files);
        assert!(error("@no").unwrap_err().contains("cannot read no"));
        assert!(error("@-").unwrap_err().contains("standard input"));
    }
}
