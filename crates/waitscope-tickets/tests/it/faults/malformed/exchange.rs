//! One request as bytes, and its answer.

use std::net::SocketAddr;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::fixture::Reply;

/// How long the service may take on a busy machine. Nothing that is sent here is worth a wait.
const PATIENCE: Duration = Duration::from_secs(20);

/// Sends bytes on a connection of their own and reads it to its end. Whoever `ends` says that there
/// is no more to come. No answer is none.
pub(super) async fn exchange(address: SocketAddr, bytes: &[u8], ends: bool) -> Option<Reply> {
    let talk = async {
        let mut connection = TcpStream::connect(address).await.unwrap();
        // The service may have heard enough before it heard all.
        let _ = connection.write_all(bytes).await;
        if ends {
            let _ = connection.shutdown().await;
        }
        let mut answer = Vec::new();
        let _ = connection.read_to_end(&mut answer).await;
        answer
    };
    let shown = || String::from_utf8_lossy(&bytes[..bytes.len().min(300)]);
    let answer = timeout(PATIENCE, talk).await.unwrap_or_else(|_| panic!("it waits: {}", shown()));
    (!answer.is_empty()).then(|| parse(&answer))
}

fn parse(answer: &[u8]) -> Reply {
    let answer = std::str::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers: HeaderMap = lines
        .map(|line| {
            let (name, value) = line.split_once(": ").unwrap();
            (name.parse::<HeaderName>().unwrap(), value.parse::<HeaderValue>().unwrap())
        })
        .collect();
    let body = serde_json::from_str(body).unwrap_or_else(|_| Value::String(body.to_owned()));
    Reply { status, headers, body }
}
