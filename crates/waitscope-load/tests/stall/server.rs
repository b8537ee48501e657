//! A small server on plain threads that behaves as a test says, down to the bytes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What the server does with one request: the path it got, and the connection to answer on.
pub(crate) type Handler = fn(&str, &mut TcpStream);

pub(crate) struct Server {
    address: SocketAddr,
    over: Arc<AtomicBool>,
}

impl Server {
    /// Serves each connection on a thread of its own: waits overlap.
    pub(crate) fn overlapping(handler: Handler) -> Self {
        Self::start(handler, true)
    }

    /// Serves one connection after another on a single thread: the planted fault.
    pub(crate) fn one_at_a_time(handler: Handler) -> Self {
        Self::start(handler, false)
    }

    fn start(handler: Handler, overlap: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&over);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if told.load(Ordering::SeqCst) {
                    break;
                }
                if overlap {
                    std::thread::spawn(move || serve(handler, stream));
                } else {
                    serve(handler, stream);
                }
            }
        });
        Self { address, over }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(handler: Handler, mut stream: TcpStream) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut first = String::new();
    if reader.read_line(&mut first).unwrap_or(0) == 0 {
        return;
    }
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    let _ = reader.read_exact(&mut body);
    let path = first.split(' ').nth(1).unwrap_or("/").to_owned();
    handler(&path, &mut stream);
}

/// A complete answer.
pub(crate) fn answer(stream: &mut TcpStream, status: &str, headers: &str, body: &str) {
    let length = body.len();
    let _ = write!(stream, "HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n\r\n{body}");
}

#[expect(clippy::disallowed_methods, reason = "a server of the tests waits on a plain thread")]
pub(crate) fn wait(millis: u64) {
    std::thread::sleep(Duration::from_millis(millis));
}
