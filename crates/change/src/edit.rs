//! What was edited in the text of a zone, put on top of a zone that has changed since.
//!
//! ```text
//! T0 text as it was --Edit::between--> RRsets before and after  --Draft::edit over V--> Change, as of an update
//! T1 text as it is  --------^                                        `-- records that went go, those that came come
//! ```
//!
//! Both sides stay: what updates have changed since T0 is not undone, and what was edited is not left out. What no zone can have is a conflict,
//! of which nothing is taken. Design: `docs/design/texts.md` 1.

mod between;

use std::fmt;

use crate::draft::{Damaged, Draft};
use crate::serial::{SerialStyle, is_greater};
use crate::set::{Rdata, Set, SetId, is_replacing, replaces};
use crate::update::Stop;
use wire::NameBuf;
use wire::iana::rtype;
use wire::sort_key::name_of;
use zone::change::soa_serial;

/// What differs between two texts of a zone.
#[derive(Debug)]
pub struct Edit {
    /// Names in canonical order, those of hashes last.
    names: Vec<Named>,
    before: Soa,
    after: Soa,
    /// Whether the zone after is signed.
    is_signed: bool,
}

/// A name of which something was edited.
#[derive(Debug)]
struct Named {
    /// Its key relative to the apex.
    key: Box<[u8]>,
    sets: Vec<Edited>,
}

/// An RRset before and after.
#[derive(Debug)]
struct Edited {
    id: SetId,
    before: Set,
    after: Set,
}

/// An SOA record.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Soa {
    ttl: u32,
    rdata: Vec<u8>,
    serial: u32,
}

impl Soa {
    fn new(ttl: u32, rdata: Vec<u8>) -> Option<Soa> {
        let serial = soa_serial(&rdata)?;
        Some(Soa { ttl, rdata, serial })
    }

    /// The same with another serial.
    fn with(&self, serial: u32) -> Soa {
        let mut rdata = self.rdata.clone();
        // Five numbers are its end, which the serial was read from.
        let at = rdata.len() - 20;
        rdata[at..at + 4].copy_from_slice(&serial.to_be_bytes());
        Soa { rdata, serial, ttl: self.ttl }
    }

    /// Whether all but the serial is the same.
    fn is_like(&self, other: &Soa) -> bool {
        self.with(0) == other.with(0)
    }
}

/// Why an edit cannot be worked out, or is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditFault {
    /// A zone cannot be read.
    Damaged,
    /// The two are not of one zone.
    OtherZone,
    /// More names or octets than one change has.
    TooLarge,
    /// What was edited and what updates did cannot both be: at this name, of this type.
    Conflict(NameBuf, u16),
    /// The apex would have no NS record left.
    LastNs,
    /// The zone is signed, and was changed since: the signatures of the text are over another state.
    Signed,
    /// The zone is signed, so that its serial cannot be chosen here, and that of the text is not greater.
    SignedSerial,
    /// The RRset of this type would fit into no message, or proves absence in all of the zone.
    Refused(NameBuf, String),
}

impl From<Damaged> for EditFault {
    fn from(_: Damaged) -> EditFault {
        EditFault::Damaged
    }
}

impl fmt::Display for EditFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EditFault::Damaged => f.write_str("the zone cannot be read"),
            EditFault::OtherZone => f.write_str("the text is of another zone"),
            EditFault::TooLarge => f.write_str("more was edited than one change has"),
            EditFault::Conflict(name, rtype) => {
                let rtype = rtype::Text(*rtype);
                write!(f, "{name} {rtype}: what was edited and what updates have done since cannot both be")
            }
            EditFault::LastNs => f.write_str("no NS record would be left at the apex"),
            EditFault::Signed => f.write_str(
                "the zone is signed, and updates have changed it since: the signatures of the text are of another state",
            ),
            EditFault::SignedSerial => f.write_str(
                "the zone is signed, and the serial of the text is not greater than what is served",
            ),
            EditFault::Refused(name, why) => write!(f, "{name}: {why}"),
        }
    }
}

impl Edit {
    /// Whether nothing but the serial differs.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.before.is_like(&self.after)
    }

    /// Serials of the two texts.
    pub fn serials(&self) -> (u32, u32) {
        (self.before.serial, self.after.serial)
    }

    /// How many names were edited, the apex counted also where it is the SOA record alone.
    pub fn name_count(&self) -> usize {
        let has_apex = self.names.first().is_some_and(|named| named.key.is_empty());
        self.names.len() + usize::from(!has_apex && self.before != self.after)
    }
}

impl Draft<'_> {
    /// Puts what was edited on top of the draft, in which nothing was done yet. A serial that the text does not bring follows `style`; `now`: seconds since 1970.
    /// After a fault the draft is of no use any more.
    pub fn edit(&mut self, edit: &Edit, style: SerialStyle, now: u64) -> Result<(), EditFault> {
        let mark = self.mark();
        let is_signed = self.is_signed() || edit.is_signed;
        if is_signed && !edit.is_empty() {
            if self.serial() != edit.before.serial {
                return Err(EditFault::Signed);
            }
            if !is_greater(edit.after.serial, self.serial()) {
                return Err(EditFault::SignedSerial);
            }
        }
        let mut places = Vec::with_capacity(edit.names.len());
        for named in &edit.names {
            let place = self.place(&named.key)?;
            for set in &named.sets {
                self.edit_set(place, set)?;
            }
            places.push(place);
        }
        self.edit_soa(edit, style, now)?;
        places.into_iter().try_for_each(|place| self.check_edited(place))?;
        let apex = self.place(&[])?;
        if self.set(apex, SetId::of(rtype::NS))?.records.is_empty() {
            return Err(EditFault::LastNs);
        }
        match self.settle(mark) {
            Ok(()) => Ok(()),
            // Signatures are not looked at.
            Err(Stop::Unproved | Stop::Damaged) => Err(EditFault::Damaged),
            Err(Stop::Failure(failure)) => {
                Err(EditFault::Refused(self.view().apex().to_owned(), failure.to_string()))
            }
        }
    }

    /// Records that went go if they are there still, those that came come if they are not there yet, and a TTL that became another is that.
    fn edit_set(&mut self, place: usize, edited: &Edited) -> Result<(), EditFault> {
        let Edited { id, before, after } = edited;
        let (id, is_new) = (*id, before.records.is_empty());
        for rdata in before.records.iter().filter(|rdata| after.find(rdata).is_err()) {
            if let Ok(at) = self.set(place, id)?.find(rdata) {
                self.remove(place, id, at)?;
            }
        }
        let is_other_ttl = !is_new && !after.records.is_empty() && before.ttl != after.ttl;
        for rdata in after.records.iter().filter(|rdata| before.find(rdata).is_err()) {
            let now = self.set(place, id)?;
            let ttl = if now.records.is_empty() || is_other_ttl { after.ttl } else { now.ttl };
            let takes_place = |old: &Rdata| {
                old.folded() != rdata.folded() && replaces(id.rtype, rdata.folded(), old.folded())
            };
            if is_replacing(id.rtype) && now.records.iter().any(takes_place) {
                return Err(EditFault::Conflict(self.name_at(place)?, id.rtype));
            }
            self.add(place, id, ttl, rdata.written())?;
        }
        if is_other_ttl && let Some(first) = self.set(place, id)?.records.first() {
            let written = first.written().to_vec();
            self.add(place, id, after.ttl, &written)?;
        }
        Ok(())
    }

    fn edit_soa(&mut self, edit: &Edit, style: SerialStyle, now: u64) -> Result<(), EditFault> {
        let apex = self.place(&[])?;
        let id = SetId::of(rtype::SOA);
        let set = self.set(apex, id)?;
        let rdata = set.records.first().ok_or(EditFault::Damaged)?.written().to_vec();
        let own = Soa::new(set.ttl, rdata).ok_or(EditFault::Damaged)?;
        let is_edited = !edit.before.is_like(&edit.after) && !own.is_like(&edit.after);
        if is_edited && !own.is_like(&edit.before) {
            return Err(EditFault::Conflict(self.name_at(apex)?, rtype::SOA));
        }
        let brings_serial =
            edit.before.serial != edit.after.serial && is_greater(edit.after.serial, own.serial);
        if !is_edited && !brings_serial {
            return Ok(());
        }
        let serial = if brings_serial { edit.after.serial } else { style.after(own.serial, now) };
        let new = if is_edited { edit.after.with(serial) } else { own.with(serial) };
        self.add(apex, id, new.ttl, &new.rdata)?;
        self.set_serial(serial);
        Ok(())
    }

    /// A CNAME is alone, but for what proves and signs it (RFC 2181 10.1, RFC 4034 3).
    fn check_edited(&mut self, place: usize) -> Result<(), EditFault> {
        let ids = self.ids(place)?;
        let is_alias = ids.iter().any(|id| id.rtype == rtype::CNAME);
        if is_alias && ids.iter().any(|id| !rtype::may_be_at_cname(id.rtype)) {
            return Err(EditFault::Conflict(self.name_at(place)?, rtype::CNAME));
        }
        Ok(())
    }

    fn name_at(&self, place: usize) -> Result<NameBuf, EditFault> {
        name_of(self.view().apex_key(), self.key(place)).map_err(|_| EditFault::Damaged)
    }
}
