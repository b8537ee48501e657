//! HTTP/1.1 on one connection.

use std::net::SocketAddr;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use super::{Answer, KEPT_BYTES, RequestError};

/// Opens a connection to the first address that takes one.
pub(super) async fn connect(addresses: &[SocketAddr]) -> Result<TcpStream, RequestError> {
    let mut last = None;
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => {
                // A failure costs latency on small writes and nothing else.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Err(error) => last = Some(RequestError::connect(*address, &error)),
        }
    }
    Err(last.unwrap_or_else(RequestError::no_address))
}

/// Sends one request and reads the answer to its end. The connection lives as long as this future:
/// dropping it closes the connection.
pub(super) async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send,
    request: Request<Full<Bytes>>,
) -> Result<Answer, RequestError> {
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(|error| RequestError::http(&error))?;
    let conversation = async {
        let response = sender.send_request(request).await.map_err(|e| RequestError::http(&e))?;
        let (head, mut body) = response.into_parts();
        let mut body_start = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| RequestError::body(&error))?;
            if let Some(data) = frame.data_ref() {
                let wanted = KEPT_BYTES.saturating_sub(body_start.len()).min(data.len());
                body_start.extend_from_slice(&data[..wanted]);
            }
        }
        let (status, headers) = (head.status.as_u16(), head.headers);
        Ok(Answer { status, headers, body_start })
    };
    tokio::pin!(connection);
    tokio::pin!(conversation);
    // The connection does the reading and writing; it ends first when the peer closes, and then
    // the conversation learns of it in its next step.
    tokio::select! {
        answer = &mut conversation => answer,
        _ended = &mut connection => conversation.await,
    }
}
