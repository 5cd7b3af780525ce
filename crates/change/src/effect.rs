//! What the update section does: whether it may (RFC 2136 3.3), whether it can (3.4.1), and its effects (3.4.2).

use crate::draft::{Draft, Mark};
use crate::failure::{Failure, Part, Why};
use crate::policy::{Decision, Permission};
use crate::request::{Entry, Request};
use crate::serial::is_greater;
use crate::set::{Rdata, SetId};
use crate::update::{Limits, Stop};
use wire::iana::{class, rtype};
use zone::change::soa_serial;
use zone::contents::served_ttl;
use zone::fragment::SIGNATURES_MAX;

/// Most octets of an RRset with its signatures, heads of records included: it has to fit into a message beside the question, a long owner and OPT.
const RRSET_OCTETS_MAX: usize = 64_000;
/// Octets of a record before its RDATA, the owner being a pointer.
const RECORD_HEAD_OCTETS: usize = 12;

/// Whether any rule grants the sender anything. Before all else: what comes after tells what is in the zone.
pub(crate) fn permit_sender(permission: Option<&Permission<'_>>) -> Result<(), Stop> {
    match permission {
        Some(permission) if !permission.is_known() => Err(Why::Nobody.into()),
        _ => Ok(()),
    }
}

/// A failure of an entry of the update section.
fn at(number: u16) -> impl Fn(Why) -> Stop {
    move |why| Stop::Failure(Failure { why, at: Some((Part::Updates, number)) })
}

/// Class and type of the form that deletes all RRsets of a name (RFC 2136 2.5.3).
fn is_cleansing(entry: &Entry<'_>) -> bool {
    entry.class == class::ANY && entry.rtype == rtype::ANY
}

/// Whether RRsets of the type stay at the apex when they are deleted as a whole (RFC 2136 3.4.2.3).
fn stays(relative: &[u8], rtype: u16) -> bool {
    relative.is_empty() && matches!(rtype, rtype::SOA | rtype::NS)
}

/// Whether it has the form of one of RFC 2136 2.5.
fn check_form(entry: &Entry<'_>) -> Result<(), Why> {
    let is_meta = rtype::is_meta(entry.rtype) || entry.rtype == 0;
    let is_right = match entry.class {
        class::IN => !is_meta,
        class::ANY => entry.ttl == 0 && entry.rdata.is_empty() && (!is_meta || entry.rtype == rtype::ANY),
        class::NONE => entry.ttl == 0 && !is_meta,
        _ => false,
    };
    if !is_right {
        return Err(Why::Form);
    }
    if entry.class == class::IN {
        zonefile::rdata::check(entry.rtype, entry.rdata).map_err(Why::Rdata)?;
    }
    Ok(())
}

impl Draft<'_> {
    /// Checks the form of all entries (RFC 2136 3.4.1.3).
    pub(crate) fn prescan(&self, request: &Request) -> Result<(), Stop> {
        for (entry, number) in request.updates().zip(1..) {
            if !entry.key.starts_with(self.view().apex_key()) {
                return Err(at(number)(Why::NotZone));
            }
            check_form(&entry).map_err(at(number))?;
        }
        Ok(())
    }

    /// Checks what can be said without a look at the zone.
    pub(crate) fn permit(&self, request: &Request, permission: Option<&Permission<'_>>) -> Result<(), Stop> {
        let Some(permission) = permission else { return Ok(()) };
        for (entry, number) in request.updates().zip(1..) {
            let decision = match is_cleansing(&entry) {
                true => permission.decide_any(entry.key),
                false => permission.decide(entry.key, entry.rtype),
            };
            check_decision(decision, entry.rtype).map_err(at(number))?;
        }
        Ok(())
    }

    /// Checks that all types may go that are at names that shall have none.
    pub(crate) fn permit_cleansing(
        &mut self,
        request: &Request,
        permission: Option<&Permission<'_>>,
    ) -> Result<(), Stop> {
        let Some(permission) = permission else { return Ok(()) };
        for (entry, number) in request.updates().zip(1..).filter(|(entry, _)| is_cleansing(entry)) {
            let relative = &entry.key[self.view().apex_key().len()..];
            let place = self.place(relative)?;
            for id in self.ids(place)?.into_iter().filter(|id| !stays(relative, id.rtype)) {
                check_decision(permission.decide(entry.key, id.rtype), id.rtype).map_err(at(number))?;
            }
        }
        Ok(())
    }

    /// Does what the update section says, in its order (RFC 2136 3.4.2.7).
    pub(crate) fn take_effect(&mut self, request: &Request, limits: &Limits) -> Result<(), Stop> {
        for (entry, number) in request.updates().zip(1..) {
            let relative = &entry.key[self.view().apex_key().len()..];
            let place = self.place(relative)?;
            match entry.class {
                class::IN => self.add_entry(place, relative, &entry, limits, at(number))?,
                class::ANY => self.delete_rrsets(place, relative, entry.rtype)?,
                _ => self.delete_record(place, relative, &entry)?,
            }
        }
        Ok(())
    }

    /// Adds to an RRset, unless it is one of the cases that are ignored (RFC 2136 3.4.2.2).
    fn add_entry(
        &mut self,
        place: usize,
        relative: &[u8],
        entry: &Entry<'_>,
        limits: &Limits,
        fail: impl Fn(Why) -> Stop,
    ) -> Result<(), Stop> {
        let rtype = entry.rtype;
        if !self.is_signed() && matches!(rtype, rtype::RRSIG | rtype::NSEC | rtype::NSEC3) {
            return Err(fail(Why::NotByUpdate(rtype)));
        }
        if self.is_beside_cname(place, rtype)? {
            return Ok(());
        }
        if rtype == rtype::SOA {
            match soa_serial(entry.rdata) {
                Some(serial) if relative.is_empty() && is_greater(serial, self.serial()) => {
                    self.set_serial(serial);
                }
                _ => return Ok(()),
            }
        }
        let id = SetId::of_record(rtype, entry.rdata);
        let before = self.set(place, id)?.records.len();
        self.add(place, id, served_ttl(entry.ttl), entry.rdata)?;
        let after = self.set(place, id)?.records.len();
        if after <= before {
            return Ok(());
        }
        if after > limits.records_per_rrset as usize {
            return Err(fail(Why::RRsetFull(limits.records_per_rrset)));
        }
        if rtype != rtype::RRSIG && self.record_count(place) > limits.records_per_name as usize {
            return Err(fail(Why::NameFull(limits.records_per_name)));
        }
        Ok(())
    }

    /// Whether a CNAME would come to other data, or other data to a CNAME.
    fn is_beside_cname(&self, place: usize, rtype: u16) -> Result<bool, Stop> {
        if rtype != rtype::CNAME && rtype::may_be_at_cname(rtype) {
            return Ok(false);
        }
        let ids = self.ids(place)?;
        Ok(match rtype {
            rtype::CNAME => ids.iter().any(|id| !rtype::may_be_at_cname(id.rtype)),
            _ => ids.iter().any(|id| id.rtype == rtype::CNAME),
        })
    }

    /// Deletes an RRset, or all of a name (RFC 2136 3.4.2.3).
    fn delete_rrsets(&mut self, place: usize, relative: &[u8], rtype: u16) -> Result<(), Stop> {
        for id in self.ids(place)? {
            if (rtype == rtype::ANY || id.rtype == rtype) && !stays(relative, id.rtype) {
                self.clear(place, id)?;
            }
        }
        Ok(())
    }

    /// Deletes one record, if it is there (RFC 2136 3.4.2.4).
    fn delete_record(&mut self, place: usize, relative: &[u8], entry: &Entry<'_>) -> Result<(), Stop> {
        if entry.rtype == rtype::SOA {
            return Ok(());
        }
        let id = SetId::of_record(entry.rtype, entry.rdata);
        let set = self.set(place, id)?;
        let Ok(at) = set.find(&Rdata::new(entry.rtype, entry.rdata)) else { return Ok(()) };
        if set.records.len() == 1 && stays(relative, entry.rtype) {
            return Ok(());
        }
        Ok(self.remove(place, id, at)?)
    }

    /// What is checked when all entries had their effect: signatures go with what they covered, RRsets can be sent, and what proves absence in
    /// all of the zone is as it was.
    pub(crate) fn settle(&mut self, mark: Mark) -> Result<(), Stop> {
        for (place, id) in self.changed_since(mark) {
            let covered = if id.rtype == rtype::RRSIG { id.covered } else { id.rtype };
            let signatures = SetId::signatures(covered);
            let mut octets = octets_of(&self.set(place, SetId::of(covered))?.records);
            if octets == 0 {
                self.clear(place, signatures)?;
            }
            let signatures = &self.set(place, signatures)?.records;
            octets += octets_of(signatures);
            if octets > RRSET_OCTETS_MAX || signatures.len() > SIGNATURES_MAX {
                return Err(Why::RRsetTooLarge.into());
            }
            if id == SetId::of(rtype::NSEC3PARAM) && self.key(place).is_empty() && self.differs(place, id)? {
                return Err(Why::NotByUpdate(rtype::NSEC3PARAM).into());
            }
        }
        Ok(())
    }
}

fn octets_of(records: &[Rdata]) -> usize {
    records.iter().map(|rdata| RECORD_HEAD_OCTETS + rdata.written().len()).sum()
}

fn check_decision(decision: Decision, rtype: u16) -> Result<(), Why> {
    if decision.is_granted { Ok(()) } else { Err(Why::Denied(rtype, decision.rule)) }
}
