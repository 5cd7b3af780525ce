//! From changes to rows: whoever holds a zone's change lock has its [`DeltaWriter`].
//!
//! ```text
//! Change --plan: names, and those above them--> --encode: nodes--> --put: rows of the next state--> box
//!           held: all that a name has      effect: glue, intervals, parts, numbers of the zone
//! ```
//!
//! All that can fail fails before the first row is put in.

mod effect;
mod encode;
mod held;
mod plan;
mod put;

use super::keys::{Seen, push_head};
use super::{Changed, Delta, hash_word};
use crate::block::DIRECTORY_ROW_OCTETS;
use crate::build::rrset::Room;
use crate::catalog::PartSet;
use crate::change::Change;
use crate::contents::Flags;
use crate::index::Hash;
use crate::lookup::{Node, ZoneView};
use crate::pack::{Pack, ZoneRow};
use crate::section::Section;
use crate::shape::Storage;
use effect::Effect;
use plan::{Plan, hash_of};

use std::collections::{HashSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wire::iana::rtype;

pub(crate) use effect::{hides, rows_below, server_hash_of};
pub(crate) use encode::NodeBuilder;
pub(crate) use plan::{is_wildcard, parent_of};
pub(crate) use put::{ENTRY_OCTETS, Fingers, KeysWriter, Put, ROW_OCTETS, Undo};

/// Names that one commit changes at most: an UPDATE message has fewer, and what changes more is better a new pack.
pub const COMMIT_NAMES_MAX: usize = 1 << 16;
/// Octets of a delta at most, whatever its pack has.
const OCTETS_MAX: u64 = 4 << 30;
/// Octets that a delta may have over a small pack.
const OCTETS_MIN: u64 = 64 << 20;
/// A merge is due from here on, if it is [`MERGE_PERCENT`] of the pack.
pub const MERGE_OCTETS_MIN: u64 = 4 << 20;
/// Hundredths of the zone's share of its pack: a merge writes twenty times what has changed.
pub const MERGE_PERCENT: u64 = 5;
/// A copy is due from here on, if a quarter of the delta is past.
pub const PAST_OCTETS_MIN: u64 = 1 << 20;
/// States of a delta: a copy begins anew. It is due at half of them.
const STATES_MAX: u32 = u32::MAX - 1;

/// Why a change is not put in. Nothing of it is then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It is of another zone, or a record has an owner that is not in the zone.
    OutOfZone,
    /// The removed record of this number, counted from 0, is not there: the change belongs to another state of the zone (RFC 1995 5: then all is transferred).
    NotThere(usize),
    /// The added record of this number is there already.
    AlreadyThere(usize),
    /// The SOA record that comes is none (RFC 1035 3.3.13).
    BadSoa,
    /// An RRset of this type fits no message with its signatures (RFC 1035 4.2.2: 65,535 octets).
    TooLarge(u16),
    /// A name has more types than there is room for.
    TooManyTypes,
    /// More than [`COMMIT_NAMES_MAX`] names change.
    TooManyNames,
    /// How the zone proves absence would be another: signatures of the SOA record, the first or last NSEC record, NSEC3PARAM. That needs a new pack.
    NeedsPack,
    /// The delta has no room: a merge has to come first.
    Full,
    /// The pack below is not sound.
    Damaged,
}

/// What is due for a delta, by its octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// A copy without what is past, see [`super::Rebuild::copy`].
    Copy,
    /// A new pack.
    Merge,
}

/// From which size of a delta on a merge is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergeFrom {
    /// Octets of the delta at the least: [`MERGE_OCTETS_MIN`], but in tests.
    pub octets_min: u64,
    /// Hundredths of the zone's share of its pack: [`MERGE_PERCENT`], unless an operator has chosen others.
    pub percent: u64,
}

/// What came of a change that was put in: nobody sees it until its box is published.
pub struct Applied {
    /// For the slot of the zone, once the change is durable.
    pub changed: Changed,
    /// The parts of the zone whose versions are to be raised then.
    pub parts: Box<PartSet>,
    /// Octets that the delta has more.
    pub octets: usize,
}

/// Writes a delta: one a zone, in the hands of whoever holds the zone's change lock.
pub struct DeltaWriter {
    pub(super) newest: Changed,
    /// The last state that was begun, taken back or not.
    pub(super) last_state: u32,
    pub(super) names: KeysWriter,
    pub(super) hashes: KeysWriter,
    pub(super) slabs: u32,
    /// Hashes of servers of the delta's cuts; those that went too.
    pub(super) servers: HashSet<u32>,
    /// Names with NSEC records, or NSEC3 records, of the newest state.
    pub(super) owners: u64,
    /// Octets, and those among them that no newest row has.
    pub(super) octets: u64,
    pub(super) past_octets: u64,
    room: Room,
    /// States that are not published yet, the oldest first.
    pub(super) unpublished: VecDeque<Unpublished>,
}

/// What taking a state back needs.
pub(super) struct Unpublished {
    state: u32,
    before: Changed,
    owners: u64,
    past_octets: u64,
    /// Octets of the state.
    octets: u64,
    names: Undo,
    hashes: Undo,
}

/// A change as rows and octets.
#[derive(Default)]
pub(super) struct Commit {
    pub(super) slab: Vec<u8>,
    pub(super) names: Vec<Draft>,
    pub(super) hashes: Vec<Draft>,
    parts: PartSet,
    pub(super) glue_differs: bool,
    pub(super) intervals: Vec<(u32, u32)>,
    pub(super) servers: Vec<u32>,
    row: ZoneRow,
    owners: u64,
    /// Whether names with NSEC records are kept in a list of their own.
    pub(super) has_owners: bool,
    past_octets: u64,
}

/// A row that is to be.
pub(super) struct Draft {
    pub(super) key: Box<[u8]>,
    /// Where its node is among those that are worked out; `None`: gone.
    pub(super) node: Option<Range<u32>>,
    pub(super) is_owner: bool,
}

impl Commit {
    /// An empty one that makes the zone's row this.
    pub(super) fn new(row: ZoneRow, glue_differs: bool) -> Commit {
        Commit { row, glue_differs, ..Commit::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty() && self.hashes.is_empty()
    }
}

impl DeltaWriter {
    /// An empty delta over zone `number` of `pack`: state 0. `None` if there is no such zone.
    pub fn new(pack: Arc<Pack>, number: u32) -> Option<DeltaWriter> {
        let row = *pack.zone_octets(number)?;
        ZoneView::new(&pack, number)?;
        let zone = ZoneRow::decode(&row);
        let delta = Arc::new(Delta::new(zone.denial_count));
        let (names, hashes) = (KeysWriter::new(), KeysWriter::new());
        let cells = [names.growing.cells(), hashes.growing.cells()].map(Arc::clone);
        let [names_cells, hashes_cells] = cells;
        let newest = Changed {
            pack,
            delta,
            names: names_cells,
            hashes: hashes_cells,
            row,
            number,
            state: 0,
            apex: 0,
            glue_may_differ: false,
        };
        Some(DeltaWriter {
            newest,
            last_state: 0,
            names,
            hashes,
            slabs: 0,
            servers: HashSet::new(),
            owners: u64::from(zone.denial_count),
            octets: 0,
            past_octets: 0,
            room: Room::default(),
            unpublished: VecDeque::new(),
        })
    }

    /// The zone in its newest state, which may not be published yet: what the next change is checked against.
    pub fn newest(&self) -> ZoneView<'_> {
        ZoneView::of_changed(&self.newest).expect("the zone that the writer was made with")
    }

    /// The box of the newest state.
    pub fn newest_box(&self) -> &Changed {
        &self.newest
    }

    /// Puts a change in as the next state. Nobody sees it until its box is published; then say so with [`DeltaWriter::published`], or else take it
    /// back. A record that is removed must be there, one that is added must not, once those removed are gone; letters of names and TTLs do not
    /// tell records apart. Cost: some microseconds a name.
    pub fn apply(&mut self, change: &Change) -> Result<Applied, Refused> {
        let mut room = std::mem::take(&mut self.room);
        let commit = self.draft(change, &mut room);
        self.room = room;
        self.put(commit?)
    }

    /// Works a change out.
    fn draft(&self, change: &Change, room: &mut Room) -> Result<Commit, Refused> {
        let zone = self.newest();
        let plan = Plan::of(&self.newest, zone, change)?;
        let mut commit = Commit { owners: self.owners, ..Commit::default() };
        let mut effect = Effect::new(zone.row());
        let counts = (change.added().iter().count() as u64, change.removed().iter().count() as u64);
        effect.row.record_count = (effect.row.record_count + counts.0).saturating_sub(counts.1);
        let apex = plan.names.get(&[][..]).ok_or(Refused::Damaged)?;
        effect::check_apex(apex, &zone, &mut effect.row)?;
        let is_secure = apex.held.set(rtype::SOA).is_some_and(|set| set.is_signed());
        // A zone that is signed without any proof of absence has none to begin with.
        let has_owners = is_secure && !zone.has_nsec3_chain();
        commit.has_owners = has_owners;
        for (key, pending) in &plan.names {
            if effect::begins_chain(pending, key, &zone) {
                return Err(Refused::NeedsPack);
            }
            plan.effect(key, pending, self.newest.pack(), &self.servers, &mut effect)?;
            let is_in_chain = zone.has_nsec3_chain() && pending.is_in_chain(key, &zone);
            self.draft_record(&zone, key, pending, is_in_chain, &mut commit)?;
            let is_node = pending.is_name(key) || pending.is_nsec3_owner(key) && !is_in_chain;
            let old = pending.held.old;
            if !is_node && old.is_none() {
                continue;
            }
            let flags = pending.flags(key, is_secure);
            let is_untouched = !pending.held.is_touched && !pending.is_forced;
            if is_node && is_untouched && old.is_some_and(|old| has_same_place(&old, flags)) {
                continue;
            }
            let was_owner = has_owners && old.is_some_and(|old| old.has(rtype::NSEC));
            let is_owner = has_owners && is_node && flags.has(Flags::NSEC);
            commit.owners = commit.owners + u64::from(is_owner) - u64::from(was_owner).min(commit.owners);
            effect.row.node_count = effect.row.node_count + u32::from(is_node)
                - u32::from(old.is_some()).min(effect.row.node_count);
            let node = match is_node {
                true => Some(encode::node(&pending.held, key, flags, zone.apex(), room, &mut commit.slab)?),
                false => None,
            };
            commit.past_octets += old.filter(Node::is_own).map_or(0, |old| octets_of(&old));
            commit.names.push(Draft { key: key.clone(), node, is_owner });
        }
        let Effect { parts, glue_differs, intervals, servers, row } = effect;
        let has_same_kind = (self.owners == 0) == (commit.owners == 0);
        if !has_same_kind && (is_secure || zone.has_nsec3_chain()) {
            return Err(Refused::NeedsPack);
        }
        // Referrals that were kept may have been made of any address, whichever cut they are of.
        let parts = if glue_differs { parts | PartSet::SHARED } else { parts };
        Ok(Commit { parts, glue_differs, intervals, servers, row, ..commit })
    }

    /// Works out what a name means for the NSEC3 chain.
    fn draft_record(
        &self,
        zone: &ZoneView<'_>,
        key: &[u8],
        pending: &plan::Pending<'_>,
        is_in_chain: bool,
        commit: &mut Commit,
    ) -> Result<(), Refused> {
        let (held, Some(hash)) = (&pending.held, hash_of(key)) else { return Ok(()) };
        let set = held.set(rtype::NSEC3).filter(|_| is_in_chain);
        let was_in_chain = held.old_record.is_some();
        if !is_in_chain && !was_in_chain || set.is_some_and(|set| set.kept.is_some()) {
            return Ok(());
        }
        let pool = |place: u32| self.newest.pack().pool(place);
        let node = set.map(|set| encode::record(set, pool, &mut commit.slab)).transpose()?;
        commit.owners = commit.owners + u64::from(is_in_chain) - u64::from(was_in_chain).min(commit.owners);
        let _ = zone;
        commit.hashes.push(Draft { key: hash.into(), node, is_owner: is_in_chain });
        Ok(())
    }

    /// Puts rows and octets in.
    pub(super) fn put(&mut self, commit: Commit) -> Result<Applied, Refused> {
        let Commit { slab: nodes, names, hashes, parts, .. } = commit;
        let rows = names.len() + hashes.len();
        let mut slab = Vec::with_capacity(nodes.len() + rows * 32);
        let numbers = (self.names.rows + 1..).zip(&names).chain((self.hashes.rows + 1..).zip(&hashes));
        let places: Vec<u32> = numbers
            .map(|(number, draft)| {
                let at = slab.len() as u32;
                push_head(number, draft.node.is_none(), &draft.key, &mut slab);
                let node = draft.node.clone().map(|node| node.start as usize..node.end as usize);
                slab.extend_from_slice(node.and_then(|node| nodes.get(node)).unwrap_or(&[]));
                at
            })
            .collect();
        let before = self.names.entries + self.hashes.entries;
        let octets_max = self.octets_max();
        let octets = (slab.len() + rows * ROW_OCTETS) as u64;
        let is_full = u32::try_from(slab.len()).is_err()
            || self.octets + octets + (rows * ENTRY_OCTETS) as u64 > octets_max
            || !self.names.has_room(names.len())
            || !self.hashes.has_room(hashes.len())
            || self.last_state >= STATES_MAX;
        if is_full {
            return Err(Refused::Full);
        }
        let delta = Arc::clone(&self.newest.delta);
        let slab_octets = slab.len() as u64;
        if !delta.slabs.put(self.slabs, slab.into_boxed_slice()) {
            return Err(Refused::Full);
        }
        let number = self.slabs;
        self.slabs += 1;
        self.last_state += 1;
        delta.slab_octets.fetch_add(slab_octets, Ordering::Relaxed);
        // Before the state can be seen.
        commit.intervals.iter().for_each(|(from, to)| delta.intervals.set_all(*from, *to));
        let (mut undo_names, mut undo_hashes) = (self.names.undo(), self.hashes.undo());
        let mut places = places.into_iter();
        let mut apex = self.newest.apex;
        let mut fingers = Fingers::default();
        for draft in &names {
            let word = self.word_of(&draft.key);
            let known = self.names.find(&delta.names, &delta.slabs, word, &draft.key);
            let put = Put {
                key: &draft.key,
                word,
                at: (number, places.next().unwrap_or(0)),
                is_owner: draft.is_owner,
                was_owner: commit.has_owners && known.is_some_and(|entry| is_owner(&delta, entry)),
            };
            let state = self.last_state;
            let row = self.names.put(&delta.names, &delta.slabs, state, &put, &mut fingers, &mut undo_names);
            if draft.key.is_empty() {
                apex = row.unwrap_or(apex);
            }
        }
        let mut fingers = Fingers::default();
        for draft in &hashes {
            let word = hash_word(&self.newest.pack, &draft.key);
            let known = self.hashes.find(&delta.hashes, &delta.slabs, word, &draft.key);
            let seen = known.map(|entry| delta.hashes.seen(&delta.slabs, entry, u32::MAX));
            let put = Put {
                key: &draft.key,
                word,
                at: (number, places.next().unwrap_or(0)),
                is_owner: draft.is_owner,
                was_owner: matches!(seen, Some(Seen::Node(..))),
            };
            let state = self.last_state;
            self.hashes.put(&delta.hashes, &delta.slabs, state, &put, &mut fingers, &mut undo_hashes);
        }
        let entries = (self.names.entries + self.hashes.entries - before) as usize;
        let octets = octets + (entries * ENTRY_OCTETS) as u64;
        let changed = Changed {
            names: Arc::clone(self.names.growing.cells()),
            hashes: Arc::clone(self.hashes.growing.cells()),
            row: commit.row.encode(),
            state: self.last_state,
            apex,
            glue_may_differ: self.newest.glue_may_differ || commit.glue_differs,
            ..self.newest.clone()
        };
        self.servers.extend(commit.servers);
        let before = std::mem::replace(&mut self.newest, changed.clone());
        self.unpublished.push_back(Unpublished {
            state: self.last_state,
            before,
            owners: std::mem::replace(&mut self.owners, commit.owners),
            past_octets: self.past_octets,
            octets,
            names: undo_names,
            hashes: undo_hashes,
        });
        self.octets += octets;
        self.past_octets += commit.past_octets;
        Ok(Applied { changed, parts: Box::new(parts), octets: octets as usize })
    }

    /// The hash of a name in the pack's index, as cells have it.
    pub(super) fn word_of(&self, key: &[u8]) -> u32 {
        word_of(&self.newest.pack, self.newest.number, key)
    }

    /// All states up to this one are published: they are not taken back any more.
    pub fn published(&mut self, state: u32) {
        while self.unpublished.front().is_some_and(|first| first.state <= state) {
            self.unpublished.pop_front();
        }
    }

    /// Takes the newest state back, which could not be made durable; its number is not used again. False, and nothing happens, if `state` is not the
    /// newest or it was published.
    pub fn take_back(&mut self, state: u32) -> bool {
        if self.newest.state != state {
            return false;
        }
        let Some(undo) = self.unpublished.pop_back() else { return false };
        let delta = Arc::clone(&self.newest.delta);
        self.names.take_back(&delta.names, &delta.slabs, undo.names);
        self.hashes.take_back(&delta.hashes, &delta.slabs, undo.hashes);
        self.newest = undo.before;
        self.owners = undo.owners;
        // Nobody sees what it had.
        self.past_octets = undo.past_octets + undo.octets;
        true
    }

    /// Whether all states are published or taken back.
    pub fn is_settled(&self) -> bool {
        self.unpublished.is_empty()
    }

    /// Octets of the delta, as [`Applied::octets`] counts them.
    pub fn octets(&self) -> u64 {
        self.octets
    }

    /// Octets that it may have: with more, changes are [refused](Refused::Full).
    pub fn octets_max(&self) -> u64 {
        self.share().clamp(OCTETS_MIN, OCTETS_MAX)
    }

    /// The zone's share of its pack's octets, by blocks of names.
    pub fn share(&self) -> u64 {
        let pack = &self.newest.pack;
        let blocks = pack.section(Section::Directory).len() / DIRECTORY_ROW_OCTETS;
        let own = pack.zone_row(self.newest.number).block_count;
        pack.octets().len() as u64 * u64::from(own) / (blocks as u64).max(1)
    }

    /// What is due, a merge before a copy. `past_octets_min`: [`PAST_OCTETS_MIN`], but in tests.
    pub fn due(&self, merge_from: MergeFrom, past_octets_min: u64) -> Option<Due> {
        let share = self.share().saturating_mul(merge_from.percent) / 100;
        if self.octets > merge_from.octets_min.max(share) {
            return Some(Due::Merge);
        }
        let is_past = self.past_octets > past_octets_min.max(self.octets / 4);
        (is_past || self.last_state > STATES_MAX / 2).then_some(Due::Copy)
    }
}

/// See [`DeltaWriter::word_of`].
pub(super) fn word_of(pack: &Pack, number: u32, key: &[u8]) -> u32 {
    let mut hash = Hash::of_apex(pack.seed(), number);
    let mut from = 0;
    for (at, _) in key.iter().enumerate().filter(|(_, octet)| **octet == 0) {
        hash = hash.extend(key, from, at + 1);
        from = at + 1;
    }
    hash.word()
}

/// Whether an entry of names is in the list of owners: it is if its newest row has an NSEC record.
pub(super) fn is_owner(delta: &Delta, entry: u32) -> bool {
    match delta.names.seen(&delta.slabs, entry, u32::MAX) {
        Seen::Node(_, _, octets) => {
            crate::shape::Shape::at(octets).is_some_and(|shape| shape.flags().has(Flags::NSEC))
        }
        _ => false,
    }
}

/// Whether a node that nobody touched has the same flags for its children as before.
fn has_same_place(old: &Node<'_>, flags: Flags) -> bool {
    const OF_PLACE: u16 = Flags::PARENT.0 | Flags::WILDCARD_CHILD.0 | Flags::EMPTY.0 | Flags::NSEC3.0;
    old.stored_flags().0 & OF_PLACE == flags.0 & OF_PLACE
}

/// Octets that a node of a delta takes, its row included.
pub(super) fn octets_of(node: &Node<'_>) -> u64 {
    let references = node.reference_octets().len().min(node.shape_reference_octets());
    let own = node.stored_sets().filter(|(_, storage, _)| *storage == Storage::Own);
    let fragments = own.filter_map(|(_, _, octets)| crate::fragment::fragment_octets(octets)).sum::<usize>();
    (node.shape_octets().len() + references + fragments + ROW_OCTETS) as u64
}
