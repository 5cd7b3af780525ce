//! The certificate that the API's process shows, and whose certificates it has to be shown: their files read and tried, at the start with the rights that it has then, at each reload, and once a minute, as who renews certificates does so
//! by replacing files.
//!
//! Where they cannot be shown at the start all else goes on, and there is no API until they can: it is no reason to answer no queries.
//!
//! All files are read as a whole each time: they are small, and what is in them is the only mark that is always right. What cannot be shown changes nothing; a look that finds the same fault
//! as the one before says it, since one file may be replaced before the other.

use std::fmt::Write;
use std::hash::{BuildHasher, RandomState};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use web::certificate::{Certificate, Of, Texts};
use zone::check::Timestamp;

use crate::expiry::now;
use crate::read::{open_regular, read_bounded};
use crate::settings::Settings;
use crate::text::{Seconds, count};

/// From one look at the files to the next.
pub(super) const LOOK_PAUSE: Duration = Duration::from_secs(60);

/// Octets of a file: certificates and keys, with what people and programs write beside them.
const FILE_OCTETS_MAX: u64 = 1 << 20;

/// Bits of all who are neither the owner nor of the group.
const OTHERS: u32 = 0o007;

const SECONDS_A_DAY: u64 = 86_400;

/// How it stands with a certificate, from good to bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Fine,
    Soon,
    /// Expired, or not good yet.
    Bad,
}

/// Where all of it is.
struct Files {
    certificate: PathBuf,
    key: PathBuf,
    /// `None`: clients need show nothing.
    client_ca: Option<PathBuf>,
}

/// See the module.
pub(crate) struct Shown {
    files: Files,
    seed: RandomState,
    /// What is shown; `None`: nothing could be yet.
    now: Option<Arc<Certificate>>,
    /// A mark of the texts that were looked at last.
    mark: u64,
    /// Why those texts cannot be shown, if it was not said yet.
    fault: Option<String>,
    /// What was said of the files as they are.
    broken: Option<String>,
    /// How it was said to stand.
    said: State,
    /// So many seconds before it expires it is warned of.
    ahead: u64,
}

impl Shown {
    /// Reads what settings name; `None`: they name nothing.
    pub(super) fn of(settings: &Settings) -> Option<Shown> {
        let files = Files::of(settings)?;
        let seed = RandomState::new();
        let (read, mark) = files.read(&seed);
        let (now, broken) = match read {
            Ok(certificate) => (Some(Arc::new(certificate)), None),
            Err(line) => (None, Some(line)),
        };
        let (fault, said, ahead) = (None, State::Fine, ahead(settings));
        let mut shown = Shown { files, seed, now, mark, fault, broken, said, ahead };
        if shown.now.is_some() {
            shown.warn_of_key();
            shown.warn_of_expiry();
        }
        Some(shown)
    }

    /// Takes over how long before it expires it is warned of.
    pub(super) fn note(&mut self, settings: &Settings) {
        self.ahead = ahead(settings);
    }

    /// What is shown.
    pub(super) fn now(&self) -> Option<Arc<Certificate>> {
        self.now.clone()
    }

    /// What is wrong with the files, and what that means.
    pub(super) fn problem(&self) -> Option<String> {
        let meaning = match self.now {
            Some(_) => "what was shown before is shown on",
            None => "there is no API until it can be shown",
        };
        self.broken.as_ref().map(|line| format!("{line}; {meaning}"))
    }

    /// Reads the files again: what is to be shown from now on, if that is another. `is_asked`: somebody waits for what comes of it, so that a fault is said at once. The error: there is a
    /// [problem](Shown::problem) to be said.
    pub(super) fn look(&mut self, is_asked: bool) -> Result<Option<Arc<Certificate>>, ()> {
        let (read, mark) = self.files.read(&self.seed);
        let is_same = std::mem::replace(&mut self.mark, mark) == mark;
        match read {
            Ok(certificate) => {
                (self.fault, self.broken) = (None, None);
                if self.now.as_ref().is_some_and(|now| now.parts() == certificate.parts()) {
                    return Ok(None);
                }
                (self.now, self.said) = (Some(Arc::new(certificate)), State::Fine);
                self.warn_of_key();
                Ok(self.now())
            }
            Err(line) if is_asked => {
                (self.fault, self.broken) = (None, Some(line));
                Err(())
            }
            // At the second look, and no third time.
            Err(_) if is_same => match self.fault.take() {
                Some(line) => {
                    self.broken = Some(line);
                    Err(())
                }
                None => Ok(None),
            },
            Err(line) => {
                self.fault = Some(line);
                Ok(None)
            }
        }
    }

    /// Says when it expires, once for each state.
    pub(super) fn warn_of_expiry(&mut self) {
        let (state, line) = self.state(now());
        if state > std::mem::replace(&mut self.said, state) {
            tracing::warn!("{line}");
        }
    }

    fn state(&self, now: u64) -> (State, String) {
        let Some(shown) = &self.now else { return (State::Fine, String::new()) };
        let ((from, until), file) = (shown.good(), self.files.certificate.display());
        let time = |seconds: u64| Timestamp(u32::try_from(seconds).unwrap_or(u32::MAX));
        let mut line = format!("[api] certificate {file}: ");
        let state = if until < now {
            let days = count(((now - until) / SECONDS_A_DAY) as usize, "day");
            let _ = write!(line, "it has expired {days} ago, at {:#}: clients refuse it", time(until));
            State::Bad
        } else if now < from {
            let _ = write!(line, "it is not good before {:#}: clients refuse it", time(from));
            State::Bad
        } else if until - now < self.ahead {
            let left = Seconds(until - now);
            let _ = write!(line, "it expires in {left}, at {:#}: is it still renewed?", time(until));
            State::Soon
        } else {
            State::Fine
        };
        (state, line)
    }

    /// Warns where others can read the key.
    fn warn_of_key(&self) {
        let file = self.files.key.display();
        let Ok((_, metadata)) = open_regular(&self.files.key) else { return };
        let mode = metadata.permissions().mode() & 0o7777;
        if mode & OTHERS != 0 {
            tracing::warn!(
                %file,
                "{file}: others can read or change this file (mode {mode:04o}), and the key of the API's certificate in it; take that away (chmod o= {file})"
            );
        }
    }
}

fn ahead(settings: &Settings) -> u64 {
    u64::from(settings.server.warn_expiry_days) * SECONDS_A_DAY
}

/// Why a start here would have no API, as a line.
pub(crate) fn unreadable(settings: &Settings) -> Option<String> {
    if settings.api.listen.is_empty() {
        return None;
    }
    Files::of(settings)?.read(&RandomState::new()).0.err()
}

impl Files {
    /// Those that settings name; `None`: they name no certificate.
    fn of(settings: &Settings) -> Option<Files> {
        let api = &settings.api;
        let named = |path: &Path| (!path.as_os_str().is_empty()).then(|| settings.path(path));
        let certificate = named(&api.certificate)?;
        let key = named(&api.certificate_key).unwrap_or_else(|| certificate.clone());
        Some(Files { certificate, key, client_ca: named(&api.client_ca) })
    }

    /// Reads all and tries it; and a mark of what was read, with or without faults.
    fn read(&self, seed: &RandomState) -> (Result<Certificate, String>, u64) {
        let client_ca = self.client_ca.as_ref();
        let line = |of: Of, why: String| match of {
            Of::Certificate => format!("[api] certificate {}: {why}", self.certificate.display()),
            Of::Key => format!("[api] certificate-key {}: {why}", self.key.display()),
            Of::ClientCa => {
                let file = client_ca.map(|path| path.display().to_string());
                format!("[api] client-ca {}: {why}", file.unwrap_or_default())
            }
        };
        let text = |of, path: &Path| read_bounded(path, FILE_OCTETS_MAX).map_err(|why| line(of, why));
        let own =
            [(Of::Certificate, &self.certificate), (Of::Key, &self.key)].map(|(of, path)| text(of, path));
        let client_ca = client_ca.map(|path| text(Of::ClientCa, path)).transpose();
        let mark = seed.hash_one((&own, &client_ca));
        let read = match (own, client_ca) {
            ([Ok(certificate), Ok(key)], Ok(client_ca)) => {
                let texts = Texts { certificate: &certificate, key: &key, client_ca: client_ca.as_deref() };
                Certificate::from_pem(&texts).map_err(|(of, fault)| line(of, fault.to_string()))
            }
            ([Err(line), _] | [_, Err(line)], _) | (_, Err(line)) => Err(line),
        };
        (read, mark)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;

    const FROM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../web/src/certificates");

    /// A folder with a certificate and its key, and settings that name them.
    fn bed() -> (tempfile::TempDir, Settings) {
        let folder = tempfile::tempdir().unwrap();
        let settings = "[api]\nlisten = [\"127.0.0.1:8443\"]\ncertificate = \"api.pem\"\ncertificate-key = \"api.key\"\n";
        let settings = Settings::parse(&folder.path().join("zonda.toml"), settings).unwrap();
        put(folder.path(), "own", &["pem", "key"]);
        (folder, settings)
    }

    fn put(folder: &Path, name: &str, kinds: &[&str]) {
        for kind in kinds {
            fs::copy(format!("{FROM}/{name}.{kind}"), folder.join(format!("api.{kind}"))).unwrap();
        }
    }

    #[test]
    fn what_is_new_is_shown() {
        let (folder, settings) = bed();
        let mut shown = Shown::of(&settings).unwrap();
        let first = shown.now().unwrap().parts();
        assert!(shown.look(false).unwrap().is_none() && shown.look(true).unwrap().is_none());
        put(folder.path(), "other", &["pem", "key"]);
        let second = shown.look(false).unwrap().unwrap().parts();
        assert_ne!(second, first);
        assert!(shown.look(false).unwrap().is_none());
        put(folder.path(), "own", &["pem", "key"]);
        assert_eq!(shown.look(true).unwrap().unwrap().parts(), first);
    }

    /// One file may be replaced before the other: the second look says what is wrong, and no third one; who asks is told at once.
    #[test]
    fn faults_are_said_once() {
        let (folder, settings) = bed();
        let mut shown = Shown::of(&settings).unwrap();
        let first = shown.now().unwrap().parts();
        put(folder.path(), "other", &["pem"]);
        assert!(shown.look(false).unwrap().is_none());
        assert!(shown.look(false).is_err());
        let line = shown.problem().unwrap();
        assert!(
            line.ends_with("shown on")
                && line.contains("certificate-key")
                && line.contains("api.key: the key is not that"),
            "{line}"
        );
        assert!(shown.look(false).unwrap().is_none());
        assert!(shown.look(true).is_err() && shown.problem() == Some(line));
        assert_eq!(shown.now().unwrap().parts(), first);
        // What was half is whole before the second look.
        fs::remove_file(folder.path().join("api.pem")).unwrap();
        assert!(shown.look(false).unwrap().is_none());
        put(folder.path(), "other", &["pem", "key"]);
        assert!(shown.look(false).unwrap().is_some() && shown.look(false).unwrap().is_none());
        fs::remove_file(folder.path().join("api.key")).unwrap();
        assert!(unreadable(&settings).is_some());
        // At the start nothing is shown, until it can be.
        let mut shown = Shown::of(&settings).unwrap();
        let line = shown.problem().unwrap();
        assert!(
            line.contains("api.key: cannot open") && line.ends_with("no API until it can be shown"),
            "{line}"
        );
        assert!(shown.now().is_none() && shown.look(false).unwrap().is_none());
        put(folder.path(), "other", &["key"]);
        assert!(shown.look(false).unwrap().is_some() && shown.problem().is_none());
    }

    #[test]
    fn how_long_it_is_good() {
        let (_folder, settings) = bed();
        let shown = Shown::of(&settings).unwrap();
        let (from, until) = shown.now().unwrap().good();
        let ahead = u64::from(settings.server.warn_expiry_days) * SECONDS_A_DAY;
        for (now, state, words) in [
            (from - 1, State::Bad, "not good before"),
            (from, State::Fine, ""),
            (until - ahead, State::Fine, ""),
            (until - ahead + 1, State::Soon, "expires in"),
            (until, State::Soon, "expires in"),
            (until + 3 * SECONDS_A_DAY, State::Bad, "expired 3 days ago"),
        ] {
            let (found, line) = shown.state(now);
            assert!(found == state && line.contains(words), "{now}: {line}");
        }
    }
}
