//! `--curl` of `load` and `stall`: a pasted command, and what a server gets for it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use super::fixture::{Ran, Waitscope};

/// One request as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Request {
    /// Method and path.
    line: String,
    /// In lower case up to the colon.
    headers: Vec<String>,
    body: Vec<u8>,
}

impl Request {
    /// The values of a header.
    fn values(&self, name: &str) -> Vec<&str> {
        let prefix = format!("{name}: ");
        self.headers.iter().filter_map(|line| line.strip_prefix(&prefix)).collect()
    }
}

/// A server that answers everything with 200 and remembers it.
struct Echo {
    url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Echo {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, kept) = (stream.unwrap(), Arc::clone(&kept));
                std::thread::spawn(move || serve(stream, &kept));
            }
        });
        Self { url, requests }
    }

    /// All requests but those for the health endpoint, which have to be alike: that one.
    #[track_caller]
    fn only(&self) -> Request {
        let requests = self.requests.lock().unwrap();
        let mut asked = requests.iter().filter(|request| request.line != "GET /health");
        let first = asked.next().unwrap();
        assert!(asked.all(|request| request == first), "{requests:#?}");
        first.clone()
    }
}

fn serve(stream: TcpStream, kept: &Mutex<Vec<Request>>) {
    let mut reader = BufReader::new(stream);
    while let Some(request) = request(&mut reader) {
        kept.lock().unwrap().push(request);
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
        if reader.get_mut().write_all(answer).is_err() {
            return;
        }
    }
}

fn request(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let line = lines.remove(0).strip_suffix(" HTTP/1.1")?.to_owned();
    let headers = lines.iter().map(|line| match line.split_once(':') {
        Some((name, value)) => format!("{}:{value}", name.to_ascii_lowercase()),
        None => line.clone(),
    });
    let mut request = Request { line, headers: headers.collect(), body: Vec::new() };
    let length = request.values("content-length").first().map_or(0, |text| text.parse().unwrap());
    request.body.resize(length, 0);
    reader.read_exact(&mut request.body).ok()?;
    Some(request)
}

/// As Chrome copies it; URL and secrets are put in.
fn copied(url: &str) -> String {
    [
        &format!("curl '{url}/chat?a\\[\\]=1' \\"),
        "  -H 'accept: */*' \\",
        "  -H 'content-type: application/json' \\",
        "  -H 'content-length: 3' \\",
        "  -H ':authority: example.com' \\",
        "  -b 'session=s3cret-cookie' \\",
        "  -H 'authorization: Bearer s3cret-token' \\",
        "  -H 'user-agent: Mozilla/5.0' \\",
        r#"  --data-raw $'{"q":"it\'s\n\u0021 s3cret-body"}' \"#,
        "  --compressed -sS -L",
    ]
    .join("\n")
}

fn run(command: &str, args: &[&str]) -> Ran {
    Waitscope::new(command).args(["-n", "4", "-c", "2"]).args(args).run()
}

#[test]
fn a_copied_command_is_what_is_sent_and_its_secrets_are_in_no_record() {
    for command in ["load", "stall"] {
        let echo = Echo::start();
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
        std::fs::write(path("copied"), copied(&echo.url)).unwrap();
        let (from_file, output) = (format!("@{}", path("copied")), path("record.json"));
        let given = if command == "load" { copied(&echo.url) } else { from_file };
        let mut args = vec!["--curl", &given, "--json", "--output", &output];
        let samples = path("samples.jsonl");
        if command == "load" {
            args.extend(["--samples", &samples]);
        }
        let ran = run(command, &args).exits(0).complains(&["redirects are not followed"]);
        let request = echo.only();
        assert_eq!(request.line, "POST /chat?a[]=1");
        assert_eq!(str::from_utf8(&request.body), Ok("{\"q\":\"it's\n! s3cret-body\"}"));
        for (name, value) in [
            ("host", echo.url.trim_start_matches("http://")),
            ("accept", "*/*"),
            ("accept-encoding", "gzip"),
            ("authorization", "Bearer s3cret-token"),
            ("content-length", "26"),
            ("content-type", "application/json"),
            ("cookie", "session=s3cret-cookie"),
            ("user-agent", "Mozilla/5.0"),
        ] {
            assert_eq!(request.values(name), [value], "{name}: {request:#?}");
        }
        let record = ran.record();
        super::records::keeps_to_the_schema(&record);
        assert_eq!(record["inputs"]["method"], "POST");
        let mut written = ran.stdout + &ran.stderr + &std::fs::read_to_string(&output).unwrap();
        written += &std::fs::read_to_string(&samples).unwrap_or_default();
        assert!(written.contains("/chat?a[]=1") && !written.contains("s3cret"), "{written}");
        // The health endpoint gets none of it.
        let requests = echo.requests.lock().unwrap();
        let is_probe = |request: &&Request| request.line == "GET /health";
        assert_eq!(requests.iter().any(|r| is_probe(&r)), command == "stall");
        for probe in requests.iter().filter(is_probe) {
            assert_eq!(probe.values("authorization").len() + probe.values("cookie").len(), 0);
        }
    }
}

#[test]
fn data_is_a_form_as_with_curl() {
    for command in ["load", "stall"] {
        let echo = Echo::start();
        let curl = format!("curl {}/f -d a=1 --data-urlencode 'b=x y&' -u me:pw", echo.url);
        run(command, &["--curl", &curl]).exits(0);
        let request = echo.only();
        assert_eq!(request.line, "POST /f");
        assert_eq!(str::from_utf8(&request.body), Ok("a=1&b=x+y%26"));
        assert_eq!(request.values("content-type"), ["application/x-www-form-urlencoded"]);
        assert_eq!(request.values("authorization"), ["Basic bWU6cHc="]);
    }
}

#[test]
fn other_flags_win_over_the_command() {
    let echo = Echo::start();
    let url = format!("{}/x", echo.url);
    let curl = format!("{url} -X PUT -H 'a: 1' -H 'b: 2' -H 'Authorization: Basic eDp5'");
    run("load", &[&url, "--curl", &curl, "-H", "A: 3", "-X", "PATCH", "--bearer", "t"]).exits(0);
    let request = echo.only();
    assert_eq!(request.line, "PATCH /x");
    assert_eq!([request.values("a"), request.values("b")], [["3"], ["2"]]);
    assert_eq!(request.values("authorization"), ["Bearer t"]);
    // The environment is no flag, and a body of ours is JSON where the command has none.
    let echo = Echo::start();
    let curl = format!("{}/x -u x:y", echo.url);
    Waitscope::new("load")
        .args(["--curl", &curl, "--body", "{}", "-n", "2"])
        .env("WAITSCOPE_BEARER", "t")
        .run()
        .exits(0);
    let request = echo.only();
    assert_eq!((request.line.as_str(), &request.body[..]), ("POST /x", &b"{}"[..]));
    assert_eq!(request.values("content-type"), ["application/json"]);
    assert_eq!(request.values("authorization"), ["Basic eDp5"]);
}

#[test]
fn placeholders_and_variables_are_filled_in() {
    let echo = Echo::start();
    let curl = format!("curl '{}/t/{{{{seq}}}}' -H \"X-Key: $ECHO_KEY\" --json '{{}}'", echo.url);
    Waitscope::new("load")
        .args(["--curl", &curl, "-n", "3", "-c", "1"])
        .env("ECHO_KEY", "k")
        .run()
        .exits(0);
    let requests = echo.requests.lock().unwrap();
    let lines: Vec<&str> = requests.iter().map(|request| request.line.as_str()).collect();
    assert_eq!(lines, ["POST /t/0", "POST /t/1", "POST /t/2"]);
    assert!(requests.iter().all(|request| request.values("x-key") == ["k"]), "{requests:#?}");
}

#[test]
fn the_command_comes_from_standard_input_and_goes_to_a_socket() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("s.sock");
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            std::thread::spawn(move || {
                let mut line = String::new();
                while stream.read_line(&mut line).unwrap_or(0) > 0 {
                    if line == "\r\n" {
                        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
                        stream.get_mut().write_all(answer).unwrap();
                    }
                    line.clear();
                }
            });
        }
    });
    let command = format!("curl --unix-socket {} http://h.invalid/", socket.display());
    let file = directory.path().join("command");
    std::fs::write(&file, command).unwrap();
    let stdin = std::fs::File::open(&file).unwrap();
    let args = ["--curl", "@-", "-n", "4", "--json"];
    let ran = Waitscope::new("load").args(args).stdin(stdin).run().exits(0);
    let record = ran.record();
    assert_eq!(record["inputs"]["unix_socket"], socket.to_str().unwrap());
    assert_eq!(record["summary"]["statuses"]["200"], 4);
}

#[test]
fn what_cannot_be_is_one_line_and_exit_2() {
    let body: &[&str] = &["--curl", "curl http://h/ -d x", "--body", "y"];
    let cases: [(&[&str], &[&str]); 9] = [
        (&["--curl", "curl -F a=b http://h/"], &["--curl: -F is not supported", "--data-binary"]),
        (&["--curl", "curl -k https://h/"], &["--curl: -k", "SSL_CERT_FILE"]),
        (&["--curl", "curl --http2 http://h/"], &["--http2", "HTTP/1.1"]),
        (&["--curl", "curl 'http://h/"], &["never closed", "@FILE"]),
        (&["--curl", "@no-such-file"], &["cannot read no-such-file"]),
        (&["--curl", "curl -H a:b"], &["needs the URL"]),
        (&["--curl", "curl http://u:s3cret@h/", "http://g/"], &["http://h/ and not http://g/"]),
        (&["--curl", "curl ftp://h/"], &["scheme", "ftp"]),
        (body, &["--curl has a body of its own", "--body"]),
    ];
    for command in ["load", "stall"] {
        for (args, words) in cases {
            let ran = Waitscope::new(command).args(args).run().exits(2).complains(words);
            assert!(!ran.stderr.contains("s3cret"), "{ran:#?}");
        }
    }
    let args = ["--curl", "curl --unix-socket /s http://h/"];
    Waitscope::new("stall").args(args).run().exits(2).complains(&["`waitscope load` only"]);
    let echo = Echo::start();
    let curl = format!("curl -L {}", echo.url);
    let quiet = Waitscope::new("load").args(["--curl", &curl, "-n", "2", "-q"]).run().exits(0);
    assert!(quiet.stderr.is_empty(), "{quiet:#?}");
}
