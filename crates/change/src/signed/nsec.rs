//! NSEC records of names that an update changed: their types, and their links (RFC 4034 4, RFC 4035 2.3).
//!
//! ```text
//! changed: o      before(o) -> next: before(next) is before(o)      o -> next: before(next) is o
//! ```
//!
//! A chain that was right stays right if that holds for each owner whose record came, went or changed.

use super::{Affected, Standing};
use crate::draft::Draft;
use crate::failure::Unsigned;
use crate::set::SetId;
use crate::update::Stop;
use dnssec::nsec::Nsec;
use wire::iana::rtype;
use wire::sort_key::KEY_OCTETS_MAX;

const NSEC: SetId = SetId { rtype: rtype::NSEC, covered: 0 };

/// Owners of NSEC records in the draft, in order.
type Drafted = Vec<Box<[u8]>>;

impl Draft<'_> {
    pub(super) fn check_nsec(&mut self, affected: &Affected) -> Result<(), Stop> {
        for &place in &affected.places {
            self.check_nsec_types(place)?;
        }
        let drafted = self.drafted_with(NSEC);
        for &(place, id) in affected.sets.iter().filter(|(_, id)| *id == NSEC) {
            let key = self.key(place).to_vec();
            if !self.set(place, id)?.records.is_empty() {
                self.check_nsec_link(&key, &drafted)?;
            }
            let before = self.nsec_before(&key, &drafted)?;
            self.check_nsec_link(&before, &drafted)?;
        }
        Ok(())
    }

    /// Whether the name has an NSEC record just if it has to, and of its types.
    fn check_nsec_types(&mut self, place: usize) -> Result<(), Stop> {
        let key = self.key(place).to_vec();
        let standing = self.standing(&key)?;
        let is_own = |id: &SetId| *id != NSEC && id.covered != rtype::NSEC && !super::is_of_chain(*id);
        let is_owner = standing != Standing::Occluded && self.ids(place)?.iter().any(is_own);
        let types = self.proved_types(place, standing)?;
        match (is_owner, self.set(place, NSEC)?.records.first()) {
            (false, None) => Ok(()),
            (false, Some(_)) => Err(Unsigned::StrayProof.into()),
            (true, record) => {
                let nsec = record.and_then(|rdata| Nsec::parse(rdata.written()));
                let is_right = nsec.is_some_and(|nsec| nsec.types.types().eq(types.iter().copied()));
                if is_right { Ok(()) } else { Err(Unsigned::Types.into()) }
            }
        }
    }

    /// Whether the record of an owner leads to the next one.
    fn check_nsec_link(&mut self, key: &[u8], drafted: &Drafted) -> Result<(), Stop> {
        let place = self.place(key)?;
        let nsec = self.set(place, NSEC)?.records.first().and_then(|rdata| Nsec::parse(rdata.written()));
        let next = nsec.map(|nsec| nsec.next.to_owned()).and_then(|next| self.key_of(&next));
        let next = next.ok_or(Unsigned::Chain)?;
        if !self.has(&next, rtype::NSEC)? || *self.nsec_before(&next, drafted)? != *key {
            return Err(Unsigned::Chain.into());
        }
        Ok(())
    }

    /// The last owner of an NSEC record before a name, as the zone is now; before the apex the last of all.
    fn nsec_before(&mut self, key: &[u8], drafted: &Drafted) -> Result<Vec<u8>, Stop> {
        // What comes before all keys that begin with a key: that without the end of its last label.
        let just_before = |key: &[u8]| match key.split_last() {
            Some((_, before)) => before.to_vec(),
            None => vec![0xff; KEY_OCTETS_MAX],
        };
        let mut probe = just_before(key);
        let own = drafted.partition_point(|other| **other <= *probe);
        let own = own.checked_sub(1).map(|at| &*drafted[at]);
        // Those that have gone are in the draft, so there are no more steps than names in it.
        let stored = loop {
            let Some(node) = self.view().nsec_at_or_before(&probe) else { break None };
            let mut buffer = [0; KEY_OCTETS_MAX];
            let octets = node.copy_key(&mut buffer);
            let found = &buffer[..octets];
            if self.has(found, rtype::NSEC)? {
                break Some(found.to_vec());
            }
            if found.is_empty() {
                break None;
            }
            probe = just_before(found);
        };
        let own = own.map(<[u8]>::to_vec);
        stored.max(own).ok_or(Unsigned::Chain.into())
    }
}
