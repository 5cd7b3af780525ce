//! How a database proves who it is.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::fault::Fault;

/// By certificates that those of a file (PEM) vouch for, of the host's name.
pub(super) fn connector(roots: &Path) -> Result<MakeRustlsConnect, Fault> {
    let text =
        std::fs::read(roots).map_err(|error| Fault::File("read the certificates of authorities", error))?;
    let no_roots = || Fault::Address(format!("{}: expected certificates in PEM", roots.display()));
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&text) {
        // Systems have odd ones among theirs: what cannot be an authority's is left out.
        store.add_parsable_certificates([certificate.map_err(|_| no_roots())?]);
    }
    if store.is_empty() {
        return Err(no_roots());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Fault::Away(error.to_string()))?
        .with_root_certificates(store)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}
