//! What is known of the zones beside their data, which the catalog has: by the numbers of its slots, eight octets a zone.
//!
//! ```text
//! name, serial, mark of the text              in the row of the zone's pack
//! source, hash of contents                    Kept, one a slot
//! includes, problems, a name of its own       Rare, of few
//! zones that wait for their first data        Awaited, also those that the catalog is not to show
//! ```

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wire::{Name, NameBuf};
use zone::catalog::{Absence, CatalogView, SlotNumber, View, ViewSource};
use zone::check::Severity;
use zone::pack::ZoneRow;
use zone::{Catalog, ZoneView};

use super::Controller;
use super::gone::Gone;
use super::held::{HeldPacks, Kind};
use super::tallied::Tallied;
use crate::command::ByCommand;
use crate::commanded::Commanded;
use crate::expiry;
use crate::findings::{self, Digest, Refuse};
use crate::packs::PackFolder;
use crate::read::stamp_of;
use crate::settings::{Settings, UpdatePolicies};
use crate::sources::{Source, SourceId, Sources};
use crate::stamp::Stamp;
use crate::stores::StoreName;
use crate::texts::Texts;

/// What is kept of each zone; a server can have millions.
#[derive(Clone, Copy)]
pub(super) struct Kept {
    /// Where its data come from.
    pub(super) source: SourceId,
    /// See [`crate::load::Loaded::contents_hash`], the lower half; 0: not known.
    pub(super) contents: u32,
}

const _: () = assert!(size_of::<Kept>() == 8);

impl Kept {
    const NOTHING: Kept = Kept { source: SourceId::UNKNOWN, contents: 0 };
}

/// Files that a text includes, and their states.
type Includes = Box<[(PathBuf, Stamp)]>;

/// What most zones have not.
#[derive(Default)]
pub(super) struct Rare {
    /// The state of its text, if that includes files, and these with their states: the pack has no time then.
    pub(super) includes: Option<(Stamp, Includes)>,
    /// Why its file could not be loaded when that was tried last. `None`: it could.
    pub(super) problem: Option<Box<[String]>>,
    /// With a problem: whether there are no data of it either, not even older ones.
    pub(super) is_absent: bool,
    /// Its name and its pack where its data are a file of the operator's: who writes into one instead of replacing it changes
    /// what is mapped, and zones must be found all the same.
    pub(super) own: Option<(NameBuf, u64)>,
}

/// A zone that came while the server ran and of which there are no data yet.
pub(super) struct Awaited {
    pub(super) name: NameBuf,
    pub(super) source: SourceId,
    pub(super) problem: Option<Box<[String]>>,
    /// Where the catalog has it. It has none that is below a zone with data: its names are answered from there as before, until
    /// it is loaded. Without data it would make SERVFAIL of answers that were good.
    pub(super) slot: Option<SlotNumber>,
}

/// All zones; see the module. Locked for moments only.
#[derive(Default)]
pub(crate) struct Zones {
    pub(super) sources: Sources,
    /// By slot number.
    kept: Vec<Kept>,
    pub(super) rare: Tallied<SlotNumber, Rare>,
    /// By name in lower case.
    pub(super) awaited: Tallied<NameBuf, Awaited>,
    /// Slots of the zones that have a name in [`Rare`], by that.
    own_names: HashMap<NameBuf, SlotNumber>,
    pub(super) packs: HeldPacks,
    /// Slots whose zones stay in their packs for now, see [`super::claims`].
    pub(super) claimed: HashSet<SlotNumber>,
    pub(super) gone: Gone,
    /// Zones that have data.
    pub(super) loaded: usize,
    /// Zones in the catalog.
    pub(super) shown: usize,
    /// Zones that are not as the settings say, by name in lower case.
    pub(super) commanded: HashMap<NameBuf, ByCommand>,
    /// Why zones that no list has are served as they were stored, as lines: one of the lists could not be read. `None`: all could.
    pub(super) unlisted: Option<Box<[String]>>,
    /// Whether lists have been read.
    pub(super) is_arranged: bool,
    /// Zones that stay as they were because of that.
    pub(super) left: usize,
    /// What is wrong with zones that are loaded, of some of them.
    pub(crate) findings: findings::Kept,
    /// From which severity on a zone is not loaded that does not say otherwise.
    pub(crate) refuse: Refuse,
    /// Whether zones that are transferred from others are kept on the disk where their sections say nothing of that.
    pub(super) persist: bool,
    /// Who may change what in which zones.
    pub(crate) policies: UpdatePolicies,
    /// Of whose signatures it was said that they expire.
    pub(crate) expiry: expiry::Said,
    /// What is known of texts of zones that change in place.
    pub(super) texts: Arc<Texts>,
    /// Why zones take no updates that the log has lost changes of, by name in lower case.
    pub(super) faults: HashMap<NameBuf, String>,
}

impl Zones {
    /// No zones; `folder` knows which of those that it has are not to be served.
    pub(super) fn new(folder: Option<&PackFolder>, texts: &Arc<Texts>) -> Zones {
        let gone = Gone::new(folder.map(PackFolder::removed).unwrap_or_default());
        Zones { gone, texts: Arc::clone(texts), ..Zones::default() }
    }

    /// The mark of the text that a zone began from which has changed in place since; `None`: it has not.
    pub(super) fn mark_of_changed(&self, view: &CatalogView<'_>, name: &Name) -> Option<u64> {
        match view.view_of(self.slot(view, name)?)? {
            View::Zone(zone) if is_beside_text(&zone) => Some(self.text_mark(&zone)),
            _ => None,
        }
    }

    /// The mark of the text that a zone's data are counted from.
    fn text_mark(&self, zone: &ZoneView<'_>) -> u64 {
        let base = if is_beside_text(zone) { self.texts.of(&zone.apex().to_lowercase()).base } else { None };
        base.map_or(zone.row().text_mark, |base| base.mark)
    }

    /// All zones there are.
    pub(crate) fn count(&self) -> usize {
        self.shown + self.awaited.tally().hidden
    }

    /// Whether a list or folder of zones could not be read.
    pub(crate) fn has_unread(&self) -> bool {
        self.unlisted.is_some()
    }

    /// Whether any zones are transferred from others.
    pub(crate) fn has_secondaries(&self) -> bool {
        self.sources.has_primaries()
    }

    /// Whom the zone of a slot is transferred from; none: it is not.
    pub(crate) fn primaries(&self, slot: SlotNumber) -> &[Box<str>] {
        self.sources.primaries(self.kept(slot).source)
    }

    /// Whether what is transferred of the zone of a name, or of its slot, is kept on the disk.
    pub(super) fn persists(&self, name: &Name, slot: Option<SlotNumber>) -> bool {
        self.source_id(name, slot).and_then(|source| self.sources.persist(source)).unwrap_or(self.persist)
    }

    /// What becomes of the digest of the zone of a name, or of its slot.
    pub(super) fn digest(&self, name: &Name, slot: Option<SlotNumber>) -> Digest {
        self.source_id(name, slot).map_or(Digest::Ignore, |source| self.sources.digest(source))
    }

    /// Whether digests of any zones are looked at.
    pub(super) fn has_digests(&self) -> bool {
        self.sources.has_digests()
    }

    fn source_id(&self, name: &Name, slot: Option<SlotNumber>) -> Option<SourceId> {
        let awaited = match self.awaited.is_empty() {
            true => None,
            false => self.awaited.get(&name.to_lowercase()).map(|awaited| awaited.source),
        };
        awaited.or(slot.map(|slot| self.kept(slot).source))
    }

    /// Whether a pack of the folder has data of a zone. `slot`: its slot.
    pub(super) fn is_stored(&self, catalog: &Catalog, name: &Name, slot: Option<SlotNumber>) -> bool {
        let pack = catalog.reader().with(|view| self.pack_of(view, slot?));
        let held = pack.and_then(|pack| self.packs.get(pack));
        held.is_some_and(|held| held.pack.file.is_some()) || self.gone.has(name)
    }

    /// Whether any zone has no file here.
    pub(crate) fn has_without_file(&self) -> bool {
        self.sources.has_without_file()
    }

    /// Whether the zone of a slot has no file here.
    pub(crate) fn is_without_file(&self, slot: SlotNumber) -> bool {
        self.sources.is_without_file(self.kept(slot).source)
    }

    /// The store that the zone of a slot comes from.
    pub(crate) fn incoming(&self, slot: SlotNumber) -> Option<StoreName> {
        self.sources.incoming(self.kept(slot).source)
    }

    /// The catalog zone because of which the zone of a slot is served, if that is why.
    pub(crate) fn member_of(&self, slot: SlotNumber) -> Option<&Name> {
        self.sources.member_of(self.kept(slot).source)
    }

    /// The zones that the catalog does not show and that are transferred from others, and from whom.
    pub(crate) fn hidden_secondaries(&self) -> impl Iterator<Item = (&Name, &[Box<str>])> {
        let hidden = self.awaited.values().filter(|awaited| awaited.slot.is_none());
        let all = hidden.map(|awaited| (&*awaited.name, self.sources.primaries(awaited.source)));
        all.filter(|(_, primaries)| !primaries.is_empty())
    }

    /// From whom a zone is transferred that the catalog does not show; none where it is not one of these.
    pub(crate) fn hidden_primaries(&self, name: &Name) -> &[Box<str>] {
        if self.awaited.is_empty() {
            return &[];
        }
        let hidden = self.awaited.get(&name.to_lowercase()).filter(|awaited| awaited.slot.is_none());
        hidden.map_or(&[], |awaited| self.sources.primaries(awaited.source))
    }

    /// Whether a zone that the catalog does not show has no file here.
    pub(crate) fn is_hidden_secondary(&self, name: &Name) -> bool {
        let awaited = match self.awaited.is_empty() {
            true => None,
            false => self.awaited.get(&name.to_lowercase()).filter(|awaited| awaited.slot.is_none()),
        };
        awaited.is_some_and(|awaited| self.sources.is_without_file(awaited.source))
    }

    /// Whether a list says where the zone of a slot comes from.
    pub(crate) fn is_listed(&self, slot: SlotNumber) -> bool {
        let source = self.kept(slot).source;
        source != SourceId::UNKNOWN && self.sources.why_unread(source).is_none()
    }

    /// Zones that have data.
    pub(crate) fn loaded(&self) -> usize {
        self.loaded
    }

    /// Octets of memory of what is kept of each.
    pub(crate) fn kept_octets(&self) -> usize {
        self.kept.capacity() * size_of::<Kept>()
    }

    /// The octets of packs in use: of each mapped file where they are, and of those in memory how many.
    pub(crate) fn pack_memory(&self) -> (Vec<std::ops::Range<usize>>, u64) {
        let (mut mapped, mut in_memory) = (Vec::new(), 0);
        for held in self.packs.iter() {
            let octets = held.pack.pack.octets();
            match held.pack.pack.is_mapped() {
                true => mapped.push(octets.as_ptr().addr()..octets.as_ptr().addr() + octets.len()),
                false => in_memory += octets.len() as u64,
            }
        }
        (mapped, in_memory)
    }

    /// The slot of the zone of this name.
    pub(crate) fn slot(&self, view: &CatalogView<'_>, name: &Name) -> Option<SlotNumber> {
        view.slot_named(name).or_else(|| match self.own_names.is_empty() {
            true => None,
            false => self.own_names.get(&name.to_lowercase()).copied(),
        })
    }

    /// The name of a slot's zone.
    pub(crate) fn name<'n>(&'n self, view: &CatalogView<'n>, slot: SlotNumber) -> Option<&'n Name> {
        self.own_name(slot).or_else(|| view.name_of(slot))
    }

    /// The name of a slot's zone where its pack may not be asked for that.
    pub(crate) fn own_name(&self, slot: SlotNumber) -> Option<&Name> {
        self.rare.get(&slot).and_then(|rare| Some(&*rare.own.as_ref()?.0))
    }

    pub(super) fn kept(&self, slot: SlotNumber) -> Kept {
        self.kept.get(slot.0 as usize).copied().unwrap_or(Kept::NOTHING)
    }

    pub(super) fn kept_mut(&mut self, slot: SlotNumber) -> &mut Kept {
        let at = slot.0 as usize;
        if at >= self.kept.len() {
            self.kept.resize(at + 1, Kept::NOTHING);
        }
        &mut self.kept[at]
    }

    /// Why a zone's file could not be loaded when that was tried last, as lines. `None`: it could.
    pub(crate) fn problem_of(&self, view: &CatalogView<'_>, slot: SlotNumber) -> Option<&[String]> {
        if let Some(problem) = self.rare.get(&slot).and_then(|rare| rare.problem.as_deref()) {
            return Some(problem);
        }
        let source = self.kept(slot).source;
        if let Some(unread) = self.sources.why_unread(source) {
            return Some(unread);
        }
        if source == SourceId::UNKNOWN && self.unlisted.is_some() {
            return self.unlisted.as_deref();
        }
        if self.awaited.is_empty() {
            return None;
        }
        self.awaited.get(&view.name_of(slot)?.to_lowercase())?.problem.as_deref()
    }

    /// How a command made a zone other than the settings have it.
    pub(crate) fn by_command(&self, name: &Name) -> Option<ByCommand> {
        match self.commanded.is_empty() {
            true => None,
            false => self.commanded.get(&name.to_lowercase()).copied(),
        }
    }

    /// Names of the zones that the settings have and a command removed.
    pub(crate) fn removed(&self) -> impl Iterator<Item = &Name> {
        let removed = self.commanded.iter().filter(|(_, by)| **by == ByCommand::Removed);
        removed.map(|(name, _)| &**name)
    }

    /// Names of the zones that the catalog does not show: see [`Awaited`].
    pub(crate) fn hidden(&self) -> impl Iterator<Item = &Name> {
        self.awaited.values().filter(|awaited| awaited.slot.is_none()).map(|awaited| &*awaited.name)
    }

    /// Source and problem of such a zone.
    pub(crate) fn hidden_zone(&self, name: &Name) -> Option<(String, Option<&[String]>)> {
        let awaited = self.awaited.get(&name.to_lowercase())?;
        let source = self.sources.get(awaited.source, &awaited.name)?;
        Some((source.to_string(), awaited.problem.as_deref()))
    }

    /// Where a slot's zone comes from.
    pub(crate) fn source(&self, slot: SlotNumber, name: &Name) -> Option<Source> {
        self.sources.get(self.kept(slot).source, name)
    }

    /// Changes what a zone has that few have.
    pub(super) fn change_rare(&mut self, slot: SlotNumber, change: impl FnOnce(&mut Rare)) {
        if !self.rare.contains_key(&slot) {
            self.rare.insert(slot, Rare::default());
        }
        self.rare.change(&slot, change);
    }

    /// Gives a zone what few have, or takes it away.
    pub(super) fn set_rare(&mut self, slot: SlotNumber, rare: Option<Rare>) {
        let old = match rare {
            Some(rare) => {
                if let Some((name, _)) = &rare.own {
                    self.own_names.insert(name.to_lowercase(), slot);
                }
                self.rare.insert(slot, rare)
            }
            None => self.rare.remove(&slot),
        };
        let is_named = self.rare.get(&slot).is_some_and(|rare| rare.own.is_some());
        if let Some((name, _)) = old.and_then(|old| old.own).filter(|_| !is_named) {
            self.own_names.remove(&name.to_lowercase());
        }
    }

    /// Forgets a slot, whose zone goes.
    pub(super) fn forget(&mut self, slot: SlotNumber) {
        *self.kept_mut(slot) = Kept::NOTHING;
        self.findings.forget(slot);
        self.expiry.forget(slot);
        self.set_rare(slot, None);
    }

    /// [`zone::Pack::id`] of what a slot's zone is served from; `None`: it has no data. Of a pack that was written into, too, which says
    /// nothing any more.
    pub(super) fn pack_of(&self, view: &CatalogView<'_>, slot: SlotNumber) -> Option<u64> {
        if let Some((_, pack)) = self.rare.get(&slot).and_then(|rare| rare.own.as_ref()) {
            return Some(*pack);
        }
        match view.view_of(slot)? {
            View::Zone(zone) => Some(zone.pack_id()),
            View::Lost(pack) => Some(pack),
            View::Absent(_) => None,
        }
    }

    /// The state of the file that a zone's data are from.
    pub(super) fn stamp(&self, view: &CatalogView<'_>, slot: SlotNumber) -> Option<Stamp> {
        if let Some(Kind::Operators(stamp)) = self.packs.get(self.pack_of(view, slot)?).map(|held| held.kind)
        {
            return Some(stamp);
        }
        if let Some((stamp, _)) = self.rare.get(&slot).and_then(|rare| rare.includes.as_ref()) {
            return Some(*stamp);
        }
        let View::Zone(zone) = view.view_of(slot)? else { return None };
        Some(Stamp { mark: self.text_mark(&zone), ..Stamp::default() })
    }

    /// Slots of zones that have a name of their own.
    pub(super) fn own_slots(&self) -> impl Iterator<Item = SlotNumber> {
        self.own_names.values().copied()
    }

    /// What has to be compared with files to know whether a zone has changed.
    pub(super) fn look(&self, view: &CatalogView<'_>, slot: SlotNumber) -> Option<Look> {
        if self.is_being_edited(view, slot) {
            return None;
        }
        self.look_anyway(view, slot)
    }

    /// The same, though somebody may be editing the text.
    pub(super) fn look_anyway(&self, view: &CatalogView<'_>, slot: SlotNumber) -> Option<Look> {
        let name = self.name(view, slot)?.to_owned();
        let source = self.source(slot, &name)?;
        let stamp = self.stamp(view, slot);
        let rare = self.rare.get(&slot);
        let includes = rare.and_then(|rare| rare.includes.as_ref()).map(|(_, includes)| includes.clone());
        let is_broken = rare.is_some_and(|rare| rare.problem.is_some());
        Some(Look {
            name,
            source,
            stamp: stamp.filter(|_| !is_broken),
            includes: includes.unwrap_or_default(),
            refuse: self.sources.refuse(self.kept(slot).source).unwrap_or(self.refuse).severity(),
            digest: self.sources.digest(self.kept(slot).source),
        })
    }
}

impl Zones {
    /// As [`Zones::look`] of an awaited zone, which has no data.
    pub(super) fn look_hidden(&self, lower: &Name) -> Option<Look> {
        let awaited = self.awaited.get(lower)?;
        let source = self.sources.get(awaited.source, &awaited.name)?;
        let refuse = self.sources.refuse(awaited.source).unwrap_or(self.refuse).severity();
        let digest = self.sources.digest(awaited.source);
        Some(Look {
            name: awaited.name.clone(),
            source,
            stamp: None,
            includes: Box::default(),
            refuse,
            digest,
        })
    }
}

/// A zone that is to be looked at.
pub(crate) struct Look {
    pub(super) name: NameBuf,
    pub(super) source: Source,
    /// The state of the file that was read; none: there are no data, or they are older than what was tried last.
    stamp: Option<Stamp>,
    includes: Includes,
    /// From which severity on it is not loaded.
    pub(super) refuse: Severity,
    /// What becomes of its digest.
    pub(super) digest: Digest,
}

impl Look {
    /// Whether the zone's file, and those that it includes, are the same as when it was loaded.
    pub(crate) fn is_unchanged(&self) -> bool {
        // What cannot be trusted needs no look.
        let is_still = |path: &Path, stamp: &Stamp| {
            stamp.mark != 0 && stamp_of(path).is_ok_and(|now| stamp.is_still(&now))
        };
        let Some(stamp) = &self.stamp else { return false };
        let is_same = match &self.source {
            Source::File(path) => is_still(path, stamp),
            Source::Embedded(embedded) => stamp.is_still(&Stamp::of_text(embedded.text)),
            Source::Several(_) | Source::Primaries(_) => false,
        };
        is_same && self.includes.iter().all(|(path, stamp)| is_still(path, stamp))
    }
}

impl Controller {
    /// Takes over which zones are not loaded, and who may change what.
    pub(crate) fn note_refuse(&self, settings: &Settings) {
        let mut zones = self.zones.write();
        zones.refuse = Refuse::named(&settings.server.refuse).unwrap_or_default();
        zones.persist = settings.secondary.persist;
        zones.policies = UpdatePolicies::of(settings);
    }

    /// Shows operators which zones are not as the settings say.
    pub(crate) fn note_commanded(&self, commanded: &Commanded) {
        self.zones.write().commanded = commanded.zones();
    }

    /// Shows the awaited zones that are not below a zone with data, and hides the others: see [`Awaited`].
    pub(super) fn arrange_awaited(&self, zones: &mut Zones) {
        if zones.awaited.is_empty() {
            return;
        }
        let (mut shown, mut hidden) = (Vec::new(), Vec::new());
        self.catalog.reader().with(|view| {
            zones.awaited.change_all(|key, awaited| {
                match (is_below_data(view, &awaited.name), awaited.slot) {
                    (true, Some(_)) => hidden.extend(awaited.slot.take()),
                    (false, None) => shown.push((key.clone(), awaited.source)),
                    _ => {}
                }
            });
        });
        zones.shown -= hidden.len();
        hidden.iter().for_each(|slot| zones.forget(*slot));
        self.catalog.remove(&hidden);
        let absent = ViewSource::Absent(Absence::NotLoaded);
        let list: Vec<(&Name, ViewSource)> = shown.iter().map(|(name, _)| (&**name, absent)).collect();
        let slots = self.catalog.insert_in_groups(&list, |at| zones.sources.group(shown[at].1));
        zones.shown += slots.len();
        for ((key, source), slot) in shown.iter().zip(slots) {
            zones.kept_mut(slot).source = *source;
            zones.awaited.change(key, |awaited| awaited.slot = Some(slot));
        }
    }
}

/// Whether a zone has changed in place since its text was read: by a delta, or in the pack that this was merged into.
pub(crate) fn is_beside_text(zone: &ZoneView<'_>) -> bool {
    zone.is_changed() || zone.row().bits & ZoneRow::BESIDE_TEXT != 0
}

/// Whether a name is below a zone with data.
pub(super) fn is_below_data(view: &CatalogView<'_>, name: &Name) -> bool {
    let key = wire::SortKey::of(name);
    let mut labels = key.label_count();
    while labels > 0 {
        let hit = view.find(&key, labels - 1);
        if hit.found.is_nothing() {
            return false;
        }
        if hit.zone().is_some() {
            return true;
        }
        labels = hit.found.labels as usize;
    }
    false
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::controller::Overrides;
    use crate::reload::reload_zones;
    use crate::settings::Settings;
    use crate::sources::Embedded;

    /// What a program has inside is told from what another had by what it says, be it as long.
    #[test]
    fn zones_inside_of_programs() {
        const fn inside(text: &'static [u8]) -> Embedded {
            Embedded { name: "inside", text, renewal: "" }
        }
        static OLD: Embedded = inside(b"@ 9 SOA ns host 1 2 3 4 5\n@ 9 NS ns\nns 9 A 192.0.2.1\n");
        static NEW: Embedded = inside(b"@ 9 SOA ns host 1 2 3 4 5\n@ 9 NS ns\nns 9 A 192.0.2.2\n");
        let controller = Controller::new(Settings::default(), Overrides::default()).unwrap();
        let name: NameBuf = "inside.test".parse().unwrap();
        assert_eq!(controller.add(&mut controller.change(), &name, &Source::Embedded(&OLD)).loaded, 1);
        let reload = |force| reload_zones(&controller, std::slice::from_ref(&name), force);
        assert_eq!((reload(false).unchanged, reload(true).loaded, reload(false).unchanged), (1, 1, 1));
        let look = |source| {
            let zones = controller.zones.read();
            let look =
                controller.catalog.reader().with(|view| zones.look(view, zones.slot(view, &name).unwrap()));
            Look { source, ..look.unwrap() }
        };
        assert!(look(Source::Embedded(&OLD)).is_unchanged());
        assert!(!look(Source::Embedded(&NEW)).is_unchanged());
    }
}
