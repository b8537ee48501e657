//! Encrypted connections. What the client trusts comes from the environment, so that the one with
//! trust is a process of its own.

use std::process::Command;
use std::sync::Arc;

use http::Method;
use rustls::ServerConfig;
use rustls::crypto::ring;
use waitscope_load::ErrorClass;
use waitscope_load::engine::Address;

use crate::fixture::End::{Error, Status};
use crate::fixture::Run;
use crate::server::{Server, Then};

/// Where the client that trusts finds its server.
const PORT: &str = "WAITSCOPE_TEST_TLS_PORT";

/// A server for `localhost`, and its certificate in PEM. The name is one of many, so that the
/// certificate takes several reads.
fn encrypted() -> (Server, String) {
    let names = std::iter::once("localhost".to_owned());
    let names = names.chain((0..400).map(|i| format!("a-rather-long-name-{i}.example.org")));
    let signed = rcgen::generate_simple_self_signed(names.collect::<Vec<_>>()).unwrap();
    let key = signed.signing_key.serialize_der().try_into().unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![signed.cert.der().clone()], key)
        .unwrap();
    let server = Server::encrypted(Arc::new(config), |request, peer| {
        peer.answer(&request.body);
        if request.on_connection == 4 { Then::Close } else { Then::Next }
    });
    (server, signed.cert.pem())
}

fn run(port: u16, body: &[u8]) -> Run {
    let address = Address::Tcp(([127, 0, 0, 1], port).into());
    Run::request(&Method::PUT, &format!("https://localhost:{port}/"), body).to(vec![address])
}

#[test]
fn a_certificate_that_is_trusted_works() {
    let (server, pem) = encrypted();
    let directory = tempfile::tempdir().unwrap();
    let authority = directory.path().join("ca.pem");
    #[expect(clippy::disallowed_methods, reason = "no event loop runs here")]
    std::fs::write(&authority, pem).unwrap();
    let mut client = Command::new(std::env::current_exe().unwrap());
    client.args(["--exact", "tls::client_that_trusts", "--ignored", "--nocapture"]);
    client.env("SSL_CERT_FILE", authority).env(PORT, server.address.port().to_string());
    #[expect(clippy::disallowed_methods, reason = "no event loop runs here")]
    let output = client.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(server.requests() >= 60, "it came here: {}", server.requests());
}

#[test]
#[ignore = "a_certificate_that_is_trusted_works runs it"]
fn client_that_trusts() {
    let port = std::env::var(PORT).unwrap().parse().unwrap();
    let ran = run(port, b"hello").users(3).requests(45).run();
    ran.all_well(45);
    let tally = &ran.measured.tally;
    assert!(tally.reused + tally.resent >= 30, "{} used again", tally.reused);
    assert!(ran.samples.iter().all(|s| s.connect.is_some() != s.reused));
    let large: Vec<u8> = (0..3_000_000_u32).map(|i| (i % 251) as u8).collect();
    let ran = run(port, &large).users(3).requests(15).run();
    ran.all_well(15);
    assert!(ran.samples.iter().all(|sample| sample.bytes > 3_000_000));
}

#[test]
fn a_certificate_that_nobody_signed_is_a_tls_error() {
    let (server, _) = encrypted();
    let ran = run(server.address.port(), b"").users(2).requests(4).run();
    assert_eq!(ran.ends(), [Error(ErrorClass::Tls); 4]);
    let (_, example) = &ran.measured.tally.errors[&ErrorClass::Tls];
    assert!(example.contains("SSL_CERT_FILE"), "{example}");
    assert_eq!(server.requests(), 0);
}

#[test]
fn a_server_that_speaks_plain_http_is_a_tls_error() {
    let server = Server::after(0);
    let ran = run(server.address.port(), b"").requests(2).run();
    assert_eq!(ran.ends(), [Error(ErrorClass::Tls); 2]);
    let plain = Run::get(&server.url("/")).run();
    assert_eq!(plain.ends(), [Status(200)]);
}
