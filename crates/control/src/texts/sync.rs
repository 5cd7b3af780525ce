//! Texts written: what is served of a zone becomes its text, as a whole or not at all.
//!
//! ```text
//! view, pinned -> file beside the text, and a copy; synced -> state: next is the copy -> renamed over the text, folder synced -> state: T0 is the copy
//! ```

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv6Addr};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use wire::{Name, NameBuf, SortKey};
use zone::catalog::{PinnedZone, View};
use zone::check::Timestamp;
use zone::pack::ZoneRow;

use super::print::{self, Copies, NotPrinted};
use super::state::{Base, hash};
use crate::controller::{By, Changing, Controller, Scope, is_beside_text};
use crate::sources::Source;
use crate::stamp::Stamp;
use crate::text::{cannot, reason};

/// Mode of a text where there was none.
const MODE: u32 = 0o644;
/// How long a file must have been left alone until its times tell whether it changes again ([`Stamp`]).
const TICK: Duration = Duration::from_millis(15);

/// What became of a text that was to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// It says what is served, of this serial.
    Done(u32),
    /// It did already.
    Current,
}

impl Controller {
    /// Writes the text of a zone that has changed since it was read or written. `force`: also where it includes files, or was edited and that cannot be taken in.
    /// `changing`: proof that nobody reloads meanwhile.
    pub(crate) fn sync_text(
        &self,
        changing: &mut Changing,
        name: &Name,
        force: bool,
    ) -> Result<Written, String> {
        let name = &*name.to_lowercase();
        let path = self.text_path(name)?;
        let is_frozen = self.texts.of(name).is_frozen;
        if !is_frozen && self.is_edited(name) {
            let change = self.look_again(changing, &[name], Scope::All, By::Command);
            if !change.failed.is_empty() && !force {
                return Err(format!(
                    "{}: was edited, and that cannot be taken in; see `zonda ctl zones {name}`, or write over it with --force",
                    path.display()
                ));
            }
        }
        let is_edited = self.is_edited(name);
        if is_edited && !force {
            return Err(self.being_edited(name, &path));
        }
        if !self.has_changed(name) || (!is_edited && self.is_written(name)) {
            return Ok(Written::Current);
        }
        if let Some(other) = self.other_of(name, &path) {
            return Err(format!(
                "{}: zone {other} is read from it too, so that it is not written",
                path.display()
            ));
        }
        // What is replaced is the file, not a link to it.
        let path = fs::canonicalize(&path).unwrap_or(path);
        if !force
            && has_includes(&path)
                .map_err(|error| format!("{}: {}", path.display(), cannot("read", &error)))?
        {
            return Err(format!(
                "{}: includes other files, which it would not any more; --force writes it all the same",
                path.display()
            ));
        }
        let pinned = self.pin(name)?;
        self.write_text(name, &path, &pinned, is_edited).map(Written::Done)
    }

    /// Writes the texts whose sections want that at the end. What cannot be written is in the log of changes all the same.
    pub(crate) fn write_texts(&self) {
        for name in self.changed_zones().iter().filter(|name| self.writes_text(name)) {
            if let Err(error) = self.sync_text(&mut self.change(), name, false) {
                tracing::warn!(zone = %name, error, "zone {name}: its text is not written: {error}");
            }
        }
    }

    fn being_edited(&self, name: &Name, path: &Path) -> String {
        match self.texts.of(name).is_frozen {
            true => format!("{}: was edited while zone {name} is frozen; thaw takes that in", path.display()),
            false => format!("{}: was edited; see `zonda ctl zones {name}`", path.display()),
        }
    }

    /// Zones that have changed in place, lower-case.
    pub(crate) fn changed_zones(&self) -> Vec<NameBuf> {
        let mut all = Vec::new();
        self.for_each_slot(|_, view| {
            if let View::Zone(zone) = view
                && is_beside_text(zone)
            {
                all.push(zone.apex().to_lowercase());
            }
        });
        all
    }

    /// Whether the file of a zone is not as it was read or written last.
    fn is_edited(&self, name: &Name) -> bool {
        let zones = self.zones.read();
        let look = self.catalog.reader().with(|view| zones.look_at_text(view, zones.slot(view, name)?));
        drop(zones);
        look.is_some_and(|look| !look.is_unchanged())
    }

    /// Whether nothing has changed since the text was read or written.
    fn is_written(&self, name: &Name) -> bool {
        let served = self.catalog.reader().with(|view| match view.view_of(view.slot_named(name)?)? {
            View::Zone(zone) => {
                let row = zone.row();
                let below = zone.changed().map(|changed| changed.pack().zone_row(changed.number()));
                Some((row.serial, below.unwrap_or(row)))
            }
            _ => None,
        });
        let Some((serial, below)) = served else { return false };
        match self.texts.of(name).base {
            // One that was edited has not what updates did.
            Some(base) => base.serial == serial && (base.copy == 0 || base.copy == base.sum),
            None => below.serial == serial && below.bits & ZoneRow::BESIDE_TEXT == 0,
        }
    }

    /// Another zone that is read from the same file.
    fn other_of(&self, name: &Name, path: &Path) -> Option<NameBuf> {
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let is_same = |other: &Path| {
            other == path
                || (other.file_name() == real.file_name()
                    && fs::canonicalize(other).is_ok_and(|other| other == real))
        };
        let mut slots = Vec::new();
        self.for_each_slot(|slot, _| slots.push(slot));
        for some in slots.chunks(ZONES_AT_A_TIME) {
            let zones = self.zones.read();
            let files: Vec<(NameBuf, PathBuf)> = self.catalog.reader().with(|view| {
                let file = |slot| {
                    let other = zones.name(view, slot)?;
                    match zones.source(slot, other)? {
                        Source::File(path) if !other.eq_ignore_case(name) => Some((other.to_owned(), path)),
                        _ => None,
                    }
                };
                some.iter().filter_map(|slot| file(*slot)).collect()
            });
            drop(zones);
            if let Some((other, _)) = files.into_iter().find(|(_, path)| is_same(path)) {
                return Some(other);
            }
        }
        None
    }

    fn pin(&self, name: &Name) -> Result<PinnedZone, String> {
        let key = SortKey::of(name);
        let labels = name.label_count();
        let pinned = self.catalog.reader().with(|view| {
            let found = view.find(&key, labels).found;
            view.pin(&found, IpAddr::V6(Ipv6Addr::UNSPECIFIED))
        });
        pinned.map_err(|_| format!("zone {name} cannot be held; as many are as may be"))
    }

    fn write_text(
        &self,
        name: &Name,
        path: &Path,
        pinned: &PinnedZone,
        is_edited: bool,
    ) -> Result<u32, String> {
        let describe = |path: &Path, act: &str, error| format!("{}: {}", path.display(), cannot(act, &error));
        let unreadable = || format!("zone {name} cannot be read");
        let view = pinned.view().ok_or_else(unreadable)?;
        let serial = view.row().serial;
        let before = Before::of(path)?;
        let beside = Beside::new(path, name);
        let copy_path = self.texts.temporary(name)?;
        let mut text = before.create(&beside.0).map_err(|error| describe(&beside.0, "write", error))?;
        let mut copy = File::create(&copy_path.0).map_err(|error| describe(&copy_path.0, "write", error))?;
        let mut copies = Copies::new(vec![&mut text, &mut copy]);
        let printed = print::zone(&view, &head(name, serial), &mut copies).and_then(|()| Ok(copies.end()?));
        let sum = printed.map_err(|error| match error {
            NotPrinted::Damaged => unreadable(),
            NotPrinted::Io(error) => describe(&beside.0, "write", error),
        })?;
        // What was read may have been cut off meanwhile.
        pinned.view().ok_or_else(unreadable)?;
        self.enter_copy(name, &copy_path.0, sum)?;
        let next = Base { mark: 0, sum, copy: sum, serial };
        self.texts.change(name, |text| text.next = Some(next))?;
        if is_edited {
            before.keep(path).map_err(|error| describe(path, "keep it beside", error))?;
        } else if !before.is_still(path) {
            return Err(format!("{}: was edited just now; nothing is written", path.display()));
        }
        let modified = text.metadata().and_then(|metadata| metadata.modified());
        let folder = path.parent().unwrap_or(Path::new("/"));
        fs::rename(&beside.0, path)
            .and_then(|()| File::open(folder)?.sync_all())
            .map_err(|error| describe(path, "replace it", error))?;
        // What is written into it from now on is told by its time.
        std::thread::sleep(TICK);
        let mark = match (text.metadata(), modified) {
            (Ok(now), Ok(modified)) if now.modified().is_ok_and(|time| time == modified) => {
                File::open(path).and_then(|file| Stamp::of(&file, &now)).map_or(0, |stamp| stamp.mark)
            }
            _ => 0,
        };
        self.texts.change(name, |text| (text.base, text.next) = (Some(Base { mark, ..next }), None))?;
        self.note_written(name);
        let source = path.display();
        tracing::info!(zone = %name, serial, %source, "zone {name}: serial {serial} written to {source}");
        Ok(serial)
    }
}

/// Zones that are looked up at a time, so that nobody waits for the lock.
const ZONES_AT_A_TIME: usize = 1000;

/// The comment that a text begins with.
fn head(name: &Name, serial: u32) -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (version, at) = (env!("CARGO_PKG_VERSION"), Timestamp(now as u32));
    format!("; zone {name} serial {serial}, written by Zonda {version} at {at:#}\n")
}

/// The text as it is before.
struct Before(Option<Metadata>);

impl Before {
    fn of(path: &Path) -> Result<Before, String> {
        match fs::metadata(path) {
            Ok(metadata) => Ok(Before(Some(metadata))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Before(None)),
            Err(error) => Err(format!("{}: {}", path.display(), cannot("look at it", &error))),
        }
    }

    /// Makes a file of the same owner and mode.
    fn create(&self, path: &Path) -> std::io::Result<File> {
        let _ = fs::remove_file(path);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        let mode = self.0.as_ref().map_or(MODE, Metadata::mode) & 0o7777;
        if let Some(before) = &self.0 {
            let own = file.metadata()?;
            if (own.uid(), own.gid()) != (before.uid(), before.gid()) {
                // Without the right to it nothing is written: somebody would not be able to read or write it any more.
                fchown(&file, Some(before.uid()), Some(before.gid())).map_err(|error| {
                    std::io::Error::new(error.kind(), format!("its owner cannot be kept: {}", reason(&error)))
                })?;
            }
        }
        file.set_permissions(Permissions::from_mode(mode))?;
        Ok(file)
    }

    /// Whether nobody has changed it since.
    fn is_still(&self, path: &Path) -> bool {
        let state = |metadata: &Metadata| {
            (
                metadata.ino(),
                metadata.len(),
                metadata.mtime(),
                metadata.mtime_nsec(),
                metadata.ctime(),
                metadata.ctime_nsec(),
            )
        };
        fs::metadata(path).ok().as_ref().map(state) == self.0.as_ref().map(state)
    }

    /// Gives what is there another name too.
    fn keep(&self, path: &Path) -> std::io::Result<()> {
        if self.0.is_none() {
            return Ok(());
        }
        let mut kept = path.as_os_str().to_owned();
        kept.push(".replaced");
        let _ = fs::remove_file(&kept);
        fs::hard_link(path, &kept)
    }
}

/// The file beside the text; gone with this, unless it was renamed.
struct Beside(PathBuf);

impl Beside {
    fn new(path: &Path, name: &Name) -> Beside {
        // One name for each zone, so that what a crash leaves is written over.
        Beside(path.with_file_name(format!(".{}.zonda", hash(name))))
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Whether a text includes others. One that is not there includes none.
fn has_includes(path: &Path) -> std::io::Result<bool> {
    let file = match File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        file => file?,
    };
    const DIRECTIVE: &[u8] = b"$INCLUDE";
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        let is_one = line.get(..DIRECTIVE.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(DIRECTIVE));
        if is_one {
            return Ok(true);
        }
        line.clear();
    }
    Ok(false)
}
