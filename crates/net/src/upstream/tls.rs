//! What a server must show before it is asked over TLS (RFC 7858, 8310).

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use ring::digest::{SHA256, digest};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme,
};

/// Sessions that are kept to be resumed: of forwarders there are few, each with some addresses.
const SESSIONS_MAX: usize = 64;

/// The protocol's name in the handshake (IANA, RFC 7858 6).
const ALPN: &[u8] = b"dot";

/// Certificates of authorities that are believed.
#[derive(Clone, Debug)]
pub struct Roots(Arc<RootCertStore>);

/// Why there is no such [`TlsServer`] or [`Roots`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsFault {
    /// The text is not PEM, from some place on.
    Pem,
    /// There is no certificate in it that could be used.
    NoRoots,
    /// That is neither a host name nor an address.
    Name,
    /// No pin is given.
    NoPins,
    /// The library refuses to be set up so.
    Setup,
}

impl fmt::Display for TlsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TlsFault::Pem => "expected certificates in PEM, found something else",
            TlsFault::NoRoots => "expected certificates of authorities, found none that can be used",
            TlsFault::Name => "expected a host name or an address",
            TlsFault::NoPins => "expected pins, found none",
            TlsFault::Setup => "the library for TLS refuses to be set up so",
        })
    }
}

impl std::error::Error for TlsFault {}

/// Who is believed to be the server.
#[derive(Clone, Debug)]
pub enum Authentication {
    /// Who has a certificate for this name from one of these authorities (RFC 8310 8.1).
    Name {
        /// A host name, or an address that the certificate has.
        name: String,
        /// Whom to believe.
        roots: Roots,
    },
    /// Who has a key of which the SHA-256 hash of SubjectPublicKeyInfo is one of these (RFC 7858 4.2). Neither name nor dates are checked.
    Pins {
        /// The name to ask for in the handshake, if the server has several.
        name: Option<String>,
        /// One or more: that of a key that is to come too.
        hashes: Vec<[u8; 32]>,
    },
    /// Anybody: it protects from those who only listen (RFC 8310 5).
    Opportunistic,
}

/// A server that is asked over TLS, of any address. Made once; sessions of all its streams are resumed.
#[derive(Debug)]
pub struct TlsServer {
    config: Arc<ClientConfig>,
    name: Option<ServerName<'static>>,
}

impl Roots {
    /// Those of a file in PEM. Certificates that cannot be an authority's are left out, as systems have odd ones; at least one must be left.
    pub fn from_pem(text: &[u8]) -> Result<Self, TlsFault> {
        let mut store = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(text) {
            let certificate = certificate.map_err(|_| TlsFault::Pem)?;
            store.add_parsable_certificates([certificate]);
        }
        if store.is_empty() { Err(TlsFault::NoRoots) } else { Ok(Self(Arc::new(store))) }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

impl TlsServer {
    /// Sets up what connections to such a server share.
    pub fn new(authentication: &Authentication) -> Result<Self, TlsFault> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|_| TlsFault::Setup)?;
        let name_of = |name: &str| ServerName::try_from(name.to_owned()).map_err(|_| TlsFault::Name);
        let (verifier, name): (Arc<dyn ServerCertVerifier>, _) = match authentication {
            Authentication::Name { name, roots } => {
                let verifier = WebPkiServerVerifier::builder_with_provider(Arc::clone(&roots.0), provider);
                (verifier.build().map_err(|_| TlsFault::Setup)?, Some(name_of(name)?))
            }
            Authentication::Pins { hashes, .. } if hashes.is_empty() => return Err(TlsFault::NoPins),
            Authentication::Pins { name, hashes } => {
                let verifier = KeyVerifier { hashes: Some(hashes.clone()), provider };
                (Arc::new(verifier), name.as_deref().map(name_of).transpose()?)
            }
            Authentication::Opportunistic => (Arc::new(KeyVerifier { hashes: None, provider }), None),
        };
        // Not the library's own verifier by its own builder, as one way for all three is easier to see through.
        let mut config = builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.resumption = Resumption::in_memory_sessions(SESSIONS_MAX);
        Ok(Self { config: Arc::new(config), name })
    }

    /// A connection that has not begun. Without a name the address stands for it, which is asked of nobody.
    pub(super) fn connection(&self, server: SocketAddr) -> Result<ClientConnection, rustls::Error> {
        let name = self.name.clone().unwrap_or_else(|| ServerName::IpAddress(server.ip().into()));
        let mut connection = ClientConnection::new(Arc::clone(&self.config), name)?;
        // The stream has bounds of its own, and half a message must not be refused.
        connection.set_buffer_limit(None);
        Ok(connection)
    }
}

/// Believes who has one of some keys, or any.
#[derive(Debug)]
struct KeyVerifier {
    /// SHA-256 hashes of SubjectPublicKeyInfo; `None`: all keys.
    hashes: Option<Vec<[u8; 32]>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for KeyVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if let Some(hashes) = &self.hashes {
            let key = ParsedCertificate::try_from(end_entity)?.subject_public_key_info();
            let hash = digest(&SHA256, &key);
            if !hashes.iter().any(|pin| pin == hash.as_ref()) {
                return Err(CertificateError::ApplicationVerificationFailure.into());
            }
        }
        Ok(ServerCertVerified::assertion())
    }

    // That it has the key of the certificate it shows is proved in each case.

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
