//! All that a name has, to be changed: RRsets that nobody touches stay as they are stored.

use crate::contents::{Flags, served_ttl};
use crate::fragment::fragment_octets;
use crate::lookup::{Node, Nsec3, RRset};
use crate::shape::{Row, Storage};
use wire::iana::rtype;
use wire::{Name, NameBuf};

/// What may be wrong with a record of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    NotThere,
    AlreadyThere,
    Damaged,
}

/// An RRset of a name.
pub(super) struct HeldSet<'v> {
    pub(super) rtype: u16,
    pub(super) ttl: u32,
    /// Whether the TTL is that of a record which the change adds.
    has_new_ttl: bool,
    /// As it is stored, as long as it was not touched.
    pub(super) kept: Option<Kept<'v>>,
    /// RDATA of the records, once it was touched; and of the signatures, the covered type included.
    pub(super) records: Vec<Vec<u8>>,
    pub(super) signatures: Vec<Vec<u8>>,
    /// What it was made of.
    set: Option<RRset<'v>>,
}

/// An RRset as it is stored: the address, the place in the pool, or the fragment.
#[derive(Clone, Copy)]
pub(super) struct Kept<'v> {
    pub(super) row: Row,
    pub(super) storage: Storage,
    pub(super) octets: &'v [u8],
}

/// All that a name has.
pub(super) struct Held<'v> {
    /// The name below the apex and with it, lower-case; the apex.
    name: NameBuf,
    apex: &'v Name,
    /// Its node in the newest state, which may be none, or that of an owner of an NSEC3 record.
    pub(super) old: Option<Node<'v>>,
    /// Its record of the chain in the newest state.
    pub(super) old_record: Option<Nsec3<'v>>,
    pub(super) sets: Vec<HeldSet<'v>>,
    /// Signatures that cover no RRset of the name, the covered type included, and their TTL.
    pub(super) orphans: Vec<Vec<u8>>,
    pub(super) orphans_ttl: u32,
    /// Whether anything was touched.
    pub(super) is_touched: bool,
}

/// The type that the RDATA of a signature begins with.
pub(super) fn covered(signature: &[u8]) -> u16 {
    signature.first_chunk().map_or(0, |octets| u16::from_be_bytes(*octets))
}

/// Whether two RDATA are the same record (RFC 4034 6.2): letters of certain names do not count.
fn is_same(rtype: u16, one: &[u8], other: &[u8]) -> bool {
    if one == other || !wire::rdata::has_folded_names(rtype) || one.len() != other.len() {
        return one == other;
    }
    let (mut one, mut other) = (one.to_vec(), other.to_vec());
    wire::rdata::fold(rtype, &mut one);
    wire::rdata::fold(rtype, &mut other);
    one == other
}

fn position(rtype: u16, records: &[Vec<u8>], rdata: &[u8]) -> Option<usize> {
    records.iter().position(|other| is_same(rtype, other, rdata))
}

impl<'v> Held<'v> {
    /// What the name has whose node and record these are.
    pub(super) fn new(
        name: NameBuf,
        apex: &'v Name,
        old: Option<Node<'v>>,
        old_record: Option<Nsec3<'v>>,
    ) -> Result<Held<'v>, Wrong> {
        let mut held = Held {
            name,
            apex,
            old,
            old_record,
            sets: Vec::new(),
            orphans: Vec::new(),
            orphans_ttl: 0,
            is_touched: false,
        };
        if let Some(node) = old {
            let mut stored = node.stored_sets();
            for set in node.rrsets() {
                let (row, storage, octets) = stored.next().ok_or(Wrong::Damaged)?;
                if set.rtype() == rtype::RRSIG {
                    held.orphans = set.rdata(&held.name, apex).ok_or(Wrong::Damaged)?;
                    held.orphans_ttl = set.ttl();
                } else {
                    held.sets.push(HeldSet::kept(set, Kept { row, storage, octets }));
                }
            }
            if stored.next().is_some() {
                return Err(Wrong::Damaged);
            }
        } else if let Some(record) = old_record {
            let set = record.rrset().ok_or(Wrong::Damaged)?;
            let row = Row::new(rtype::NSEC3, Storage::Own, record.ttl);
            held.sets.push(HeldSet::kept(set, Kept { row, storage: Storage::Own, octets: record.octets() }));
        }
        Ok(held)
    }

    /// The RRset of a type.
    pub(super) fn set(&self, rtype: u16) -> Option<&HeldSet<'v>> {
        self.sets.iter().find(|set| set.rtype == rtype)
    }

    pub(super) fn has(&self, rtype: u16) -> bool {
        self.set(rtype).is_some()
    }

    /// Whether it has any record.
    pub(super) fn has_data(&self) -> bool {
        !self.sets.is_empty() || !self.orphans.is_empty()
    }

    /// Whether all its records are NSEC3 records and their signatures.
    pub(super) fn is_all_nsec3(&self) -> bool {
        self.has_data()
            && self.sets.iter().all(|set| set.rtype == rtype::NSEC3)
            && self.orphans.iter().all(|rdata| covered(rdata) == rtype::NSEC3)
    }

    fn opened(&mut self, rtype: u16) -> Result<Option<usize>, Wrong> {
        let Some(at) = self.sets.iter().position(|set| set.rtype == rtype) else { return Ok(None) };
        self.sets[at].open(&self.name, self.apex)?;
        Ok(Some(at))
    }

    /// Removes a record.
    pub(super) fn remove(&mut self, rtype: u16, rdata: &[u8]) -> Result<(), Wrong> {
        self.is_touched = true;
        if rtype == rtype::RRSIG {
            let list = match self.opened(covered(rdata))? {
                Some(at) => &mut self.sets[at].signatures,
                None => &mut self.orphans,
            };
            let at = position(rtype, list, rdata).ok_or(Wrong::NotThere)?;
            list.remove(at);
            return Ok(());
        }
        let at = self.opened(rtype)?.ok_or(Wrong::NotThere)?;
        let set = &mut self.sets[at];
        let record = position(rtype, &set.records, rdata).ok_or(Wrong::NotThere)?;
        set.records.remove(record);
        if set.records.is_empty() {
            let set = self.sets.remove(at);
            if !set.signatures.is_empty() {
                self.orphans_ttl =
                    if self.orphans.is_empty() { set.ttl } else { self.orphans_ttl.min(set.ttl) };
                self.orphans.extend(set.signatures);
            }
        }
        Ok(())
    }

    /// Adds a record.
    pub(super) fn add(&mut self, rtype: u16, ttl: u32, rdata: &[u8]) -> Result<(), Wrong> {
        self.is_touched = true;
        let ttl = served_ttl(ttl);
        if rtype == rtype::RRSIG {
            let opened = self.opened(covered(rdata))?;
            let list = match opened {
                Some(at) => &mut self.sets[at].signatures,
                None => {
                    self.orphans_ttl = if self.orphans.is_empty() { ttl } else { self.orphans_ttl.min(ttl) };
                    &mut self.orphans
                }
            };
            if position(rtype, list, rdata).is_some() {
                return Err(Wrong::AlreadyThere);
            }
            list.push(rdata.to_vec());
            return Ok(());
        }
        let at = match self.opened(rtype)? {
            Some(at) => at,
            None => self.begin(rtype, ttl),
        };
        let set = &mut self.sets[at];
        if position(rtype, &set.records, rdata).is_some() {
            return Err(Wrong::AlreadyThere);
        }
        // Of those that come the lowest is served (RFC 2181 5.2); what the others had is not known any more.
        set.ttl = if set.has_new_ttl { set.ttl.min(ttl) } else { ttl };
        set.has_new_ttl = true;
        set.records.push(rdata.to_vec());
        Ok(())
    }

    /// Makes room for the first record of a type, with the signatures that are there already.
    fn begin(&mut self, rtype: u16, ttl: u32) -> usize {
        let orphans = std::mem::take(&mut self.orphans);
        let (signatures, orphans) = orphans.into_iter().partition(|rdata| covered(rdata) == rtype);
        self.orphans = orphans;
        let at = self.sets.partition_point(|set| set.rtype < rtype);
        let set =
            HeldSet { rtype, ttl, has_new_ttl: true, kept: None, records: Vec::new(), signatures, set: None };
        self.sets.insert(at, set);
        at
    }

    /// Whether the RRset of a type is other than in the newest state, be it that it came or went.
    pub(super) fn is_other(&self, rtype: u16) -> bool {
        match self.set(rtype) {
            Some(set) => set.kept.is_none(),
            None => self.old.is_some_and(|node| node.has(rtype)),
        }
    }

    /// Brings records into the order in which they are stored.
    pub(super) fn sort(&mut self) {
        for set in self.sets.iter_mut().filter(|set| set.kept.is_none()) {
            set.records.sort_unstable();
            set.signatures.sort_unstable();
        }
        self.orphans.sort_unstable();
    }

    /// Flags that follow from the RRsets.
    pub(super) fn flags(&self, is_apex: bool, is_secure: bool) -> Flags {
        let mut flags = Flags::default();
        for set in &self.sets {
            match set.rtype {
                rtype::NS if !is_apex => flags.set(Flags::CUT),
                rtype::DNAME => flags.set(Flags::DNAME),
                rtype::CNAME => flags.set(Flags::CNAME),
                rtype::NSEC if is_secure => flags.set(Flags::NSEC),
                _ => {}
            }
        }
        flags
    }

    /// RDATA of the records of a type, whether they were touched or not.
    pub(super) fn rdata(&self, rtype: u16) -> Result<Vec<Vec<u8>>, Wrong> {
        let Some(set) = self.set(rtype) else { return Ok(Vec::new()) };
        match set.set.filter(|_| set.kept.is_some()) {
            Some(stored) => stored.rdata(&self.name, self.apex).ok_or(Wrong::Damaged),
            None => Ok(set.records.clone()),
        }
    }
}

impl<'v> HeldSet<'v> {
    fn kept(set: RRset<'v>, kept: Kept<'v>) -> HeldSet<'v> {
        HeldSet {
            rtype: set.rtype(),
            ttl: set.ttl(),
            has_new_ttl: false,
            kept: Some(kept),
            records: Vec::new(),
            signatures: Vec::new(),
            set: Some(set),
        }
    }

    fn open(&mut self, owner: &Name, apex: &Name) -> Result<(), Wrong> {
        if let (Some(set), Some(_)) = (self.set, self.kept.take()) {
            self.records = set.rdata(owner, apex).ok_or(Wrong::Damaged)?;
            self.signatures = set.signature_rdata();
        }
        Ok(())
    }

    /// Whether it has signatures.
    pub(super) fn is_signed(&self) -> bool {
        match (&self.kept, &self.set) {
            (Some(_), Some(set)) => set.is_signed(),
            _ => !self.signatures.is_empty(),
        }
    }
}

impl Kept<'_> {
    /// The fragment, where it is one of a delta; `None` in a damaged one.
    pub(super) fn fragment(&self) -> Option<&[u8]> {
        self.octets.get(..fragment_octets(self.octets)?)
    }
}
