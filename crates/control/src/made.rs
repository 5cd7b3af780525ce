//! Zones that are made over the HTTP API: which there are, and what is kept of each beside its data.
//!
//! ```text
//! made               in the folder of packs: a line a zone, appended and synced. The line is the commit    file, line
//! made-zones/NAME    its first version, as a text that the server writes once                              text
//! packs, log         what became of it since, as of any zone that changes in place
//! ```
//!
//! A zone that is made is served as one of the settings would be, from its text and by the rules of a template; that it is there is known from its line. So a text without a line is of a zone
//! that was never answered for, or that is gone: a start removes it ([`settle`]). Who makes and removes is `api::make`; design: `docs/design/api.md` 4.

mod file;
mod line;
mod settle;
pub(crate) mod text;

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use api::frame::{Fields, Kind};
use change::SerialStyle;
use sync::{Mutex, RwLock};
use wire::{Name, NameBuf};

use crate::controller::Controller;
use crate::dynamic::repeats::{Look, Repeat, Repeats};
use crate::packs::PackFolder;
use crate::pattern::file_text;
use crate::sources::SourceId;
use file::{MadeFile, NotAppended, NotKept};

/// The folder of their texts, beside the packs.
const TEXTS: &str = "made-zones";

/// Behind the name of a zone in that of its text.
const SUFFIX: &str = ".zone";

/// Octets of the name of a text: more no file system has.
const FILE_NAME_OCTETS_MAX: usize = 255;

/// Zones that are gone of which it is known: others of their names begin above their serials, as long as secondaries may have them.
const GONE_MAX: usize = 65_536;

/// So many of them are held before the oldest are looked for: not with each that goes.
const GONE_HELD_MAX: usize = GONE_MAX + GONE_MAX / 8;

/// How long that is known.
const GONE_SECONDS: u64 = 30 * 86_400;

/// What is kept of a zone beside its data.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(crate) struct MadeZone {
    pub(crate) kind: Kind,
    /// As it was sent, which is told again.
    pub(crate) soa_edit_api: Box<str>,
    pub(crate) soa_edit: Box<str>,
    pub(crate) account: Box<str>,
    pub(crate) api_rectify: bool,
    /// The name of the key that made it.
    pub(crate) by: Box<str>,
}

impl MadeZone {
    /// One that is new: what a client does not say is as PowerDNS has it.
    pub(crate) fn new(fields: &Fields<'_>, by: &str) -> MadeZone {
        let text = |field: Option<&str>, usual: &str| field.unwrap_or(usual).into();
        MadeZone {
            kind: fields.kind.unwrap_or(Kind::Native),
            soa_edit_api: text(fields.soa_edit_api, "DEFAULT"),
            soa_edit: text(fields.soa_edit, ""),
            account: text(fields.account, ""),
            api_rectify: fields.api_rectify.unwrap_or(false),
            by: by.into(),
        }
    }

    /// The same with other fields: those that are not given stay.
    pub(crate) fn with(&self, fields: &Fields<'_>) -> MadeZone {
        let text = |field: Option<&str>, old: &str| field.unwrap_or(old).into();
        MadeZone {
            kind: fields.kind.unwrap_or(self.kind),
            soa_edit_api: text(fields.soa_edit_api, &self.soa_edit_api),
            soa_edit: text(fields.soa_edit, &self.soa_edit),
            account: text(fields.account, &self.account),
            api_rectify: fields.api_rectify.unwrap_or(self.api_rectify),
            by: self.by.clone(),
        }
    }

    /// How its serial goes on when it is changed over the API. Data never change under one serial here, whatever was asked for.
    pub(crate) fn serial_style(&self) -> SerialStyle {
        match self.soa_edit_api.to_ascii_uppercase().as_str() {
            "" | "OFF" | "INCREASE" => SerialStyle::Increment,
            "EPOCH" => SerialStyle::UnixTime,
            _ => SerialStyle::Date,
        }
    }
}

/// A zone that is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gone {
    /// The serial that it had last.
    pub(crate) serial: u32,
    /// When, in seconds since 1970.
    pub(crate) time: u64,
}

/// A request that was carried out, and may come again: kept in the line that is its commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) repeat: Repeat,
    /// The serial that its zone had then.
    pub(crate) serial: u32,
    /// When, in seconds since 1970.
    pub(crate) time: u64,
}

/// Zones that are made, as other threads see them.
pub(crate) struct Made {
    /// Who writes, one at a time: held while a disk syncs, or hangs. Taken before the list where both are.
    writing: Mutex<Writing>,
    /// What there is. Each change of any zone looks at it: whoever writes to it does so for moments, and has the other lock.
    list: RwLock<List>,
    /// The zone that is about to be removed, in lower case: one at a time.
    leaving: Mutex<Option<NameBuf>>,
}

/// What is needed to keep something.
#[derive(Default)]
struct Writing {
    file: MadeFile,
    /// Whether this process has seen to it that file and folder are durable with their names.
    has_begun: bool,
}

/// What there is.
#[derive(Default)]
struct List {
    /// By name in lower case.
    zones: HashMap<NameBuf, MadeZone>,
    /// The same of those that went last, also where there is one of that name again: it may go without data, and the next has to begin above what was.
    gone: HashMap<NameBuf, Gone>,
    /// Requests of the last day.
    requests: Repeats,
    /// Whether the file was read without a fault.
    is_read: bool,
    /// Why no zone is made or removed.
    problem: Option<String>,
    /// Why the file could not be written last.
    not_kept: Option<String>,
    /// Where such zones come from, by the settings now.
    source: Option<SourceId>,
}

/// Why nothing is kept of what was to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unkept {
    /// It is as it was.
    NotNow,
    /// A start may find it either way.
    Unknown,
}

impl Made {
    pub(crate) fn new() -> Made {
        Made {
            writing: Mutex::named("file of made zones", Writing::default()),
            list: RwLock::named("made zones", List::default()),
            leaving: Mutex::named("made zone that leaves", None),
        }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.list.read().zones.len()
    }

    /// What is kept of a zone; `None`: it is none of these.
    pub(crate) fn of(&self, name: &Name) -> Option<MadeZone> {
        self.list.read().of(name).cloned()
    }

    /// Whether a zone is one of these.
    pub(crate) fn has(&self, name: &Name) -> bool {
        self.list.read().of(name).is_some()
    }

    /// How the serial of a zone goes on; `None`: it is none of these.
    pub(crate) fn serial_style(&self, name: &Name) -> Option<SerialStyle> {
        self.list.read().of(name).map(MadeZone::serial_style)
    }

    /// The serial that a zone of this name has to begin above.
    pub(crate) fn floor(&self, name: &Name) -> Option<u32> {
        self.list.read().gone.get(&name.to_lowercase()).map(|gone| gone.serial)
    }

    /// What is known of a request that may have come before.
    pub(crate) fn look(&self, repeat: &Repeat, now: u64) -> Look {
        self.list.read().requests.look(repeat, now)
    }

    /// Why no zone is made or removed, if that is so.
    pub(crate) fn problem(&self) -> Option<String> {
        self.list.read().problem.clone()
    }

    /// What is wrong with what is kept, as lines.
    pub(crate) fn problems(&self) -> Vec<String> {
        let list = self.list.read();
        let not_whole =
            list.problem.iter().map(|line| format!("{line}; no zone is made or removed over the API"));
        let no_rules = (list.source.is_none() && !list.zones.is_empty() && list.is_read).then(|| {
            "[api] template: zones that were made over the API have no rules: none is changed or made"
                .to_owned()
        });
        not_whole.chain(list.not_kept.clone()).chain(no_rules).collect()
    }

    /// Where such zones come from; `None`: the settings have no template for them.
    pub(crate) fn source(&self) -> Option<SourceId> {
        self.list.read().source
    }

    /// Sees to it that there is a list of zones before there is a text of one.
    pub(crate) fn begin(&self, folder: &PackFolder) -> Result<(), Unkept> {
        let mut writing = self.writing.lock();
        if writing.has_begun {
            return Ok(());
        }
        if writing.file.is_due(self.lines()) {
            self.write_anew(&mut writing, folder)?;
        }
        let begun = make_folder(folder.path()).and_then(|()| writing.file.begin(folder.path()));
        writing.has_begun = begun.is_ok();
        begun.map_err(|problem| {
            self.note(Some(problem));
            Unkept::NotNow
        })
    }

    /// Lets nobody change a zone until what this gives is dropped, as it is about to be removed: what is said of it has to be true of all that it was.
    pub(crate) fn leaving(&self, name: &Name) -> Leaving<'_> {
        *self.leaving.lock() = Some(name.to_lowercase());
        Leaving(self)
    }

    /// Whether a zone is about to be removed.
    pub(crate) fn is_leaving(&self, name: &Name) -> bool {
        self.leaving.lock().as_deref().is_some_and(|leaving| leaving.eq_ignore_case(name))
    }

    /// Keeps that a zone is there from now on, or is another one, and by which request; durable once this returns.
    pub(crate) fn keep(
        &self,
        folder: &PackFolder,
        name: &Name,
        zone: MadeZone,
        request: Option<Request>,
    ) -> Result<(), Unkept> {
        let mut writing = self.writing.lock();
        let lower = name.to_lowercase();
        let mark = if self.has(&lower) { line::SET } else { line::MADE };
        self.append(&mut writing, folder, &line::of_zone(mark, &lower, &zone, request.as_ref()))?;
        let mut list = self.list.write();
        list.note(&lower, request);
        list.zones.insert(lower, zone);
        Ok(())
    }

    /// Keeps that a zone is there no more, and by which request; durable once this returns.
    pub(crate) fn strike(
        &self,
        folder: &PackFolder,
        name: &Name,
        gone: Gone,
        request: Option<Request>,
    ) -> Result<(), Unkept> {
        let mut writing = self.writing.lock();
        let lower = name.to_lowercase();
        self.append(&mut writing, folder, &line::of_gone(&lower, gone, request.as_ref()))?;
        let mut list = self.list.write();
        list.note(&lower, request);
        list.strike(lower, gone);
        Ok(())
    }

    /// How many lines are needed.
    fn lines(&self) -> usize {
        let list = self.list.read();
        list.zones.len() + list.gone.len() + list.requests.count()
    }

    fn append(&self, writing: &mut Writing, folder: &PackFolder, line: &str) -> Result<(), Unkept> {
        if writing.file.is_due(self.lines()) {
            self.list.write().forget_old(crate::expiry::now());
            self.write_anew(writing, folder)?;
        }
        match writing.file.append(folder.path(), line) {
            Ok(()) => {
                self.note(None);
                Ok(())
            }
            Err(NotAppended { problem, is_taken_back }) => {
                // What of the line is there must not be: else a start believes it.
                let is_as_it_was = is_taken_back || self.write_anew(writing, folder).is_ok();
                self.note(Some(problem));
                Err(if is_as_it_was { Unkept::NotNow } else { Unkept::Unknown })
            }
        }
    }

    /// Writes all that there is. The error: what the file has is what it had before.
    fn write_anew(&self, writing: &mut Writing, folder: &PackFolder) -> Result<(), Unkept> {
        // While this reads others do too, and whoever would write waits for the file.
        let list = self.list.read();
        let zones = list.zones.iter().map(|(name, zone)| line::of_zone(line::MADE, name, zone, None));
        let gone = list.gone.iter().map(|(name, gone)| line::of_gone(name, *gone, None));
        let requests = list.requests.iter().flat_map(|(repeat, zones, time)| {
            let of_zone = move |(name, (_, serial)): &(NameBuf, (u32, u32))| {
                line::of_request(name, &Request { repeat, serial: *serial, time })
            };
            zones.iter().map(of_zone)
        });
        // In this order: what is there again went before.
        let written = writing.file.write_anew(folder.path(), gone.chain(zones).chain(requests));
        drop(list);
        written.map_err(|NotKept(problem)| {
            self.note(Some(problem));
            Unkept::NotNow
        })
    }

    /// Says what is wrong with the file, once, and that it is not any more; by who has it.
    fn note(&self, problem: Option<String>) {
        if problem.is_none() && self.list.read().not_kept.is_none() {
            return;
        }
        let before = std::mem::replace(&mut self.list.write().not_kept, problem.clone());
        match (before, problem) {
            (None, Some(line)) => {
                tracing::error!("{line}; no zone is made or removed over the API until that can be written");
            }
            (Some(_), None) => tracing::info!("zones are made and removed over the API again"),
            _ => {}
        }
    }
}

/// See [`Made::leaving`].
pub(crate) struct Leaving<'m>(&'m Made);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        *self.0.leaving.lock() = None;
    }
}

/// Makes the folder of texts, durable with its name, before the first of them.
fn make_folder(packs: &Path) -> Result<(), String> {
    let path = packs.join(TEXTS);
    let made = fs::create_dir(&path).or_else(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Ok(()),
        _ => Err(error),
    });
    // Whoever made it may have come no further.
    let durable = made.and_then(|()| File::open(packs)?.sync_all());
    durable.map_err(|error| format!("{}: {}", path.display(), crate::text::cannot("make", &error)))
}

impl List {
    fn of(&self, name: &Name) -> Option<&MadeZone> {
        // Most servers have none, and need no name in lower case.
        (!self.zones.is_empty()).then(|| self.zones.get(&name.to_lowercase())).flatten()
    }

    /// A request was carried out, of a zone in lower case.
    fn note(&mut self, lower: &NameBuf, request: Option<Request>) {
        if let Some(Request { repeat, serial, time }) = request {
            self.requests.done(&repeat, vec![(lower.clone(), (serial, serial))], time);
        }
    }

    fn strike(&mut self, lower: NameBuf, gone: Gone) {
        self.zones.remove(&lower);
        self.gone.insert(lower, gone);
        if self.gone.len() > GONE_HELD_MAX {
            self.forget_old(gone.time);
        }
    }

    /// Forgets requests and zones that are gone for long, and the oldest of these where they are too many.
    fn forget_old(&mut self, now: u64) {
        self.requests.forget_old(now);
        self.gone.retain(|_, gone| now.saturating_sub(gone.time) < GONE_SECONDS);
        if self.gone.len() > GONE_MAX {
            let mut times: Vec<u64> = self.gone.values().map(|gone| gone.time).collect();
            times.sort_unstable();
            let first = times[times.len() - GONE_MAX];
            self.gone.retain(|_, gone| gone.time >= first);
        }
    }
}

impl Controller {
    /// The text of a zone that is made: its first version. `None`: there is no folder, or its name is too long for a file.
    pub(crate) fn made_text(&self, name: &Name) -> Option<PathBuf> {
        let file = format!("{}{SUFFIX}", file_text(name));
        (file.len() <= FILE_NAME_OCTETS_MAX).then_some(())?;
        Some(self.folder()?.path().join(TEXTS).join(file))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
