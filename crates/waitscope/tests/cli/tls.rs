//! `stall` over TLS: a certificate that is trusted, and one that is not.

use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;

use super::fixture::Waitscope;

/// A server on a runtime of its own that answers every request with 200; returns its URL and its
/// certificate in PEM.
pub(crate) fn tls_server() -> (String, String) {
    let signed = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let pem = signed.cert.pem();
    let key = signed.signing_key.serialize_der().try_into().unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![signed.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            sender.send(listener.local_addr().unwrap().port()).unwrap();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    let Ok(mut stream) = acceptor.accept(stream).await else { return };
                    let mut request = [0; 4096];
                    let read = stream.read(&mut request).await.unwrap_or(0);
                    if read > 0 {
                        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
                        let _ = stream.write_all(answer).await;
                        let _ = stream.shutdown().await;
                    }
                });
            }
        });
    });
    (format!("https://localhost:{}/", receiver.recv().unwrap()), pem)
}

#[test]
fn a_trusted_certificate_works_and_an_unknown_one_is_named() {
    let (url, pem) = tls_server();
    let directory = tempfile::tempdir().unwrap();
    let authority = directory.path().join("ca.pem");
    std::fs::write(&authority, pem).unwrap();
    Waitscope::new("stall").args([&url]).env("SSL_CERT_FILE", &authority).run().exits(0);
    let ran = Waitscope::new("stall").args([&url]).run().exits(3);
    ran.complains(&["TLS failed", "SSL_CERT_FILE"]);
}
