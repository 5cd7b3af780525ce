//! Forwarders over TLS (RFC 7858): what each has to show before it is asked.
//!
//! ```text
//! [[forward]] tls, tls-name, tls-authorities, tls-pins --> key --> TlsServer      one for all forwards that say the same
//! ```

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use net::{Authentication, Roots, TlsServer};
use resolve::Protection;

use crate::read::read_bounded;
use crate::settings::{ForwardSettings, Settings, pin};

/// Files in which systems have the certificates that they trust: Debian, Red Hat, Alpine and SUSE, BSDs.
const TRUSTED: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];
/// Longest of those: a tenth of it is usual.
const TRUSTED_OCTETS_MAX: u64 = 4 << 20;

/// All that are asked over TLS, by what they have to show.
#[derive(Clone, Default)]
pub(super) struct Secured(HashMap<String, Arc<TlsServer>>);

impl Secured {
    /// Of all forwarded zones. Errors are lines for the operator: files that cannot be read.
    pub(super) fn new(settings: &Settings) -> Result<Secured, Vec<String>> {
        let mut secured = Secured::default();
        let mut roots: HashMap<PathBuf, Roots> = HashMap::new();
        for (_, forward) in settings.forwards.iter().filter(|(_, forward)| forward.tls) {
            let key = key(forward);
            if secured.0.contains_key(&key) {
                continue;
            }
            let path = match forward.tls_authorities.as_os_str().is_empty() {
                true => PathBuf::new(),
                false => settings.path(&forward.tls_authorities),
            };
            let made =
                server(forward, path, &mut roots).map_err(|text| vec![format!("[[forward]] {text}")])?;
            secured.0.insert(key, Arc::new(made));
        }
        Ok(secured)
    }

    /// The servers of a [`Protection::Named`]; `""`: of [`Protection::Opportunistic`].
    pub(super) fn get(&self, key: &str) -> Option<Arc<TlsServer>> {
        self.0.get(key).cloned()
    }
}

/// How the servers of a forwarded zone are asked.
pub(super) fn protection(forward: &ForwardSettings) -> Protection {
    match (forward.tls, key(forward)) {
        (false, _) => Protection::Plain,
        (true, key) if key.is_empty() => Protection::Opportunistic,
        (true, key) => Protection::Named(key),
    }
}

/// What a server has to show, as one text: empty if nothing.
fn key(forward: &ForwardSettings) -> String {
    let authorities = forward.tls_authorities.to_string_lossy();
    let mut key = format!("{} {authorities}", forward.tls_name);
    forward.tls_pins.texts().iter().for_each(|pin| key.extend([" ", pin]));
    key.trim().to_owned()
}

fn server(
    forward: &ForwardSettings,
    path: PathBuf,
    roots: &mut HashMap<PathBuf, Roots>,
) -> Result<TlsServer, String> {
    let name = forward.tls_name.as_str();
    let hashes: Vec<[u8; 32]> = forward.tls_pins.texts().iter().filter_map(|text| pin(text)).collect();
    let authentication = match (name.is_empty(), hashes.is_empty()) {
        (true, true) => Authentication::Opportunistic,
        (_, false) => Authentication::Pins { name: (!name.is_empty()).then(|| name.to_owned()), hashes },
        (false, true) => {
            let roots = match roots.entry(path) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => {
                    let read = authorities(entry.key())?;
                    entry.insert(read)
                }
            };
            Authentication::Name { name: name.to_owned(), roots: roots.clone() }
        }
    };
    TlsServer::new(&authentication).map_err(|fault| format!("tls-name {name:?}: {fault}"))
}

/// The authorities of a file; of the system, if none is named.
fn authorities(path: &Path) -> Result<Roots, String> {
    let text = trusted_text(path)?;
    Roots::from_pem(text.as_bytes()).map_err(|fault| problem_of(path, &fault.to_string()))
}

/// The text in PEM of a file of authorities; that of the system, if none is named.
pub(crate) fn trusted_text(path: &Path) -> Result<String, String> {
    let text = match path.as_os_str().is_empty() {
        false => read_bounded(path, TRUSTED_OCTETS_MAX),
        true => TRUSTED
            .iter()
            .find_map(|path| read_bounded(Path::new(path), TRUSTED_OCTETS_MAX).ok())
            .ok_or_else(|| format!("none of {} can be read", TRUSTED.join(", "))),
    };
    text.map_err(|problem| problem_of(path, &problem))
}

fn problem_of(path: &Path, problem: &str) -> String {
    let shown = if path.as_os_str().is_empty() { "of this system".into() } else { path.to_string_lossy() };
    format!("tls-authorities {shown}: {problem}")
}
