//! A walk over all RRsets of a zone that can stop after any of them and go on later: for transfers and dumps.
//!
//! What is kept between two messages is a [`Crawl`] of 16 octets that borrows nothing, beside a zone that does not change meanwhile
//! ([`crate::catalog::PinnedZone`]). Names come in canonical order, empty non-terminals left out, then the records of the NSEC3 chain in the order of their hashes, as owners of
//! hashes are no names of the zone (RFC 5155 7.2.8). Glue and occluded names are among them, and each RRset comes once. Who needs
//! another order, or has a name instead of a place, asks [`ZoneView::cursor`].

use super::merged::At;
use super::{Node, RRset, ZoneView};
use crate::block::NAMES_MAX;
use crate::delta::Changed;
use dnssec::nsec3::{HASH_OCTETS, LABEL_OCTETS, hash_of_label, owner_label};
use wire::iana::rtype;
use wire::sort_key::{KEY_OCTETS_MAX, write_labels};

/// A place in a zone: the RRset that comes next. Means something in the zone and the pack in which it was found, and in that state of its delta.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crawl {
    /// Number of the name, counted from the first of the zone's first block; in the chain the rank of the hash.
    at: u32,
    /// The same of what has changed since the pack was made: the next entry of the delta; 0 before the first step there.
    entry: u32,
    /// RRsets of the name that are behind.
    rrset: u32,
    /// Whether all names are behind.
    is_in_chain: bool,
}

const _: () = assert!(size_of::<Crawl>() == 16);

/// The pack is damaged: what was read so far is not the whole zone, and cannot be completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

/// One RRset, with its signatures, and who owns it.
#[derive(Clone, Copy)]
pub struct Step<'p> {
    /// Who owns it.
    pub owner: Owner<'p>,
    /// The RRset.
    pub rrset: RRset<'p>,
}

/// Who owns an RRset.
#[derive(Clone, Copy)]
pub enum Owner<'p> {
    /// A name of the zone.
    Name(Node<'p>),
    /// The hash of an NSEC3 record: its base32hex is a label below the apex.
    Hash(&'p [u8; HASH_OCTETS]),
}

impl Owner<'_> {
    /// Writes to `to` the labels of the owner above those of the apex, lower-case, in wire form and without a root label; returns
    /// their octets, at most 254. `None` if there is no room, and in a damaged pack.
    pub fn write_labels(&self, to: &mut [u8]) -> Option<usize> {
        match self {
            Owner::Name(node) => {
                let mut key = [0; KEY_OCTETS_MAX];
                let octets = node.copy_key(&mut key);
                write_labels(&key[..octets], to)
            }
            Owner::Hash(hash) => {
                let (length, label) = to.get_mut(..=LABEL_OCTETS)?.split_first_mut()?;
                *length = LABEL_OCTETS as u8;
                label.copy_from_slice(&owner_label(hash));
                Some(1 + LABEL_OCTETS)
            }
        }
    }
}

impl Crawl {
    /// The next RRset of `zone`, in which all steps before were made; `None` after the last. Costs what finding a name by its number costs, and a step for
    /// each empty non-terminal. A copy of before is the way back to it.
    #[allow(clippy::should_implement_trait)] // The zone is lent anew for each step, which an iterator's cannot be.
    pub fn next<'p>(&mut self, zone: &ZoneView<'p>) -> Result<Option<Step<'p>>, Damaged> {
        if let Some(changed) = zone.changed {
            return self.next_changed(zone, changed);
        }
        while !self.is_in_chain {
            let (number, slot) = (self.at / NAMES_MAX as u32, self.at as usize % NAMES_MAX);
            if number >= zone.block_count() {
                *self = Crawl { is_in_chain: true, ..Crawl::default() };
                break;
            }
            let block = zone.block(number).ok_or(Damaged)?;
            if slot < block.count() {
                let node = zone.node_in(&block, number, slot).ok_or(Damaged)?;
                if let Some(rrset) = self.next_of(zone, &node)? {
                    // After the last of a name the next step need not look at it again.
                    if node.shape_rows().len() == self.rrset as usize {
                        (self.at, self.rrset) = (self.at + 1, 0);
                    }
                    return Ok(Some(Step { owner: Owner::Name(node), rrset }));
                }
                (self.at, self.rrset) = (self.at + 1, 0);
            } else {
                self.at = (number + 1) * NAMES_MAX as u32;
            }
        }
        if !zone.has_nsec3_chain() || self.at >= zone.row().denial_count {
            return Ok(None);
        }
        let record = zone.nsec3_in_pack(self.at).ok_or(Damaged)?;
        self.at += 1;
        let rrset = record.rrset().ok_or(Damaged)?;
        Ok(Some(Step { owner: Owner::Hash(record.hash), rrset }))
    }

    /// The same in a zone that has changed since its pack was made. Names that come later do not disturb it: this state does not see them.
    #[cold]
    fn next_changed<'p>(
        &mut self,
        zone: &ZoneView<'p>,
        changed: &'p Changed,
    ) -> Result<Option<Step<'p>>, Damaged> {
        if self.entry == 0 {
            self.set(At::start(changed));
        }
        while !self.is_in_chain {
            let Some(here) = zone.next_name(changed, At { place: self.at, entry: self.entry })? else {
                *self = Crawl { is_in_chain: true, ..Crawl::default() };
                self.set(zone.chain_start(changed));
                break;
            };
            // Behind names that are gone.
            self.set(here.at);
            if let Some(rrset) = self.next_of(zone, &here.node)? {
                return Ok(Some(Step { owner: Owner::Name(here.node), rrset }));
            }
            self.set(here.after);
            self.rrset = 0;
        }
        if !zone.has_nsec3_chain() {
            return Ok(None);
        }
        let at = At { place: self.at, entry: self.entry };
        let Some((record, after)) = zone.next_record(changed, at)? else { return Ok(None) };
        self.set(after);
        let rrset = record.rrset().ok_or(Damaged)?;
        Ok(Some(Step { owner: Owner::Hash(record.hash), rrset }))
    }

    fn set(&mut self, at: At) {
        (self.at, self.entry) = (at.place, at.entry);
    }

    /// The next RRset of a name.
    fn next_of<'p>(&mut self, zone: &ZoneView<'p>, node: &Node<'p>) -> Result<Option<RRset<'p>>, Damaged> {
        loop {
            let at = self.rrset as usize;
            if node.shape_rows().nth(at).is_none() {
                return Ok(None);
            }
            let rrset = node.rrsets().nth(at).ok_or(Damaged)?;
            self.rrset += 1;
            if rrset.rtype() != rtype::NSEC3 || !is_in_chain(zone, node) {
                return Ok(Some(rrset));
            }
        }
    }
}

/// Whether the NSEC3 record of a name comes with the chain: an owner that has other records too is a name and a hash.
#[cold]
fn is_in_chain(zone: &ZoneView<'_>, node: &Node<'_>) -> bool {
    let mut key = [0; KEY_OCTETS_MAX];
    let octets = node.copy_key(&mut key);
    let Some((0, label)) = key[..octets].split_last() else { return false };
    let hash = hash_of_label(label);
    hash.and_then(|hash| zone.nsec3_for(&hash)).is_some_and(|(_, is_it)| is_it)
}
