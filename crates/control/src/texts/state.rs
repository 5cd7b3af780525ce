//! What is known of texts: a small file for each zone of which there is something to know, written anew as a whole.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use journal::disk::System;
use sync::{Mutex, RwLock};
use wire::{Name, NameBuf};
use zone::section::checksum;

use crate::disk;
use crate::packs::PackFolder;
use crate::read::read_bounded;
use crate::text::cannot;

/// The folder, in that of packs.
const FOLDER: &str = "texts";
const SUFFIX: &str = ".state";
const HEAD: &str = "zonda text 1";
/// Octets of a file of state: some lines, of which one has a name.
const STATE_OCTETS_MAX: u64 = 8192;

/// What is known of the text of a zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Text {
    /// Updates are refused, and the text is not read.
    pub(crate) is_frozen: bool,
    /// T0, where it is not what the pack below has under the mark that this says.
    pub(crate) base: Option<Base>,
    /// What is being written in its place.
    pub(crate) next: Option<Base>,
}

/// A text, as it was read or written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Base {
    /// The mark of the file; 0: not known.
    pub(crate) mark: u64,
    /// The sum of its octets ([`crate::stamp::sum_of_file`]); 0: not known, as it includes others.
    pub(crate) sum: u64,
    /// The sum of the copy that is kept of it; 0: the pack below the zone's changes has it.
    pub(crate) copy: u64,
    /// Its serial.
    pub(crate) serial: u32,
}

impl Text {
    /// The file.
    fn write(&self, name: &Name) -> String {
        let mut text = format!("{HEAD}\nzone {}\n", name.to_lowercase());
        if self.is_frozen {
            text += "frozen\n";
        }
        for (word, base) in [("base", self.base), ("next", self.next)] {
            if let Some(Base { mark, sum, copy, serial }) = base {
                // Writing to a string does not fail.
                let _ = writeln!(text, "{word} {mark:016x} {sum:016x} {copy:016x} {serial}");
            }
        }
        let sum = checksum(text.as_bytes());
        text + &format!("sum {sum:016x}\n")
    }

    /// What a file says; `None`: it is damaged.
    fn read(text: &str) -> Option<(NameBuf, Text)> {
        let end = text.rfind("sum ")?;
        let sum = u64::from_str_radix(text[end..].strip_prefix("sum ")?.strip_suffix('\n')?, 16).ok()?;
        let mut lines = text[..end].lines();
        if sum != checksum(&text.as_bytes()[..end]) || lines.next() != Some(HEAD) {
            return None;
        }
        let name = NameBuf::from_text(lines.next()?.strip_prefix("zone ")?).ok()?;
        let mut known = Text::default();
        for line in lines {
            match line.split_once(' ') {
                None if line == "frozen" => known.is_frozen = true,
                Some(("base", rest)) => known.base = Some(Base::read(rest)?),
                Some(("next", rest)) => known.next = Some(Base::read(rest)?),
                _ => return None,
            }
        }
        Some((name, known))
    }

    fn copies(&self) -> impl Iterator<Item = u64> {
        [self.base, self.next].into_iter().flatten().map(|base| base.copy).filter(|copy| *copy != 0)
    }
}

impl Base {
    fn read(text: &str) -> Option<Base> {
        let mut words = text.split(' ');
        let mut sum = || u64::from_str_radix(words.next()?, 16).ok();
        let (mark, sum, copy) = (sum()?, sum()?, sum()?);
        let serial = words.next()?.parse().ok()?;
        Some(Base { mark, sum, copy, serial })
    }
}

/// All that is known of texts; see the module. The map is locked for moments, also by who has the lock of zones.
pub(crate) struct Texts {
    folder: Option<PathBuf>,
    /// By name, lower-case.
    known: RwLock<HashMap<NameBuf, Text>>,
    /// Zones that are being thawed: their texts are read.
    thawing: RwLock<Option<NameBuf>>,
    /// Held while a file is written.
    writing: Mutex<()>,
}

impl Default for Texts {
    /// Of a server that keeps nothing.
    fn default() -> Texts {
        Texts::known(None, HashMap::new())
    }
}

impl Texts {
    fn known(folder: Option<PathBuf>, known: HashMap<NameBuf, Text>) -> Texts {
        let (known, thawing) = (RwLock::named("texts", known), RwLock::named("thawing", None));
        Texts { folder, known, thawing, writing: Mutex::named("text state", ()) }
    }

    /// What a folder of packs has; copies that nothing is known of go.
    pub(crate) fn open(folder: Option<&PackFolder>) -> Texts {
        let Some(folder) = folder else { return Texts::default() };
        let path = folder.path().join(FOLDER);
        let mut known = HashMap::new();
        let mut others: Vec<PathBuf> = Vec::new();
        for entry in std::fs::read_dir(&path).into_iter().flatten().flatten() {
            let file = entry.path();
            if file.extension().is_none_or(|extension| extension != "state") {
                others.push(file);
                continue;
            }
            match read_bounded(&file, STATE_OCTETS_MAX).ok().and_then(|text| Text::read(&text)) {
                Some((name, text)) => drop(known.insert(name, text)),
                None => {
                    let source = file.display();
                    tracing::error!(%source, "{source}: damaged; it is not known whether the zone was frozen, and an edit of its text may not be taken in");
                }
            }
        }
        let copies: Vec<PathBuf> = known
            .iter()
            .flat_map(|(name, text): (&NameBuf, &Text)| text.copies().map(|copy| copy_in(&path, name, copy)))
            .collect();
        if folder.is_writable() {
            for file in others.iter().filter(|file| !copies.contains(file)) {
                let _ = std::fs::remove_file(file);
            }
        }
        Texts::known(Some(path), known)
    }

    /// What is known of a zone's text. `name`: lower-case.
    pub(crate) fn of(&self, name: &Name) -> Text {
        let known = self.known.read();
        if known.is_empty() { Text::default() } else { known.get(name).copied().unwrap_or_default() }
    }

    /// Whether anything is known of any.
    pub(crate) fn has_any(&self) -> bool {
        !self.known.read().is_empty()
    }

    /// Zones that have been changed beside their texts, of which these are kept; lower-case.
    pub(crate) fn beside(&self) -> Vec<NameBuf> {
        let known = self.known.read();
        known.iter().filter(|(_, text)| text.base.is_some()).map(|(name, _)| name.clone()).collect()
    }

    /// Zones that are frozen, lower-case.
    pub(crate) fn frozen(&self) -> Vec<NameBuf> {
        let known = self.known.read();
        known.iter().filter(|(_, text)| text.is_frozen).map(|(name, _)| name.clone()).collect()
    }

    /// Whether the text of a zone is not to be read, as somebody may be editing it.
    pub(crate) fn is_being_edited(&self, name: &Name) -> bool {
        self.of(name).is_frozen && self.thawing.read().as_deref() != Some(name)
    }

    /// Has the text of a zone be read though it is frozen, until the next call.
    pub(super) fn set_thawing(&self, name: Option<NameBuf>) {
        *self.thawing.write() = name;
    }

    /// Changes what is known of a zone's text, durably. `name`: lower-case.
    pub(crate) fn change(&self, name: &Name, change: impl FnOnce(&mut Text)) -> Result<(), String> {
        let _one = self.writing.lock();
        let old = self.of(name);
        let mut new = old;
        change(&mut new);
        if new == old {
            return Ok(());
        }
        let Some(folder) = &self.folder else { return Err("there is no `pack-directory`".into()) };
        let path = folder.join(format!("{}{SUFFIX}", hash(name)));
        let describe = |act: &str, error| format!("{}: {}", path.display(), cannot(act, &error));
        if new == Text::default() {
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(describe("remove it", error));
                }
                _ => {}
            }
            // What comes again after a crash is known to be old by what is served, or is a zone that is frozen once more.
            let _ = std::fs::File::open(folder).and_then(|folder| folder.sync_all());
            self.known.write().remove(name);
        } else {
            std::fs::create_dir_all(folder).map_err(|error| describe("make its folder", error))?;
            let temporary = path.with_extension("tmp");
            disk::replace(&System, &path, &temporary, new.write(name).as_bytes())
                .map_err(|error| describe("write", error))?;
            self.known.write().insert(name.to_owned(), new);
        }
        for copy in old.copies().filter(|copy| !new.copies().any(|new| new == *copy)) {
            // Found at the next start otherwise.
            let _ = std::fs::remove_file(copy_in(folder, name, copy));
        }
        Ok(())
    }

    /// Where the copy of a text is, or is to be. `name`: lower-case.
    pub(super) fn copy_path(&self, name: &Name, copy: u64) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| copy_in(folder, name, copy))
    }

    /// Where a copy of a text is written before it has its name: another place each time, as a zone may be stored while an edit of its text is taken in.
    pub(super) fn temporary(&self, name: &Name) -> Result<Temporary, String> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Ok(Temporary(self.folder()?.join(format!("{}-{number}.copy", hash(name)))))
    }

    /// The folder, made if need be.
    pub(super) fn folder(&self) -> Result<&Path, String> {
        let folder = self.folder.as_deref().ok_or("there is no `pack-directory`")?;
        std::fs::create_dir_all(folder)
            .map_err(|error| format!("{}: {}", folder.display(), cannot("make it", &error)))?;
        Ok(folder)
    }
}

/// A file that is on its way to a name of its own; where it does not get there it goes.
pub(super) struct Temporary(pub(super) PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // That is how it ends where it has its name by now.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// What files of a zone are named by.
pub(super) fn hash(name: &Name) -> String {
    format!("{:016x}", checksum(name.octets()))
}

fn copy_in(folder: &Path, name: &Name, copy: u64) -> PathBuf {
    folder.join(format!("{}-{copy:016x}.zone", hash(name)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn name(text: &str) -> NameBuf {
        text.parse().unwrap()
    }

    #[test]
    fn what_is_known_survives() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Texts::open(Some(&PackFolder::open(folder.path()).unwrap()));
        let one = name("a\\;b.example.");
        let base = Base { mark: 1, sum: u64::MAX, copy: 3, serial: 4_000_000_000 };
        let texts = open();
        texts.change(&one, |text| *text = Text { is_frozen: true, base: Some(base), next: None }).unwrap();
        texts.change(&name("b."), |text| text.is_frozen = true).unwrap();
        texts.change(&name("c."), |_| ()).unwrap();
        for copy in [3, 4] {
            std::fs::write(texts.copy_path(&one, copy).unwrap(), "x").unwrap();
        }
        drop(texts);
        let texts = open();
        assert_eq!(texts.of(&one), Text { is_frozen: true, base: Some(base), next: None });
        assert_eq!((texts.of(&name("c.")), texts.frozen().len()), (Text::default(), 2));
        // The copy that nothing is known of is gone.
        assert_eq!([3, 4].map(|copy| texts.copy_path(&one, copy).unwrap().exists()), [true, false]);
        texts.change(&one, |text| (text.is_frozen, text.base) = (false, None)).unwrap();
        assert!(!texts.copy_path(&one, 3).unwrap().exists());
        drop(texts);
        assert_eq!((open().of(&one), open().frozen()), (Text::default(), vec![name("b.")]));
    }

    /// Two that write a copy of one zone at a time do not write into one file, and nothing stays of what has no name.
    #[test]
    fn each_copy_is_written_by_itself() {
        let folder = tempfile::tempdir().unwrap();
        let texts = Texts::open(Some(&PackFolder::open(folder.path()).unwrap()));
        let [one, other] = [(); 2].map(|()| texts.temporary(&name("a.")).unwrap());
        assert_ne!(one.0, other.0);
        std::fs::write(&one.0, "x").unwrap();
        let path = one.0.clone();
        drop(one);
        assert!(!path.exists());
    }

    #[test]
    fn damage_is_no_state() {
        let text = Text { is_frozen: true, base: Some(Base::default()), next: Some(Base::default()) };
        let file = text.write(&name("a."));
        assert_eq!(Text::read(&file), Some((name("a."), text)));
        for at in 0..file.len() {
            let mut octets = file.clone().into_bytes();
            octets[at] ^= 1;
            let changed = String::from_utf8(octets).unwrap();
            assert_eq!(Text::read(&changed), None, "{changed}");
            assert_eq!(Text::read(&file[..at]), None, "{at}");
        }
    }
}
