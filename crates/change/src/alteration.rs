//! RRsets that are to be so: what the HTTP API asks for, all of it or nothing.
//!
//! ```text
//! owner, type, what, TTL, RDATA  --Draft::alter--> the draft | Refused: which of them, and why
//! ```
//!
//! An update message passes over in silence what it does not do (RFC 2136 3.4.2): an older SOA record, the last NS record, data beside an alias. Here each is done, or
//! the whole is refused. The order means nothing: an address that goes and an alias that comes fit, whichever is first. Who may change what was looked at before.
//! Design: `docs/design/api.md` 5.

use std::fmt;

use crate::draft::{Damaged, Draft};
use crate::failure::Why;
use crate::serial::{SerialStyle, is_greater};
use crate::set::{Rdata, SetId, is_replacing, replaces};
use crate::update::{Limits, Stop};
use wire::iana::rtype;
use wire::{Name, SortKey};
use zone::change::soa_serial;
use zone::contents::served_ttl;

/// What is done with the RRset of a name and a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// It has these records and no others.
    Replace,
    /// It has none.
    Delete,
    /// It has these besides.
    Extend,
    /// It has them no more.
    Prune,
}

/// Records of one owner and type, and what is done with them.
#[derive(Clone, Debug)]
pub struct Altered<'a> {
    /// Their owner.
    pub owner: &'a Name,
    /// Their type.
    pub rtype: u16,
    /// What is done.
    pub what: What,
    /// The TTL of the RRset, where it is replaced or extended.
    pub ttl: u32,
    /// RDATA of the records; none where it is deleted.
    pub rdatas: Vec<&'a [u8]>,
}

/// Why nothing is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Which of the RRsets shows it, from 0 on.
    pub set: Option<usize>,
    /// Why.
    pub fault: Fault,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// As of an update.
    Why(Why),
    /// The zone is signed, and nothing is signed here.
    Signed,
    /// A CNAME record and other data at one name.
    BesideCname,
    /// Records that cannot be in one RRset.
    NotTogether,
    /// The apex would have no NS record.
    LastNs,
    /// A zone has one SOA record, at its apex.
    OneSoa,
    /// All of them together, with what there is of them, are more than one change may be.
    TooMuch,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::Why(why) => return why.fmt(f),
            Fault::Signed => {
                "the zone is signed and the server has no keys: change it by UPDATE, with signatures"
            }
            Fault::BesideCname => "a CNAME record and other data cannot be at one name",
            Fault::NotTogether => "such records cannot be beside each other in one RRset",
            Fault::LastNs => "the zone would have no NS record at its apex",
            Fault::TooMuch => "up to here more is to be read and changed than one request may: send several",
            Fault::OneSoa => "a zone has one SOA record, at its apex: it can be replaced, by one",
        })
    }
}

/// Why it ends before its end.
enum Ends {
    Refused(Refused),
    Damaged,
}

impl From<Damaged> for Ends {
    fn from(_: Damaged) -> Ends {
        Ends::Damaged
    }
}

impl From<Fault> for Ends {
    fn from(fault: Fault) -> Ends {
        Ends::Refused(Refused { set: None, fault })
    }
}

impl From<Stop> for Ends {
    fn from(stop: Stop) -> Ends {
        match stop {
            Stop::Failure(failure) => Fault::Why(failure.why).into(),
            Stop::Unproved | Stop::Damaged => Ends::Damaged,
        }
    }
}

/// What can be said of an RRset without a look at the zone: whether its owner is in it, its type is one of data, and its RDATA of that type's form.
pub fn check_form(zone: &Name, set: &Altered<'_>) -> Result<(), Fault> {
    if !set.owner.is_at_or_below(zone) {
        return Err(Fault::Why(Why::NotZone));
    }
    if rtype::is_meta(set.rtype) || set.rtype == 0 {
        return Err(Fault::Why(Why::Form));
    }
    // They prove what is in the zone, which is nobody's to say but the signer's.
    if matches!(set.rtype, rtype::RRSIG | rtype::NSEC | rtype::NSEC3 | rtype::NSEC3PARAM) {
        return Err(Fault::Why(Why::NotByUpdate(set.rtype)));
    }
    let check = |rdata: &&[u8]| zonefile::rdata::check(set.rtype, rdata);
    set.rdatas.iter().try_for_each(check).map_err(|fault| Fault::Why(Why::Rdata(fault)))
}

impl Draft<'_> {
    /// Has RRsets be so, all or nothing. They are of this zone and of the form that [`check_form`] wants, and each owner and type is there once. A serial that they do
    /// not bring follows `style`; `now`: seconds since 1970. With an SOA record among them the draft takes no more.
    pub fn alter(
        &mut self,
        sets: &[Altered<'_>],
        limits: &Limits,
        (style, now): (SerialStyle, u64),
    ) -> Result<Result<(), Refused>, Damaged> {
        let mark = self.mark();
        match self.alter_whole(sets, limits, (style, now)) {
            Ok(()) => Ok(Ok(())),
            Err(ends) => {
                self.rollback(mark);
                match ends {
                    Ends::Refused(refused) => Ok(Err(refused)),
                    Ends::Damaged => Err(Damaged),
                }
            }
        }
    }

    fn alter_whole(
        &mut self,
        sets: &[Altered<'_>],
        limits: &Limits,
        style: (SerialStyle, u64),
    ) -> Result<(), Ends> {
        if self.is_signed() && !sets.is_empty() {
            return Err(Fault::Signed.into());
        }
        let mark = self.mark();
        let mut places = Vec::with_capacity(sets.len());
        for (number, set) in sets.iter().enumerate() {
            let at = |ends| match ends {
                Ends::Refused(refused) => Ends::Refused(Refused { set: Some(number), ..refused }),
                damaged => damaged,
            };
            places.push(self.alter_set(set, limits, style).map_err(at)?);
            if self.is_full() {
                return Err(at(Fault::TooMuch.into()));
            }
        }
        // Once all is done: what comes may need what goes.
        for (number, (set, place)) in sets.iter().zip(places).enumerate() {
            let at = |fault| Ends::Refused(Refused { set: Some(number), fault });
            self.check_altered(place, set, limits)?.map_err(at)?;
        }
        Ok(self.settle(mark)?)
    }

    /// Does what one of them says; returns its place.
    fn alter_set(
        &mut self,
        set: &Altered<'_>,
        limits: &Limits,
        style: (SerialStyle, u64),
    ) -> Result<usize, Ends> {
        let key = SortKey::of(set.owner);
        let Some(relative) = key.octets().strip_prefix(self.view().apex_key()) else {
            return Err(Fault::Why(Why::NotZone).into());
        };
        let (place, id) = (self.place(relative)?, SetId::of(set.rtype));
        if set.rtype == rtype::SOA {
            self.alter_soa(place, set, style)?;
            return Ok(place);
        }
        // Before any of them is put in, which costs as many steps as there are already: looked at in the end it would be too late.
        if matches!(set.what, What::Replace | What::Extend) {
            let most = (limits.records_per_rrset as usize).max(self.set(place, id)?.records.len());
            if set.rdatas.len() > most {
                return Err(Fault::Why(Why::RRsetFull(limits.records_per_rrset)).into());
            }
        }
        match set.what {
            What::Delete => self.clear(place, id)?,
            What::Prune => {
                for rdata in &set.rdatas {
                    if let Ok(at) = self.set(place, id)?.find(&Rdata::new(set.rtype, rdata)) {
                        self.remove(place, id, at)?;
                    }
                }
            }
            What::Replace => {
                let mut keep: Vec<Rdata> =
                    set.rdatas.iter().map(|rdata| Rdata::new(set.rtype, rdata)).collect();
                keep.sort_by(|a, b| a.folded().cmp(b.folded()));
                let stays = |old: &Rdata| keep.binary_search_by(|new| new.folded().cmp(old.folded())).is_ok();
                for at in (0..self.set(place, id)?.records.len()).rev() {
                    if !self.set(place, id)?.records.get(at).is_some_and(stays) {
                        self.remove(place, id, at)?;
                    }
                }
                self.extend(place, set)?;
            }
            What::Extend => self.extend(place, set)?,
        }
        Ok(place)
    }

    /// Adds records of which none takes the place of another.
    fn extend(&mut self, place: usize, set: &Altered<'_>) -> Result<(), Ends> {
        let id = SetId::of(set.rtype);
        for rdata in &set.rdatas {
            let new = Rdata::new(set.rtype, rdata);
            let takes_place =
                |old: &Rdata| old.folded() != new.folded() && replaces(set.rtype, new.folded(), old.folded());
            if is_replacing(set.rtype) && self.set(place, id)?.records.iter().any(takes_place) {
                return Err(Fault::NotTogether.into());
            }
            self.add(place, id, served_ttl(set.ttl), rdata)?;
        }
        Ok(())
    }

    /// Has the SOA record be this one: all of it but its serial, and that too if it is greater.
    fn alter_soa(
        &mut self,
        place: usize,
        set: &Altered<'_>,
        (style, now): (SerialStyle, u64),
    ) -> Result<(), Ends> {
        let ([rdata], What::Replace, []) = (&set.rdatas[..], set.what, self.key(place)) else {
            return Err(Fault::OneSoa.into());
        };
        let (id, own) = (SetId::of(rtype::SOA), self.serial());
        let serial = soa_serial(rdata).ok_or(Fault::OneSoa)?;
        let is_brought = is_greater(serial, own);
        let with = |serial: u32| {
            let mut rdata = rdata.to_vec();
            // Five numbers are its end, which the serial was read from.
            let at = rdata.len() - 20;
            rdata[at..at + 4].copy_from_slice(&serial.to_be_bytes());
            rdata
        };
        let before = self.set(place, id)?;
        let is_same_but_serial = before.ttl == served_ttl(set.ttl)
            && before
                .records
                .first()
                .is_some_and(|old| old.folded() == Rdata::new(rtype::SOA, &with(own)).folded());
        if is_same_but_serial && !is_brought {
            return Ok(());
        }
        let serial = if is_brought { serial } else { style.after(own, now) };
        self.add(place, id, served_ttl(set.ttl), &with(serial))?;
        self.set_serial(serial);
        Ok(())
    }

    /// Looks at what is at the owner of one of them now.
    fn check_altered(
        &mut self,
        place: usize,
        set: &Altered<'_>,
        limits: &Limits,
    ) -> Result<Result<(), Fault>, Damaged> {
        let ids = self.ids(place)?;
        let is_alias = ids.iter().any(|id| id.rtype == rtype::CNAME);
        if is_alias && ids.iter().any(|id| !rtype::may_be_at_cname(id.rtype)) {
            return Ok(Err(Fault::BesideCname));
        }
        let id = SetId::of(set.rtype);
        let records = self.set(place, id)?.records.len();
        if set.rtype == rtype::NS && records == 0 && self.key(place).is_empty() {
            return Ok(Err(Fault::LastNs));
        }
        // What was more before may shrink or become another.
        if records <= self.stored(place, id)?.records.len() {
            return Ok(Ok(()));
        }
        if records > limits.records_per_rrset as usize {
            return Ok(Err(Fault::Why(Why::RRsetFull(limits.records_per_rrset))));
        }
        if self.record_count(place) > limits.records_per_name as usize {
            return Ok(Err(Fault::Why(Why::NameFull(limits.records_per_name))));
        }
        Ok(Ok(()))
    }
}
