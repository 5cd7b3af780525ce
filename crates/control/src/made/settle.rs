//! After a start or other settings: zones that are made, beside what settings and commands want.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use wire::{Name, NameBuf};

use super::file::{MadeFile, NAME as FILE};
use super::line::Line;
use super::{List, Made, SUFFIX, TEXTS};
use crate::controller::{Changing, Controller};
use crate::packs::PackFolder;
use crate::pattern::Pattern;
use crate::sources::{Allowed, SourceId};
use crate::text::count;
use crate::wanted::{Unread, WantedZones, name_of_file};

/// Texts without a line that a crash, and files that could not be removed, leave behind: zones are made one at a time. More are of a list that is older than they are.
const OTHERS_MAX: usize = 16;

/// Zones of one name by two owners that are told by name: who has more has the same mistake in all.
const CLASHES_TOLD_MAX: usize = 20;

impl Controller {
    /// Adds the zones that were made to what settings and commands want. Lines: why that cannot be done as it should, and whose zones others want too, which they do not get.
    pub(crate) fn settle_made(
        &self,
        changing: &Changing,
        wanted: &mut WantedZones,
    ) -> (Option<String>, Vec<String>) {
        let Some(folder) = self.folder() else { return (None, Vec::new()) };
        let terms = changing.settings.made_terms().ok().flatten();
        let pattern = Pattern::in_folder(&folder.path().join(TEXTS), &format!("{{name}}{SUFFIX}"));
        // Numbered though there may be no zone yet: its rules have their group then.
        let source = terms.as_ref().map(|terms| {
            let allowed = wanted.sources.allowed(&terms.rules);
            wanted.sources.pattern(&pattern, allowed)
        });
        self.made.settle(folder, source);
        let list = self.made.list.read();
        let clashes = take_from(wanted, &list, folder);
        clashes.iter().for_each(|line| tracing::warn!("{line}"));
        let fault = list.problem.clone().or_else(|| list.lacks_template());
        let fault = fault.map(|line| {
            tracing::error!("{line}; zones that were made stay as they were");
            let (allowed, told) =
                (Allowed::default(), format!("{line}; zones that were made stay as they were"));
            wanted.unread.push(Unread { pattern, allowed, folder: None, line });
            told
        });
        if let Some(source) = list.source {
            list.zones.keys().for_each(|name| wanted.push(name, source));
        }
        (fault, clashes)
    }

    /// Adds the names of zones that are made to those that settings and commands want, where nothing but names is looked at.
    pub(crate) fn add_names_of_made(&self, wanted: &mut WantedZones) {
        let Some(folder) = self.folder() else { return };
        let list = self.made.list.read();
        drop(take_from(wanted, &list, folder));
        list.zones.keys().for_each(|name| wanted.push(name, SourceId::UNKNOWN));
        // Before the list was read nobody knows of any.
        let unread = || (!list.is_read).then(|| "not read yet".to_owned());
        if let Some(line) = list.problem.clone().or_else(unread) {
            // Which more there are nobody knows.
            let (pattern, allowed) = (Pattern::new(Path::new("")), Allowed::default());
            wanted.unread.push(Unread { pattern, allowed, folder: None, line });
        }
    }

    /// Whether it is known which zones were made, and by which rules they are served. The error: why not. A start without that would take them for gone, with all that changed in them.
    pub(crate) fn expect_made_known(&self) -> Result<(), String> {
        let list = self.made.list.read();
        list.problem.clone().or_else(|| list.lacks_template()).map_or(Ok(()), Err)
    }
}

/// What is said where the settings have no rules for so many zones.
fn no_template(zones: usize) -> String {
    let zones = count(zones, "zone");
    format!("[api] template: expected the one of {zones} made over the API, found none")
}

/// Takes the zones that are made from who wants them too; says whose they are. Of a list that is damaged nobody knows all: then each that has a text is one of them.
fn take_from(wanted: &mut WantedZones, list: &List, folder: &PackFolder) -> Vec<String> {
    let mut clashes: Vec<NameBuf> = Vec::new();
    let texts = list.problem.is_some().then(|| texts_in(folder).map(|(name, _)| name));
    let texts: HashSet<NameBuf> = texts.into_iter().flatten().collect();
    if list.zones.is_empty() && texts.is_empty() {
        return Vec::new();
    }
    wanted.retain(|name: &Name| {
        let lower = name.to_lowercase();
        let is_made = list.zones.contains_key(&lower) || texts.contains(&lower);
        if is_made {
            clashes.push(lower);
        }
        !is_made
    });
    let more = clashes.len().saturating_sub(CLASHES_TOLD_MAX);
    let line = |name: &NameBuf| {
        format!(
            "zone {name}: was made over the API, and stays that; what the settings say of it waits until it is removed there (DELETE)"
        )
    };
    let mut lines: Vec<String> = clashes.iter().take(CLASHES_TOLD_MAX).map(line).collect();
    if more > 0 {
        lines.push(format!("so it is with {more} zones more"));
    }
    lines
}

impl Made {
    /// Reads the list where that was not done yet, and has it know where such zones come from.
    pub(super) fn settle(&self, folder: &PackFolder, source: Option<SourceId>) {
        // Who writes to the list has the file; who looks at it does not wait while it is read.
        let mut writing = self.writing.lock();
        let is_read = self.list.read().is_read;
        let read = (!is_read).then(|| List::read(folder));
        let mut list = self.list.write();
        if let Some((read, file)) = read {
            *list = read;
            writing.file = file;
        }
        list.source = source;
    }
}

impl List {
    /// That zones have no rules, if it is so.
    fn lacks_template(&self) -> Option<String> {
        (self.source.is_none() && !self.zones.is_empty()).then(|| no_template(self.zones.len()))
    }

    /// What the file has. With a fault it is what stands before that, and nothing is made or removed.
    pub(super) fn read(folder: &PackFolder) -> (List, MadeFile) {
        let mut list = List::default();
        let read = MadeFile::read(folder.path(), |line| match line {
            Line::Zone(name, zone, request) => {
                list.note(&name, request);
                list.zones.insert(name, zone);
            }
            Line::Gone(name, gone, request) => {
                list.note(&name, request);
                list.zones.remove(&name);
                list.gone.insert(name, gone);
            }
            Line::Done(name, request) => list.note(&name, Some(request)),
        });
        let file = match read {
            Ok(file) if file.is_missing && texts_in(folder).next().is_some() => {
                list.problem = Some(format!(
                    "{0}/{FILE}: expected the list of zones made over the API, whose texts are in {0}/{TEXTS}, found none: restore it, or take these away",
                    folder.path().display()
                ));
                MadeFile::default()
            }
            Ok(_) if list.unknown(folder) > OTHERS_MAX => {
                list.problem = Some(format!(
                    "{0}/{FILE}: expected the list of all zones made over the API, found more than {OTHERS_MAX} texts in {0}/{TEXTS} that it does not have: it is an older one; restore the newest, or take these away",
                    folder.path().display()
                ));
                MadeFile::default()
            }
            Ok(file) => {
                list.is_read = true;
                list.forget_old(crate::expiry::now());
                list.remove_others(folder);
                if !list.zones.is_empty() {
                    let zones = list.zones.len();
                    tracing::info!(zones, "{} made over the API", count(zones, "zone"));
                }
                file
            }
            Err(line) => {
                list.problem = Some(line);
                MadeFile::default()
            }
        };
        (list, file)
    }

    /// Removes texts of zones that there are not: of those that came to nothing, or are gone. Each lies in its folder for no other reason.
    fn remove_others(&self, folder: &PackFolder) {
        if !folder.is_writable() {
            return;
        }
        for path in self.others(folder) {
            // What stays is looked at by the next start.
            let _ = fs::remove_file(path);
        }
    }

    /// How many texts are of zones that the list has never had. One of a zone that is gone may come back with a disk that lost its removal.
    fn unknown(&self, folder: &PackFolder) -> usize {
        let is_known = |name: &NameBuf| self.zones.contains_key(name) || self.gone.contains_key(name);
        texts_in(folder).filter(|(name, _)| !is_known(name)).count()
    }

    /// Texts of zones that there are not.
    fn others(&self, folder: &PackFolder) -> impl Iterator<Item = PathBuf> {
        let others = texts_in(folder).filter(|(name, _)| !self.zones.contains_key(name));
        others.map(|(_, path)| path)
    }
}

/// The texts in their folder, and whose they are, in lower case.
fn texts_in(folder: &PackFolder) -> impl Iterator<Item = (NameBuf, PathBuf)> {
    let entries = fs::read_dir(folder.path().join(TEXTS)).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let file = entry.file_name();
        let (name, _) = name_of_file(&file, &format!("{{name}}{SUFFIX}"))?.ok()?;
        Some((name.to_lowercase(), entry.path()))
    })
}
