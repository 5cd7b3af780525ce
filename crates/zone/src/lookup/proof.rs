//! What proves absence in a zone that has changed since its pack was made.
//!
//! A pack has its chain in order. Each interval of it, from one owner to the next, has a bit that says whether something in it has changed; where nothing
//! has, the pack answers alone. Else the owner at or before a name is the greater of two: the pack's, as it is now, and the delta's. In a chain
//! that is right its record reaches beyond the name: that is looked at, and if it does not (a state that is a few milliseconds old, or a chain that is wrong), names
//! are gone through backwards.

use super::{Data, MergedBack, Node, Nsec3, ZoneView};
use crate::contents::Flags;
use crate::delta::{Changed, InOrder, OWN_NUMBERS, Seen};
use crate::fragment::Fragment;
use crate::shape::{Shape, Storage};
use dnssec::nsec3::{HASH_OCTETS, Nsec3 as Rdata, covers};
use std::cmp::Ordering;
use wire::iana::rtype;
use wire::sort_key::KEY_OCTETS_MAX;
use wire::{Name, SortKey};

/// Owners and names that are gone through backwards at most: some 100 us. So many are only passed in chains that are wrong, or while a large commit is on its way.
const STEPS_MAX: usize = 1024;

/// The NSEC3 record that matches a name of the zone, or covers it.
#[derive(Clone, Copy)]
pub enum Ranked<'p> {
    /// This one; only opt-out records cover names that exist (RFC 5155 6).
    Record(Nsec3<'p>),
    /// It is to be found by the hash of the name.
    ByHash,
    /// The zone has no chain that proves anything, or the name is not part of it.
    None,
}

impl<'p> ZoneView<'p> {
    /// The NSEC3 record that matches the name of `node`, or covers it where it has none of its own.
    #[inline(always)]
    pub fn nsec3_of(&self, node: &Node<'p>) -> Ranked<'p> {
        match (node.nsec3_rank(), self.changed) {
            (Some(rank), None) => self.nsec3_in_pack(rank).map_or(Ranked::None, Ranked::Record),
            (None, None) => Ranked::None,
            (rank, Some(changed)) => self.ranked_changed(changed, node, rank),
        }
    }

    #[cold]
    fn ranked_changed(&self, changed: &'p Changed, node: &Node<'p>, rank: Option<u32>) -> Ranked<'p> {
        if node.flags().has(Flags::OCCLUDED) || self.denial() != super::Denial::Nsec3 {
            return Ranked::None;
        }
        match rank.filter(|rank| !changed.has_changed_in(*rank)).and_then(|rank| self.nsec3_in_pack(rank)) {
            Some(record) => Ranked::Record(record),
            None => Ranked::ByHash,
        }
    }

    /// [`ZoneView::nsec_at_or_before`]; `row`: the pack's last owner at or before.
    #[cold]
    pub(super) fn nsec_changed(
        &self,
        changed: &'p Changed,
        relative: &[u8],
        row: Option<usize>,
    ) -> Option<Node<'p>> {
        let of_pack = row.and_then(|row| self.nsec_owner(row as u32));
        // Without a chain when the pack was made there is none.
        if self.row().denial_count == 0 {
            return None;
        }
        if row.is_some_and(|row| !changed.has_changed_in(row as u32)) {
            return of_pack;
        }
        let mut key = [0; KEY_OCTETS_MAX];
        let mut now = |node: Node<'p>| {
            let octets = node.copy_key(&mut key);
            self.find_changed(changed, &key[..octets]).filter(|node| node.flags().has(Flags::NSEC))
        };
        let of_pack = of_pack.and_then(&mut now);
        let owners = changed.owners_in_order();
        let mut own = None;
        let mut entry = owners.last(relative, true);
        for _ in 0..STEPS_MAX {
            own = match owners.seen(entry) {
                Seen::Node(row, key, octets) => self.own(row, key, octets).and_then(&mut now),
                _ => None,
            };
            if own.is_some() || entry == 0 {
                break;
            }
            entry = owners.previous_owner(entry);
        }
        let found = match (of_pack, own) {
            (Some(one), Some(other)) if is_after(&other, &one) => Some(other),
            (one, other) => one.or(other),
        };
        if found.is_some_and(|found| self.reaches(&found, relative)) {
            return found;
        }
        let mut names = MergedBack::new(*self, changed, relative, true).take(STEPS_MAX);
        names.find_map(now).or(found)
    }

    /// Whether the NSEC record of a name at or before `relative` is that of its name, or says that the next one is behind it.
    fn reaches(&self, node: &Node<'p>, relative: &[u8]) -> bool {
        if node.compare(relative) == Ordering::Equal {
            return true;
        }
        let Some(Data::Fragment(fragment)) = node.rrset(rtype::NSEC).map(|set| set.data()) else {
            return false;
        };
        let next = fragment.records().next().and_then(|rdata| Name::split_from(rdata).ok());
        let Some((next, _)) = next else { return false };
        let key = SortKey::of(next);
        match key.octets().strip_prefix(self.apex_key) {
            // The last one leads back to the apex.
            Some([]) => true,
            Some(next) => next > relative,
            None => false,
        }
    }

    /// [`ZoneView::nsec3_for`]; `rank`: of the pack's record at or before, or its last.
    #[cold]
    pub(super) fn nsec3_changed(
        &self,
        changed: &'p Changed,
        hash: &[u8; HASH_OCTETS],
        rank: u32,
    ) -> Option<(Nsec3<'p>, bool)> {
        let of_pack = self.nsec3_in_pack(rank)?;
        if !changed.has_changed_in(rank) {
            return Some((of_pack, of_pack.hash == hash));
        }
        let owners = changed.hash_owners_in_order();
        let now = |record: Nsec3<'p>| self.record_now(changed, record);
        let own = self.own_record(&owners, owners.last(hash, true));
        let is_before = |record: &Nsec3<'p>| record.hash <= hash;
        let mut found = greater(now(of_pack).filter(is_before), own);
        if found.is_none() {
            // The ring: the last of all.
            let last = self.nsec3_in_pack(self.row().denial_count.checked_sub(1)?).and_then(now);
            found = greater(last, self.own_record(&owners, owners.end()));
        }
        if let Some(record) = found.filter(|record| reaches_hash(record, hash)) {
            return Some((record, record.hash == hash));
        }
        let found = self.nsec3_searched(changed, hash, rank).or(found)?;
        Some((found, found.hash == hash))
    }

    /// The NSEC3 record with exactly this hash.
    pub(crate) fn nsec3_exact(&self, changed: &'p Changed, hash: &[u8; HASH_OCTETS]) -> Option<Nsec3<'p>> {
        match changed.hash(hash) {
            Seen::AsInPack => self.nsec3_in_pack(self.nsec3_rank(hash)?).filter(|record| record.hash == hash),
            Seen::Gone => None,
            Seen::Node(row, key, octets) => own_nsec3(row, key, octets),
        }
    }

    /// The record of the pack, as it is now; `None` if it has gone.
    fn record_now(&self, changed: &'p Changed, record: Nsec3<'p>) -> Option<Nsec3<'p>> {
        match changed.hash(record.hash) {
            Seen::AsInPack => Some(record),
            Seen::Gone => None,
            Seen::Node(row, key, octets) => own_nsec3(row, key, octets),
        }
    }

    /// The record of the delta that is the last at or before an owner of its list.
    fn own_record(&self, owners: &InOrder<'p>, entry: u32) -> Option<Nsec3<'p>> {
        let mut entry = entry;
        for _ in 0..STEPS_MAX {
            match owners.seen(entry) {
                Seen::Node(row, key, octets) => return own_nsec3(row, key, octets),
                _ if entry == 0 => return None,
                _ => entry = owners.previous_owner(entry),
            }
        }
        None
    }

    /// The record at or before `hash`, by going through all backwards, once around the ring.
    fn nsec3_searched(&self, changed: &'p Changed, hash: &[u8; HASH_OCTETS], rank: u32) -> Option<Nsec3<'p>> {
        let hashes = changed.hashes_in_order();
        let last = self.row().denial_count.checked_sub(1)?;
        let is_before = self.nsec3_in_pack(rank).is_some_and(|record| record.hash <= hash);
        let mut places = (is_before.then_some(rank), hashes.last(hash, true));
        let mut is_around = false;
        for _ in 0..STEPS_MAX {
            let of_pack = places.0.and_then(|rank| self.nsec3_in_pack(rank));
            let own_key = (places.1 != 0).then(|| hashes.key(places.1));
            let is_own = match (of_pack, own_key) {
                (None, None) if is_around => return None,
                (None, None) => {
                    is_around = true;
                    places = (Some(last), hashes.end());
                    continue;
                }
                (Some(record), Some(key)) => key >= &record.hash[..],
                (record, _) => record.is_none(),
            };
            if is_own {
                match hashes.seen(places.1) {
                    Seen::Node(row, key, octets) => return own_nsec3(row, key, octets),
                    // The pack's of the same hash has gone too.
                    Seen::Gone if of_pack.is_some_and(|record| own_key == Some(record.hash)) => {
                        places.0 = places.0.and_then(|rank| rank.checked_sub(1));
                    }
                    _ => {}
                }
                places.1 = hashes.previous(places.1);
            } else {
                return of_pack;
            }
        }
        None
    }

    /// The NSEC3 record of the delta with this number.
    #[cold]
    pub(super) fn own_nsec3(&self, number: u32) -> Option<Nsec3<'p>> {
        if number < OWN_NUMBERS {
            return None;
        }
        match self.changed?.hash_row(number) {
            Seen::Node(row, key, octets) => own_nsec3(row, key, octets),
            _ => None,
        }
    }
}

/// The record of a row of hashes, which has one RRset.
pub(super) fn own_nsec3<'p>(row: u32, key: &'p [u8], octets: &'p [u8]) -> Option<Nsec3<'p>> {
    let shape = Shape::at(octets)?;
    let set = shape.rows().next().filter(|row| row.storage() == Some(Storage::Own))?;
    let references = octets.get(shape.octets().len()..)?;
    let fragment = references.get(crate::section::u32_at(references, 0) as usize..)?;
    Some(Nsec3 { fragment, rank: OWN_NUMBERS | row, hash: key.try_into().ok()?, ttl: set.ttl() })
}

fn is_after(one: &Node<'_>, other: &Node<'_>) -> bool {
    let ((a, b), (c, d)) = (one.key_parts(), other.key_parts());
    a.iter().chain(b).gt(c.iter().chain(d))
}

fn greater<'p>(one: Option<Nsec3<'p>>, other: Option<Nsec3<'p>>) -> Option<Nsec3<'p>> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if one.hash > other.hash { one } else { other }),
        (one, other) => one.or(other),
    }
}

/// Whether a record matches `hash` or says that it covers it.
fn reaches_hash(record: &Nsec3<'_>, hash: &[u8; HASH_OCTETS]) -> bool {
    let next = || {
        let fragment = Fragment::at(record.fragment)?;
        let rdata = fragment.records().next()?;
        Some(*Rdata::parse(rdata).ok()?.next)
    };
    record.hash == hash || next().is_some_and(|next: [u8; HASH_OCTETS]| covers(record.hash, &next, hash))
}
