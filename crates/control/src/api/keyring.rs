//! Which keys are let in: those of the settings, without those that a command revoked.
//!
//! A key is dead as soon as its number is raised, before anything is written: with a full disk, too. What was asked with it and not begun is looked at again, and refused; what was begun is durable
//! or refused once the command returns. Only then the file is said to have it, which a start goes by.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use wire::NameBuf;

use super::inbox::Event;
use super::revoked::Revoked;
use super::{Api, Key, Keys};
use crate::controller::Controller;
use crate::dynamic::Told;
use crate::packs::PackFolder;
use crate::settings::Settings;

/// How long what was begun may be undecided, as a change may: see `session`.
const SETTLE_WAIT: Duration = Duration::from_secs(20);

/// See the module.
#[derive(Default)]
pub(super) struct Keyring {
    /// Those of the settings.
    listed: Vec<Arc<Key>>,
    /// Names of TSIG keys.
    tsig: Arc<[NameBuf]>,
    /// `None`: the file was not read yet.
    revoked: Option<Revoked>,
}

impl Keyring {
    /// Those that are let in.
    fn keys(&self, number: u64) -> Keys {
        let revoked = self.revoked.as_ref();
        let is_let_in = |key: &&Arc<Key>| {
            revoked.is_none_or(|revoked| revoked.problem.is_none() && !revoked.keys.contains_key(&key.hash))
        };
        Keys::new(self.listed.iter().filter(is_let_in).cloned(), number, Arc::clone(&self.tsig))
    }

    /// The key of this name. The error: there is none.
    fn named(&self, name: &str) -> Result<&Arc<Key>, String> {
        let key = self.listed.iter().find(|key| key.name() == name);
        key.ok_or_else(|| format!("there is no [[api-key]] {name:?} in the settings"))
    }

    /// Forgets those that the settings do not have any more, unless nobody knows which there are. Says whether there were any.
    fn forget_unlisted(&mut self) -> bool {
        let Some(revoked) = self.revoked.as_mut().filter(|revoked| revoked.problem.is_none()) else {
            return false;
        };
        let before = revoked.keys.len();
        revoked.keys.retain(|hash, _| self.listed.iter().any(|key| key.hash == *hash));
        revoked.keys.len() < before
    }
}

impl Api {
    /// Keys are those of these settings from now on, but for those that were revoked: what was asked with others is looked at again before anything comes of it.
    pub(crate) fn note_keys(&self, folder: Option<&PackFolder>, settings: &Settings) {
        let _writing = self.revoking.lock();
        let read = {
            let is_read = self.keyring.lock().revoked.is_some();
            (!is_read).then(|| folder.map(|folder| Revoked::read(&*folder.disk(), folder.path())))
        };
        let mut keyring = self.keyring.lock();
        keyring.listed = settings.compiled_api_keys().into_iter().map(Arc::new).collect();
        keyring.tsig = settings.keys.iter().filter_map(|key| key.name.clone()).collect();
        if let Some(read) = read {
            let read = read.unwrap_or_default();
            read.problem.iter().for_each(|line| tracing::error!("{line}"));
            keyring.revoked = Some(read);
        }
        let has_forgotten = keyring.forget_unlisted();
        let revoked = keyring.revoked.clone().unwrap_or_default();
        self.publish(&keyring);
        drop(keyring);
        if has_forgotten && let Err(line) = write(folder, &revoked) {
            tracing::warn!("{line}: keys that are not in the settings any more stay revoked after a start");
        }
    }

    /// Has others know which keys there are. Called with the lock of the keyring held, so that what is newer is told later.
    fn publish(&self, keyring: &Keyring) {
        let number = self.keys.load(Ordering::SeqCst) + 1;
        if let Some(inbox) = self.inbox.get() {
            inbox.tell(Event::Keys(Arc::new(keyring.keys(number))));
        }
        self.keys.store(number, Ordering::SeqCst);
    }

    /// Lets a key in no more, or, without a name, takes those for all that the file has. The first error: there is no such key, and nothing is done; the second: it is so, and a start would not know, as
    /// nothing can be written.
    fn revoke(
        &self,
        folder: Option<&PackFolder>,
        name: Option<&str>,
        now: u64,
    ) -> Result<Result<(), String>, String> {
        let _writing = self.revoking.lock();
        let mut keyring = self.keyring.lock();
        let hash = name.map(|name| keyring.named(name).map(|key| key.hash)).transpose()?;
        let mut revoked = keyring.revoked.clone().unwrap_or_default();
        revoked.problem = None;
        hash.into_iter().for_each(|hash| {
            revoked.keys.entry(hash).or_insert(now);
        });
        keyring.revoked = Some(revoked.clone());
        self.publish(&keyring);
        drop(keyring);
        Ok(write(folder, &revoked))
    }

    /// Names of keys of the settings that are not let in as they were revoked, and why nobody is, if that is so.
    pub(crate) fn revoked(&self) -> (Vec<String>, Option<String>) {
        let keyring = self.keyring.lock();
        let Some(revoked) = &keyring.revoked else { return (Vec::new(), None) };
        let names = keyring.listed.iter().filter(|key| revoked.keys.contains_key(&key.hash));
        (names.map(|key| key.name().to_owned()).collect(), revoked.problem.clone())
    }
}

/// Writes the file; the error is a line.
fn write(folder: Option<&PackFolder>, revoked: &Revoked) -> Result<(), String> {
    match folder {
        None => Err("there is no `pack-directory` in [server]".to_owned()),
        Some(folder) if !folder.is_writable() => {
            Err(format!("pack-directory {}: another server has it", folder.path().display()))
        }
        Some(folder) => revoked.write(&*folder.disk(), folder.path()),
    }
}

impl Controller {
    /// Lets a key of the API in no more, at once; says so in words. The error: there is no such key, or it is not known whether what it asked for last is kept, or a start would let it in.
    pub(crate) fn revoke_api_key(&self, name: &str) -> Result<String, String> {
        let is_written = self.api.revoke(self.folder(), Some(name), crate::expiry::now())?;
        tracing::warn!(key = name, "key {name} of the API: revoked by a command");
        let mut faults = Vec::new();
        if !self.settle_for_api() {
            faults.push("it is not known whether what it asked for last is kept: the log of changes, or a change of zones, is not done".to_owned());
        }
        if let Err(line) = is_written {
            tracing::error!("{line}; a start would let key {name} in again");
            faults.push(format!("{line}: a start would let it in again, so take it out of the settings"));
        }
        match faults.is_empty() {
            true => Ok(format!("key {name} is revoked: nothing more comes of what is asked with it")),
            false => Err(format!("key {name} is revoked; {}", faults.join("; "))),
        }
    }

    /// Takes those keys for revoked that are known to be, where the file may have had more; says so in words. The error: nothing can be written.
    pub(crate) fn confirm_api_keys(&self) -> Result<String, String> {
        self.api
            .revoke(self.folder(), None, crate::expiry::now())?
            .map_err(|line| format!("keys of the API are let in until the server ends; {line}"))?;
        let (revoked, _) = self.api.revoked();
        Ok(match revoked.is_empty() {
            true => "all keys of the settings are let in".to_owned(),
            false => format!("all keys of the settings are let in but {}", revoked.join(", ")),
        })
    }

    /// Waits until what keys had begun is durable or refused; false: that is not known in time.
    fn settle_for_api(&self) -> bool {
        let until = Instant::now() + SETTLE_WAIT;
        // Who makes zones looks at the keys with this lock, and has it until that is done.
        let is_made = self.change_within(SETTLE_WAIT).is_some();
        if !self.dynamic.is_running() {
            return is_made;
        }
        let (sender, told) = sync_channel(1);
        let settled = Told::new(move |result: Result<(), _>| {
            // Who waited for it may be gone.
            let _ = sender.try_send(result.is_ok());
        });
        self.dynamic.settle(settled, until);
        told.recv_timeout(until.saturating_duration_since(Instant::now())).unwrap_or(false) && is_made
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::api::new_api_key;
    use std::path::Path;

    /// Settings with two keys, and their secrets.
    fn settings() -> (Settings, [String; 2]) {
        let keys = ["one", "two"].map(|name| new_api_key(name).unwrap());
        let sections = keys.each_ref().map(|(section, _)| section.replace("zones = []", "zones = [\"x.\"]"));
        let settings = Settings::parse(Path::new("f"), &sections.concat()).unwrap();
        (settings, keys.map(|(_, secret)| secret))
    }

    /// Which of two secrets are let in, by what the next start, or this one, would say.
    fn let_in(api: &Api, secrets: &[String; 2]) -> [bool; 2] {
        let keys = api.keyring.lock().keys(1);
        secrets.each_ref().map(|secret| keys.find(secret.as_bytes(), 0).is_some())
    }

    #[test]
    fn what_is_revoked_stays_so_while_it_is_listed() {
        let (settings, secrets) = settings();
        let scratch = tempfile::tempdir().unwrap();
        let folder = PackFolder::open(scratch.path()).unwrap();
        let folder = Some(&folder);
        let start = || {
            let api = Api::new();
            api.note_keys(folder, &settings);
            api
        };
        let api = start();
        assert_eq!((let_in(&api, &secrets), api.keys_number()), ([true, true], 1));
        assert!(api.revoke(folder, Some("three"), 7).is_err() && api.keys_number() == 1);
        assert_eq!(api.revoke(folder, Some("one"), 7), Ok(Ok(())));
        assert_eq!((let_in(&api, &secrets), api.keys_number()), ([false, true], 2));
        assert_eq!(api.revoked(), (vec!["one".to_owned()], None));
        // Other settings, and another start.
        api.note_keys(folder, &settings);
        assert_eq!([let_in(&api, &secrets), let_in(&start(), &secrets)], [[false, true]; 2]);
        // It is revoked for good: put back after it was gone it is another section.
        api.note_keys(folder, &Settings::default());
        assert_eq!([let_in(&api, &secrets), let_in(&start(), &secrets)], [[false, false], [true, true]]);
        // Without a folder it is so until the end.
        let api = Api::new();
        api.note_keys(None, &settings);
        assert!(api.revoke(None, Some("two"), 7).unwrap().unwrap_err().contains("pack-directory"));
        assert_eq!(let_in(&api, &secrets), [true, false]);
    }

    #[test]
    fn names_of_tsig_keys_go_along() {
        let text = "[[key]]\nname = \"T.x.\"\nsecret = \"c2VjcmV0\"\n";
        let api = Api::new();
        api.note_keys(None, &Settings::parse(Path::new("f"), text).unwrap());
        let names = api.keyring.lock().keys(1).tsig;
        assert_eq!(names.iter().map(ToString::to_string).collect::<Vec<_>>(), ["T.x."]);
    }

    #[test]
    fn a_damaged_file_lets_nobody_in() {
        let (settings, secrets) = settings();
        let scratch = tempfile::tempdir().unwrap();
        let folder = PackFolder::open(scratch.path()).unwrap();
        let folder = Some(&folder);
        let file = scratch.path().join("revoked");
        let damaged = || {
            let api = Api::new();
            api.note_keys(folder, &settings);
            assert_eq!(api.revoke(folder, Some("one"), 7), Ok(Ok(())));
            let text = std::fs::read_to_string(&file).unwrap();
            std::fs::write(&file, text.replace("= 1 ", "= 2 ")).unwrap();
            let api = Api::new();
            api.note_keys(folder, &settings);
            assert_eq!(let_in(&api, &secrets), [false, false]);
            assert!(api.revoked().1.is_some_and(|line| line.contains("damaged")));
            // Other settings change nothing of that, nor of the file.
            api.note_keys(folder, &Settings::default());
            api.note_keys(folder, &settings);
            assert_eq!(let_in(&api, &secrets), [false, false]);
            assert!(std::fs::read_to_string(&file).unwrap().contains("= 2 "));
            api
        };
        let of_next = || {
            let api = Api::new();
            api.note_keys(folder, &settings);
            let_in(&api, &secrets)
        };
        // What can be read of it stays.
        let api = Api::new();
        std::fs::write(&file, "").unwrap();
        api.note_keys(folder, &settings);
        assert_eq!(let_in(&api, &secrets), [false, false]);
        assert_eq!(api.revoke(folder, None, 8), Ok(Ok(())));
        assert_eq!([let_in(&api, &secrets), of_next()], [[true, true]; 2]);
        let api = damaged();
        assert_eq!(api.revoke(folder, Some("two"), 8), Ok(Ok(())));
        assert_eq!([let_in(&api, &secrets), of_next()], [[false, false]; 2]);
    }
}
