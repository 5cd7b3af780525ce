//! The chain in an answer section: from QNAME along aliases to data, out of the zone, or to a name of which the response has none.

use wire::Name;
use wire::iana::rtype;
use wire::name::NAME_OCTETS_MAX;
use wire::render::Section;
use wire::rrset::{RdataList, Rrset, RrsetListBuf};

use super::limits::ALIASES_MAX;
use super::sets::Sets;
use super::{Asked, NameRoom, Reply};

/// How a chain ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// With the RRset asked for.
    Data,
    /// With a name that is not at or below the zone, that was there before, or one alias too far.
    Elsewhere,
    /// With a name that the answer section has nothing of.
    Nothing,
    /// With a DNAME that makes a name too long.
    TooLong,
}

/// A name that changes, in lower case.
#[derive(Clone)]
pub(super) struct Walked {
    room: NameRoom,
    octets: usize,
    /// How many aliases led to it.
    pub(super) aliases: usize,
}

impl Walked {
    fn new(name: &Name) -> Walked {
        let mut walked = Walked { room: [0; NAME_OCTETS_MAX], octets: 0, aliases: 0 };
        walked.set(name.octets());
        walked
    }

    /// Where the chain is.
    pub(super) fn name(&self) -> &Name {
        Name::trusted(&self.room[..self.octets])
    }

    fn set(&mut self, octets: &[u8]) {
        self.octets = octets.len();
        self.room[..octets.len()].copy_from_slice(octets);
        self.room[..octets.len()].make_ascii_lowercase();
    }

    /// Takes an alias's target; `false` where that is no name.
    fn follow(&mut self, target: &[u8]) -> bool {
        let is_name = Name::from_wire(target).is_ok();
        if is_name {
            self.set(target);
            self.aliases += 1;
        }
        is_name
    }

    /// Puts the target of a DNAME in the place of its owner's labels (RFC 6672 2.2); `false` where the name would be too long.
    fn redirect(&mut self, owner_octets: usize, target: &[u8]) -> bool {
        let kept = self.octets - owner_octets;
        let Some(room) = self.room.get_mut(kept..kept + target.len()) else { return false };
        room.copy_from_slice(target);
        room.make_ascii_lowercase();
        self.octets = kept + target.len();
        self.aliases += 1;
        true
    }
}

/// Walks along the chain, and puts its sets into the answer of `into`.
pub(super) fn walk(asked: &Asked<'_>, message: &[u8], sets: &mut Sets, into: &mut Reply) -> (Walked, End) {
    let mut walked = Walked::new(asked.qname);
    loop {
        if !walked.name().is_at_or_below(asked.zone)
            || walked.aliases == ALIASES_MAX
            || is_owner(walked.name(), &into.answer)
        {
            return (walked, End::Elsewhere);
        }
        if let Some(dname) = dname_above(sets, walked.name()) {
            let before = walked.clone();
            match redirect(message, sets, dname, &mut walked, into) {
                false => return (walked, End::TooLong),
                // The CNAME made from it is what was asked for.
                true if matches!(asked.qtype, rtype::CNAME | rtype::ANY) => return (before, End::Data),
                true => continue,
            }
        }
        if put_data(asked.qtype, message, sets, walked.name(), &mut into.answer) {
            return (walked, End::Data);
        }
        let Some(cname) = sets.find(Section::Answer, walked.name(), rtype::CNAME) else {
            return (walked, End::Nothing);
        };
        sets.put_first(message, cname, u32::MAX, &mut into.answer);
        if !walked.follow(sets.first(message, cname)) {
            return (walked, End::Nothing);
        }
    }
}

/// Whether an alias of this name is in the chain already.
fn is_owner(name: &Name, chain: &RrsetListBuf) -> bool {
    chain.list().iter().any(|set| set.rtype == rtype::CNAME && set.owner.eq_ignore_case(name))
}

/// Puts what was asked for at `name` into `to`: the RRset of the type, or all.
fn put_data(qtype: u16, message: &[u8], sets: &mut Sets, name: &Name, to: &mut RrsetListBuf) -> bool {
    if matches!(qtype, rtype::CNAME | rtype::DNAME | rtype::SOA) {
        let found = sets.find(Section::Answer, name, qtype);
        found.inspect(|number| sets.put_first(message, *number, u32::MAX, to));
        return found.is_some();
    }
    if qtype != rtype::ANY {
        let found = sets.find(Section::Answer, name, qtype);
        found.inspect(|number| sets.put(message, *number, u32::MAX, |_| true, to));
        return found.is_some();
    }
    let mut is_found = false;
    for number in 0..sets.count() {
        let set = sets.set_at(number);
        if set.section == Section::Answer && set.has_data() && sets.owner_of(number).eq_ignore_case(name) {
            sets.put(message, number, u32::MAX, |_| true, to);
            is_found = true;
        }
    }
    is_found
}

/// The DNAME that redirects `name`: of a proper ancestor.
fn dname_above(sets: &Sets, name: &Name) -> Option<usize> {
    sets.of(Section::Answer).find(|number| {
        let owner = sets.owner_of(*number);
        sets.set_at(*number).rtype == rtype::DNAME
            && owner.octets().len() < name.octets().len()
            && name.is_at_or_below(owner)
    })
}

/// Follows a DNAME, and puts it and the CNAME that it makes into the answer: whatever CNAME came with it is of no account (RFC 6672 3.4).
fn redirect(message: &[u8], sets: &mut Sets, dname: usize, walked: &mut Walked, into: &mut Reply) -> bool {
    let ttl = sets.set_at(dname).ttl;
    sets.put_first(message, dname, u32::MAX, &mut into.answer);
    let target = sets.first(message, dname);
    if Name::from_wire(target).is_err() {
        return false;
    }
    let (room, octets) = (walked.room, walked.octets);
    if !walked.redirect(sets.owner_of(dname).octets().len(), target) {
        return false;
    }
    // On the stack: RdataList's form of one record.
    let mut list = [0; 2 + NAME_OCTETS_MAX];
    let length = walked.octets;
    list[1] = length as u8;
    list[2..2 + length].copy_from_slice(walked.name().octets());
    let number = into.answer.list().iter().count();
    into.made |= 1_u64.checked_shl(number as u32).unwrap_or_default();
    into.answer.push(&Rrset {
        owner: Name::trusted(&room[..octets]),
        rtype: rtype::CNAME,
        ttl,
        rdatas: RdataList::from_octets(&list[..2 + length]).unwrap_or_default(),
        signatures: RdataList::EMPTY,
    });
    true
}

// Each alias takes at most two sets, so that those that were made have a bit in `Reply::made`.
const _: () = assert!(2 * ALIASES_MAX <= u64::BITS as usize);
