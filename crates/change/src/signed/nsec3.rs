//! NSEC3 records of names that an update changed: their types, and their links in the ring of hashes (RFC 5155 7.1).
//!
//! As for NSEC, but that empty non-terminals have records too, that insecure delegations may have none (opt-out), and that owners are hashes.

use super::{Affected, NAMES_BELOW_MAX, Standing, is_of_chain};
use crate::draft::Draft;
use crate::failure::Unsigned;
use crate::set::{Set, SetId};
use crate::update::Stop;
use dnssec::nsec3::{Hash, Nsec3, Nsec3Params, hash_of_label, owner_label};
use std::collections::BTreeSet;
use wire::Name;
use wire::iana::rtype;
use wire::sort_key::KEY_OCTETS_MAX;

const NSEC3: SetId = SetId { rtype: rtype::NSEC3, covered: 0 };

/// Most rounds of hashing for one update: a tenth of a second. Six thousand names, as many as a message can bring, take no more in zones that follow RFC 9276
/// 3.1, and four hundred do where each takes 2,500 rounds.
const ROUNDS_MAX: usize = 1_000_000;

/// What the records are looked up with.
struct Ring<'z> {
    params: Nsec3Params<'z>,
    /// Hashes of NSEC3 records in the draft, in order.
    drafted: Vec<Hash>,
}

/// An NSEC3 record of the zone as it is now.
struct Link {
    next: Hash,
    is_opt_out: bool,
    types: Vec<u16>,
}

impl<'z> Draft<'z> {
    pub(super) fn check_nsec3(&mut self, affected: &Affected) -> Result<(), Stop> {
        let (iterations, salt) = self.view().nsec3_parameters().ok_or(Stop::Damaged)?;
        let params = Nsec3Params::new(iterations, salt).map_err(|_| Stop::Damaged)?;
        let mut ring = Ring { params, drafted: Vec::new() };
        for key in self.drafted_with(NSEC3) {
            if let Some(hash) = hash_of_key(&key)
                && self.link(&hash, &ring)?.is_some()
            {
                ring.drafted.push(hash);
            }
        }
        ring.drafted.sort_unstable();
        let (mut hashed, names) = (BTreeSet::new(), self.hashed_names(affected)?);
        if names.len() * (1 + usize::from(iterations)) > ROUNDS_MAX {
            return Err(Unsigned::TooMuch.into());
        }
        for key in names {
            hashed.insert(self.check_nsec3_types(&key, &ring)?);
        }
        for &(place, _) in affected.sets.iter().filter(|(_, id)| *id == NSEC3) {
            let hash = hash_of_key(self.key(place)).ok_or(Unsigned::StrayProof)?;
            let stored = ring.link_of(&self.stored(place, NSEC3)?);
            let now = self.link(&hash, &ring)?;
            let types = |link: &Option<Link>| link.as_ref().map(|link| link.types.clone());
            if types(&stored) != types(&now) && !hashed.contains(&hash) {
                // Of a name that did not change, and was right before.
                return Err(Unsigned::StrayProof.into());
            }
            let before = self.nsec3_before(&hash, &ring)?;
            self.check_nsec3_link(&before, &ring)?;
            if now.is_some() {
                self.check_nsec3_link(&hash, &ring)?;
            }
            self.check_opt_out(&hash, &before, &ring)?;
        }
        Ok(())
    }

    /// Whether insecure delegations that were let out are so still: where the record at a hash, or what covered it, says that there may be some, that which is
    /// there now says so, or if nothing is, the one before.
    fn check_opt_out(&mut self, hash: &Hash, before: &Hash, ring: &Ring<'_>) -> Result<(), Stop> {
        let was = self.view().nsec3_for(hash).and_then(|(record, _)| record.rrset());
        let rdatas = was.map(|rrset| rrset.rdata(Name::root(), Name::root()).ok_or(Stop::Damaged));
        let rdatas = rdatas.transpose()?.unwrap_or_default();
        let was_opt_out =
            rdatas.iter().filter_map(|rdata| ring.parse(rdata)).any(|record| record.is_opt_out());
        let now = match self.link(hash, ring)? {
            Some(link) => Some(link),
            None => self.link(before, ring)?,
        };
        if was_opt_out && !now.is_some_and(|link| link.is_opt_out) {
            return Err(Unsigned::Chain.into());
        }
        Ok(())
    }

    /// Keys of the names whose proof may have to change: those that changed, but for owners of NSEC3 records alone, and those above them that own nothing.
    fn hashed_names(&mut self, affected: &Affected) -> Result<Vec<Box<[u8]>>, Stop> {
        let mut keys: Vec<Box<[u8]>> = Vec::new();
        for &place in &affected.places {
            let key = self.key(place).to_vec();
            let is_name = affected.sets.iter().any(|(at, id)| *at == place && !is_of_chain(*id));
            let is_owner = self.ids(place)?.iter().any(|id| !is_of_chain(*id));
            if !is_name && !is_owner {
                continue;
            }
            for end in key.iter().enumerate().filter(|(_, octet)| **octet == 0).map(|(at, _)| at + 1) {
                let above = self.place(&key[..end])?;
                if end == key.len() || !self.ids(above)?.iter().any(|id| !is_of_chain(*id)) {
                    keys.push(key[..end].into());
                }
            }
            if key.is_empty() {
                keys.push(key.into());
            }
        }
        keys.sort();
        keys.dedup();
        Ok(keys)
    }

    /// Whether a name has an NSEC3 record just if it has to, and of its types; returns its hash.
    fn check_nsec3_types(&mut self, key: &[u8], ring: &Ring<'_>) -> Result<Hash, Stop> {
        let place = self.place(key)?;
        let standing = self.standing(key)?;
        let types = self.proved_types(place, standing)?;
        let is_there = match (standing, types.is_empty()) {
            (Standing::Occluded, _) => false,
            (_, false) => true,
            (_, true) => self.has_names_below(key)?,
        };
        let hash = ring.params.hash(&self.name_of(key)?);
        match (is_there, self.link(&hash, ring)?) {
            (false, None) => Ok(hash),
            (false, Some(_)) => Err(Unsigned::StrayProof.into()),
            (true, Some(link)) if link.types == types => Ok(hash),
            (true, Some(_)) => Err(Unsigned::Types.into()),
            (true, None) => {
                let may_be_left_out =
                    types.is_empty() || standing == Standing::Cut && !types.contains(&rtype::DS);
                let before = self.nsec3_before(&hash, ring)?;
                let covering = self.link(&before, ring)?;
                match may_be_left_out && covering.is_some_and(|link| link.is_opt_out) {
                    true => Ok(hash),
                    false => Err(Unsigned::Types.into()),
                }
            }
        }
    }

    /// Whether any name below one owns records now.
    fn has_names_below(&mut self, key: &[u8]) -> Result<bool, Stop> {
        for below in self.drafted_below(key) {
            let place = self.place(&below)?;
            if !self.ids(place)?.is_empty() {
                return Ok(true);
            }
        }
        let mut steps = 0;
        for node in self.view().cursor(key) {
            let mut buffer = [0; KEY_OCTETS_MAX];
            let octets = node.copy_key(&mut buffer);
            let Some(below) = buffer[..octets].strip_prefix(key) else { break };
            if !below.is_empty() && !self.is_drafted(&buffer[..octets]) && node.rrsets().next().is_some() {
                return Ok(true);
            }
            steps += 1;
            if steps > NAMES_BELOW_MAX {
                return Err(Unsigned::TooMuch.into());
            }
        }
        Ok(false)
    }

    /// The NSEC3 record of a hash, of those with the parameters of the zone.
    fn link(&mut self, hash: &Hash, ring: &Ring<'_>) -> Result<Option<Link>, Stop> {
        let mut key = owner_label(hash).to_vec();
        key.push(0);
        let place = self.place(&key)?;
        Ok(ring.link_of(self.set(place, NSEC3)?))
    }

    /// Whether the record of a hash leads to the next one.
    fn check_nsec3_link(&mut self, hash: &Hash, ring: &Ring<'_>) -> Result<(), Stop> {
        let next = self.link(hash, ring)?.ok_or(Unsigned::Chain)?.next;
        if self.link(&next, ring)?.is_none() || self.nsec3_before(&next, ring)? != *hash {
            return Err(Unsigned::Chain.into());
        }
        Ok(())
    }

    /// The last hash before one in the ring, as the zone is now.
    fn nsec3_before(&mut self, hash: &Hash, ring: &Ring<'_>) -> Result<Hash, Stop> {
        let own = ring.drafted.partition_point(|other| other < hash);
        let own = own.checked_sub(1).map_or(ring.drafted.last(), |at| ring.drafted.get(at)).copied();
        // Those that have gone are in the draft, so there are no more steps than names in it; where all have gone, it comes to the first again.
        let mut probe = one_less(hash);
        let mut first = None;
        let stored = loop {
            let Some((record, _)) = self.view().nsec3_for(&probe) else { break None };
            let found = *record.hash;
            if self.link(&found, ring)?.is_some() {
                break Some(found);
            }
            if first == Some(found) {
                break None;
            }
            first.get_or_insert(found);
            probe = one_less(&found);
        };
        // The nearest before; else the ring goes on from its end.
        stored.into_iter().chain(own).max_by_key(|other| (other < hash, *other)).ok_or(Unsigned::Chain.into())
    }
}

impl Ring<'_> {
    /// A record, if it has the parameters of the zone.
    fn parse<'r>(&self, rdata: &'r [u8]) -> Option<Nsec3<'r>> {
        Nsec3::parse(rdata).ok().filter(|record| record.params == self.params)
    }

    fn link_of(&self, set: &Set) -> Option<Link> {
        let record = set.records.iter().find_map(|rdata| self.parse(rdata.written()))?;
        Some(Link {
            next: *record.next,
            is_opt_out: record.is_opt_out(),
            types: record.types.types().collect(),
        })
    }
}

/// The hash that the owner of an NSEC3 record stands for: a label below the apex.
fn hash_of_key(key: &[u8]) -> Option<Hash> {
    match key.split_last() {
        Some((0, label)) => hash_of_label(label),
        _ => None,
    }
}

/// The number before a hash as a number, which goes around.
fn one_less(hash: &Hash) -> Hash {
    let mut less = *hash;
    for octet in less.iter_mut().rev() {
        let (value, is_borrowed) = octet.overflowing_sub(1);
        *octet = value;
        if !is_borrowed {
            break;
        }
    }
    less
}
