//! A small server on plain threads that does what a test says, down to the bytes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A request as the server read it.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    /// All lines of the head, in lower case.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    /// Which one it is on its connection, and in all, from 0.
    pub(crate) on_connection: u64,
    pub(crate) in_all: u64,
}

/// Whether the connection goes on after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    Next,
    Close,
}

/// What the server does with a request.
pub(crate) type Handler = Arc<dyn Fn(&Request, &mut Peer) -> Then + Send + Sync>;

trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// The connection to answer on.
pub(crate) struct Peer {
    reader: BufReader<Box<dyn Stream>>,
    tcp: Option<TcpStream>,
}

impl Peer {
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let stream = self.reader.get_mut();
        // The client may be gone, which is its own affair.
        let _ = stream.write_all(bytes.as_ref()).and_then(|()| stream.flush());
    }

    /// A complete answer with this body.
    pub(crate) fn answer(&mut self, body: impl AsRef<[u8]>) -> Then {
        let body = body.as_ref();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        self.send([head.as_bytes(), body].concat());
        Then::Next
    }

    /// Says that nothing more comes, and goes on listening.
    pub(crate) fn half_close(&mut self) {
        self.tcp.as_ref().unwrap().shutdown(Shutdown::Write).unwrap();
    }

    /// Closes with a reset.
    pub(crate) fn reset(&mut self) -> Then {
        let socket = socket2::SockRef::from(self.tcp.as_ref().unwrap());
        socket.set_linger(Some(Duration::ZERO)).unwrap();
        Then::Close
    }

    /// Waits until the client has sent something, or has closed; it is not read.
    pub(crate) fn wait_for_more(&mut self) {
        let _ = self.tcp.as_ref().unwrap().peek(&mut [0]);
    }

    /// Reads until the client closes its side.
    pub(crate) fn wait_for_end(&mut self) {
        let _ = std::io::copy(&mut self.reader, &mut std::io::sink());
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.reader.read_line(&mut line).unwrap_or(0);
        (read > 0 && line != "\r\n").then_some(line)
    }

    fn request(&mut self, reads_bodies: bool) -> Option<Request> {
        let first = self.line()?;
        let mut words = first.split(' ');
        let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
        let mut head = String::new();
        while let Some(line) = self.line() {
            head.push_str(&line.to_ascii_lowercase());
        }
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length = length.map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; if reads_bodies { length } else { 0 }];
        self.reader.read_exact(&mut body).ok()?;
        Some(Request { method, path, head, body, on_connection: 0, in_all: 0 })
    }
}

/// What the threads of a server share.
#[derive(Clone)]
struct Shared {
    handler: Handler,
    reads_bodies: bool,
    requests: Arc<AtomicU64>,
}

impl Shared {
    fn new(handler: impl Fn(&Request, &mut Peer) -> Then + Send + Sync + 'static) -> Self {
        Self { handler: Arc::new(handler), reads_bodies: true, requests: Arc::default() }
    }

    /// Serves one connection to its end.
    fn serve(&self, stream: Box<dyn Stream>, tcp: Option<TcpStream>) {
        let mut peer = Peer { reader: BufReader::new(stream), tcp };
        let mut on_connection = 0;
        while let Some(mut request) = peer.request(self.reads_bodies) {
            request.on_connection = on_connection;
            request.in_all = self.requests.fetch_add(1, Ordering::SeqCst);
            on_connection += 1;
            if (self.handler)(&request, &mut peer) == Then::Close {
                break;
            }
        }
    }
}

/// A server, for as long as it is held.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) connections: Arc<AtomicU64>,
    requests: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
}

impl Server {
    pub(crate) fn new(
        handler: impl Fn(&Request, &mut Peer) -> Then + Send + Sync + 'static,
    ) -> Self {
        Self::at("127.0.0.1:0", handler)
    }

    /// Answers `ok` after so many milliseconds.
    pub(crate) fn after(millis: u64) -> Self {
        Self::new(move |_, peer| {
            wait(millis);
            peer.answer("ok")
        })
    }

    pub(crate) fn at(
        address: &str,
        handler: impl Fn(&Request, &mut Peer) -> Then + Send + Sync + 'static,
    ) -> Self {
        Self::start(address, Shared::new(handler), plain)
    }

    /// Leaves the bodies of requests to the handler.
    pub(crate) fn of_heads(
        handler: impl Fn(&Request, &mut Peer) -> Then + Send + Sync + 'static,
    ) -> Self {
        Self::start("127.0.0.1:0", Shared { reads_bodies: false, ..Shared::new(handler) }, plain)
    }

    /// Speaks TLS.
    pub(crate) fn encrypted(
        config: Arc<ServerConfig>,
        handler: impl Fn(&Request, &mut Peer) -> Then + Send + Sync + 'static,
    ) -> Self {
        Self::start("127.0.0.1:0", Shared::new(handler), move |stream| {
            Box::new(StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), stream))
        })
    }

    fn start(
        address: &str,
        shared: Shared,
        wrap: impl Fn(TcpStream) -> Box<dyn Stream> + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let (over, connections) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let requests = Arc::clone(&shared.requests);
        let (told, count) = (Arc::clone(&over), Arc::clone(&connections));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if told.load(Ordering::SeqCst) {
                    break;
                }
                count.fetch_add(1, Ordering::SeqCst);
                let shared = shared.clone();
                stream.set_nodelay(true).unwrap();
                let tcp = stream.try_clone().unwrap();
                let stream = wrap(stream);
                std::thread::spawn(move || shared.serve(stream, Some(tcp)));
            }
        });
        Self { address, connections, requests, over }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn connections(&self) -> u64 {
        self.connections.load(Ordering::SeqCst)
    }

    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

fn plain(stream: TcpStream) -> Box<dyn Stream> {
    Box::new(stream)
}

/// Serves a socket in the file system until the process ends.
pub(crate) fn serve_unix(
    path: &Path,
    handler: impl Fn(&Request, &mut Peer) -> Then + Send + Sync + 'static,
) {
    let listener = UnixListener::bind(path).unwrap();
    let shared = Shared::new(handler);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let shared = shared.clone();
            std::thread::spawn(move || shared.serve(Box::new(stream), None));
        }
    });
}

#[expect(clippy::disallowed_methods, reason = "a server of the tests waits on a plain thread")]
pub(crate) fn wait(millis: u64) {
    std::thread::sleep(Duration::from_millis(millis));
}
