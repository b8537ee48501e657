//! Commands as they are pasted, and what is sent for them.

use proptest::prelude::*;

use super::*;

fn read(text: &str) -> Result<Pasted, String> {
    let variables = |name: &str| (name == "API_KEY").then(|| "sk-1".to_owned());
    let files = |name: &str| match name {
        "f" => Ok(b"{\"a\":\n1}\n".to_vec()),
        _ => Err(format!("cannot read {name}")),
    };
    parse(text, &variables, &files)
}

/// The request in a few lines: method and URL, headers in order of their names, body.
fn shown(pasted: &Pasted) -> String {
    let implied = if pasted.body.is_some() { "POST" } else { "GET" };
    let method = pasted.method.as_ref().map_or(implied, Method::as_str);
    let mut lines: Vec<String> = pasted
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value.as_bytes())))
        .collect();
    lines.sort();
    lines.insert(0, format!("{method} {}", pasted.url.as_deref().unwrap_or("-")));
    lines.extend(pasted.body.iter().map(|body| format!("> {}", String::from_utf8_lossy(body))));
    lines.join("\n")
}

const FORM: &str = "content-type: application/x-www-form-urlencoded";
const JSON: &str = "accept: application/json\ncontent-type: application/json";

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        let pasted = read(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(shown(&pasted), expected.replace("FORM", FORM).replace("JSON", JSON), "{text}");
    }
}

#[test]
fn methods_follow_curls_rules() {
    check(&[
        ("curl http://h/", "GET http://h/"),
        ("http://h/", "GET http://h/"),
        ("$ curl h:80/x", "GET http://h:80/x"),
        ("curl -I http://h/", "HEAD http://h/"),
        ("curl --url http://h/ --head", "HEAD http://h/"),
        ("curl -XPOST http://h/", "POST http://h/"),
        ("curl -X=put http://h/", "PUT http://h/"),
        ("curl --request=DELETE http://h/", "DELETE http://h/"),
        ("curl -- http://h/", "GET http://h/"),
        ("curl -I -X POST http://h/", "POST http://h/"),
        ("curl -X GET -d a http://h/", "GET http://h/\nFORM\n> a"),
        ("curl -H 'a: b'", "GET -\na: b"),
        ("-sSXPATCH http://h/", "PATCH http://h/"),
    ]);
}

#[test]
fn data_is_the_body_or_the_query() {
    check(&[
        ("curl h -d a=1 --data b=2 -dc=3", "POST http://h\nFORM\n> a=1&b=2&c=3"),
        ("curl h -d=x", "POST http://h\nFORM\n> =x"),
        ("curl h -d ''", "POST http://h\nFORM\n> "),
        ("curl h --data-raw @x --data-ascii y", "POST http://h\nFORM\n> @x&y"),
        ("curl h -d @f", "POST http://h\nFORM\n> {\"a\":1}"),
        ("curl h --data-binary @f", "POST http://h\nFORM\n> {\"a\":\n1}\n"),
        (
            "curl h -H 'content-type: text/plain' -d x",
            "POST http://h\ncontent-type: text/plain\n> x",
        ),
        ("curl h --json '{}'", "POST http://h\nJSON\n> {}"),
        (
            "curl h --json '{}' -H 'Accept: */*' -XPUT",
            "PUT http://h\naccept: */*\ncontent-type: application/json\n> {}",
        ),
        ("curl h --data-urlencode 'a=b c'", "POST http://h\nFORM\n> a=b+c"),
        ("curl -G 'h/?q=1' -d a=1 --data-urlencode 'b= &'", "GET http://h/?q=1&a=1&b=+%26"),
        ("curl --get -I h/ -d a", "HEAD http://h/?a"),
        ("curl -G h/", "GET http://h/"),
        (r"curl h --data-raw $'it\'s\n\u0021'", "POST http://h\nFORM\n> it's\n!"),
    ]);
}

#[test]
fn headers_come_from_h_and_from_options_of_their_own() {
    check(&[
        ("curl h -H 'A: b' -H 'a:c' -H 'Empty;'", "GET http://h\na: b\na: c\nempty: "),
        ("curl h -H 'Host: x' --header=b:c", "GET http://h\nb: c\nhost: x"),
        ("curl h -u me:p:w", "GET http://h\nauthorization: Basic bWU6cDp3"),
        ("curl h --oauth2-bearer t", "GET http://h\nauthorization: Bearer t"),
        ("curl h -u a:b -H 'authorization: x'", "GET http://h\nauthorization: x"),
        (
            "curl h -H \"Authorization: Bearer $API_KEY\"",
            "GET http://h\nauthorization: Bearer sk-1",
        ),
        ("curl h -A one --user-agent two", "GET http://h\nuser-agent: two"),
        ("curl h -e 'http://r/;auto'", "GET http://h\nreferer: http://r/"),
        ("curl h -b a=1 --cookie 'b=2; c=3'", "GET http://h\ncookie: a=1;b=2; c=3"),
        ("curl h --compressed", "GET http://h\naccept-encoding: gzip"),
        ("curl h --compressed -H 'Accept-Encoding: br'", "GET http://h\naccept-encoding: br"),
        ("curl h -H 'Expect:' -H 'Accept-Encoding:' --compressed", "GET http://h"),
        (
            "curl h -H ':authority: h' -H ':method: GET' -H 'Content-Length: 99' \
             -H 'Transfer-Encoding: chunked' -H 'Connection: keep-alive' -d x",
            "POST http://h\nFORM\n> x",
        ),
        (r"curl h -H $'a: \xe9'", "GET http://h\na: \u{fffd}"),
    ]);
    let secret = read("curl h -u me:s3cret -b s=s3cret").unwrap();
    assert!(!format!("{:?}", secret.headers).contains("s3cret"), "{secret:?}");
}

#[test]
fn browsers_and_documents_are_understood() {
    check(&[
        // Chrome: pseudo headers are left out by newer ones, `-b` has the cookies.
        (
            "curl 'http://h:8000/chat?a\\[\\]=1' \\\n  -H 'accept: */*' \\\n  -b 'sid=1; t=2' \\\n  \
             -H 'sec-ch-ua: \"Chromium\";v=\"140\"' \\\n  -H 'content-type: application/json' \\\n  \
             --data-raw $'{\"q\":\"it\\'s\\\\n\\u0021\"}' \\\n  --compressed",
            "POST http://h:8000/chat?a[]=1\naccept-encoding: gzip\naccept: */*\n\
             content-type: application/json\ncookie: sid=1; t=2\n\
             sec-ch-ua: \"Chromium\";v=\"140\"\n> {\"q\":\"it's\\n!\"}",
        ),
        // Firefox.
        (
            "curl 'http://h/' \\\n  --compressed \\\n  -X POST \\\n  -H 'Connection: keep-alive' \
             \\\n  -H 'Accept-Encoding: gzip, deflate, br, zstd' \\\n  --data-raw 'a=1'",
            "POST http://h/\naccept-encoding: gzip, deflate, br, zstd\nFORM\n> a=1",
        ),
        // A document.
        (
            "curl -sS https://h/v1/chat/completions \\\n  -H \"Content-Type: application/json\" \\\n  \
             -H \"Authorization: Bearer $API_KEY\" \\\n  -d '{\n    \"model\": \"m\"\n  }' | jq .\n",
            "POST https://h/v1/chat/completions\nauthorization: Bearer sk-1\n\
             content-type: application/json\n> {\n    \"model\": \"m\"\n  }",
        ),
    ]);
}

#[test]
fn what_changes_nothing_is_left_out_and_what_is_lost_is_said() {
    let ignored = "curl -sSvifN# -o f -w '%{http_code}' -D - -c jar --no-progress-meter \
                   --no-silent --http1.1 --noproxy '*' --max-redirs 3 -g 'http://h/{a,b}'";
    let pasted = read(ignored).unwrap();
    assert_eq!((shown(&pasted).as_str(), pasted.notes.len()), ("GET http://h/{a,b}", 0));
    let pasted = read("curl -kL --location -m5 --retry 3 http://h/").unwrap();
    let notes = pasted.notes.join("\n");
    assert_eq!(pasted.notes.len(), 3, "{notes}");
    for word in ["redirects are not followed", "--timeout", "retries"] {
        assert!(notes.contains(word), "{word}: {notes}");
    }
    let pasted = read("curl --unix-socket /run/x.sock http://h/").unwrap();
    assert_eq!(pasted.unix_socket, Some("/run/x.sock".into()));
}

#[test]
fn what_is_not_supported_is_named() {
    let cases = [
        ("", "no command"),
        ("curl", "quote all of it"),
        ("curl -F a=b h", "-F is not supported: multipart"),
        ("curl --form a=b h", "--form is not supported"),
        ("curl -T f h", "-T is not supported"),
        ("curl --proxy p h", "--proxy is not supported"),
        ("curl -sx p h", "-x is not supported"),
        ("curl --cert c h", "--cert is not supported"),
        ("curl --cacert c h", "SSL_CERT_FILE"),
        ("curl --http2 h", "--http2 is not supported: requests are HTTP/1.1"),
        ("curl --digest -u a:b h", "--digest"),
        ("curl -k https://h/", "-k (--insecure) is not supported"),
        ("curl --insecure", "-k (--insecure) is not supported"),
        ("curl h --next g", "--next"),
        ("curl -K f", "-K is not supported"),
        ("curl h g", "more than one URL"),
        ("curl -I -d x h", "-I sends no body"),
        ("curl -G -d x", "-G needs the URL"),
        ("curl -X FETCH h", "-X: known are GET"),
        ("curl -X", "-X needs a value"),
        ("curl h --data", "--data needs a value"),
        ("curl --silent=1 h", "takes no value"),
        ("curl -H abc h", "NAME: VALUE"),
        ("curl -H 'a b: c' h", "no header name"),
        ("curl -H @file h", "-H @FILE"),
        ("curl -H 'User-Agent:' h", "user-agent is always sent"),
        ("curl -A '' h", "user-agent is always sent"),
        ("curl -H 'Content-Type:' -d x h", "content-type is always sent"),
        ("curl -u me h", "USER:PASSWORD"),
        ("curl -b jar.txt h", "-b: a file of cookies"),
        ("curl -d @no h", "cannot read no"),
        ("curl -d @- h", "standard input"),
        ("curl --frobnicate h", "--frobnicate of curl is not known"),
        ("curl -sQ h", "-Q of curl is not known"),
        ("curl 'http://h/[1-9]'", "several"),
        (r"curl $'http://h/\xff'", "no text in UTF-8"),
        (r"curl --oauth2-bearer $'a\nb' h", "no header may have"),
    ];
    for (text, expected) in cases {
        let error = read(text).unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn secrets_are_in_no_error() {
    let cases = [
        "curl -H s3cret h",
        "curl -H 'a: s3cret\u{7f}' h",
        "curl -u s3cret h",
        "curl -b s3cret h",
        "curl h 's3cret' ",
        "curl '--Bearer s3cret' h",
        "curl -d 's3cret h",
        "curl --silent=s3cret h",
        r"curl --oauth2-bearer $'s3cret\n' h",
        r"curl -G h -d $'s3cret\xff'",
        "curl -I -d s3cret h",
    ];
    for text in cases {
        let error = read(text).unwrap_err();
        assert!(!error.contains("s3cret"), "{text}: {error}");
    }
}

proptest! {
    #[test]
    fn no_text_is_a_panic(text in "(?s).*") {
        let _ = read(&text);
    }

    /// Of pieces that mean something.
    #[test]
    fn no_command_is_a_panic(pieces in prop::collection::vec(
        prop::sample::select(vec![
            "curl", " ", "-", "--", "-X", "-H", "-d", "-G", "-I", "-u", "-b", "-A", "-sS", "--json",
            "--data-urlencode", "--url", "=", "@", "@f", ":", ";", "'", "\"", "$'", "\\", "\\x",
            "\\u", "d83d", "$", "${", "}", "{", "[", "1-9", "]", "http://h/", "?", "#", "|", "\n",
            "é", "\0", "Host:", "Content-Type:", "Cookie: a", "^\"",
        ]),
        0..24,
    )) {
        let _ = read(&pieces.concat());
    }
}
