//! How a database proves who it is.

use std::borrow::Cow;
use std::sync::Arc;

use feed::address::Tls;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::target::Roots;
use crate::fault::Fault;

/// Of a mode that has TLS.
pub(super) fn connector(tls: Tls, roots: &Roots) -> Result<MakeRustlsConnect, Fault> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| Fault::Away(error.to_string()))?;
    let config = match tls {
        Tls::VerifyFull => config.with_root_certificates(store(roots)?),
        Tls::VerifyCa => {
            let inner =
                WebPkiServerVerifier::builder_with_provider(Arc::new(store(roots)?), Arc::clone(&provider))
                    .build()
                    .map_err(|error| Fault::Away(error.to_string()))?;
            let believes = Some(inner);
            config.dangerous().with_custom_certificate_verifier(Arc::new(AnyName { believes, provider }))
        }
        Tls::Disable | Tls::Prefer | Tls::Require => config
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyName { believes: None, provider })),
    };
    Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
}

/// The certificates of authorities.
fn store(roots: &Roots) -> Result<RootCertStore, Fault> {
    let (text, place) = match roots {
        Roots::File(path) => {
            let text = std::fs::read(path);
            let text = text.map_err(|error| Fault::File("read the certificates of authorities", error))?;
            (Cow::Owned(text), format!("{}: ", path.display()))
        }
        Roots::Text(text) => (Cow::Borrowed(&text[..]), String::new()),
    };
    let no_roots = || Fault::Address(format!("{place}expected certificates of authorities, in PEM"));
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&text) {
        // Systems have odd ones among theirs: what cannot be an authority's is left out.
        store.add_parsable_certificates([certificate.map_err(|_| no_roots())?]);
    }
    if store.is_empty() { Err(no_roots()) } else { Ok(store) }
}

/// Whoever has the key of the certificate, whatever name that has.
#[derive(Debug)]
struct AnyName {
    /// Who vouches for the certificate; `None`: nobody needs to.
    believes: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        stapled: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(believes) = &self.believes else { return Ok(ServerCertVerified::assertion()) };
        match believes.verify_server_cert(certificate, chain, name, stapled, now) {
            // The name is looked at last, once the chain was found right.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
