//! How connections are opened, kept, lost and opened again.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use http::Method;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use waitscope_load::ErrorClass;
use waitscope_load::engine::Address;
use waitscope_load::pacer::Pace;
use waitscope_process::own_cpu_seconds;

use crate::fixture::End::{Error, Status};
use crate::fixture::{Run, ms};
use crate::server::{Request, Server, Then, serve_unix, wait};

/// Which paths a server has read, and how often.
type Seen = Arc<Mutex<BTreeMap<String, u64>>>;

fn note(seen: &Seen, request: &Request) {
    *seen.lock().unwrap().entry(request.path.clone()).or_default() += 1;
}

#[test]
fn kept_connections_are_used_again() {
    let server = Server::after(0);
    let run = Run::get(&server.url("/")).requests(10);
    let ran = run.run();
    ran.all_well(10);
    let tally = &ran.measured.tally;
    assert_eq!((server.connections(), tally.connections, tally.reused), (1, 1, 9));
    let connected: Vec<bool> = ran.samples.iter().map(|s| s.connect.is_some()).collect();
    assert_eq!(connected, [&[true][..], &[false; 9]].concat());
    let ran = run.without_keep_alive().run();
    ran.all_well(10);
    let tally = &ran.measured.tally;
    assert_eq!((server.connections(), tally.connections, tally.reused), (11, 10, 0));
}

#[test]
fn a_server_that_closes_without_a_word_loses_no_request_and_sees_none_twice() {
    for method in [Method::GET, Method::POST] {
        let seen = Seen::default();
        let noted = Arc::clone(&seen);
        let server = Server::new(move |request, peer| {
            note(&noted, request);
            peer.answer("ok");
            Then::Close
        });
        let url = server.url("/{{seq}}");
        let ran = Run::request(&method, &url, b"").users(4).requests(400).run();
        ran.all_well(400);
        let seen = seen.lock().unwrap();
        assert_eq!(seen.len(), 400);
        assert!(seen.values().all(|times| *times == 1), "{method}: {seen:?}");
    }
}

#[test]
fn a_request_that_the_server_never_read_is_sent_again_and_counted() {
    for method in [Method::GET, Method::POST] {
        let seen = Seen::default();
        let noted = Arc::clone(&seen);
        // Answers one request, and closes as soon as the next one is there, unread.
        let server = Server::new(move |request, peer| {
            note(&noted, request);
            peer.answer("ok");
            peer.wait_for_more();
            Then::Close
        });
        let url = server.url("/{{seq}}");
        let ran = Run::request(&method, &url, b"").requests(20).run();
        ran.all_well(20);
        let tally = &ran.measured.tally;
        assert_eq!((tally.resent, tally.connections), (19, 20), "{method}");
        let seen = seen.lock().unwrap();
        assert!(seen.len() == 20 && seen.values().all(|times| *times == 1), "{seen:?}");
    }
}

#[test]
fn a_request_that_the_server_read_is_sent_again_only_when_that_does_no_harm() {
    let cases = [(Method::GET, Status(200), 1), (Method::POST, Error(ErrorClass::Closed), 0)];
    for (method, end, resent) in cases {
        // Reads the second request of the first connection and closes.
        let server = Server::new(|request, peer| match request.in_all {
            1 => Then::Close,
            _ => peer.answer("ok"),
        });
        let ran = Run::request(&method, &server.url("/"), b"").requests(3).run();
        assert_eq!(ran.ends(), [Status(200), end, Status(200)], "{method}");
        assert_eq!(ran.measured.tally.resent, resent);
        assert_eq!(server.requests(), 3 + resent, "{method}: none was hidden");
    }
}

#[test]
fn an_address_in_brackets_and_its_host_header() {
    let server =
        Server::at("[::1]:0", |request, peer| peer.answer(request.head.lines().next().unwrap()));
    let port = server.address.port();
    let url = format!("http://[::1]:{port}/");
    let mut run = Run::get(&url);
    run.0.details = true;
    let ran = run.run();
    ran.all_well(1);
    let host = format!("host: [::1]:{port}");
    let head = "HTTP/1.1 200 OK\r\nContent-Length: ".len() + "17\r\n\r\n".len();
    assert_eq!(ran.samples[0].bytes, (head + host.len()) as u64, "the body is the Host header");
}

#[test]
fn the_next_address_is_tried_and_the_good_one_is_remembered() {
    let server = Server::at("[::1]:0", |_, peer| peer.answer("ok"));
    // What `localhost` stands for where the server listens on ::1 only.
    let nobody = SocketAddr::new("127.0.0.1".parse().unwrap(), server.address.port());
    let addresses = vec![Address::Tcp(nobody), Address::Tcp(server.address)];
    let run = Run::get("http://localhost/").to(addresses).requests(5).without_keep_alive();
    let ran = run.run();
    ran.all_well(5);
    assert_eq!(ran.measured.tally.connections, 6, "one of them was refused");
}

#[test]
fn a_socket_in_the_file_system() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let run = Run::get("http://localhost/").to(vec![Address::Unix(path.clone())]);
    let ran = run.clone().requests(3).run();
    assert_eq!(ran.ends(), [Error(ErrorClass::Refused); 3], "there is none yet");
    serve_unix(&path, |_, peer| peer.answer("ok"));
    let ran = run.users(5).requests(50).run();
    ran.all_well(50);
    assert!(ran.measured.tally.connections <= 5, "{}", ran.measured.tally.connections);
}

#[test]
fn all_refused_are_as_many_errors() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let ran = Run::get(&format!("http://{address}/")).users(10).requests(50).run();
    assert_eq!(ran.errors(ErrorClass::Refused), 50);
    assert_eq!(ran.measured.tally.answered(), 0);
    assert_eq!(ran.measured.tally.service.count(), 0, "a fast failure is no latency");
}

#[test]
fn a_connection_that_does_not_come_about_runs_into_the_timeout() {
    let listener =
        socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    listener.bind(&"127.0.0.1:0".parse::<SocketAddr>().unwrap().into()).unwrap();
    listener.listen(0).unwrap();
    let address = listener.local_addr().unwrap();
    // Nobody accepts: its queue is full, and further attempts get no answer.
    let filling: Vec<socket2::Socket> = (0..4)
        .map(|_| {
            let socket =
                socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
            socket.set_nonblocking(true).unwrap();
            let _ = socket.connect(&address);
            socket
        })
        .collect();
    let url = format!("http://{}/", address.as_socket().unwrap());
    let ran = Run::get(&url).users(2).requests(2).timeout(ms(300)).run();
    assert_eq!(ran.ends(), [Error(ErrorClass::Timeout); 2]);
    assert!(ran.samples.iter().all(|sample| sample.connect.is_none()));
    assert!(ran.measured.tally.service.quantile(0.5) >= Some(ms(299)), "they count with their age");
    drop(filling);
}

#[test]
fn too_few_open_files_are_local_errors() {
    let server = Server::after(100);
    let ran = Run::get(&server.url("/")).users(100).requests(100);
    // The server's ends of the connections, the clones of them, and ours.
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(40), maximum: limit.maximum }).unwrap();
    let ran = ran.run();
    setrlimit(Resource::Nofile, limit).unwrap();
    let tally = &ran.measured.tally;
    assert!(ran.errors(ErrorClass::Local) > 10, "{:?}", tally.errors);
    assert_eq!(tally.requests(), 100);
}

#[test]
fn a_hundred_and_fifty_at_once_are_a_hundred_and_fifty() {
    // No pool of the client's own that would look like a limit of the server.
    let server = Server::after(300);
    let ran = Run::get(&server.url("/")).users(150).requests(150).run();
    ran.all_well(150);
    assert_eq!((server.connections(), ran.measured.tally.max_in_flight), (150, 150));
    assert_eq!(ran.measured.tally.held_back, 0);
}

#[test]
fn idle_connections_that_the_server_closes_are_not_used_again() {
    // The server closes 100 ms after its answer, which the client takes 300 ms to come back from.
    let server = Server::new(|_, peer| {
        peer.answer("ok");
        wait(100);
        Then::Close
    });
    let ran = Run::get(&server.url("/")).pace(Pace::After(ms(300))).requests(3).run();
    ran.all_well(3);
    let tally = &ran.measured.tally;
    assert_eq!((tally.connections, tally.resent, tally.reused), (3, 0, 0));
}

#[test]
fn a_half_closed_connection_keeps_nobody_busy_timing() {
    let server = Server::new(|_, peer| {
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        peer.half_close();
        peer.wait_for_end();
        Then::Close
    });
    let run = Run::get(&server.url("/")).pace(Pace::After(ms(700))).requests(3);
    let before = own_cpu_seconds();
    let ran = run.run();
    ran.all_well(3);
    assert_eq!(server.connections(), 3);
    assert!(ran.measured.elapsed >= ms(1400));
    let spent_s = own_cpu_seconds() - before;
    assert!(spent_s < 0.4, "{spent_s} CPU seconds in {:?}", ran.measured.elapsed);
}
