//! Encrypted connections, verified against the system's certificates.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::Verifier;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::RequestError;

/// How connections to one host are encrypted.
#[derive(Clone)]
pub(super) struct Tls {
    connector: TlsConnector,
    server: ServerName<'static>,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Tls").field("server", &self.server).finish_non_exhaustive()
    }
}

impl Tls {
    pub(super) fn new(host: &str) -> Result<Self, RequestError> {
        let server = ServerName::try_from(host.to_owned())
            .map_err(|error| RequestError::tls(&format!("`{host}`: {error}")))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = config(provider).map_err(|error| RequestError::tls(&error.to_string()))?;
        Ok(Self { connector: TlsConnector::from(Arc::new(config)), server })
    }

    pub(super) async fn wrap(
        &self,
        stream: TcpStream,
    ) -> Result<TlsStream<TcpStream>, RequestError> {
        let wrapped = self.connector.connect(self.server.clone(), stream).await;
        wrapped.map_err(|error| RequestError::handshake(&error))
    }
}

fn config(provider: Arc<CryptoProvider>) -> Result<rustls::ClientConfig, rustls::Error> {
    let verifier = Verifier::new(Arc::clone(&provider))?;
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
