//! Where zones come from, in four octets a zone: most files have names that a pattern makes from their zones' names.
//!
//! ```text
//! SourceId: kind 2 bits | number 30 bits
//! pattern   -> /zones/{1}/{name}.zone       filled with the zone's name when the path is needed
//! path      -> one after the other in one arena
//! embedded  -> text inside the program
//! ```

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};

use wire::{Name, NameBuf};
use zone::catalog::Group;

use crate::findings::{Digest, Refuse};
use crate::pattern::Pattern;
use crate::settings::{IxfrRules, Names, OwnLists, UpdateRules};
use crate::stores::StoreName;

/// Where a zone's data come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A master file, or a pack; which of them the first octets tell.
    File(PathBuf),
    /// Text inside the program.
    Embedded(&'static Embedded),
    /// Several files, of which nobody can say which one counts: their names. Nothing is read of them.
    Several(Box<str>),
    /// Nothing that is read: other servers, which it is transferred from, by their names; a store, which pushes it; or what a catalog is made of here.
    Primaries(Box<str>),
}

/// Text inside the program.
#[derive(Debug, PartialEq, Eq)]
pub struct Embedded {
    /// The name it goes by.
    pub name: &'static str,
    /// The text.
    pub text: &'static [u8],
    /// How to get it as it is today.
    pub renewal: &'static str,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::File(path) => path.display().fmt(f),
            Source::Embedded(embedded) => f.write_str(embedded.name),
            Source::Several(names) | Source::Primaries(names) => f.write_str(names),
        }
    }
}

/// The number of a source among [`Sources`], which alone can tell what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceId(u32);

/// What a catalog that is made here is said to come from.
const MADE_HERE: &str = "the zones that name it";

const KIND_SHIFT: u32 = 30;
const NUMBER_MASK: u32 = (1 << KIND_SHIFT) - 1;
/// Sources of a kind at most: more than there can be zones ([`zone::catalog::ZONES_MAX`]).
const NUMBERS_MAX: usize = NUMBER_MASK as usize;
const _: () = assert!(zone::catalog::ZONES_MAX < NUMBERS_MAX);

const PATTERN: u32 = 0;
const PATH: u32 = 1;
const EMBEDDED: u32 = 2;
/// The last number of this kind is [`SourceId::UNKNOWN`].
const SEVERAL: u32 = 3;

impl SourceId {
    /// Of a zone that a pack of an earlier start has and that no list was asked about yet.
    pub const UNKNOWN: SourceId = SourceId(u32::MAX);

    fn new(kind: u32, number: usize) -> SourceId {
        assert!(number < NUMBERS_MAX, "more sources than zones");
        SourceId(kind << KIND_SHIFT | number as u32)
    }

    fn kind(self) -> u32 {
        self.0 >> KIND_SHIFT
    }

    fn number(self) -> usize {
        (self.0 & NUMBER_MASK) as usize
    }
}

/// All sources that zones come from.
#[derive(Default)]
pub struct Sources {
    patterns: Vec<(Pattern, Allowed)>,
    /// Their numbers.
    numbers: HashMap<(Pattern, Allowed), u32>,
    /// The paths that no pattern makes, one after the other, and where each ends.
    paths: Vec<u8>,
    ends: Vec<usize>,
    embedded: Vec<&'static Embedded>,
    /// Files that are there for one zone, and who may ask if they agree about that.
    several: Vec<(Box<str>, Option<Allowed>)>,
    /// Patterns whose list or folder could not be read, and why, as lines.
    unread: HashMap<u32, Box<[String]>>,
    /// What the sections of paths name, up to the last that names any.
    path_allowed: Vec<Allowed>,
    /// What sections name, and the group that has these rules.
    allowed: Vec<(Rules, Group)>,
    allowed_numbers: HashMap<Rules, Allowed>,
}

/// What a section says of its zones beside where they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rules {
    /// Who may do what.
    pub lists: OwnLists,
    /// From which severity on what is wrong keeps them from being loaded.
    pub refuse: Option<Refuse>,
    /// Whom to tell that they have changed.
    pub notify: Names,
    /// Whom they are transferred from; none: they have files.
    pub primaries: Names,
    /// Whether what comes from these is kept on the disk, if the section says so.
    pub persist: Option<bool>,
    /// What becomes of their digests.
    pub digest: Digest,
    /// What holds for their updates.
    pub update: UpdateRules,
    /// How much is kept for IXFR.
    pub ixfr: IxfrRules,
    /// The catalog that lists them, in lower case, where that is why they are served.
    pub member_of: Option<NameBuf>,
    /// How a catalog that is made here lists them, if one does.
    pub listing: Option<Listing>,
    /// Whether they are catalogs that are made here, of which there is no file.
    pub is_made: bool,
    /// The store that they come from, which has all to say about them.
    pub incoming: Option<StoreName>,
}

impl Rules {
    /// Whether such zones have no file here: they are transferred, made, or come from a store.
    fn are_without_file(&self) -> bool {
        self.is_made || self.incoming.is_some() || !self.primaries.is_empty()
    }
}

/// How a catalog that is made here lists zones (RFC 9432 4).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Listing {
    /// The catalog, in lower case.
    pub catalog: NameBuf,
    /// Their groups.
    pub groups: Names,
    /// The catalog that may take them over.
    pub coo: Option<NameBuf>,
}

/// The rules of the section of a source: a number among [`Sources`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Allowed(u32);

impl Sources {
    /// The number of what a section says of its zones.
    pub fn allowed(&mut self, rules: &Rules) -> Allowed {
        if *rules == Rules::default() {
            return Allowed::default();
        }
        if let Some(allowed) = self.allowed_numbers.get(rules) {
            return *allowed;
        }
        self.allowed.push((rules.clone(), Group::default()));
        let allowed = Allowed(self.allowed.len() as u32);
        self.allowed_numbers.insert(rules.clone(), allowed);
        allowed
    }

    /// Gives the access lists of sections their groups.
    pub fn set_groups(&mut self, group: impl Fn(&OwnLists) -> Group) {
        let named = self.allowed.iter_mut().filter(|(rules, _)| !rules.lists.is_empty());
        named.for_each(|(rules, own)| *own = group(&rules.lists));
    }

    /// The group of the zones of a source.
    pub fn group(&self, id: SourceId) -> Group {
        self.section(id).map_or(Group::default(), |(_, group)| *group)
    }

    /// From which severity on the zones of a source are not loaded, if its section says so.
    pub fn refuse(&self, id: SourceId) -> Option<Refuse> {
        self.section(id).and_then(|(rules, _)| rules.refuse)
    }

    /// Whom to tell that the zones of a source have changed.
    pub fn notify(&self, id: SourceId) -> &[Box<str>] {
        self.section(id).map_or(&[], |(rules, _)| rules.notify.texts())
    }

    /// Whom the zones of a source are transferred from; none: they have files.
    pub fn primaries(&self, id: SourceId) -> &[Box<str>] {
        self.section(id).map_or(&[], |(rules, _)| rules.primaries.texts())
    }

    /// Whether what comes from primaries of the zones of a source is kept on the disk, if its section says so.
    pub fn persist(&self, id: SourceId) -> Option<bool> {
        self.section(id).and_then(|(rules, _)| rules.persist)
    }

    /// What becomes of the digests of the zones of a source.
    pub fn digest(&self, id: SourceId) -> Digest {
        self.section(id).map_or(Digest::Ignore, |(rules, _)| rules.digest)
    }

    /// Whether the digests of any zones are looked at.
    pub fn has_digests(&self) -> bool {
        self.allowed.iter().any(|(rules, _)| rules.digest != Digest::Ignore)
    }

    /// Whether any zones are transferred from others.
    pub fn has_primaries(&self) -> bool {
        self.allowed.iter().any(|(rules, _)| !rules.primaries.is_empty())
    }

    /// The catalog because of which the zones of a source are served, in lower case; `None`: it is the settings or a command.
    pub fn member_of(&self, id: SourceId) -> Option<&Name> {
        self.section(id).and_then(|(rules, _)| rules.member_of.as_deref())
    }

    /// How a catalog that is made here lists the zones of a source.
    pub fn listing(&self, id: SourceId) -> Option<&Listing> {
        self.section(id).and_then(|(rules, _)| rules.listing.as_ref())
    }

    /// Whether the zones of a source are catalogs that are made here.
    pub fn is_made(&self, id: SourceId) -> bool {
        self.section(id).is_some_and(|(rules, _)| rules.is_made)
    }

    /// The store that the zones of a source come from.
    pub fn incoming(&self, id: SourceId) -> Option<StoreName> {
        self.section(id).and_then(|(rules, _)| rules.incoming)
    }

    /// Whether the zones of a source have no file here and come from this store or, without one, from elsewhere.
    pub fn is_filled(&self, id: SourceId, from: Option<StoreName>) -> bool {
        self.is_without_file(id) && self.incoming(id) == from
    }

    /// Whether the zones of a source have no file here: they are transferred, made, or come from a store.
    pub fn is_without_file(&self, id: SourceId) -> bool {
        self.section(id).is_some_and(|(rules, _)| rules.are_without_file())
    }

    /// Whether there are any such zones.
    pub fn has_without_file(&self) -> bool {
        self.allowed.iter().any(|(rules, _)| rules.are_without_file())
    }

    /// The source of zones that have no file, by their rules.
    pub fn without_file(&mut self, rules: &Rules) -> SourceId {
        let allowed = self.allowed(rules);
        self.pattern(&Pattern::new(Path::new("")), allowed)
    }

    /// The access lists that the section of a source names.
    pub fn lists(&self, id: SourceId) -> Option<&OwnLists> {
        self.section(id).map(|(rules, _)| &rules.lists)
    }

    /// What holds for updates of the zones of a source, if its section says anything.
    pub fn update(&self, id: SourceId) -> Option<&UpdateRules> {
        self.section(id).map(|(rules, _)| &rules.update)
    }

    /// How much of the zones of a source is kept for IXFR, if its section says anything.
    pub fn ixfr(&self, id: SourceId) -> Option<&IxfrRules> {
        self.section(id).map(|(rules, _)| &rules.ixfr)
    }

    fn section(&self, id: SourceId) -> Option<&(Rules, Group)> {
        let allowed = match id.kind() {
            _ if id == SourceId::UNKNOWN || self.allowed.is_empty() => None,
            PATTERN => Some(self.patterns[id.number()].1),
            PATH => self.path_allowed.get(id.number()).copied(),
            SEVERAL => self.several[id.number()].1,
            _ => None,
        };
        self.allowed.get((allowed?.0 as usize).checked_sub(1)?)
    }

    /// The source that is `pattern`, filled with the name of each zone.
    pub fn pattern(&mut self, pattern: &Pattern, allowed: Allowed) -> SourceId {
        let key = (pattern.clone(), allowed);
        if let Some(&number) = self.numbers.get(&key) {
            return SourceId::new(PATTERN, number as usize);
        }
        let id = SourceId::new(PATTERN, self.patterns.len());
        self.patterns.push(key.clone());
        self.numbers.insert(key, id.number() as u32);
        id
    }

    /// The source that is this path.
    pub fn path(&mut self, path: &Path, allowed: Allowed) -> SourceId {
        use std::os::unix::ffi::OsStrExt;
        let octets = path.as_os_str().as_bytes();
        // A pack of many zones stands at each of them.
        if let Some(last) = self.ends.len().checked_sub(1)
            && self.octets(last) == octets
            && self.path_allowed.get(last).copied().unwrap_or_default() == allowed
        {
            return SourceId::new(PATH, last);
        }
        if allowed != Allowed::default() {
            self.path_allowed.resize(self.ends.len(), Allowed::default());
            self.path_allowed.push(allowed);
        }
        self.paths.extend_from_slice(octets);
        self.ends.push(self.paths.len());
        SourceId::new(PATH, self.ends.len() - 1)
    }

    /// The source of a zone of which there are two that are not the same.
    pub fn several(&mut self, first: SourceId, second: SourceId, name: &Name) -> SourceId {
        if first.kind() == SEVERAL {
            return first;
        }
        let text = |id| self.get(id, name).map_or_else(String::new, |source| source.to_string());
        let files = format!("{} and {}", text(first), text(second)).into();
        let is_agreed = self.has_same_rules(first, second);
        self.several.push((files, is_agreed.then(|| self.rules(first))));
        SourceId::new(SEVERAL, self.several.len() - 1)
    }

    /// Whether the sections of two sources name the same access lists.
    pub fn has_same_rules(&self, first: SourceId, second: SourceId) -> bool {
        let names =
            |id| (self.rules(id).0 as usize).checked_sub(1).map(|number| &self.allowed[number].0.lists);
        names(first).filter(|names| !names.is_empty()) == names(second).filter(|names| !names.is_empty())
    }

    /// The access lists that a source's section names.
    fn rules(&self, id: SourceId) -> Allowed {
        match id.kind() {
            PATTERN => self.patterns[id.number()].1,
            PATH => self.path_allowed.get(id.number()).copied().unwrap_or_default(),
            _ => Allowed::default(),
        }
    }

    /// Whether it is known who may ask for the zones of a source.
    pub fn has_rules(&self, id: SourceId) -> bool {
        id == SourceId::UNKNOWN || id.kind() != SEVERAL || self.several[id.number()].1.is_some()
    }

    /// The source of zones that a list or folder had when it could be read, which it cannot now, for these reasons.
    pub fn unread(&mut self, pattern: &Pattern, allowed: Allowed, why: &[String]) -> SourceId {
        // Not entered among the numbers: a list that can be read may have the same pattern.
        let id = SourceId::new(PATTERN, self.patterns.len());
        self.patterns.push((pattern.clone(), allowed));
        self.unread.insert(id.number() as u32, why.into());
        id
    }

    /// Why the list or folder of a source could not be read.
    pub fn why_unread(&self, id: SourceId) -> Option<&[String]> {
        match self.unread.is_empty() || id.kind() != PATTERN {
            true => None,
            false => self.unread.get(&(id.number() as u32)).map(|lines| &**lines),
        }
    }

    /// The path of a source that is one by itself.
    pub fn path_of(&self, id: SourceId) -> Option<std::path::PathBuf> {
        (id.kind() == PATH).then(|| self.explicit(id).to_owned())
    }

    /// Whether a source is this pattern.
    pub fn is_pattern(&self, id: SourceId, pattern: &Pattern) -> bool {
        id.kind() == PATTERN && self.patterns[id.number()].0 == *pattern
    }

    /// The same source as `source`, which was given by itself, of a zone that a catalog lists.
    pub fn add_listed(&mut self, source: &Source, listing: &Listing) -> SourceId {
        let rules = Rules { listing: Some(listing.clone()), ..Rules::default() };
        match source {
            Source::File(path) => {
                let allowed = self.allowed(&rules);
                self.path(path, allowed)
            }
            other => self.add(other),
        }
    }

    /// The same source as `source`, which was given by itself.
    pub fn add(&mut self, source: &Source) -> SourceId {
        match source {
            Source::File(path) => self.path(path, Allowed::default()),
            Source::Embedded(embedded) => {
                let at = self.embedded.iter().position(|other| std::ptr::eq(*other, *embedded));
                let at = at.unwrap_or_else(|| {
                    self.embedded.push(embedded);
                    self.embedded.len() - 1
                });
                SourceId::new(EMBEDDED, at)
            }
            Source::Several(files) | Source::Primaries(files) => {
                self.several.push((files.clone(), Some(Allowed::default())));
                SourceId::new(SEVERAL, self.several.len() - 1)
            }
        }
    }

    fn octets(&self, number: usize) -> &[u8] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.paths[start..self.ends[number]]
    }

    fn explicit(&self, id: SourceId) -> &Path {
        use std::os::unix::ffi::OsStrExt;
        Path::new(std::ffi::OsStr::from_bytes(self.octets(id.number())))
    }

    /// Where the zone named `name` comes from; `None` if that is not known yet.
    pub fn get(&self, id: SourceId, name: &Name) -> Option<Source> {
        if id == SourceId::UNKNOWN {
            return None;
        }
        let primaries = match id.kind() {
            PATTERN | PATH => self.primaries(id),
            _ => &[],
        };
        if !primaries.is_empty() {
            return Some(Source::Primaries(primaries.join(", ").into()));
        }
        if matches!(id.kind(), PATTERN | PATH)
            && let Some(store) = self.incoming(id)
        {
            return Some(Source::Primaries(format!("store {store}").into()));
        }
        if matches!(id.kind(), PATTERN | PATH) && self.is_made(id) {
            return Some(Source::Primaries(MADE_HERE.into()));
        }
        Some(match id.kind() {
            PATTERN => Source::File(self.patterns[id.number()].0.path(name)),
            PATH => Source::File(self.explicit(id).to_owned()),
            SEVERAL => Source::Several(self.several[id.number()].0.clone()),
            _ => Source::Embedded(self.embedded[id.number()]),
        })
    }

    /// Whether a zone comes from the same as by `other`, where its source is `id_there`.
    pub fn is_same(&self, id: SourceId, other: &Sources, id_there: SourceId, name: &Name) -> bool {
        let both = id.kind() == PATTERN && id_there.kind() == PATTERN;
        if both && self.patterns[id.number()].0 == other.patterns[id_there.number()].0 {
            return true;
        }
        self.get(id, name) == other.get(id_there, name)
    }

    /// Whether the file of this source is in `folder` itself.
    pub fn is_in(&self, id: SourceId, folder: &Path) -> bool {
        match id.kind() {
            _ if id == SourceId::UNKNOWN => false,
            PATTERN => self.patterns[id.number()].0.folder() == Some(folder),
            PATH => self.explicit(id).parent() == Some(folder),
            _ => false,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const NONE: Allowed = Allowed(0);

    fn lists(queries: &str) -> OwnLists {
        OwnLists::of_queries(&Names::one(queries))
    }

    fn rules(queries: &str) -> Rules {
        Rules { lists: lists(queries), ..Rules::default() }
    }

    #[test]
    fn sources_are_found_again() {
        static TEXT: Embedded = Embedded { name: "inside", text: b"", renewal: "" };
        let name: NameBuf = "Example.COM".parse().unwrap();
        let mut sources = Sources::default();
        let pattern = Pattern::new(Path::new("z/{1}/{name}.zone"));
        let ids = [
            sources.pattern(&pattern, NONE),
            sources.path(Path::new("/x/a"), NONE),
            sources.path(Path::new("/x/b"), NONE),
            sources.path(Path::new("/x/b"), NONE),
            sources.add(&Source::File("y".into())),
            sources.add(&Source::Embedded(&TEXT)),
            sources.pattern(&pattern, NONE),
        ];
        assert_eq!((ids[2], ids[0]), (ids[3], ids[6]));
        let said = ids.map(|id| sources.get(id, &name).unwrap().to_string());
        assert_eq!(said[..6], ["z/e/example.com.zone", "/x/a", "/x/b", "/x/b", "y", "inside"]);
        assert_eq!(sources.get(SourceId::UNKNOWN, &name), None);
        assert!(sources.is_in(ids[1], Path::new("/x")) && !sources.is_in(ids[0], Path::new("z")));
    }

    /// What counts is the path, not how the settings come to it.
    #[test]
    fn sameness_is_that_of_paths() {
        let name: NameBuf = "example".parse().unwrap();
        let (mut a, mut b) = (Sources::default(), Sources::default());
        b.path(Path::new("other"), NONE);
        let pattern = a.pattern(&Pattern::new(Path::new("z/{name}")), NONE);
        let same =
            [b.pattern(&Pattern::new(Path::new("z/{name}")), NONE), b.path(Path::new("z/example"), NONE)];
        assert!(same.iter().all(|id| a.is_same(pattern, &b, *id, &name)));
        let others = [
            b.pattern(&Pattern::new(Path::new("y/{name}")), NONE),
            b.path(Path::new("z/x"), NONE),
            SourceId::UNKNOWN,
        ];
        assert!(!others.iter().any(|id| a.is_same(pattern, &b, *id, &name)));
    }

    /// Who refuses more lets no others ask, and the other way round.
    #[test]
    fn what_is_refused_is_no_access_rule() {
        let mut sources = Sources::default();
        let rules = [
            (OwnLists::default(), None),
            (OwnLists::default(), Some(Refuse::Error)),
            (lists("x"), Some(Refuse::Error)),
        ];
        let ids = rules.map(|(lists, refuse)| {
            let allowed = sources.allowed(&Rules { lists, refuse, ..Rules::default() });
            sources.path(Path::new("/x"), allowed)
        });
        sources.set_groups(|_| Group::new(7, true));
        assert_eq!(ids.map(|id| sources.group(id).number()), [0, 0, 7]);
        assert_eq!(ids.map(|id| sources.refuse(id)), [None, Some(Refuse::Error), Some(Refuse::Error)]);
        assert!(sources.has_same_rules(ids[0], ids[1]) && !sources.has_same_rules(ids[1], ids[2]));
        assert_eq!(sources.refuse(SourceId::UNKNOWN), None);
    }

    #[test]
    fn the_same_file_by_other_rules_is_another_source() {
        let (office, all) = (rules("office"), rules("all"));
        let mut sources = Sources::default();
        let (office, all) = (sources.allowed(&office), sources.allowed(&all));
        assert_eq!(sources.allowed(&Rules::default()), NONE);
        assert_eq!(sources.allowed(&rules("office")), office);
        let pattern = Pattern::new(Path::new("z/{name}"));
        let ids = [NONE, office, all].map(|allowed| sources.pattern(&pattern, allowed));
        let paths = [NONE, office, office, all, NONE].map(|allowed| sources.path(Path::new("/x"), allowed));
        let embedded = sources.path(Path::new("/y"), NONE);
        assert!(paths[1] == paths[2] && paths[0] != paths[1] && paths[3] != paths[4]);
        sources.set_groups(|names| Group::new(if *names == lists("all") { 7 } else { 8 }, true));
        let numbers = |ids: &[SourceId]| ids.iter().map(|id| sources.group(*id).number()).collect::<Vec<_>>();
        assert_eq!(numbers(&ids), [0, 8, 7]);
        assert_eq!(numbers(&paths), [0, 8, 8, 7, 0]);
        assert_eq!(numbers(&[embedded, SourceId::UNKNOWN]), [0, 0]);
        // For whether a zone comes from elsewhere now the rules do not matter.
        let name: NameBuf = "example".parse().unwrap();
        assert!(sources.is_same(ids[0], &sources, ids[1], &name));
    }
}
