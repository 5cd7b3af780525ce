//! Which zones the settings ask for, and where each comes from.
//!
//! ```text
//! [[zone]] name, file        one zone
//! [[zone]] names-file, file  one for each line of the list, its path made from a pattern
//! [[zone-directory]]         one for each file that fits the pattern
//! --zone ORIGIN=FILE         one, from the command line
//! ```

use std::collections::hash_map::{Entry, RandomState};
use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::hash::BuildHasher;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use wire::name::NameError;
use wire::{Name, NameBuf, SortKey};

use crate::pattern::{Pattern, file_text};
use crate::progress::{Act, Progress};
use crate::read::read_bounded;
use crate::settings::{Problem, Settings, ZoneDirectorySettings, ZoneSettings};
use crate::sources::{Allowed, SourceId, Sources};
use crate::text;

pub use crate::sources::{Embedded, Listing, Source};

/// A zone that is to be served.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Its name.
    pub name: NameBuf,
    /// Its data.
    pub source: Source,
    /// How a catalog that is made here lists it, if one does.
    pub listing: Option<Listing>,
}

/// Zones that are to be served: a list that can have millions, in some dozen octets each.
#[derive(Default)]
pub struct WantedZones {
    /// Where each comes from.
    pub sources: Sources,
    /// Names in wire form, one after the other.
    names: Vec<u8>,
    /// Where each name begins, and the zone's source.
    zones: Vec<(usize, SourceId)>,
    /// Lists and folders that could not be read.
    pub unread: Vec<Unread>,
    /// What is merely odd about lists, as lines; and files of zone directories that were left out though they fit the pattern, the first
    /// [`WARNINGS_MAX`].
    pub warnings: Vec<String>,
}

/// A list or folder of zones that could not be read: what came from it before stays as it is.
#[derive(Clone, Debug)]
pub struct Unread {
    /// What makes the paths of its zones.
    pub pattern: Pattern,
    /// Who may ask for them.
    pub allowed: Allowed,
    /// The folder, if it is one.
    pub folder: Option<PathBuf>,
    /// What is wrong.
    pub line: String,
}

/// What a mistake in settings, lists or folders costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// The settings are not taken at all.
    Settings,
    /// What came from a list or folder stays as it is.
    List,
    /// One zone is not loaded.
    Zone,
    /// Nothing but what is said.
    Nothing,
}

impl WantedZones {
    /// How many.
    pub fn len(&self) -> usize {
        self.zones.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.zones.is_empty()
    }

    /// Adds a zone; there is none of its name.
    pub(crate) fn push(&mut self, name: &Name, source: SourceId) {
        self.zones.push((self.names.len(), source));
        self.names.extend_from_slice(name.octets());
    }

    /// Adds a zone that came by itself.
    pub fn add(&mut self, zone: &Wanted) {
        let source = match &zone.listing {
            Some(listing) => self.sources.add_listed(&zone.source, listing),
            None => self.sources.add(&zone.source),
        };
        self.push(&zone.name, source);
    }

    fn name(&self, at: usize) -> &Name {
        // Pushed as a whole; the root stands in for what cannot be.
        Name::split_from(&self.names[at..]).map_or(Name::root(), |(name, _)| name)
    }

    /// Name and source of zone number `number`.
    pub fn zone(&self, number: usize) -> (&Name, SourceId) {
        let (at, source) = self.zones[number];
        (self.name(at), source)
    }

    /// Name and source of each, in the order of the settings.
    pub fn iter(&self) -> impl Iterator<Item = (&Name, SourceId)> {
        (0..self.len()).map(|number| self.zone(number))
    }

    /// Keeps the zones for whose names `keep` says so.
    pub fn retain(&mut self, mut keep: impl FnMut(&Name) -> bool) {
        let mut zones = std::mem::take(&mut self.zones);
        zones.retain(|(at, _)| keep(self.name(*at)));
        self.zones = zones;
    }

    /// Whether the file of some zone is in `folder` itself.
    pub fn has_in(&self, folder: &Path) -> bool {
        self.zones.iter().any(|(_, source)| self.sources.is_in(*source, folder))
    }
}

/// The zones that settings ask for, in the order of the file, and what is wrong with that. Of two sections with one name the first counts; a
/// zone for which lists and folders have different files has [both](Source::Several).
pub fn wanted(settings: &Settings, progress: &Progress) -> (WantedZones, Vec<(Cost, Problem)>) {
    progress.begin(Act::Listing, 0);
    let mut collection = Collection {
        settings,
        progress,
        zones: WantedZones::default(),
        seen: Seen::default(),
        named: HashSet::new(),
        problems: Vec::new(),
    };
    let needs_resolver = [settings.forwards.len(), settings.stubs.len(), settings.local_zones.len()];
    if !settings.resolver.enabled && needs_resolver.iter().sum::<usize>() > 0 {
        let line =
            "[[forward]], [[stub]] and [[local-zone]] have no effect without `enabled = true` in [resolver]";
        collection.zones.warnings.push(line.into());
    }
    collection.zones.warnings.extend(settings.resolver_hints());
    for (line, zone) in &settings.zones {
        collection.add_section(*line, zone);
    }
    for (line, directory) in &settings.zone_directories {
        collection.add_directory(*line, directory);
    }
    (collection.zones, collection.problems)
}

struct Collection<'s> {
    settings: &'s Settings,
    progress: &'s Progress,
    zones: WantedZones,
    seen: Seen,
    /// Lines of sections of one zone each.
    named: HashSet<usize>,
    problems: Vec<(Cost, Problem)>,
}

/// Which zones there are already, by a hash of their keys alone: the names themselves are in the list.
#[derive(Default)]
struct Seen {
    key: SortKey,
    hasher: RandomState,
    /// Number of each zone, and the line that asked for it.
    by_hash: HashMap<u64, (usize, usize)>,
    /// The same of those whose hash another has: none, unless a list is longer than any.
    others: Vec<(usize, usize)>,
}

impl Seen {
    /// The number of the zone `name` and the line that asked for it before. Without one it is entered as the next of `zones`.
    fn find_or_enter(&mut self, name: &Name, zones: &WantedZones, line: usize) -> Option<(usize, usize)> {
        self.key.set(name);
        let is_it = |(number, _): &(usize, usize)| zones.zone(*number).0.eq_ignore_case(name);
        let new = (zones.len(), line);
        match self.by_hash.entry(self.hasher.hash_one(self.key.octets())) {
            Entry::Vacant(vacant) => {
                vacant.insert(new);
                None
            }
            Entry::Occupied(occupied) if is_it(occupied.get()) => Some(*occupied.get()),
            Entry::Occupied(_) => match self.others.iter().find(|other| is_it(other)) {
                Some(first) => Some(*first),
                None => {
                    self.others.push(new);
                    None
                }
            },
        }
    }
}

impl Collection<'_> {
    fn problem(&mut self, cost: Cost, line: usize, text: String) -> &Problem {
        let file = self.settings.file.clone().unwrap_or_default();
        self.problems.push((cost, Problem { file, place: Some((line, 1)), text }));
        &self.problems[self.problems.len() - 1].1
    }

    fn unread(
        &mut self,
        line: usize,
        text: String,
        (pattern, allowed): (Pattern, Allowed),
        folder: Option<&Path>,
    ) {
        let line = self.problem(Cost::List, line, text).to_string();
        self.zones.unread.push(Unread { pattern, allowed, folder: folder.map(Path::to_owned), line });
    }

    /// Adds a zone; `source` says where it comes from.
    fn add(&mut self, line: usize, name: &Name, source: impl FnOnce(&mut Sources) -> SourceId) {
        self.progress.count(1);
        let Some((number, first)) = self.seen.find_or_enter(name, &self.zones, line) else {
            let source = source(&mut self.zones.sources);
            return self.zones.push(name, source);
        };
        let text = format!("zone {name} is there already, from line {first}");
        if line != first && self.named.contains(&line) && self.named.contains(&first) {
            self.problem(Cost::Settings, line, text);
            return;
        }
        let sources = &mut self.zones.sources;
        let (old, new) = (self.zones.zones[number].1, source(sources));
        if sources.has_same_rules(old, new) && sources.get(old, name) == sources.get(new, name) {
            self.problem(Cost::Nothing, line, text);
            return;
        }
        let source = sources.several(old, new, name);
        let files = sources.get(source, name).map_or_else(String::new, |files| files.to_string());
        self.zones.zones[number].1 = source;
        self.problem(Cost::Zone, line, format!("{text}: expected one file for it, found {files}"));
    }

    /// One file more or less is no reason to serve nothing.
    fn warn(&mut self, folder: &Path, file: &OsStr, error: NameError) {
        if self.zones.warnings.len() < WARNINGS_MAX {
            let (folder, file) = (folder.display(), file.to_string_lossy());
            self.zones.warnings.push(format!(
                "zone-directory {folder}: {file} is left out: expected the name of a zone and found none ({error})"
            ));
        }
    }

    fn add_section(&mut self, line: usize, zone: &ZoneSettings) {
        let pattern = if zone.pack.as_os_str().is_empty() { &zone.file } else { &zone.pack };
        let pattern = match zone.primaries.is_empty() && !zone.make_catalog {
            true => Pattern::new(&self.settings.path(pattern)),
            // What is transferred, or made here, has no file.
            false => Pattern::new(Path::new("")),
        };
        if let Some(name) = &zone.name {
            self.named.insert(line);
            let path = pattern.path(name);
            return self.add(line, name, |sources| {
                let allowed = sources.allowed(&zone.rules());
                sources.path(&path, allowed)
            });
        }
        let list = self.settings.path(&zone.names_file);
        let allowed = self.zones.sources.allowed(&zone.rules());
        let text = match read_bounded(&list, NAMES_OCTETS_MAX) {
            Ok(text) => text,
            Err(problem) => {
                let text = format!("names-file {}: {problem}", list.display());
                return self.unread(line, text, (pattern, allowed), None);
            }
        };
        let source = self.zones.sources.pattern(&pattern, allowed);
        for (at, text) in names(&text) {
            let problem = match NameBuf::from_text(text) {
                // Blanks can be part of a name, and never are.
                _ if text.contains(char::is_whitespace) => {
                    format!("expected one domain name a line, found {text:?}")
                }
                Ok(name) => {
                    self.add(line, &name, |_| source);
                    continue;
                }
                Err(_) => format!("expected a domain name, found {text:?}"),
            };
            let problem = Problem { file: list.clone(), place: Some((at, 1)), text: problem };
            self.problems.push((Cost::Nothing, problem));
        }
    }

    fn add_directory(&mut self, line: usize, directory: &ZoneDirectorySettings) {
        let folder = self.settings.path(&directory.own.path);
        let allowed = self.zones.sources.allowed(&directory.zone.rules());
        let pattern = Pattern::in_folder(&folder, &directory.own.pattern);
        let files = match list(&folder) {
            Ok(files) => files,
            Err(error) => {
                let text = format!("zone-directory {}: {}", folder.display(), text::cannot("read", &error));
                return self.unread(line, text, (pattern, allowed), Some(&folder));
            }
        };
        let source = self.zones.sources.pattern(&pattern, allowed);
        for file in files {
            let (name, text) = match name_of_file(&file, &directory.own.pattern) {
                Some(Ok(found)) => found,
                Some(Err(error)) => {
                    self.warn(&folder, &file, error);
                    continue;
                }
                None => continue,
            };
            // A name can be written in many ways, and the pattern makes one of them.
            let is_made = folder.to_str().is_some() && file_text(&name).as_bytes() == text;
            let add = |sources: &mut Sources| match is_made {
                true => source,
                false => sources.path(&folder.join(&file), allowed),
            };
            self.add(line, &name, add);
        }
    }
}

/// A list of names longer than this is none: ten million names take some 200 MB.
const NAMES_OCTETS_MAX: u64 = 1 << 28;

/// The names of a list with their lines.
fn names(list: &str) -> impl Iterator<Item = (usize, &str)> {
    let names = list.lines().map(|line| line.split('#').next().unwrap_or("").trim());
    (1..).zip(names).filter(|(_, name)| !name.is_empty())
}

/// Files of a folder, sorted so that each load is like the one before.
fn list(folder: &Path) -> std::io::Result<Vec<OsString>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            files.push(entry.file_name());
        }
    }
    files.sort();
    Ok(files)
}

/// Most files that are left out and named: who has more has chosen the wrong folder or pattern.
const WARNINGS_MAX: usize = 100;

/// The zone a file is for, by the pattern of its folder, and that part of the file's name; `None` if it does not fit, an error if
/// what fits is no name.
pub fn name_of_file<'f>(file: &'f OsStr, pattern: &str) -> Option<Result<(NameBuf, &'f [u8]), NameError>> {
    let (before, after) = pattern.split_once("{name}")?;
    let text = file.as_bytes().strip_prefix(before.as_bytes())?.strip_suffix(after.as_bytes())?;
    let name = match text {
        // Editors' and tools' leavings (`.#x`, `.x.swp`) are no zones; nor is a name made of a bare suffix.
        b"" => return None,
        b"@" => Ok(Name::root().to_owned()),
        [b'.' | b'#', ..] => return None,
        name => NameBuf::from_text_at(name, Some(Name::root())),
    };
    Some(name.map(|name| (name, text)))
}

/// Reads a zone's name. Empty text is none, although by the rules of names it would be the root: more likely a
/// script's variable is empty.
pub fn zone_name(text: &str) -> Result<NameBuf, String> {
    if text.is_empty() {
        return Err("expected a domain name, found an empty text; the root is `.`".into());
    }
    NameBuf::from_text(text).map_err(|error| format!("expected a domain name, found {text:?}: {error}"))
}

/// Reads `ORIGIN=FILE`.
pub fn parse_argument(argument: &str) -> Result<(NameBuf, PathBuf), String> {
    let Some((origin, file)) = argument.split_once('=') else {
        return Err("expected ORIGIN=FILE, such as example.com=example.com.zone".into());
    };
    let name = zone_name(origin)?;
    if file.is_empty() {
        return Err("expected a file after `=`".into());
    }
    if Path::new(file).is_dir() {
        let hint = if file == "." { "; the root zone is given as .=FILE" } else { "" };
        return Err(format!("expected a file after `=`, found the folder {file:?}{hint}"));
    }
    Ok((name, file.into()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_folder() {
        let of = |file: &str| {
            let found = name_of_file(OsStr::new(file), "{name}.zone")?;
            Some(found.map_or_else(|error| error.to_string(), |(name, _)| name.to_string()))
        };
        assert_eq!(of("example.com.zone").as_deref(), Some("example.com."));
        assert_eq!(of("@.zone").as_deref(), Some("."));
        assert_eq!(of("0\\04725.arpa.zone").as_deref(), Some("0/25.arpa."));
        for other in [".zone", "..x.zone", ".#x.zone", "x.zone~", "x.zone.swp", "README"] {
            assert_eq!(of(other), None, "{other}");
        }
        assert_eq!(of("a..b.zone").as_deref(), Some("empty label"));
    }

    #[test]
    fn sections_lists_and_folders() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| fs::write(folder.path().join(path), text).unwrap();
        fs::create_dir(folder.path().join("more")).unwrap();
        write("more/c.example.zone", "");
        write("more/a.example.zone", "");
        write("more/F.example.zone", "");
        write("names.txt", "# ours\nd.example\n e.example # comment\n\na..b\nxx yy.example\n");
        write("more/foo..bar.zone", "");
        let text = "[[zone]]\nname = \"a.example\"\nfile = \"a\"\n[[zone]]\nnames-file = \"names.txt\"\n\
                    file = \"{1}/{name}\"\n[[zone-directory]]\npath = \"more\"\n[[zone-directory]]\npath = \"gone\"\n";
        let settings = Settings::parse(&folder.path().join("zonda.toml"), text).unwrap();
        let (zones, problems) = wanted(&settings, &Progress::default());
        let short = |text: String| text.replace(&format!("{}/", folder.path().display()), "");
        assert_eq!(
            zones.warnings.iter().cloned().map(short).collect::<Vec<_>>(),
            [
                "zone-directory more: foo..bar.zone is left out: expected the name of a zone and found none (empty label)"
            ]
        );
        let zones: Vec<String> = zones
            .iter()
            .map(|(name, source)| short(format!("{name} {}", zones.sources.get(source, name).unwrap())))
            .collect();
        assert_eq!(
            zones,
            [
                "a.example. a and more/a.example.zone",
                "d.example. d/d.example",
                "e.example. e/e.example",
                "F.example. more/F.example.zone",
                "c.example. more/c.example.zone"
            ]
        );
        let problems: Vec<String> = problems.iter().map(|(_, problem)| short(problem.to_string())).collect();
        assert_eq!(
            problems,
            [
                "names.txt:5:1: expected a domain name, found \"a..b\"",
                "names.txt:6:1: expected one domain name a line, found \"xx yy.example\"",
                "zonda.toml:7:1: zone a.example. is there already, from line 1: expected one file for it, found a and more/a.example.zone",
                "zonda.toml:9:1: zone-directory gone: cannot read: no such file or directory",
            ]
        );
    }
}
