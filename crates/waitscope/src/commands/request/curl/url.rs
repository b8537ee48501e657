//! URLs as curl's command line has them.

/// The URL with a scheme, and without the backslashes that keep curl from expanding it.
///
/// # Errors
/// When curl would make several URLs of it (`[1-9]`, `{a,b}`).
pub(super) fn whole(text: &str, glob_off: bool) -> Result<String, String> {
    let url = if glob_off { text.to_owned() } else { unescaped(text)? };
    // So does curl, for all hosts but those that are named ftp and the like.
    Ok(if url.contains("://") { url } else { format!("http://{url}") })
}

fn unescaped(text: &str) -> Result<String, String> {
    let mut url = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['\\', '[', '{']) {
        url.push_str(&rest[..at]);
        let (special, after) = rest[at..].split_at(1);
        rest = after;
        let closed = |end: char| after.split_once(end).map_or("", |(inside, _)| inside);
        match special {
            "\\" if after.starts_with(['[', ']', '{', '}']) => {
                url.push_str(&after[..1]);
                rest = &after[1..];
            }
            "[" if is_range(closed(']')) => return Err(several("[")),
            "{" if closed('}').contains(',') => return Err(several("{")),
            _ => url.push_str(special),
        }
    }
    url.push_str(rest);
    Ok(url)
}

/// `1-9`, `01-20:2`, `a-z`; an IPv6 address is none.
fn is_range(inside: &str) -> bool {
    let (range, step) = inside.split_once(':').unwrap_or((inside, "1"));
    let is_end = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric());
    let ends = range.split_once('-');
    ends.is_some_and(|(from, to)| is_end(from) && is_end(to)) && step.parse::<u32>().is_ok()
}

fn several(sign: &str) -> String {
    format!(
        "`{sign}` in the URL makes several of it: give them as arguments, or add -g if the URL is \
         meant as it stands"
    )
}

/// The URL with `data` at the end of its query, as `-G` puts it there.
pub(super) fn with_query(url: &str, data: &str) -> String {
    let url = url.split('#').next().unwrap_or_default();
    match url.split_once('?') {
        _ if data.is_empty() => url.to_owned(),
        None => format!("{url}?{data}"),
        Some((_, "")) => format!("{url}{data}"),
        Some(_) => format!("{url}&{data}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_whole_and_one() {
        let cases = [
            ("h", Ok("http://h")),
            ("localhost:80/x", Ok("http://localhost:80/x")),
            ("https://h/", Ok("https://h/")),
            (r"http://h/?a\[\]=1&b=\{2,3\}", Ok("http://h/?a[]=1&b={2,3}")),
            (r"http://h/a\b", Ok(r"http://h/a\b")),
            ("http://[::1]:80/{{seq}}?a[]=1&b[c]=2", Ok("http://[::1]:80/{{seq}}?a[]=1&b[c]=2")),
            ("http://h/[", Ok("http://h/[")),
            ("http://h/[1-9]", Err("`[`")),
            ("http://h/[01-20:2]", Err("`[`")),
            ("http://h/{a,b}", Err("`{`")),
        ];
        for (text, expected) in cases {
            match (whole(text, false), expected) {
                (Ok(got), Ok(want)) => assert_eq!(got, want),
                (Err(got), Err(want)) => assert!(got.contains(want), "{text}: {got}"),
                (got, want) => panic!("{text}: got {got:?}, wanted {want:?}"),
            }
        }
        assert_eq!(whole("http://h/{a,b}[1-2]\\[", true).unwrap(), "http://h/{a,b}[1-2]\\[");
    }

    #[test]
    fn data_goes_to_the_end_of_the_query() {
        let cases = [
            ("http://h/", "http://h/?d=1"),
            ("http://h/?a=1", "http://h/?a=1&d=1"),
            ("http://h/?", "http://h/?d=1"),
            ("http://h/?a=1#x?y", "http://h/?a=1&d=1"),
        ];
        for (url, expected) in cases {
            assert_eq!(with_query(url, "d=1"), expected);
        }
        assert_eq!(with_query("http://h/?a", ""), "http://h/?a");
    }
}
