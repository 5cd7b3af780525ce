//! Keys as they are written: texts to keys, and what is wrong with them. No message repeats a secret or a part of one.

use std::collections::HashSet;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use auth::Keys;
use auth::keys::{KEYS_MAX, KeysFault};
use toml::de::DeTable;
use wire::NameBuf;
use wire::tsig::Algorithm;

use super::Settings;
use super::access::Place;
use super::problem::Report;
use super::sections::KeySettings;
use crate::read::{open_regular, read_bounded};

/// A file with a secret longer than this is none: one line, and room for comments.
const SECRET_FILE_OCTETS_MAX: u64 = 16 << 10;
/// The rights of a file that others must not have.
const OTHERS: u32 = 0o007;

/// What is wrong with a section as a whole.
pub(super) fn check(key: &KeySettings) -> Result<(), &'static str> {
    let has_file = !key.secret_file.as_os_str().is_empty();
    match (&key.name, key.secret.text().is_empty(), has_file) {
        (None, ..) => Err("expected `name`, found none"),
        (_, true, false) => Err("expected `secret` or `secret-file`, found neither"),
        (_, false, true) => Err("expected either `secret` or `secret-file`, found both"),
        _ => Ok(()),
    }
}

/// The octets of a secret as it is written; one at least.
fn octets(text: &str) -> Option<Box<[u8]>> {
    zonefile::from_base64(text).filter(|octets| !octets.is_empty()).map(Vec::into_boxed_slice)
}

impl Settings {
    /// The names of all keys, in lower case.
    pub(super) fn key_names(&self) -> HashSet<NameBuf> {
        self.keys.iter().filter_map(|key| Some(key.name.as_ref()?.to_lowercase())).collect()
    }

    /// Reports what is wrong with keys. `table`: of the whole file, for the places.
    pub(super) fn check_keys(&self, table: &DeTable<'_>, report: &mut Report<'_>) {
        let mut known = HashSet::new();
        for (at, key) in self.keys.iter().enumerate() {
            let place = Place { table, section: "key", at: Some(at) };
            if let Some(name) = &key.name
                && !known.insert(name.to_lowercase())
            {
                place.report(report, "name", None, format!("expected each name once, found {name} twice"));
            }
            let secret = key.secret.text();
            if !secret.is_empty() && octets(secret).is_none() {
                place.report(report, "secret", None, "expected text in base64, found something else".into());
            }
        }
        if self.keys.len() > KEYS_MAX {
            let place = Place { table, section: "key", at: Some(KEYS_MAX) };
            let text = format!("expected at most {KEYS_MAX} keys, found {}", self.keys.len());
            place.report(report, "name", None, text);
        }
    }

    /// The keys, those in files too. Errors are lines for the operator, one for each file that cannot be read.
    pub(crate) fn all_keys(&self) -> Result<Keys, Vec<String>> {
        let (mut keys, mut problems) = (Vec::with_capacity(self.keys.len()), Vec::new());
        for key in &self.keys {
            let Some(name) = key.name.as_deref() else { continue };
            let Some(algorithm) = Algorithm::from_text(&key.algorithm) else { continue };
            let secret = match key.secret_file.as_os_str().is_empty() {
                true => octets(key.secret.text()).ok_or_else(|| "expected text in base64".to_owned()),
                false => secret_of(&self.path(&key.secret_file)),
            };
            match secret {
                Ok(secret) => keys.push((name, algorithm, secret)),
                Err(problem) => problems.push(format!("[[key]] {name}: {problem}")),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        Keys::new(keys.into_iter()).map_err(|fault| {
            vec![match fault {
                KeysFault::TooMany => format!("expected at most {KEYS_MAX} [[key]]"),
                KeysFault::Twice => "expected each name of a [[key]] once".into(),
            }]
        })
    }

    /// Warns where others can read secrets with the settings.
    pub(crate) fn warn_of_secrets(&self) {
        let has_secrets = self.keys.iter().any(|key| !key.secret.text().is_empty());
        let Some(file) = self.file.as_deref().filter(|_| has_secrets) else { return };
        let Ok(metadata) = std::fs::metadata(file) else { return };
        let (mode, file) = (metadata.permissions().mode() & 0o7777, file.display());
        if mode & OTHERS != 0 {
            tracing::warn!(
                %file,
                "{file}: others can read or change this file (mode {mode:04o}), and the secrets of keys in it; take that away (chmod o= {file}), or write \
                 `secret-file` in place of `secret`"
            );
        }
    }
}

/// Reads a file that is closed to others. `octets_max`: of a longer one nothing is read.
pub(crate) fn closed_text(path: &Path, octets_max: u64) -> Result<String, String> {
    let (_, metadata) = open_regular(path)?;
    let mode = metadata.permissions().mode();
    if mode & OTHERS != 0 {
        return Err(format!(
            "expected a file that is closed to others, found mode {:04o}; chmod o= {}",
            mode & 0o7777,
            path.display()
        ));
    }
    read_bounded(path, octets_max)
}

/// Reads the secret of a file.
fn secret_of(path: &Path) -> Result<Box<[u8]>, String> {
    let problem = |text: String| format!("secret-file {}: {text}", path.display());
    let text = closed_text(path, SECRET_FILE_OCTETS_MAX).map_err(problem)?;
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or("").trim());
    let mut lines = lines.filter(|line| !line.is_empty());
    match (lines.next(), lines.next()) {
        (Some(line), None) => {
            octets(line).ok_or_else(|| problem("expected text in base64, found something else".into()))
        }
        (None, _) => Err(problem("expected a secret in base64, found none".into())),
        (Some(_), Some(_)) => Err(problem("expected one line, found several".into())),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use wire::tsig::Keys as _;

    fn problems(text: &str) -> Vec<String> {
        let problems = Settings::parse(Path::new("f"), text).unwrap_err();
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_is_wrong_with_keys() {
        let found = problems(
            "[[key]]\nname = \"a\"\nsecret = \"dG9wIHNlY3JldA\"\n\
             [[key]]\nname = \"A.\"\nsecret = \"AAAA\"\nalgorithm = \"hmac-sha3\"\n\
             [[key]]\nsecret = \"AAAA\"\n\
             [[key]]\nname = \"b\"\n\
             [[acl]]\nname = \"l\"\nkeys = [\"a\", \"b.\", \"bb\", \"entirely-different\"]\n",
        );
        assert_eq!(
            found,
            [
                "3:10: secret: expected text in base64, found something else",
                "5:8: name: expected each name once, found A. twice",
                "7:13: algorithm: expected one of \"hmac-sha256\", \"hmac-sha512\", \"hmac-sha384\", \"hmac-sha224\", \"hmac-sha1\", \
                 \"hmac-md5\", \"hmac-sha256-128\", \"hmac-sha384-192\", \"hmac-sha512-256\", found \"hmac-sha3\"",
                "8:1: [[key]]: expected `name`, found none",
                "10:1: [[key]]: expected `secret` or `secret-file`, found neither",
                "14:20: keys: unknown [[key]] \"bb\"; did you mean \"b.\"?",
                "14:26: keys: expected the name of a [[key]], found \"entirely-different\"",
            ]
            .map(|line| format!("f:{line}"))
        );
    }

    #[test]
    fn secrets_in_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("k.secret");
        let text = "[[key]]\nname = \"K.example\"\nsecret-file = \"k.secret\"\n[[key]]\nname = \"m\"\nsecret = \"AAAA\"\n";
        let settings = Settings::parse(&folder.path().join("zonda.toml"), text).unwrap();
        let error = |text: &str, mode| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            settings.all_keys().map_err(|lines| lines.join("\n"))
        };
        assert!(settings.all_keys().unwrap_err()[0].contains("cannot open"));
        let keys = error("# ours\ndG9wIHNlY3JldA== # top\n", 0o640).unwrap();
        let name: NameBuf = "k.example".parse().unwrap();
        assert_eq!(keys.find(&name).unwrap().algorithm(), Algorithm::HmacSha256);
        assert!(keys.find(&"m".parse::<NameBuf>().unwrap()).is_some());
        assert!(error("dG9wIHNlY3JldA==\n", 0o644).unwrap_err().contains("mode 0644; chmod o= "));
        assert!(error("\n", 0o600).unwrap_err().ends_with("expected a secret in base64, found none"));
        let wrong = error("dG9wIHNlY3JldA\n", 0o600).unwrap_err();
        assert!(wrong.ends_with("found something else") && !wrong.contains("dG9w"), "{wrong}");
        assert!(!format!("{settings:?}").contains("AAAA"));
    }
}
