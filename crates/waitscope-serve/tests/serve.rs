//! The server shell on real sockets: patience with clients, clients that leave, and the drain.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::routing::{get, post};
use tokio_util::sync::CancellationToken;
use waitscope_serve::{Drained, Patience, bind, serve};

struct Running {
    address: SocketAddr,
    stop: CancellationToken,
    thread: std::thread::JoinHandle<Drained>,
}

fn start(router: Router, patience: Patience) -> Running {
    let listener = bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let token = stop.clone();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(serve(listener, router, token, patience)).unwrap()
    });
    Running { address, stop, thread }
}

impl Running {
    fn send(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream.write_all(bytes).unwrap();
        stream
    }

    fn end(self) -> Drained {
        self.stop.cancel();
        self.thread.join().unwrap()
    }
}

fn rest(mut stream: TcpStream) -> String {
    let mut text = String::new();
    // A reset is an end as well.
    let _ = stream.read_to_string(&mut text);
    text
}

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";

/// Answers after `millis`.
fn slow(millis: u64) -> Router {
    Router::new().route(
        "/",
        get(move || async move {
            tokio::time::sleep(Duration::from_millis(millis)).await;
            "done"
        }),
    )
}

#[test]
fn a_request_in_flight_is_finished_after_the_stop() {
    let server = start(slow(500), Patience::default());
    let stream = server.send(GET);
    // The handler has begun once the bytes had a moment to arrive.
    pause(200);
    assert_eq!(server.end(), Drained::Clean);
    assert!(rest(stream).ends_with("done"));
}

/// Holds the event loop while it answers.
fn holding(millis: u64) -> Router {
    let handler = move || async move {
        pause(millis);
        "done"
    };
    Router::new().route("/", get(handler))
}

#[test]
fn requests_that_nobody_has_read_at_the_stop_are_answered() {
    let server = start(holding(300), Patience::default());
    let kept_alive = server.send(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    let mut head = [0; 12];
    (&kept_alive).read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
    // One that is accepted before the event loop is held, and one that waits to be accepted.
    let accepted = TcpStream::connect(server.address).unwrap();
    let silent = TcpStream::connect(server.address).unwrap();
    pause(100);
    let holds = server.send(GET);
    pause(100);
    for mut stream in [&kept_alive, &accepted] {
        stream.write_all(GET).unwrap();
    }
    let backlogged = [server.send(GET), server.send(GET)];
    let silent_too = TcpStream::connect(server.address).unwrap();
    assert_eq!(server.end(), Drained::Clean);
    for stream in [holds, accepted, kept_alive].into_iter().chain(backlogged) {
        let text = rest(stream);
        assert!(text.contains("HTTP/1.1 200") && text.ends_with("done"), "{text}");
    }
    for stream in [silent, silent_too] {
        assert_eq!(rest(stream), "", "who has sent nothing is not waited for");
    }
}

#[test]
fn a_request_that_takes_too_long_is_cut() {
    let patience = Patience { drain: Duration::from_millis(300), ..Patience::default() };
    let server = start(slow(60_000), patience);
    let stream = server.send(GET);
    pause(200);
    assert_eq!(server.end(), Drained::Cut);
    assert_eq!(rest(stream), "");
}

#[test]
fn a_half_sent_head_is_not_waited_for_and_a_whole_one_is() {
    let patience = Patience { head: Duration::from_millis(300), ..Patience::default() };
    let server = start(slow(600), patience);
    let half = server.send(b"GET / HTTP/1.1\r\nHos");
    let whole = server.send(GET);
    assert!(!rest(half).contains("200 OK"));
    assert!(rest(whole).ends_with("done"));
    assert_eq!(server.end(), Drained::Clean);
}

#[test]
fn a_half_sent_body_is_not_waited_for_and_a_whole_one_is() {
    let router = Router::new().route("/", post(|body: String| async move { body }));
    let patience = Patience { body: Duration::from_millis(300), ..Patience::default() };
    let server = start(router, patience);
    let head = "POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 5\r\n\r\n";
    let half = server.send(format!("{head}ab").as_bytes());
    let whole = server.send(format!("{head}abcde").as_bytes());
    assert!(!rest(half).contains("200 OK"));
    assert!(rest(whole).ends_with("abcde"));
    assert_eq!(server.end(), Drained::Clean);
}

#[test]
fn what_is_not_http_is_answered_without_a_body() {
    let server = start(slow(0), Patience::default());
    let (long, many) = ("a".repeat(70_000), "X: a\r\n".repeat(101));
    for (head, status) in [
        ("GET / HTTP/1.1\r\nbad header\r\n\r\n".to_owned(), "400 Bad Request"),
        (format!("GET / HTTP/1.1\r\n{many}\r\n"), "431 Request Header Fields Too Large"),
        (format!("GET /{long} HTTP/1.1\r\nHost: h\r\n\r\n"), "414 URI Too Long"),
    ] {
        let text = rest(server.send(head.as_bytes()));
        assert!(text.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{text}");
        assert!(text.ends_with("\r\n\r\n"), "{text}");
    }
    assert!(rest(server.send(GET)).ends_with("done"));
    assert_eq!(server.end(), Drained::Clean);
}

#[test]
fn a_client_that_leaves_frees_its_place() {
    // Closing the sending side alone looks the same to a server that has nothing to send yet.
    for how in [Shutdown::Both, Shutdown::Write] {
        leaves(how);
    }
}

fn leaves(how: Shutdown) {
    struct Place(Arc<AtomicI64>);
    impl Drop for Place {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }
    let taken = Arc::new(AtomicI64::new(0));
    let places = Arc::clone(&taken);
    let handler = move || {
        let places = Arc::clone(&places);
        async move {
            places.fetch_add(1, Ordering::SeqCst);
            let _place = Place(places);
            tokio::time::sleep(Duration::from_mins(1)).await;
            "done"
        }
    };
    let server = start(Router::new().route("/", get(handler)), Patience::default());
    let stream = server.send(GET);
    let until = |wanted: i64| {
        (0..500).any(|_| {
            pause(10);
            taken.load(Ordering::SeqCst) == wanted
        })
    };
    assert!(until(1), "the handler never began");
    stream.shutdown(how).unwrap();
    assert!(until(0), "the place is still taken");
    assert_eq!(server.end(), Drained::Clean);
}

#[expect(clippy::disallowed_methods, reason = "a plain thread of the test waits")]
fn pause(millis: u64) {
    std::thread::sleep(Duration::from_millis(millis));
}
