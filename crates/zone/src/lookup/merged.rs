//! Names of a zone that has changed, in order: those of the pack and those of the delta, merged; both ways.
//!
//! ```text
//! pack    a     c  d     f        the same name in both is the delta's;
//! delta      b     d' e' f gone   one that is gone is passed over, one that this state does not see is the pack's
//! seen    a  b  c  d' e'
//! ```

use super::proof::own_nsec3;
use super::{Damaged, Node, Nsec3, Standing, ZoneView};
use crate::block::NAMES_MAX;
use crate::delta::{Changed, InOrder, Seen};
use std::cmp::Ordering;

/// The number of a name of the pack, counted from the first of the zone's first block: less than 2^31.
type Place = u32;

/// Where a walk over the names of a zone that has changed is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct At {
    /// The next name of the pack.
    pub(super) place: Place,
    /// The next entry of the delta; [`END`] behind the last.
    pub(super) entry: u32,
}

/// Behind the last entry.
pub(crate) const END: u32 = u32::MAX;

/// The entry as one that [`At`] has: 0 is what lists have behind the last.
fn or_end(entry: u32) -> u32 {
    if entry == 0 { END } else { entry }
}

impl At {
    /// Before all names.
    pub(super) fn start(changed: &Changed) -> At {
        At { place: 0, entry: or_end(changed.names_in_order().next(0)) }
    }
}

/// A name, where it was found and what comes after.
pub(super) struct Here<'p> {
    pub(super) node: Node<'p>,
    pub(super) at: At,
    pub(super) after: At,
}

impl<'p> ZoneView<'p> {
    /// The name of the pack at or after `place`, and its place.
    fn pack_name_from(&self, place: Place) -> Result<Option<(Place, Node<'p>)>, Damaged> {
        let (mut number, mut slot) = (place / NAMES_MAX as u32, place as usize % NAMES_MAX);
        loop {
            if number >= self.block_count() {
                return Ok(None);
            }
            let block = self.block(number).ok_or(Damaged)?;
            if slot < block.count() {
                let node = self.node_in(&block, number, slot).ok_or(Damaged)?;
                return Ok(Some((number * NAMES_MAX as u32 + slot as u32, node)));
            }
            (number, slot) = (number + 1, 0);
        }
    }

    /// The name of the pack before `place`, and its place.
    fn pack_name_before(&self, place: Place) -> Option<(Place, Node<'p>)> {
        let place = place.checked_sub(1)?;
        let number = place / NAMES_MAX as u32;
        let block = self.block(number)?;
        let slot = (place as usize % NAMES_MAX).min(block.count() - 1);
        Some((number * NAMES_MAX as u32 + slot as u32, self.node_in(&block, number, slot)?))
    }

    /// The place of the first name of the pack at or after `relative` or, if not `inclusive`, after it.
    fn place_from(&self, relative: &[u8], inclusive: bool) -> Place {
        let Some(node) = self.at_or_before_in_pack(relative) else { return 0 };
        let is_it = inclusive && node.compare(relative) == Ordering::Equal;
        (node.reference - self.first_block() * NAMES_MAX as u32) + u32::from(!is_it)
    }

    /// The next name, its flags as stored.
    pub(super) fn next_name(&self, changed: &'p Changed, at: At) -> Result<Option<Here<'p>>, Damaged> {
        let names = changed.names_in_order();
        let mut at = at;
        loop {
            let pack = self.pack_name_from(at.place)?;
            let order = match &pack {
                _ if at.entry == END => Ordering::Less,
                Some((_, node)) => node.compare(names.key(at.entry)),
                None => Ordering::Greater,
            };
            let place_after = pack.as_ref().map_or(at.place, |(place, _)| place + 1);
            if order == Ordering::Less {
                let Some((_, node)) = pack else { return Ok(None) };
                let after = At { place: place_after, ..at };
                return Ok(Some(Here { node, at, after }));
            }
            let is_both = order == Ordering::Equal;
            let after = At {
                place: if is_both { place_after } else { at.place },
                entry: or_end(names.next(at.entry)),
            };
            let node = match names.seen(at.entry) {
                Seen::Node(row, key, octets) => Some(self.own(row, key, octets).ok_or(Damaged)?),
                Seen::AsInPack => pack.filter(|_| is_both).map(|(_, node)| node),
                Seen::Gone => None,
            };
            if let Some(node) = node {
                return Ok(Some(Here { node, at, after }));
            }
            at = after;
        }
    }
}

/// Names from one on. Ends early in a damaged pack.
pub(crate) struct Merged<'p> {
    zone: ZoneView<'p>,
    changed: &'p Changed,
    at: At,
    /// The cut or DNAME that was passed last, below which names are occluded.
    hiding: Option<Node<'p>>,
}

impl<'p> Merged<'p> {
    /// Names at or after `relative` or, if not `inclusive`, after it.
    pub(crate) fn new(
        zone: ZoneView<'p>,
        changed: &'p Changed,
        relative: &[u8],
        inclusive: bool,
    ) -> Merged<'p> {
        let names = changed.names_in_order();
        let entry = or_end(names.next(names.last(relative, !inclusive)));
        let place = zone.place_from(relative, inclusive);
        let node = if inclusive { None } else { zone.find_changed(changed, relative) };
        let hides = |node: &Node<'p>| Standing::below(node.flags) != Standing::AUTHORITATIVE;
        let hiding = zone.hiding(changed, relative).or(node.filter(hides));
        Merged { zone, changed, at: At { place, entry }, hiding }
    }

    /// All names.
    pub(crate) fn all(zone: ZoneView<'p>, changed: &'p Changed) -> Merged<'p> {
        Merged { zone, changed, at: At::start(changed), hiding: None }
    }

    /// Gives a name its flags, which are next in order.
    fn stand(&mut self, node: Node<'p>) -> Node<'p> {
        if let Some(hiding) = &self.hiding {
            if node.is_below(hiding) {
                return self.zone.standing(node, Standing::below(hiding.flags));
            }
            self.hiding = None;
        }
        let node = self.zone.standing(node, Standing::AUTHORITATIVE);
        if Standing::below(node.flags) != Standing::AUTHORITATIVE {
            self.hiding = Some(node);
        }
        node
    }
}

impl<'p> Iterator for Merged<'p> {
    type Item = Node<'p>;

    fn next(&mut self) -> Option<Node<'p>> {
        let here = self.zone.next_name(self.changed, self.at).ok().flatten()?;
        self.at = here.after;
        Some(self.stand(here.node))
    }
}

/// Names before one, the nearest first. Their flags are as they were stored.
pub(crate) struct MergedBack<'p> {
    zone: ZoneView<'p>,
    names: InOrder<'p>,
    /// Names of the pack before this place.
    place: Place,
    /// The next entry of the delta; 0 before the first.
    entry: u32,
}

impl<'p> MergedBack<'p> {
    /// Names before `relative` or, if `inclusive`, at or before it.
    pub(crate) fn new(
        zone: ZoneView<'p>,
        changed: &'p Changed,
        relative: &[u8],
        inclusive: bool,
    ) -> MergedBack<'p> {
        let names = changed.names_in_order();
        let entry = names.last(relative, inclusive);
        MergedBack { zone, names, place: zone.place_from(relative, !inclusive), entry }
    }
}

impl<'p> Iterator for MergedBack<'p> {
    type Item = Node<'p>;

    fn next(&mut self) -> Option<Node<'p>> {
        loop {
            let pack = self.zone.pack_name_before(self.place);
            if self.entry == 0 {
                let (place, node) = pack?;
                self.place = place;
                return Some(node);
            }
            let order = match &pack {
                Some((_, node)) => node.compare(self.names.key(self.entry)),
                None => Ordering::Less,
            };
            if let (Ordering::Greater, Some((place, node))) = (order, pack) {
                self.place = place;
                return Some(node);
            }
            let seen = self.names.seen(self.entry);
            self.entry = self.names.previous(self.entry);
            let same = pack.filter(|_| order == Ordering::Equal);
            if let Some((place, _)) = same {
                self.place = place;
            }
            match seen {
                Seen::Node(row, key, octets) => return self.zone.own(row, key, octets),
                Seen::AsInPack if same.is_some() => return same.map(|(_, node)| node),
                _ => {}
            }
        }
    }
}

impl<'p> ZoneView<'p> {
    /// The next record of an NSEC3 chain that has changed, in the order of hashes, and what comes after: ranks of the pack, and entries of the delta.
    pub(super) fn next_record(
        &self,
        changed: &'p Changed,
        at: At,
    ) -> Result<Option<(Nsec3<'p>, At)>, Damaged> {
        let hashes = changed.hashes_in_order();
        let count = self.row().denial_count;
        let mut at = at;
        loop {
            let pack = match at.place < count {
                true => Some(self.nsec3_in_pack(at.place).ok_or(Damaged)?),
                false => None,
            };
            let order = match &pack {
                _ if at.entry == END => Ordering::Less,
                Some(record) => record.hash[..].cmp(hashes.key(at.entry)),
                None => Ordering::Greater,
            };
            if order == Ordering::Less {
                return Ok(pack.map(|record| (record, At { place: at.place + 1, ..at })));
            }
            let is_both = order == Ordering::Equal;
            let after = At { place: at.place + u32::from(is_both), entry: or_end(hashes.next(at.entry)) };
            let record = match hashes.seen(at.entry) {
                Seen::Node(row, key, octets) => Some(own_nsec3(row, key, octets).ok_or(Damaged)?),
                Seen::AsInPack => pack.filter(|_| is_both),
                Seen::Gone => None,
            };
            if let Some(record) = record {
                return Ok(Some((record, after)));
            }
            at = after;
        }
    }

    /// The records of an NSEC3 chain that has changed, in the order of hashes.
    pub(crate) fn chain(&self) -> Option<impl Iterator<Item = Result<Nsec3<'p>, Damaged>> + use<'p>> {
        let (zone, changed) = (*self, self.changed?);
        let mut at = Some(zone.chain_start(changed));
        Some(std::iter::from_fn(move || match zone.next_record(changed, at?) {
            Ok(Some((record, after))) => {
                at = Some(after);
                Some(Ok(record))
            }
            Ok(None) => None,
            Err(damaged) => {
                at = None;
                Some(Err(damaged))
            }
        }))
    }

    /// The rank in the pack of the record with this hash, if the pack has one.
    pub(crate) fn rank_in_pack(&self, hash: &[u8; 20]) -> Option<u32> {
        let rank = self.nsec3_rank(hash)?;
        self.nsec3_in_pack(rank).filter(|record| record.hash == hash).map(|record| record.rank)
    }

    /// Before all records of the chain.
    pub(super) fn chain_start(&self, changed: &'p Changed) -> At {
        At { place: 0, entry: or_end(changed.hashes_in_order().next(0)) }
    }
}
