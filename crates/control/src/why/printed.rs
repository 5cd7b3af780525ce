//! A response as people read it, and what its records say of proofs and signatures.

use wire::header::{self, HEADER_OCTETS, u16_at};
use wire::iana::{rcode, rtype};
use wire::message::Message;
use wire::name::NAME_OCTETS_MAX;
use wire::render::Section;
use wire::{Name, NameBuf};
use zone::CatalogView;

use super::verified::Verifier;
use super::walk::End;
use super::{Question, Step, step};
use crate::answer::rcode_name;
use crate::command::Response;
use crate::text::Seconds;

/// The code in the header; OPT has its upper bits (RFC 6891 6.1.3).
const RCODE_MASK: u16 = 0xf;
/// Lines of a section: an RRset of a large response may have thousands.
const LINES_MAX: usize = 200;

/// A response, and what is to be known of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Printed {
    pub(super) response: Response,
    pub(super) rcode: u16,
    pub(super) is_authoritative: bool,
    pub(super) is_truncated: bool,
    records: Vec<Record>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Record {
    section: Section,
    owner: NameBuf,
    rtype: u16,
    rdata: Vec<u8>,
}

impl Printed {
    /// `None`: there is no response, or none that can be read.
    pub(super) fn of(octets: &[u8]) -> Option<Printed> {
        if octets.len() < HEADER_OCTETS {
            return None;
        }
        let flags = u16_at(octets, 2);
        let mut printed = Printed {
            response: Response { octets: octets.len(), ..Response::default() },
            rcode: flags & RCODE_MASK,
            is_authoritative: flags & header::AA != 0,
            is_truncated: flags & header::TC != 0,
            ..Printed::default()
        };
        let mut room = vec![0; usize::from(u16::MAX)];
        let message = Message::read(octets).ok()?;
        for record in message.records().ok()? {
            let record = record.ok()?;
            if record.view.rtype == rtype::OPT {
                printed.rcode |= (record.view.ttl >> 20) as u16 & 0xff0;
                continue;
            }
            let mut owner = [0; NAME_OCTETS_MAX];
            let owner = record.owner_name(&mut owner).ok()?;
            let rdata = record.rdata_uncompressed(&mut room).ok()?;
            let mut line = Vec::new();
            zonefile::print::line(owner, record.view.ttl, record.view.rtype, rdata, &mut line);
            let lines = match record.section {
                Section::Answer => &mut printed.response.answer,
                Section::Authority => &mut printed.response.authority,
                Section::Additional => &mut printed.response.additional,
            };
            if lines.len() < LINES_MAX {
                lines.push(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            let (section, rtype) = (record.section, record.view.rtype);
            let (owner, rdata) = (owner.to_lowercase(), rdata.to_vec());
            printed.records.push(Record { section, owner, rtype, rdata });
        }
        printed.response.status = rcode_name(usize::from(printed.rcode));
        let names = [(header::AA, "AA"), (header::TC, "TC"), (header::RD, "RD"), (header::RA, "RA")];
        let set: Vec<&str> =
            names.iter().filter(|(bit, _)| flags & bit != 0).map(|(_, name)| *name).collect();
        printed.response.flags = set.join(" ");
        Some(printed)
    }

    /// The name asked for, and those that aliases lead to, in lower case.
    pub(super) fn names(&self, question: &Question) -> Vec<NameBuf> {
        let mut names = vec![question.name.to_lowercase()];
        if matches!(question.rtype, rtype::CNAME | rtype::ANY | rtype::RRSIG) {
            return names;
        }
        let answer = self.records.iter().filter(|record| record.section == Section::Answer);
        for record in answer.filter(|record| record.rtype == rtype::CNAME) {
            // Behind one that led back the chain has ended.
            let target = Name::split_from(&record.rdata).map(|(target, _)| target.to_lowercase());
            if let Ok(target) = target
                && names.last().is_some_and(|last| **last == *record.owner)
            {
                names.push(target);
            }
        }
        names
    }

    /// Whether the last name of a chain was looked up: there is something of it, or it is said that there is not.
    pub(super) fn goes_to(&self, name: &Name) -> bool {
        self.rcode != rcode::NOERROR
            || [rtype::SOA, rtype::NS].iter().any(|of| self.has_authority(*of))
            || self.is_truncated
            || self.records.iter().any(|record| record.is_answer() && *record.owner == *name)
    }

    /// Whether the authority section has records of a type.
    pub(super) fn has_authority(&self, of: u16) -> bool {
        self.records.iter().any(|record| record.section == Section::Authority && record.rtype == of)
    }

    /// Whether there is what was asked for, at the last name.
    pub(super) fn has_data(&self, question: &Question) -> bool {
        let names = self.names(question);
        let is_any = matches!(question.rtype, rtype::ANY | rtype::RRSIG);
        let fits = |record: &Record| {
            let is_it = names.last().is_some_and(|last| **last == *record.owner);
            record.is_answer() && (is_any || is_it && record.rtype == question.rtype)
        };
        self.records.iter().any(fits)
    }

    /// What proves a denial. `is_signed`: the zone is, and that is asked for.
    pub(super) fn proofs(&self, end: End, is_signed: bool) -> Vec<Step> {
        let mut steps: Vec<Step> = self.records.iter().filter_map(Record::proof).collect();
        let is_denial = matches!(end, End::NoData | End::NameError);
        if steps.is_empty() && is_denial && is_signed && !self.is_truncated {
            steps.push(step("proof", "nothing proves it: validators say bogus".to_owned()));
        }
        steps
    }

    /// Until when signatures are good, by a time in seconds since 1970, and whether they are of the keys of their zones. What was cut off is not verified.
    pub(super) fn signatures(&self, view: &CatalogView<'_>, now: u64) -> Vec<Step> {
        let mut verifier = Verifier::new(view);
        let mut words = |record: &Record, covered: u16| {
            let is_of = |other: &&Record| other.place() == (record.section, &record.owner, covered);
            let records: Vec<&[u8]> =
                self.records.iter().filter(is_of).map(|record| &record.rdata[..]).collect();
            match self.is_truncated {
                true => "not verified, as it was cut off",
                false => verifier.words(&record.rdata, &record.owner, &records),
            }
        };
        self.records.iter().filter_map(|record| record.signature(now, &mut words)).collect()
    }
}

impl Record {
    fn is_answer(&self) -> bool {
        self.section == Section::Answer
    }

    fn place(&self) -> (Section, &NameBuf, u16) {
        (self.section, &self.owner, self.rtype)
    }

    fn proof(&self) -> Option<Step> {
        let words = match self.rtype {
            rtype::NSEC => {
                let (next, _) = Name::split_from(&self.rdata).ok()?;
                format!("NSEC of {} to {next}: nothing is between them", self.owner)
            }
            rtype::NSEC3 => {
                let is_opt_out = self.rdata.get(1)? & 1 != 0;
                let opt_out = if is_opt_out { ", opt-out" } else { "" };
                format!("NSEC3 of {}{opt_out}: hashes from there to the next", self.owner)
            }
            _ => return None,
        };
        Some(step("proof", words))
    }

    /// RFC 4034 3.1. `verified`: what is said of its octets.
    fn signature(&self, now: u64, verified: &mut dyn FnMut(&Record, u16) -> &'static str) -> Option<Step> {
        if self.rtype != rtype::RRSIG {
            return None;
        }
        let number = |at: usize| Some(u32::from_be_bytes(*self.rdata.get(at..)?.first_chunk()?));
        let short = |at: usize| Some(u16::from_be_bytes(*self.rdata.get(at..)?.first_chunk()?));
        let (covered, algorithm, tag) = (short(0)?, *self.rdata.get(2)?, short(16)?);
        let (signer, _) = Name::split_from(self.rdata.get(18..)?).ok()?;
        // Times go around, every 136 years.
        let left = |until: u32| i64::from(until.wrapping_sub(now as u32).cast_signed());
        let (expires, began) = (left(number(8)?), left(number(12)?));
        let when = match (expires, began) {
            (..=-1, _) => format!("expired {} ago: validators say bogus", Seconds(expires.unsigned_abs())),
            (_, 1..) => {
                format!("not good for another {}: validators say bogus", Seconds(began.unsigned_abs()))
            }
            _ => format!("good for another {}", Seconds(expires.unsigned_abs())),
        };
        let (owner, of) = (&self.owner, rtype::Text(covered));
        let octets = verified(self, covered);
        let words = format!(
            "RRSIG of {owner} {of} by key {tag} (algorithm {algorithm}) of {signer}: {when}; {octets}"
        );
        Some(step("signature", words))
    }
}
