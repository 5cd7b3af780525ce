//! The packs that zones are served from: how many zones of each, whether it has a file, since when it waits to be joined with others.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use zone::catalog::{PackHold, PackNumber};
use zone::{Catalog, Pack};

use crate::load::OWN_PACK_OCTETS;
use crate::packs::StoredPack;
use crate::stamp::Stamp;

/// Packs that may be in use before small ones are merged: each costs a few file handles' worth of memory and
/// a kilobyte of headers.
pub(super) const PACKS_MAX: usize = 64;
/// Octets of packs in memory that wait to be merged: beyond, a merge is worth its file.
pub(super) const WAITING_OCTETS_MAX: usize = 64 << 20;
/// Tenths of all octets of packs that may be of zones that are served from elsewhere now.
const DEAD_TENTHS_MAX: u64 = 3;
/// How long a pack in memory waits for others: one file every five seconds is little, however many zones change, and a start within
/// them reads the text of those zones alone.
pub(super) const WAITING_TIME_MAX: Duration = Duration::from_secs(5);

/// What became of a pack that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Loaded from text, in the pack folder or where there is none.
    Kept,
    /// In memory since then, to be joined with others in a file.
    Waiting(Instant),
    /// In memory, made of contents that the log of changes has: the changer merges them.
    Contents,
    /// A file of the operator's, with its state.
    Operators(Stamp),
    /// In memory alone: its zones are transferred from others, and not to be kept on the disk.
    Passing,
}

/// A pack in use.
pub(super) struct Held {
    pub(super) pack: Arc<StoredPack>,
    pub(super) kind: Kind,
    /// Zones served from it.
    pub(super) live: u32,
    /// It could not be merged when that was tried, and never will be.
    is_left: bool,
    /// All of its zones that are served have changed in place: the changer merges them.
    is_asked: bool,
    /// It is damaged, and was seen to.
    is_mended: bool,
    /// The catalog has it as long as this is here.
    hold: PackHold,
}

/// All packs in use, by [`zone::Pack::id`].
#[derive(Default)]
pub(super) struct HeldPacks {
    held: HashMap<u64, Held>,
    /// How many of these a zone is served from, and their octets.
    in_use: (u64, u64),
    /// Packs that were let go, and whose files are still to be removed, which takes a call into the file system.
    unused: Vec<Arc<StoredPack>>,
    /// Of packs that are not stored: the stored ones that have the last good versions of their zones.
    last_good: HashMap<u64, HashSet<u64>>,
}

impl HeldPacks {
    /// Takes a pack into use, if it is not yet; returns its number in the catalog. Until a zone is [served](HeldPacks::add) from
    /// it, it stays through calls of [`HeldPacks::drop_unused`] only where these come later.
    pub(super) fn hold(&mut self, catalog: &Catalog, pack: &Arc<StoredPack>, kind: Kind) -> PackNumber {
        let held = self.held.entry(pack.pack.id()).or_insert_with(|| Held {
            pack: Arc::clone(pack),
            kind,
            live: 0,
            is_left: false,
            is_asked: false,
            is_mended: false,
            hold: catalog.add_pack(Arc::clone(&pack.pack)),
        });
        held.hold.number()
    }

    /// One more zone is served from the pack.
    pub(super) fn add(&mut self, id: u64) {
        self.add_many(id, 1);
    }

    /// So many more zones are served from the pack.
    pub(super) fn add_many(&mut self, id: u64, zones: u32) {
        let Some(held) = self.held.get_mut(&id) else { return };
        if held.live == 0 && zones > 0 {
            self.in_use = (self.in_use.0 + 1, self.in_use.1 + held.octets());
        }
        held.live += zones;
    }

    /// One zone less is served from the pack. The last one lets it go, and its file, which is left for [`HeldPacks::take_unused`].
    pub(super) fn subtract(&mut self, id: u64) {
        let Some(held) = self.held.get_mut(&id) else { return };
        if held.live == 1 {
            self.in_use = (self.in_use.0 - 1, self.in_use.1 - held.octets());
        }
        held.live = held.live.saturating_sub(1);
        if held.live == 0 {
            self.let_go(id);
        }
    }

    /// A zone that was served from one pack is served from another.
    pub(super) fn replace(&mut self, old: u64, new: u64) {
        self.add(new);
        // What the log has is on the disk too.
        let is_stored = |held: &Held| held.pack.file.is_some() || held.kind == Kind::Contents;
        let is_stored = |id| self.held.get(&id).is_none_or(is_stored);
        if old != new && !is_stored(new) {
            match is_stored(old) {
                true => drop(self.last_good.entry(new).or_default().insert(old)),
                // Packs that lead back to the same stored ones are few: those of one merge to the next.
                false => {
                    let before = self.last_good.get(&old).cloned().unwrap_or_default();
                    self.last_good.entry(new).or_default().extend(before);
                }
            }
        }
        self.subtract(old);
    }

    /// Lets go of the packs that no zone is served from.
    pub(super) fn drop_unused(&mut self) {
        let unused = |(id, held): (&u64, &Held)| (held.live == 0).then_some(*id);
        let ids: Vec<u64> = self.held.iter().filter_map(unused).collect();
        ids.into_iter().for_each(|id| self.let_go(id));
    }

    fn let_go(&mut self, id: u64) {
        let Some(Held { pack, .. }) = self.held.remove(&id) else { return };
        self.last_good.remove(&id);
        if pack.file.is_some() {
            self.unused.push(pack);
        }
    }

    /// Has the file of a pack removed unless it is in use then.
    pub(super) fn add_unused(&mut self, pack: &Arc<StoredPack>) {
        if pack.file.is_some() {
            self.unused.push(Arc::clone(pack));
        }
    }

    /// The packs whose files are to be removed, once no lock is held. What took the place of their zones is stored: until then they are the last good
    /// ones, should the server be killed and a text be broken.
    pub(super) fn take_unused(&mut self) -> Vec<Arc<StoredPack>> {
        let held = &self.held;
        self.unused.retain(|pack| !held.contains_key(&pack.pack.id()));
        let last_good = &self.last_good;
        let is_free =
            |pack: &mut Arc<StoredPack>| !last_good.values().any(|packs| packs.contains(&pack.pack.id()));
        // A file may be mapped more than once: the last use of it counts.
        let is_used = |pack: &Arc<StoredPack>| self.held.values().any(|held| held.pack.file == pack.file);
        let free: Vec<Arc<StoredPack>> = self.unused.extract_if(.., is_free).collect();
        free.into_iter().filter(|pack| !is_used(pack)).collect()
    }

    /// A pack in memory is in this file too from now on, whose octets are the same; says whether it is in use. Otherwise the file goes.
    pub(super) fn stored(&mut self, id: u64, stored: &Arc<StoredPack>) -> bool {
        let Some(held) = self.held.get_mut(&id) else {
            self.add_unused(stored);
            return false;
        };
        held.pack = Arc::new(StoredPack { pack: Arc::clone(&held.pack.pack), file: stored.file.clone() });
        if matches!(held.kind, Kind::Waiting(_) | Kind::Contents) {
            held.kind = Kind::Kept;
        }
        self.last_good.remove(&id);
        true
    }

    /// Packs of the folder: those in use, and those whose files are to be removed.
    pub(super) fn known(&self) -> Vec<Arc<StoredPack>> {
        let unused = self.unused.iter();
        let all = self.held.values().map(|held| &held.pack).chain(unused);
        all.filter(|pack| pack.file.is_some()).cloned().collect()
    }

    /// Packs of the folder with a newer name than this, and those in memory that could get one. `None`: all.
    pub(super) fn newer_than(&self, file: Option<&OsStr>) -> impl Iterator<Item = &Arc<StoredPack>> {
        // One of these may have a file all the same, from when it was not yet one of them.
        let may_be_stored = |held: &&Held| {
            held.pack.file.is_some() || !matches!(held.kind, Kind::Operators(_) | Kind::Passing)
        };
        let held = self.held.values().filter(may_be_stored).map(|held| &held.pack);
        held.chain(&self.unused).filter(move |pack| match &pack.file {
            Some(newer) => newer.file_name() > file,
            None => true,
        })
    }

    /// The zones of a pack that are still served from it have changed in place: the changer is to merge them.
    pub(super) fn ask(&mut self, id: u64) {
        if let Some(held) = self.held.get_mut(&id) {
            held.is_asked = true;
        }
    }

    /// Leaves a pack out of merges from now on: it would fail them again and again. Returns it if it is still in use.
    pub(super) fn leave(&mut self, id: u64) -> Option<&Arc<StoredPack>> {
        let held = self.held.get_mut(&id)?;
        held.is_left = true;
        if let Kind::Waiting(_) = held.kind {
            held.kind = Kind::Kept;
        }
        Some(&held.pack)
    }

    pub(super) fn get(&self, id: u64) -> Option<&Held> {
        self.held.get(&id)
    }

    /// Packs in use that are damaged and that nobody has seen to.
    pub(super) fn damaged(&self) -> impl Iterator<Item = &Held> {
        self.iter().filter(|held| !held.is_mended && held.pack.pack.is_damaged())
    }

    /// The same, and how many zones are served from each; from now on they are seen to.
    pub(super) fn take_damaged(&mut self) -> Vec<(Arc<StoredPack>, u32)> {
        let damaged = self
            .held
            .values_mut()
            .filter(|held| held.live > 0 && !held.is_mended && held.pack.pack.is_damaged());
        let take = |held: &mut Held| {
            held.is_mended = true;
            (Arc::clone(&held.pack), held.live)
        };
        damaged.map(take).collect()
    }

    /// How many packs are in use, and their octets. Goes through none of them.
    pub(super) fn in_use(&self) -> (u64, u64) {
        self.in_use
    }

    /// Packs in use.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Held> {
        self.held.values().filter(|held| held.live > 0)
    }

    /// Packs that were to be stored and could not be; all, where there is no folder.
    pub(super) fn unstored(&self) -> impl Iterator<Item = &Arc<StoredPack>> {
        let is_unstored = |held: &&Held| held.kind == Kind::Kept && held.pack.file.is_none() && !held.is_left;
        self.iter().filter(is_unstored).map(|held| &held.pack)
    }

    /// When the pack that waits longest has waited enough.
    pub(super) fn due(&self) -> Option<Instant> {
        let since = |held: &Held| match held.kind {
            Kind::Waiting(since) if !held.is_asked => Some(since + WAITING_TIME_MAX),
            _ => None,
        };
        self.iter().filter_map(since).min()
    }

    /// The packs in memory alone that are to be joined now, if any: one of many.
    pub(super) fn to_merge_in_memory(&self) -> Vec<Arc<StoredPack>> {
        let all = self.iter().filter(|held| held.kind == Kind::Passing && held.is_small_zones());
        let all: Vec<&Held> = all.collect();
        let is_many = all.len() > PACKS_MAX;
        let mean = all.iter().map(|held| held.live as usize).sum::<usize>() / all.len().max(1);
        let is_chosen = |held: &&&Held| held.is_mostly_dead() || (is_many && held.live as usize <= mean);
        let chosen: Vec<&&Held> = all.iter().filter(is_chosen).collect();
        // One pack would become one pack, again and again; but it may become smaller.
        if chosen.len() < 2 && !chosen.iter().any(|held| held.is_mostly_dead()) {
            return Vec::new();
        }
        chosen.into_iter().map(|held| Arc::clone(&held.pack)).collect()
    }

    /// The packs that are to be joined now, if any; `has_folder`: whether that makes a file.
    pub(super) fn to_merge(&self, now: Instant, has_folder: bool) -> Vec<Arc<StoredPack>> {
        let is_waiting = |held: &&Held| matches!(held.kind, Kind::Waiting(_)) && !held.is_asked;
        let waiting: Vec<&Held> = self.iter().filter(is_waiting).collect();
        let octets: usize = waiting.iter().map(|held| held.pack.pack.octets().len()).sum();
        let is_due = waiting.len() > PACKS_MAX
            || octets > WAITING_OCTETS_MAX
            || (has_folder && self.due().is_some_and(|due| due <= now));
        let is_ours = |held: &&Held| held.is_small_zones() && held.kind != Kind::Passing;
        let ours: Vec<&Held> = self.iter().filter(is_ours).collect();
        let is_many = ours.len() > PACKS_MAX + waiting.len();
        let mean = ours.iter().map(|held| held.live as usize).sum::<usize>() / ours.len().max(1);
        let most_dead = most_dead(&ours);
        let is_dead = |held: &Held| held.is_mostly_dead() || most_dead.contains(&held.pack.pack.id());
        let is_chosen = |held: &&&Held| {
            is_dead(held)
                || (is_due && matches!(held.kind, Kind::Waiting(_)))
                || (is_many && held.live as usize <= mean)
        };
        let chosen: Vec<&&Held> = ours.iter().filter(is_chosen).collect();
        // One pack would become one pack, again and again; but a file may be made of it, or it may become smaller.
        let gains = |held: &&&Held| is_dead(held) || (has_folder && matches!(held.kind, Kind::Waiting(_)));
        if chosen.len() < 2 && !chosen.iter().any(gains) {
            return Vec::new();
        }
        chosen.into_iter().map(|held| Arc::clone(&held.pack)).collect()
    }
}

impl Held {
    fn octets(&self) -> u64 {
        self.pack.pack.octets().len() as u64
    }

    /// Whether less than half of its zones are served.
    fn is_mostly_dead(&self) -> bool {
        self.live as u64 * 2 < u64::from(self.pack.pack.zone_count())
    }

    /// Octets of its zones that are served from it no more, as far as the number of zones tells.
    fn dead_octets(&self) -> u64 {
        let zones = u64::from(self.pack.pack.zone_count()).max(1);
        let dead = zones.saturating_sub(self.live.into());
        self.octets() / zones * dead
    }

    /// Whether it is ours to merge: large zones have packs of their own for good, what the operator made is the operator's, and what is
    /// damaged stays as it is.
    fn is_small_zones(&self) -> bool {
        !self.is_left
            && !self.is_mended
            && !self.is_asked
            && !is_large(&self.pack.pack)
            && !matches!(self.kind, Kind::Operators(_) | Kind::Contents)
    }
}

/// The packs that have most of what is dead, as many as it takes to have no more of that than may be.
fn most_dead(packs: &[&Held]) -> Vec<u64> {
    let octets: u64 = packs.iter().map(|held| held.pack.pack.octets().len() as u64).sum();
    let mut dead: Vec<(u64, u64)> =
        packs.iter().map(|held| (held.dead_octets(), held.pack.pack.id())).collect();
    dead.sort_unstable();
    let mut left: u64 = dead.iter().map(|(octets, _)| octets).sum();
    let mut most = Vec::new();
    while left * 10 > octets * DEAD_TENTHS_MAX {
        let Some((octets, id)) = dead.pop() else { break };
        left -= octets;
        most.push(id);
    }
    most
}

/// Whether a pack has one zone alone, and always will, as it is large.
pub(super) fn is_large(pack: &Pack) -> bool {
    pack.zone_count() == 1 && pack.octets().len() >= OWN_PACK_OCTETS
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use wire::NameBuf;
    use wire::iana::rtype;
    use zone::contents::SourcePosition;
    use zone::{ContentsBuilder, PackBuilder, TextStamp};

    fn pack(file: Option<&str>) -> Arc<StoredPack> {
        let apex: NameBuf = "z.example".parse().unwrap();
        let mut contents = ContentsBuilder::new(&apex);
        contents.push(&apex, false, rtype::SOA, 9, &[0; 22], SourcePosition::default()).unwrap();
        let mut builder = PackBuilder::new(1);
        builder.add_zone(&contents.finish(), TextStamp::default()).unwrap();
        let pack = Arc::new(Pack::open(builder.finish().unwrap()).unwrap());
        Arc::new(StoredPack { pack, file: file.map(Into::into) })
    }

    /// A file is there until what took its place is in another, however often that was replaced in memory meanwhile.
    #[test]
    fn the_last_good_version_stays() {
        let (catalog, mut packs) = (Catalog::new(1), HeldPacks::default());
        let [old, new, first, second, other] = [Some("old"), Some("new"), None, None, None].map(pack);
        let id = |pack: &Arc<StoredPack>| pack.pack.id();
        for pack in [&old, &first, &second, &other, &new] {
            packs.hold(&catalog, pack, Kind::Waiting(Instant::now()));
        }
        packs.add(id(&old));
        packs.add(id(&other));
        packs.replace(id(&old), id(&first));
        packs.replace(id(&first), id(&second));
        assert!(packs.take_unused().is_empty());
        // What is stored of others changes nothing.
        packs.replace(id(&other), id(&new));
        assert!(packs.take_unused().is_empty());
        packs.replace(id(&second), id(&new));
        let removed = packs.take_unused();
        assert!(removed.len() == 1 && Arc::ptr_eq(&removed[0], &old));
        // One that is in use again is not removed.
        packs.add_unused(&new);
        assert!(packs.take_unused().is_empty() && packs.take_unused().is_empty());
    }

    /// However zones come and go, what is told of the packs in use is what a look at them gives.
    #[test]
    fn packs_in_use_are_counted() {
        let (catalog, mut packs, mut random) = (Catalog::new(1), HeldPacks::default(), sync::Random::new(3));
        let all: Vec<_> = (0..5).map(|_| pack(None)).collect();
        for _ in 0..5_000 {
            let [one, other] = [0; 2].map(|_| &all[random.index(5)]);
            packs.hold(&catalog, one, Kind::Waiting(Instant::now()));
            match random.index(4) {
                0 => packs.add_many(one.pack.id(), random.index(3) as u32),
                1 => packs.replace(other.pack.id(), one.pack.id()),
                2 => packs.drop_unused(),
                _ => packs.subtract(other.pack.id()),
            }
            let looked =
                packs.iter().fold((0, 0), |(count, octets), held| (count + 1, octets + held.octets()));
            assert_eq!(packs.in_use(), looked);
        }
    }
}
