//! Deltas made anew: without what is past, or onto a new pack.
//!
//! ```text
//! rows of the old delta, as they came:   | up to the state that the pack was made of | published since | unpublished, taken back later perhaps |
//!                                                                   step, step, ... -->|  finish, under the change lock -->|
//! ```
//!
//! A row only says which key is to be looked at: what is taken over is what the published state has of it. The next step begins at the first row that
//! was not published at the one before.

use super::keys::{Keys, Seen};
use super::list::HEAD;
use super::writer::{Commit, Draft, NodeBuilder, hides, is_wildcard, parent_of, rows_below, server_hash_of};
use super::{Changed, DeltaWriter, Refused};
use crate::contents::Flags;
use crate::fragment::{Fragment, fragment_octets};
use crate::lookup::{Data, Node, ZoneView, server_beside, server_name};
use crate::pack::{Pack, ZoneRow};
use crate::section::u32_at;
use crate::shape::Storage;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wire::iana::rtype;
use wire::name::NAME_OCTETS_MAX;

/// Owners of a zone that has some, where nobody counts them: more than can go, fewer than overflow.
const OWNERS_UNCOUNTED: u64 = 1 << 40;

/// A delta that is being made from another one, in steps beside the commits of that.
pub struct Rebuild {
    to: DeltaWriter,
    /// Which delta it is made from.
    source: u64,
    /// The same pack is below both.
    is_copy: bool,
    /// Rows of states up to this one are in the pack.
    since: u32,
    next_name: u32,
    next_hash: u32,
}

/// Why a delta is not made anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotRebuilt {
    /// Another delta has taken the place of the one that it was made from.
    Replaced,
    /// It has states that are neither published nor taken back: later.
    Unsettled,
    /// It does not fit.
    Refused(Refused),
}

impl Rebuild {
    /// A copy onto the same pack, without what is past. `shown`: a state of the delta that is published.
    pub fn copy(shown: &Changed) -> Option<Rebuild> {
        let to = DeltaWriter::new(Arc::clone(shown.pack()), shown.number())?;
        Some(Rebuild { to, source: shown.id(), is_copy: true, since: 0, next_name: 1, next_hash: 1 })
    }

    /// Onto zone `number` of a pack that was made of the state `pinned`, which is published ([`crate::PackBuilder::merge_zone`]). `None` if there is no such zone.
    pub fn onto(pack: Arc<Pack>, number: u32, pinned: &Changed) -> Option<Rebuild> {
        let to = DeltaWriter::new(pack, number)?;
        let since = pinned.state();
        Some(Rebuild { to, source: pinned.id(), is_copy: false, since, next_name: 1, next_hash: 1 })
    }

    /// Takes over what at most `rows_max` rows say in the published state `shown`; returns whether there is nothing left of it.
    pub fn step(&mut self, shown: &Changed, rows_max: u32) -> Result<bool, NotRebuilt> {
        if shown.id() != self.source {
            return Err(NotRebuilt::Replaced);
        }
        let delta = Arc::clone(shown.delta());
        let (names, next_name) = self.due(&delta.names, shown, self.next_name, rows_max);
        let (hashes, next_hash) = self.due(&delta.hashes, shown, self.next_hash, rows_max);
        let is_last = names.is_none() && hashes.is_none();
        let old = ZoneView::of_changed(shown).ok_or(NotRebuilt::Refused(Refused::Damaged))?;
        let mut commit = Commit::new(self.row(shown), shown.glue_may_differ() && self.is_copy);
        commit.has_owners = old.is_secure() && !old.has_nsec3_chain();
        for entry in names.unwrap_or_default() {
            self.name(&old, shown, entry, &mut commit).map_err(NotRebuilt::Refused)?;
        }
        for entry in hashes.unwrap_or_default() {
            self.hash(shown, entry, &mut commit);
        }
        if !commit.is_empty() {
            let applied = self.to.put(commit).map_err(NotRebuilt::Refused)?;
            self.to.published(applied.changed.state());
        }
        (self.next_name, self.next_hash) = (next_name, next_hash);
        Ok(is_last)
    }

    /// The writer of the new delta, whose newest state is that of `from`; the change lock is held. Takes over what is left. Then its box takes the place of that
    /// of `from` in the slot, with the version as it is. If it cannot be now, the work comes back.
    pub fn finish(mut self, from: &DeltaWriter) -> Result<DeltaWriter, Box<(Rebuild, NotRebuilt)>> {
        if !from.is_settled() {
            return Err(Box::new((self, NotRebuilt::Unsettled)));
        }
        loop {
            match self.step(from.newest_box(), u32::MAX) {
                Ok(true) => break,
                Ok(false) => {}
                Err(why) => return Err(Box::new((self, why))),
            }
        }
        self.to.owners = from.owners;
        self.to.newest.row = self.row(from.newest_box()).encode();
        Ok(self.to)
    }

    /// A writer of its own of the state `shown`, which is published: to see what a change makes of the zone before anybody else does. Whether a chain of NSEC or NSEC3 records
    /// begins or ends by a change is not told here, as owners are not counted: who puts it into the zone is.
    pub fn apart(shown: &Changed) -> Option<DeltaWriter> {
        let mut rebuild = Rebuild::copy(shown)?;
        while !rebuild.step(shown, u32::MAX).ok()? {}
        let view = ZoneView::of_changed(shown)?;
        rebuild.to.owners = if view.is_secure() || view.has_nsec3_chain() { OWNERS_UNCOUNTED } else { 0 };
        rebuild.to.newest.row = rebuild.row(shown).encode();
        Some(rebuild.to)
    }

    /// The entries to look at, of at most `rows_max` rows from `next` on, and where to begin next; no list when there are no rows.
    fn due(&self, keys: &Keys, shown: &Changed, next: u32, rows_max: u32) -> (Option<Vec<u32>>, u32) {
        let (mut entries, mut number) = (Vec::new(), next);
        while number - next < rows_max {
            let Some(row) = keys.rows.get(number) else { break };
            let entry = row.entry.load(Ordering::Acquire);
            let state = row.state.load(Ordering::Relaxed);
            if entry == HEAD || state > shown.state() {
                break;
            }
            if state > self.since && keys.visible(entry, shown.state()) == number {
                entries.push(entry);
            }
            number += 1;
        }
        ((number > next).then_some(entries), number)
    }

    /// The zone's row over the new pack.
    fn row(&self, shown: &Changed) -> ZoneRow {
        let below = self.to.newest.pack.zone_row(self.to.newest.number);
        let now = shown.row();
        ZoneRow {
            apex: below.apex,
            first_block: below.first_block,
            block_count: below.block_count,
            denial_first: below.denial_first,
            denial_count: below.denial_count,
            nsec3_parameters: below.nsec3_parameters,
            first_expiry: if self.is_copy { now.first_expiry } else { below.first_expiry },
            ..now
        }
    }

    /// Takes over what a name has.
    fn name(
        &self,
        old: &ZoneView<'_>,
        shown: &Changed,
        entry: u32,
        commit: &mut Commit,
    ) -> Result<(), Refused> {
        let names = shown.names_in_order();
        let key = names.key(entry);
        let node = match names.seen(entry) {
            Seen::Node(row, key, octets) => Some(old.own(row, key, octets).ok_or(Refused::Damaged)?),
            _ => None,
        };
        let pack = &self.to.newest.pack;
        let below = ZoneView::new(pack, self.to.newest.number).ok_or(Refused::Damaged)?;
        let in_pack = below.find(key);
        let word = self.to.word_of(key);
        let is_known =
            self.to.names.find(&self.to.newest.delta.names, &self.to.newest.delta.slabs, word, key);
        if node.is_none() && in_pack.is_none() && is_known.is_none() {
            return Ok(());
        }
        if !below.has_nsec3_chain() {
            let has_nsec = |node: Option<&Node<'_>>| node.is_some_and(|node| node.has(rtype::NSEC));
            if has_nsec(node.as_ref()) || has_nsec(in_pack.as_ref()) {
                commit.intervals.extend(below.nsec_row(key).map(|row| (row, row)));
            }
            if hides(node.as_ref()) != hides(in_pack.as_ref()) {
                commit.intervals.extend(rows_below(&below, key));
            }
        }
        if let Some(node) = &node {
            servers_of(old, node, &mut commit.servers);
        }
        if !self.is_copy {
            commit.glue_differs |= self.moves_glue(old, &below, key, node.as_ref(), in_pack.as_ref());
            if has_address(node.as_ref()) || has_address(in_pack.as_ref()) {
                self.cuts_above(old, shown, key, commit)?;
            }
        }
        let rank = match self.is_copy {
            true => node.and_then(|node| node.stored_rank()),
            false => in_pack.and_then(|node| node.stored_rank()),
        };
        let is_owner = node.is_some_and(|node| node.stored_flags().has(Flags::NSEC));
        let place = node.map(|node| self.node(shown, &node, in_pack.as_ref(), rank, commit)).transpose()?;
        commit.names.push(Draft { key: key.into(), node: place, is_owner: is_owner && commit.has_owners });
        Ok(())
    }

    /// Takes over the cuts above a name whose addresses are other than in the new pack, which has their glue in lists.
    fn cuts_above(
        &self,
        old: &ZoneView<'_>,
        shown: &Changed,
        key: &[u8],
        commit: &mut Commit,
    ) -> Result<(), Refused> {
        for key in std::iter::successors(parent_of(key), |key| parent_of(key)) {
            let is_cut = |node: Node<'_>| node.is_own() && node.flags().has(Flags::CUT);
            if old.find(key).is_some_and(is_cut) {
                let entry = shown.names_in_order().last(key, true);
                self.name(old, shown, entry, commit)?;
            }
        }
        Ok(())
    }

    /// Appends the node of a name for the new delta. RRsets that the new pack has are said by their place there.
    fn node(
        &self,
        shown: &Changed,
        node: &Node<'_>,
        in_pack: Option<&Node<'_>>,
        rank: Option<u32>,
        commit: &mut Commit,
    ) -> Result<Range<u32>, Refused> {
        let mut built = NodeBuilder::new(rank);
        for (row, storage, octets) in node.stored_sets() {
            let octets = match storage {
                Storage::Pool if !self.is_copy => shown.pack().pool(u32_at(octets, 0)),
                Storage::Own => octets,
                _ => {
                    built.push(row, storage, octets);
                    continue;
                }
            };
            let octets = octets.get(..fragment_octets(octets).ok_or(Refused::Damaged)?);
            let octets = octets.ok_or(Refused::Damaged)?;
            let mut of_pack = in_pack.iter().flat_map(|node| node.stored_sets());
            let same = of_pack.find(|(other, storage, place)| {
                let pool = || self.to.newest.pack.pool(u32_at(place, 0));
                other.rtype() == row.rtype() && *storage == Storage::Pool && pool().starts_with(octets)
            });
            match same {
                Some((_, storage, place)) => built.push(row, storage, place),
                None => built.push(row, Storage::Own, octets),
            }
        }
        let of_references = Flags::HASHED.0 | Flags::GLUE.0;
        let flags = Flags(node.stored_flags().0 & !of_references);
        built.finish(flags, rank.is_some(), &mut commit.slab)
    }

    /// Whether lists of glue in the new pack may say something else because of a name.
    fn moves_glue(
        &self,
        old: &ZoneView<'_>,
        below: &ZoneView<'_>,
        key: &[u8],
        node: Option<&Node<'_>>,
        in_pack: Option<&Node<'_>>,
    ) -> bool {
        let has_children =
            |node: Option<&Node<'_>>| node.is_some_and(|node| node.stored_flags().has(Flags::PARENT));
        let is_parent = has_children(node) && has_children(in_pack);
        if hides(node) != hides(in_pack) && is_parent {
            return true;
        }
        if (has_address(node) || has_address(in_pack))
            && (is_wildcard(key) || self.to.newest.pack.has_server(server_hash_of(below, key)))
        {
            return true;
        }
        let has_wildcard = |zone: &ZoneView<'_>, key: &[u8]| {
            zone.find(key).is_some_and(|node| node.stored_flags().has(Flags::WILDCARD_CHILD))
        };
        let is_beside = || {
            let above = std::iter::successors(parent_of(key), |key| parent_of(key));
            above.into_iter().any(|key| has_wildcard(old, key) || has_wildcard(below, key))
        };
        node.is_some() != in_pack.is_some() && (is_wildcard(key) || is_beside())
    }

    /// Takes over what there is of a hash.
    fn hash(&self, shown: &Changed, entry: u32, commit: &mut Commit) {
        let hashes = shown.hashes_in_order();
        let key = hashes.key(entry);
        let (Ok(hash), Some(below)) =
            (<&[u8; 20]>::try_from(key), ZoneView::new(&self.to.newest.pack, self.to.newest.number))
        else {
            return;
        };
        // Records have all that they need among their own octets.
        let octets = match hashes.seen(entry) {
            Seen::Node(_, _, octets) => octets_of_record(octets),
            _ => None,
        };
        let delta = &self.to.newest.delta;
        let word = super::hash_word(&self.to.newest.pack, key);
        let is_known = self.to.hashes.find(&delta.hashes, &delta.slabs, word, key).is_some();
        if octets.is_none() && below.rank_in_pack(hash).is_none() && !is_known {
            return;
        }
        commit.intervals.extend(below.nsec3_rank(hash).map(|rank| (rank, rank)));
        let node = octets.map(|octets| {
            let at = commit.slab.len() as u32;
            commit.slab.extend_from_slice(octets);
            at..commit.slab.len() as u32
        });
        commit.hashes.push(Draft { key: key.into(), is_owner: node.is_some(), node });
    }
}

/// Adds the hashes of the name servers of a cut.
pub(super) fn servers_of(zone: &ZoneView<'_>, node: &Node<'_>, to: &mut Vec<u32>) {
    if !hides(Some(node)).0 {
        return;
    }
    let Some(Data::Fragment(servers)) = node.rrset(rtype::NS).map(|set| set.data()) else { return };
    let mut name = [0; NAME_OCTETS_MAX];
    for number in 0..Fragment::len(&servers) {
        if let Some(name) = server_name(zone, node, &servers, number, &mut name) {
            to.extend(server_beside(zone, node, name));
        }
    }
}

fn has_address(node: Option<&Node<'_>>) -> bool {
    node.is_some_and(|node| node.has(rtype::A) || node.has(rtype::AAAA))
}

/// The octets of a record of the chain: a shape of one RRset, a reference, and the fragment.
pub(super) fn octets_of_record(octets: &[u8]) -> Option<&[u8]> {
    let shape = crate::shape::Shape::at(octets)?;
    let references = octets.get(shape.octets().len()..)?;
    let start = u32_at(references, 0) as usize;
    let end = shape.octets().len() + start + fragment_octets(references.get(start..)?)?;
    octets.get(..end)
}
