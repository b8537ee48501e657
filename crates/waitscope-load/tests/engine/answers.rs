//! Answers of all kinds, whole and broken.

use http::Method;
use waitscope_load::ErrorClass;

use crate::fixture::End::{self, Error, Status};
use crate::fixture::Run;
use crate::server::{Peer, Server, Then};

/// What the server does after its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    /// It waits for the next request.
    Wait,
    Close,
    /// It closes its side only.
    HalfClose,
    Reset,
}

struct Case {
    name: &'static str,
    method: Method,
    bytes: String,
    after: After,
    /// How the request ends, and whether its connection is used again.
    end: End,
    used_again: bool,
}

fn case(name: &'static str, bytes: &str, after: After, end: End, used_again: bool) -> Case {
    Case { name, method: Method::GET, bytes: bytes.to_owned(), after, end, used_again }
}

fn ok(headers_and_body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\n{headers_and_body}")
}

/// The first request meets what the case says, two more are answered properly: the run goes on.
fn check(case: &Case) {
    let (bytes, after, method) = (case.bytes.clone(), case.after, case.method.to_string());
    let server = Server::new(move |request, peer| {
        assert_eq!(request.method, method);
        if request.in_all > 0 {
            return peer.answer("");
        }
        peer.send(&bytes);
        finish(peer, after)
    });
    let ran = Run::request(&case.method, &server.url("/"), b"").requests(3).run();
    let name = case.name;
    assert_eq!(ran.ends(), [case.end, Status(200), Status(200)], "{name}");
    assert_eq!(server.connections(), if case.used_again { 1 } else { 2 }, "{name}");
    assert_eq!(server.requests(), 3, "{name}");
    if let Status(_) = case.end {
        assert_eq!(ran.samples[0].bytes, case.bytes.len() as u64, "{name}: all of it was read");
    }
    // The next request may be out before the end comes, if nothing announced it.
    let resent = ran.measured.tally.resent;
    assert!(resent == 0 || resent == 1 && case.after == After::HalfClose, "{name}: {resent}");
}

fn finish(peer: &mut Peer, after: After) -> Then {
    match after {
        After::Wait => Then::Next,
        After::Close => Then::Close,
        After::Reset => peer.reset(),
        After::HalfClose => {
            peer.half_close();
            peer.wait_for_end();
            Then::Close
        }
    }
}

#[test]
fn complete_answers_are_successes() {
    let hints = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n";
    let go_on = "HTTP/1.1 100 Continue\r\n\r\n";
    let plain = ok("Content-Length: 2\r\n\r\nok");
    let chunked =
        ok("Transfer-Encoding: chunked\r\n\r\n3;a=\"b\";c\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n");
    let head = ok("Content-Length: 100\r\n\r\n");
    let not_modified = "HTTP/1.1 304 Not Modified\r\nContent-Length: 100\r\n\r\n";
    let announced = ok("Connection: close\r\nContent-Length: 2\r\n\r\nok");
    let cases = [
        case("plain", &plain, After::Wait, Status(200), true),
        case("to the end", &ok("Connection: close\r\n\r\nall"), After::Close, Status(200), false),
        case("to the end, 1.0", "HTTP/1.0 200 OK\r\n\r\nall", After::Close, Status(200), false),
        case("to the half-close", &ok("\r\nall"), After::HalfClose, Status(200), false),
        case("half-closed after it", &plain, After::HalfClose, Status(200), false),
        case("announced close", &announced, After::Close, Status(200), false),
        case("hints", &format!("{hints}{plain}"), After::Wait, Status(200), true),
        case("continue", &format!("{go_on}{hints}{plain}"), After::Wait, Status(200), true),
        case("extensions, trailers", &chunked, After::Wait, Status(200), true),
        case("no content", "HTTP/1.1 204 No Content\r\n\r\n", After::Wait, Status(204), true),
        case("not modified", not_modified, After::Wait, Status(304), true),
        Case { method: Method::HEAD, ..case("head", &head, After::Wait, Status(200), true) },
        case("more than asked for", &format!("{plain}{plain}"), After::Wait, Status(200), false),
        case(
            "a bad status",
            "HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n",
            After::Wait,
            Status(500),
            true,
        ),
        case("switching", "HTTP/1.1 101 X\r\nUpgrade: y\r\n\r\n", After::Wait, Status(101), false),
    ];
    cases.iter().for_each(check);
}

#[test]
fn broken_answers_are_errors_and_the_run_goes_on() {
    let stream = "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    let cut_stream = ok(&format!("{stream}b\r\ndata: one\n\n\r\n8\r\ndata"));
    let cut_chunk = ok("Transfer-Encoding: chunked\r\n\r\n5\r\nhel");
    let cut_length = ok("Content-Length: 100\r\n\r\nhello");
    let large = ok(&format!("X: {}\r\n\r\n", "x".repeat(100_000)));
    let lengths = ok("Content-Length: 1\r\nContent-Length: 2\r\n\r\nok");
    let close = After::Close;
    let cases = [
        case("nothing", "", close, Error(ErrorClass::Closed), false),
        case("half-closed before it", "", After::HalfClose, Error(ErrorClass::Closed), false),
        case("cut head", "HTTP/1.1 200 OK\r\nCon", close, Error(ErrorClass::Closed), false),
        case("hints only", "HTTP/1.1 103 X\r\n\r\n", close, Error(ErrorClass::Closed), false),
        case("cut length", &cut_length, close, Error(ErrorClass::BodyCutShort), false),
        case(
            "half-closed in it",
            &cut_length,
            After::HalfClose,
            Error(ErrorClass::BodyCutShort),
            false,
        ),
        case("cut chunk", &cut_chunk, close, Error(ErrorClass::BodyCutShort), false),
        case("cut stream", &cut_stream, close, Error(ErrorClass::BodyCutShort), false),
        case("reset", "", After::Reset, Error(ErrorClass::Reset), false),
        case("reset within it", &cut_length, After::Reset, Error(ErrorClass::Reset), false),
        case("not HTTP", "SSH-2.0-OpenSSH_9.2\r\n", After::Wait, Error(ErrorClass::NotHttp), false),
        case("a large head", &large, After::Wait, Error(ErrorClass::NotHttp), false),
        case("two lengths", &lengths, After::Wait, Error(ErrorClass::NotHttp), false),
    ];
    cases.iter().for_each(check);
}

#[test]
fn content_codings_are_counted() {
    let server = Server::new(|_, peer| {
        peer.send(ok("Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\u{b}"));
        Then::Next
    });
    let ran = Run::get(&server.url("/")).requests(3).run();
    ran.all_well(3);
    assert_eq!(ran.measured.tally.encoded, 3);
}

#[test]
fn large_bodies_go_both_ways() {
    let body: Vec<u8> = (0..8_000_000_u32).map(|i| (i % 251) as u8).collect();
    let sent = body.clone();
    let server = Server::new(move |request, peer| {
        assert!(request.body == sent, "{} of {} bytes", request.body.len(), sent.len());
        peer.answer(&request.body)
    });
    let ran = Run::request(&Method::POST, &server.url("/"), &body).users(2).requests(6).run();
    ran.all_well(6);
    assert_eq!(server.connections(), 2);
    for sample in &ran.samples {
        assert!((8_000_000..8_001_000).contains(&sample.bytes), "{} bytes", sample.bytes);
    }
}

#[test]
fn an_answer_to_half_a_request_is_an_answer() {
    for polite in [true, false] {
        let server = Server::of_heads(move |_, peer| {
            peer.send("HTTP/1.1 413 X\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
            if polite {
                peer.wait_for_end();
            }
            Then::Close
        });
        let body = vec![b'x'; 8_000_000];
        let ran = Run::request(&Method::POST, &server.url("/"), &body).requests(10).run();
        assert_eq!(ran.ends(), [Status(413); 10], "polite: {polite}");
        assert_eq!(server.connections(), 10);
    }
}

#[test]
fn a_reset_in_the_middle_of_a_request_is_an_error_and_the_run_goes_on() {
    let server = Server::of_heads(|_, peer| peer.reset());
    let body = vec![b'x'; 4_000_000];
    let ran = Run::request(&Method::POST, &server.url("/"), &body).users(4).requests(40).run();
    assert_eq!(ran.errors(ErrorClass::Reset), 40, "{:?}", ran.measured.tally.errors);
    assert_eq!(server.requests(), 40, "none was sent twice");
}
