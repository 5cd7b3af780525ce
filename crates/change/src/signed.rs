//! What a signed zone takes when the server has no keys: an update that brings its signatures, and leaves the zone as validly signed as it was.
//!
//! ```text
//! RRsets that changed -> verify: signatures over them        names that changed -> nsec, nsec3: types there, links to their neighbours
//! ```
//!
//! Only what an update changes is looked at: what was right before and did not change is right. Design: `docs/design/update.md` 5.

mod nsec;
mod nsec3;
mod verify;

use crate::draft::{Draft, Mark};
use crate::failure::{Unsigned, Why};
use crate::set::SetId;
use crate::update::{Proof, Stop, Terms};
use dnssec::key::Dnskey;
use wire::iana::rtype;
use wire::sort_key::{KEY_OCTETS_MAX, name_of};
use wire::{Name, NameBuf, SortKey};
use zone::Denial;

/// Most names that one update may bring to light or hide, by a zone cut or a DNAME that goes or comes, or look through for one below another.
const NAMES_BELOW_MAX: usize = 1_000;

/// How a name stands in the zone as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Authoritative,
    /// At a zone cut.
    Cut,
    /// Below a zone cut or a DNAME.
    Occluded,
}

/// What an update changed, and what has to be looked at with it.
struct Affected {
    /// Names, in the order in which they were met first.
    places: Vec<usize>,
    /// RRsets.
    sets: Vec<(usize, SetId)>,
    /// RRsets and signatures to verify.
    verified: Vec<(usize, u16)>,
}

impl From<Unsigned> for Stop {
    fn from(what: Unsigned) -> Stop {
        Why::Signed(what).into()
    }
}

impl Draft<'_> {
    /// Checks what an update since `mark` has done to a signed zone.
    pub(crate) fn check_signed(&mut self, mark: Mark, terms: &Terms<'_>) -> Result<(), Stop> {
        let sets = self.changed_since(mark);
        if !self.is_signed() || sets.is_empty() {
            return Ok(());
        }
        if !self.has_own_soa() {
            return Err(Unsigned::Soa.into());
        }
        match terms.proof {
            Proof::Here => {}
            Proof::Elsewhere => return Err(Stop::Unproved),
            Proof::Given => return Ok(()),
        }
        self.check_keys_stay()?;
        let affected = self.affected(sets)?;
        self.verify(&affected, terms.now as u32)?;
        self.check_key_signers(&affected)?;
        match self.view().denial() {
            Denial::None => Ok(()),
            Denial::Nsec => self.check_nsec(&affected),
            Denial::Nsec3 => self.check_nsec3(&affected),
        }
    }

    /// No zone key may go: what it signed would have to be looked for in all of the zone.
    fn check_keys_stay(&mut self) -> Result<(), Stop> {
        let apex = self.place(&[])?;
        let id = SetId::of(rtype::DNSKEY);
        let before = self.stored(apex, id)?;
        let now = self.set(apex, id)?;
        let is_key = |rdata: &[u8]| Dnskey::parse(rdata).is_some_and(|key| key.is_zone_key());
        match before.records.iter().any(|old| is_key(old.written()) && now.find(old).is_err()) {
            true => Err(Unsigned::KeyGone.into()),
            false => Ok(()),
        }
    }

    fn affected(&mut self, sets: Vec<(usize, SetId)>) -> Result<Affected, Stop> {
        let mut places: Vec<usize> = sets.iter().map(|(place, _)| *place).collect();
        places.dedup();
        let mut verified: Vec<(usize, u16)> = sets
            .iter()
            .map(|(place, id)| (*place, if id.rtype == rtype::RRSIG { id.covered } else { id.rtype }))
            .collect();
        for &(place, id) in &sets {
            if !(id.rtype == rtype::NS && !self.key(place).is_empty() || id.rtype == rtype::DNAME) {
                continue;
            }
            let mut anew = vec![place];
            if self.set(place, id)?.records.is_empty() != self.stored(place, id)?.records.is_empty() {
                let key = self.key(place).to_vec();
                anew.extend(self.places_below(&key)?);
            }
            for place in anew {
                verified.extend(self.ids(place)?.iter().map(|id| (place, id.rtype)));
                places.push(place);
            }
        }
        places.sort_unstable();
        places.dedup();
        verified.retain(|(_, rtype)| *rtype != rtype::RRSIG);
        verified.sort_unstable();
        verified.dedup();
        Ok(Affected { places, sets, verified })
    }

    /// All names below one that own records now.
    fn places_below(&mut self, key: &[u8]) -> Result<Vec<usize>, Stop> {
        let mut keys = self.drafted_below(key);
        for node in self.view().cursor(key) {
            let mut buffer = [0; KEY_OCTETS_MAX];
            let octets = node.copy_key(&mut buffer);
            let Some(below) = buffer[..octets].strip_prefix(key) else { break };
            if !below.is_empty() {
                keys.push(buffer[..octets].into());
            }
            if keys.len() > NAMES_BELOW_MAX {
                return Err(Unsigned::TooMuch.into());
            }
        }
        keys.sort();
        keys.dedup();
        let mut places = Vec::new();
        for key in keys {
            let place = self.place(&key)?;
            if !self.ids(place)?.is_empty() {
                places.push(place);
            }
        }
        Ok(places)
    }

    /// How a name stands: whether itself or one above it is a zone cut or has a DNAME.
    fn standing(&mut self, key: &[u8]) -> Result<Standing, Stop> {
        let ends = key.iter().enumerate().filter(|(_, octet)| **octet == 0).map(|(at, _)| at + 1);
        for end in std::iter::once(0).chain(ends).filter(|end| *end < key.len()) {
            if (end > 0 && self.has(&key[..end], rtype::NS)?) || self.has(&key[..end], rtype::DNAME)? {
                return Ok(Standing::Occluded);
            }
        }
        let is_cut = !key.is_empty() && self.has(key, rtype::NS)?;
        Ok(if is_cut { Standing::Cut } else { Standing::Authoritative })
    }

    /// Whether a name has a type now.
    fn has(&mut self, key: &[u8], rtype: u16) -> Result<bool, Stop> {
        let place = self.place(key)?;
        Ok(self.ids(place)?.contains(&SetId::of(rtype)))
    }

    /// The types that a proof has to list for a name, ascending: at a zone cut those of the parent's side (RFC 4035 2.3). NSEC3 is never one, as such
    /// records are at no names.
    fn proved_types(&mut self, place: usize, standing: Standing) -> Result<Vec<u16>, Stop> {
        let ids = self.ids(place)?.into_iter().filter(|id| !is_of_chain(*id));
        let mut types: Vec<u16> = ids
            .map(|id| id.rtype)
            .filter(|&rtype| match standing {
                Standing::Authoritative => true,
                Standing::Cut => matches!(rtype, rtype::NS | rtype::DS | rtype::NSEC | rtype::RRSIG),
                Standing::Occluded => false,
            })
            .collect();
        types.dedup();
        Ok(types)
    }

    fn name_of(&self, key: &[u8]) -> Result<NameBuf, Stop> {
        name_of(self.view().apex_key(), key).map_err(|_| Stop::Damaged)
    }

    /// Key of a name relative to the apex; `None`: it is not in the zone.
    fn key_of(&self, name: &Name) -> Option<Box<[u8]>> {
        SortKey::of(name).octets().strip_prefix(self.view().apex_key()).map(Into::into)
    }
}

/// Whether an RRset is an NSEC3 record, or signs one.
fn is_of_chain(id: SetId) -> bool {
    id.rtype == rtype::NSEC3 || id.covered == rtype::NSEC3
}
