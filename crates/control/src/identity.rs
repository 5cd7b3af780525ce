//! What the settings let the server say about itself, the secrets of its cookies, and its keys.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use auth::Style;
use sync::epoch::Reader;
use sync::{Cell, Domain};
use wire::cookie::{SECRET_OCTETS, SECRETS_MAX, Secrets};

use crate::access::Groups;
use crate::read::read_bounded;
use crate::settings::{Settings, hexadecimal};

/// A file of secrets longer than this is none: three lines, and room for comments.
const SECRETS_FILE_OCTETS_MAX: u64 = 16 << 10;

/// What the server says of itself, as workers see it.
pub(crate) struct Identity(Arc<Cell<auth::Server>>);

/// A worker's way to it; owned by one thread.
pub struct IdentityReader {
    cell: Arc<Cell<auth::Server>>,
    reader: Reader,
}

impl Identity {
    pub(crate) fn new(server: auth::Server) -> Identity {
        Identity(Arc::new(Cell::new(&Domain::new(), Arc::new(server))))
    }

    /// A new reader, to be moved to its thread.
    pub(crate) fn reader(&self) -> IdentityReader {
        IdentityReader { cell: Arc::clone(&self.0), reader: self.0.domain().reader() }
    }

    /// The domain that what is replaced is garbage of.
    pub(crate) fn domain(&self) -> &Domain {
        self.0.domain()
    }

    /// What it says now.
    pub(crate) fn current(&self) -> Arc<auth::Server> {
        self.0.current()
    }

    /// Has batches that begin from now on see `server`; whether that is anything new. If not, nothing is replaced: most reloads are about zones.
    pub(crate) fn publish(&self, server: auth::Server) -> bool {
        let is_new = *self.current() != server;
        if is_new {
            self.0.replace(Arc::new(server), size_of::<auth::Server>());
        }
        is_new
    }
}

impl IdentityReader {
    /// Begins a batch. One that was not ended (its thread panicked and went on) is ended first.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.reader.begin();
    }

    /// What the server says of itself, at least as new as when the batch began; `None` between batches.
    #[inline]
    pub(crate) fn value(&self) -> Option<&auth::Server> {
        Some(self.cell.load(&self.reader.guard()?))
    }

    /// Ends the batch.
    #[inline]
    pub(crate) fn end(&mut self) {
        self.reader.end();
    }
}

/// What answers need to know of the server. `groups`: of zones with access lists of their own, which those of the settings are added to. Errors are lines
/// for the operator: secrets of cookies and keys that cannot be read.
pub(crate) fn identity(settings: &Settings, groups: &mut Groups) -> Result<auth::Server, Vec<String>> {
    let server = &settings.server;
    let text = |text: &str| (!text.is_empty()).then(|| text.as_bytes().into());
    Ok(auth::Server {
        nsid: hexadecimal(&server.nsid).or_else(|| text(&server.nsid)),
        version: text(&server.version),
        hostname: text(&server.hostname),
        id_server: text(&server.id_server),
        udp_payload_octets: server.udp_payload_octets,
        style: Style::MINIMAL
            .when(server.minimal_responses)
            .and(Style::WITHIN_ZONE.when(!server.aliases_across_zones))
            .and(Style::ANEW.when(!server.keep_answers)),
        full_any_over_tcp: server.full_any_over_tcp,
        cookies: secrets(settings)?,
        demands_cookies: settings.cookies.demand,
        access: groups.access(settings).map_err(|line| vec![line])?,
        keys: settings.all_keys()?,
        recurses: settings.resolver.enabled,
    })
}

/// The secrets of cookies; `None` where these are switched off.
fn secrets(settings: &Settings) -> Result<Option<Secrets>, Vec<String>> {
    let cookies = &settings.cookies;
    if !cookies.enabled {
        return Ok(None);
    }
    if cookies.secret_file.as_os_str().is_empty() {
        return drawn().map(Some).map_err(|line| vec![line]);
    }
    let path = settings.path(&cookies.secret_file);
    let text = read_bounded(&path, SECRETS_FILE_OCTETS_MAX)
        .map_err(|problem| vec![format!("secret-file {}: {problem}", path.display())])?;
    read_secrets(&path, &text).map(Some)
}

/// A secret that was drawn, or handed over by the server before.
static SECRET: OnceLock<Result<[u8; SECRET_OCTETS], String>> = OnceLock::new();

/// The secret that was drawn, if one was needed.
pub(crate) fn drawn_secret() -> Option<[u8; SECRET_OCTETS]> {
    SECRET.get()?.clone().ok()
}

/// Goes on with the secret of the server before. To be called before any is needed.
pub(crate) fn keep_secret(secret: [u8; SECRET_OCTETS]) {
    let _ = SECRET.set(Ok(secret));
}

/// A secret of this server alone, the same for its whole life: clients keep their cookies over a reload.
fn drawn() -> Result<Secrets, String> {
    let draw = || {
        let mut secret = [0; SECRET_OCTETS];
        let drawn = sync::random::fill_from_system(&mut secret);
        drawn.map(|()| secret).map_err(|error| format!("no random numbers for cookies: {error}"))
    };
    let secret = SECRET.get_or_init(draw).clone()?;
    Ok(Secrets::new(&[secret]).expect("one secret is a number of them that can be had"))
}

/// Reads a file of secrets: one a line, 32 hexadecimal digits, the one that makes cookies first; `#` begins a comment.
fn read_secrets(path: &Path, text: &str) -> Result<Secrets, Vec<String>> {
    let (mut secrets, mut problems) = (Vec::new(), Vec::new());
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        match hexadecimal(&format!("0x{line}"))
            .and_then(|octets| <[u8; SECRET_OCTETS]>::try_from(&*octets).ok())
        {
            Some(secret) => secrets.push(secret),
            // What is wrong with it could tell of it.
            None => problems.push(format!(
                "{}:{number}: expected {} hexadecimal digits, found something else",
                path.display(),
                2 * SECRET_OCTETS
            )),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    Secrets::new(&secrets).ok_or_else(|| {
        let found = secrets.len();
        vec![format!("{}: expected one to {SECRETS_MAX} secrets, found {found}", path.display())]
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(), String> {
        read_secrets(Path::new("secrets"), text).map(drop).map_err(|lines| lines.join("\n"))
    }

    #[test]
    fn files_of_secrets() {
        let secret = "e5e973e5a6b2a43f48e7dc849e37bfcf";
        assert_eq!(read(&format!("# ours\n\n{secret} # makes\n{secret}\n{secret}\n")), Ok(()));
        assert_eq!(read("\n"), Err("secrets: expected one to 3 secrets, found 0".into()));
        assert_eq!(
            read(&format!("{secret}\n").repeat(4)),
            Err("secrets: expected one to 3 secrets, found 4".into())
        );
        let error = read(&format!("{secret}\n{secret}0\n{}", &secret[2..])).unwrap_err();
        assert_eq!(
            error,
            "secrets:2: expected 32 hexadecimal digits, found something else\n\
             secrets:3: expected 32 hexadecimal digits, found something else"
        );
        assert!(!error.contains("e5e9"));
    }

    #[test]
    fn only_what_is_new_is_published() {
        let identity_of = |settings: &Settings| identity(settings, &mut Groups::default()).unwrap();
        let mut settings = Settings::default();
        let shown = Identity::new(identity_of(&settings));
        let mut reader = shown.reader();
        let mut hostname = |shown: &Identity| {
            reader.begin();
            let hostname = reader.value().unwrap().hostname.clone();
            reader.end();
            assert!(reader.value().is_none());
            (hostname, shown.domain().garbage().0)
        };
        assert!(!shown.publish(identity_of(&settings)), "a reload of the same settings");
        assert_eq!(hostname(&shown), (None, 0));
        settings.server.hostname = "ns1".into();
        assert!(shown.publish(identity_of(&settings)));
        assert_eq!(hostname(&shown), (Some((*b"ns1").into()), 1));
        assert!(!shown.publish(identity_of(&settings)));
        // Other secrets, and nothing else.
        let secrets = |octet| Some(Secrets::new(&[[octet; SECRET_OCTETS]]).unwrap());
        let with = |octet| auth::Server { cookies: secrets(octet), ..identity_of(&settings) };
        assert!(shown.publish(with(1)) && !shown.publish(with(1)) && shown.publish(with(2)));
        assert_eq!(shown.domain().collect().left, 0);
    }

    #[test]
    fn a_secret_is_drawn_once() {
        let cookie = |settings: &Settings| {
            let secrets = identity(settings, &mut Groups::default()).unwrap().cookies.unwrap();
            secrets.make(&[1; 8], "192.0.2.1".parse().unwrap(), 7)
        };
        let mut settings = Settings::default();
        assert_eq!(cookie(&settings), cookie(&settings));
        settings.cookies.enabled = false;
        assert!(identity(&settings, &mut Groups::default()).unwrap().cookies.is_none());
        settings.cookies = crate::settings::CookieSettings {
            secret_file: "/nonexistent/secrets".into(),
            ..Default::default()
        };
        let lines = identity(&settings, &mut Groups::default()).map(drop).unwrap_err();
        assert!(lines[0].starts_with("secret-file /nonexistent/secrets: cannot open"), "{lines:?}");
    }
}
