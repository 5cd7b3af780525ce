//! The certificate that a process shows over TLS, its key, and those whose certificates clients have to show: read from what the operator has, tried, and told from one process to the other.
//!
//! Both sides use it: the server reads files and tries what is in them, the process has it from the server in DER and shows it.

use std::fmt;
use std::sync::Arc;

use api::frame::Item;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig};
use x509_cert::der::Decode;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

/// Certificates, the server's own among them: those of authorities are two or three.
const CHAIN_MAX: usize = 16;

/// Authorities of clients: an operator's own, and the one that follows it.
const AUTHORITIES_MAX: usize = 16;

/// Octets of the key and all certificates in DER, so that they are one frame between the processes: RSA of 4,096 bits has some 2 KiB of each.
const OCTETS_MAX: usize = 48 << 10;
const _: () = assert!(OCTETS_MAX + 2 * (CHAIN_MAX + AUTHORITIES_MAX + 2) < api::frame::REST_OCTETS_MAX);

/// Names of a certificate that requests may be for; of more the first.
const NAMES_MAX: usize = 256;

/// HTTP/1.1 alone (RFC 7301 6).
const ALPN: &[u8] = b"http/1.1";

/// See the module.
pub struct Certificate {
    key: PrivateKeyDer<'static>,
    chain: Vec<CertificateDer<'static>>,
    /// Of whose certificates clients have to show one; none: they need not.
    authorities: Vec<CertificateDer<'static>>,
}

/// What is read, in PEM.
#[derive(Clone, Copy, Debug)]
pub struct Texts<'t> {
    /// The server's own certificate first, then those that lead to an authority.
    pub certificate: &'t str,
    /// Its private key, among whatever else.
    pub key: &'t str,
    /// Authorities of which one has signed what clients show; `None`: they need show nothing.
    pub client_ca: Option<&'t str>,
}

/// Without the key.
impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Certificate({} certificates)", self.chain.len())
    }
}

/// Of which file something is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// That of the certificate.
    Certificate,
    /// That of the key.
    Key,
    /// That of the authorities of clients.
    ClientCa,
}

/// Why it cannot be shown. What it says does not name the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The text is not PEM, from some place on.
    Pem,
    /// There is no certificate in it.
    NoCertificate,
    /// There is no key in it.
    NoKey,
    /// There is a key in it, and it is encrypted.
    Encrypted,
    /// There are more, or longer ones, than are taken.
    TooMuch,
    /// The key is another certificate's.
    OtherKey,
    /// They cannot be used, as the library says.
    Unusable(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Pem => f.write_str("expected PEM, found something else"),
            Fault::NoCertificate => f.write_str("expected a certificate in PEM, found none"),
            Fault::NoKey => {
                f.write_str("expected a private key in PEM (PKCS #8, PKCS #1 or SEC 1), found none")
            }
            Fault::Encrypted => f.write_str(
                "expected a private key that is not encrypted, as nobody is asked for its password",
            ),
            Fault::TooMuch => {
                write!(
                    f,
                    "expected at most {CHAIN_MAX} certificates, of {OCTETS_MAX} octets with the key and all others, found more"
                )
            }
            Fault::OtherKey => f.write_str("the key is not that of the first certificate"),
            Fault::Unusable(why) => write!(f, "it cannot be used: {why}"),
        }
    }
}

impl std::error::Error for Fault {}

impl Certificate {
    /// Reads all of it and tries it.
    pub fn from_pem(texts: &Texts<'_>) -> Result<Certificate, (Of, Fault)> {
        let of = |of| move |fault| (of, fault);
        let chain = certificates(texts.certificate).map_err(of(Of::Certificate))?;
        let key = key_of(texts.key).map_err(of(Of::Key))?;
        let authorities = texts.client_ca.map_or(Ok(Vec::new()), certificates).map_err(of(Of::ClientCa))?;
        if texts.client_ca.is_some() && authorities.is_empty() {
            return Err((Of::ClientCa, Fault::NoCertificate));
        }
        let certificate = Certificate { key, chain, authorities };
        certificate.check_length()?;
        // What a certificate says of itself is read again where it is used: names that cannot be read would be none.
        names(&certificate.chain[0]).map_err(of(Of::Certificate))?;
        certificate.verifier().map_err(of(Of::ClientCa))?;
        certificate.config().map_err(|fault| match fault {
            Fault::Unusable(_) | Fault::OtherKey => (Of::Key, fault),
            other => (Of::Certificate, other),
        })?;
        Ok(certificate)
    }

    /// What the other process was told.
    pub(crate) fn from_parts<'p>(mut parts: impl Iterator<Item = &'p [u8]>) -> Result<Certificate, Fault> {
        let key =
            PrivateKeyDer::try_from(parts.next().ok_or(Fault::NoKey)?.to_vec()).map_err(|_| Fault::NoKey)?;
        let &[length] = parts.next().ok_or(Fault::NoCertificate)? else { return Err(Fault::NoCertificate) };
        let mut chain: Vec<_> = parts.map(|part| CertificateDer::from(part.to_vec())).collect();
        let authorities = chain.split_off(usize::from(length).min(chain.len()));
        let certificate = Certificate { key, chain, authorities };
        certificate.check_length().map_err(|(_, fault)| fault)?;
        Ok(certificate)
    }

    /// As it is told to the other process: a run of parts ([`api::frame::Shown`]), the key, how many certificates are its own, these, authorities.
    #[must_use]
    pub fn parts(&self) -> Vec<u8> {
        let mut octets = Vec::new();
        let length = [self.chain.len() as u8];
        let certificates = self.chain.iter().chain(&self.authorities).map(|one| &**one);
        let parts = [self.key.secret_der(), &length].into_iter().chain(certificates);
        parts.for_each(|part| part.write(&mut octets));
        octets
    }

    fn check_length(&self) -> Result<(), (Of, Fault)> {
        let octets = |list: &[CertificateDer<'_>]| list.iter().map(|one| one.len()).sum::<usize>();
        let own = self.key.secret_der().len() + octets(&self.chain);
        match self.chain.len() {
            0 => return Err((Of::Certificate, Fault::NoCertificate)),
            1..=CHAIN_MAX if own <= OCTETS_MAX => {}
            _ => return Err((Of::Certificate, Fault::TooMuch)),
        }
        match self.authorities.len() <= AUTHORITIES_MAX && own + octets(&self.authorities) <= OCTETS_MAX {
            true => Ok(()),
            false => Err((Of::ClientCa, Fault::TooMuch)),
        }
    }

    /// What clients have to show.
    fn verifier(&self) -> Result<Arc<dyn ClientCertVerifier>, Fault> {
        let unusable = |error: &dyn fmt::Display| Fault::Unusable(error.to_string());
        if self.authorities.is_empty() {
            return Ok(WebPkiClientVerifier::no_client_auth());
        }
        let mut roots = RootCertStore::empty();
        for authority in &self.authorities {
            roots.add(authority.clone()).map_err(|error| unusable(&error))?;
        }
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::new(default_provider()))
            .build()
            .map_err(|error| unusable(&error))
    }

    /// What connections are accepted with. TLS 1.2 and 1.3: older ones are not in the library.
    pub(crate) fn config(&self) -> Result<Arc<ServerConfig>, Fault> {
        let unusable = |error: rustls::Error| match error {
            rustls::Error::InconsistentKeys(_) => Fault::OtherKey,
            other => Fault::Unusable(other.to_string()),
        };
        let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(rustls::ALL_VERSIONS)
            .map_err(unusable)?
            .with_client_cert_verifier(self.verifier()?)
            .with_single_cert(self.chain.clone(), self.key.clone_key())
            .map_err(unusable)?;
        config.alpn_protocols = vec![ALPN.to_vec()];
        Ok(Arc::new(config))
    }

    /// From when until when it is good, in seconds since 1970.
    #[must_use]
    pub fn good(&self) -> (u64, u64) {
        let validity = x509(&self.chain[0]).map(|certificate| certificate.tbs_certificate.validity);
        let seconds = |time: x509_cert::time::Time| time.to_unix_duration().as_secs();
        validity.map_or((0, 0), |validity| (seconds(validity.not_before), seconds(validity.not_after)))
    }

    /// The names that it is for, in lower case; `*.` stands for one label.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        names(&self.chain[0]).unwrap_or_default()
    }
}

fn certificates(text: &str) -> Result<Vec<CertificateDer<'static>>, Fault> {
    CertificateDer::pem_slice_iter(text.as_bytes()).collect::<Result<_, _>>().map_err(|_| Fault::Pem)
}

fn names(certificate: &CertificateDer<'_>) -> Result<Vec<String>, Fault> {
    let certificate = x509(certificate)?;
    let names = certificate.tbs_certificate.get::<SubjectAltName>();
    let names = names.map_err(|error| Fault::Unusable(format!("its names cannot be read: {error}")))?;
    let names = names.iter().flat_map(|(_, names)| &names.0).filter_map(|name| match name {
        GeneralName::DnsName(name) => Some(name.as_str().to_ascii_lowercase()),
        _ => None,
    });
    Ok(names.take(NAMES_MAX).collect())
}

/// The first key of a text.
fn key_of(text: &str) -> Result<PrivateKeyDer<'static>, Fault> {
    if text.contains("-----BEGIN ENCRYPTED PRIVATE KEY-----") || text.contains("Proc-Type: 4,ENCRYPTED") {
        return Err(Fault::Encrypted);
    }
    PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|error| match error {
        pem::Error::NoItemsFound => Fault::NoKey,
        _ => Fault::Pem,
    })
}

fn x509(certificate: &CertificateDer<'_>) -> Result<x509_cert::Certificate, Fault> {
    x509_cert::Certificate::from_der(certificate).map_err(|error| Fault::Unusable(error.to_string()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use api::frame::Run;

    const OWN: [&str; 2] = [include_str!("certificates/own.pem"), include_str!("certificates/own.key")];
    const OTHER: [&str; 2] = [include_str!("certificates/other.pem"), include_str!("certificates/other.key")];

    fn from_pem(certificate: &str, key: &str) -> Result<Certificate, (Of, Fault)> {
        Certificate::from_pem(&Texts { certificate, key, client_ca: None })
    }

    #[test]
    fn what_is_shown_is_what_was_read() {
        let certificate = from_pem(&[OWN[0], OTHER[0]].concat(), OWN[1]).unwrap();
        assert_eq!(certificate.names(), ["ns1.test", "*.api.test"]);
        let (from, until) = certificate.good();
        assert_eq!(until - from, 36_500 * 86_400);
        assert_eq!(format!("{certificate:?}"), "Certificate(2 certificates)");
        let octets = certificate.parts();
        let told = Certificate::from_parts(Run::<&[u8]>::read(&octets).unwrap().iter()).unwrap();
        assert_eq!((told.parts(), told.chain.len()), (octets, 2));
        assert!(told.config().is_ok());
        // In one file, in any order.
        let both = [OWN[1], OWN[0]].concat();
        assert!(from_pem(&both, &both).is_ok());
    }

    /// Who has to show what is told to the other process too.
    #[test]
    fn authorities_of_clients() {
        let with = |client_ca: &str| {
            Certificate::from_pem(&Texts { certificate: OWN[0], key: OWN[1], client_ca: Some(client_ca) })
        };
        let certificate = with(OTHER[0]).unwrap();
        let octets = certificate.parts();
        let told = Certificate::from_parts(Run::<&[u8]>::read(&octets).unwrap().iter()).unwrap();
        assert_eq!((told.parts(), told.chain.len(), told.authorities.len()), (octets.clone(), 1, 1));
        assert!(told.config().is_ok() && octets != from_pem(OWN[0], OWN[1]).unwrap().parts());
        let fault = |client_ca: &str| with(client_ca).unwrap_err();
        assert_eq!(fault(""), (Of::ClientCa, Fault::NoCertificate));
        assert_eq!(fault(&OTHER[0][..200]), (Of::ClientCa, Fault::Pem));
        assert_eq!(fault(&OTHER[0].repeat(AUTHORITIES_MAX + 1)), (Of::ClientCa, Fault::TooMuch));
        let none = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(matches!(fault(none), (Of::ClientCa, Fault::Unusable(_))));
    }

    #[test]
    fn what_cannot_be_shown() {
        let fault = |certificate: &str, key: &str| from_pem(certificate, key).unwrap_err();
        assert_eq!(fault("", OWN[1]), (Of::Certificate, Fault::NoCertificate));
        assert_eq!(fault(OWN[1], OWN[1]), (Of::Certificate, Fault::NoCertificate));
        assert_eq!(fault(&OWN[0][..200], OWN[1]), (Of::Certificate, Fault::Pem));
        assert_eq!(fault(OWN[0], ""), (Of::Key, Fault::NoKey));
        assert_eq!(fault(OWN[0], OWN[0]), (Of::Key, Fault::NoKey));
        assert_eq!(fault(OWN[0], OTHER[1]), (Of::Key, Fault::OtherKey));
        assert_eq!(
            fault(OWN[0], &OWN[1].replace("PRIVATE", "ENCRYPTED PRIVATE")),
            (Of::Key, Fault::Encrypted)
        );
        assert_eq!(fault(&OWN[0].repeat(CHAIN_MAX + 1), OWN[1]), (Of::Certificate, Fault::TooMuch));
        let none = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(matches!(fault(none, OWN[1]), (Of::Certificate, Fault::Unusable(_))));
        // Nor is it where somebody tells it.
        assert!(Certificate::from_parts(std::iter::empty()).is_err());
        assert!(Certificate::from_parts([&b"\0"[..]].into_iter()).is_err());
    }
}
