//! A zone, and how it answers.

use wire::iana::rtype;
use wire::{Name, NameBuf};

use super::records::{Question, Record, Response, name};

/// A zone as its records.
#[derive(Clone, Default)]
pub struct Zone {
    pub(super) apex: Option<NameBuf>,
    records: Vec<Record>,
}

impl Zone {
    pub fn from_text(apex: &str, text: &str) -> Zone {
        let mut records: Vec<_> =
            text.lines().map(str::trim).filter(|line| !line.is_empty()).map(Record::from_text).collect();
        records.push(Record::from_text(&format!("{apex} 300 SOA")));
        Zone { apex: Some(name(apex)), records }
    }

    /// Of records that are made elsewhere: signed ones.
    pub fn new(apex: &Name, records: Vec<Record>) -> Zone {
        Zone { apex: Some(apex.to_owned()), records }
    }

    /// With an octet of the RDATA of an RRset changed, as nobody has signed it.
    pub fn forged(mut self, owner: &str, kind: u16) -> Zone {
        let owner = name(owner);
        let of_set = |record: &&mut Record| record.0.eq_ignore_case(&owner) && record.1 == kind;
        for record in self.records.iter_mut().filter(of_set) {
            *record.3.last_mut().unwrap() ^= 1;
        }
        self
    }

    /// With the signatures of what it has, as those want it who ask with DO.
    pub(super) fn signed(&self, mut response: Response) -> Response {
        for section in &mut response.sections[..2] {
            let mut sets: Vec<(NameBuf, u16)> = section.iter().map(|r| (r.0.to_lowercase(), r.1)).collect();
            sets.dedup();
            for (owner, covered) in sets {
                let of_set = |record: &Record| record.3[..2] == covered.to_be_bytes();
                section.extend(self.of(&owner, rtype::RRSIG).into_iter().filter(of_set));
            }
        }
        response
    }

    fn of(&self, owner: &Name, kind: u16) -> Vec<Record> {
        self.records.iter().filter(|r| r.0.eq_ignore_case(owner) && r.1 == kind).cloned().collect()
    }

    pub(super) fn answer(&self, question: &Question) -> Response {
        let apex = self.apex.as_ref().unwrap();
        let mut response = Response { is_authoritative: true, ..Response::rcode(0) };
        let mut owner = question.name.to_lowercase();
        for _ in 0..8 {
            let mut at: &Name = &owner;
            let mut cut = None;
            while !at.eq_ignore_case(apex) {
                let is_ds = question.rtype == rtype::DS && at.eq_ignore_case(&owner);
                if !is_ds && !self.of(at, rtype::NS).is_empty() {
                    cut = Some(at.to_owned());
                }
                at = at.parent().unwrap();
            }
            if let Some(cut) = cut {
                response.is_authoritative = !response.sections[0].is_empty();
                response.sections[1] = self.of(&cut, rtype::NS);
                let proof = [self.of(&cut, rtype::DS), self.of(&cut, rtype::NSEC)];
                response.sections[1]
                    .extend(proof.into_iter().find(|set| !set.is_empty()).unwrap_or_default());
                for server in response.sections[1].clone() {
                    let target = Name::trusted(&server.3).to_owned();
                    response.sections[2].extend(self.of(&target, rtype::A));
                    response.sections[2].extend(self.of(&target, rtype::AAAA));
                }
                return response;
            }
            let found = self.of(&owner, question.rtype);
            if !found.is_empty() {
                response.sections[0].extend(found);
                return response;
            }
            let alias = self.of(&owner, rtype::CNAME);
            if let Some(record) = alias.first() {
                response.sections[0].extend(alias.clone());
                let target = Name::trusted(&record.3).to_lowercase();
                if !target.is_at_or_below(apex) {
                    return response;
                }
                owner = target;
                continue;
            }
            let dname = self
                .records
                .iter()
                .find(|r| r.1 == rtype::DNAME && owner.is_at_or_below(&r.0) && !owner.eq_ignore_case(&r.0));
            if let Some(dname) = dname.cloned() {
                let target =
                    crate::known::lookup::substituted(&owner, &dname.0, Name::trusted(&dname.3)).unwrap();
                let alias = Record(owner.clone(), rtype::CNAME, dname.2, target.octets().to_vec());
                response.sections[0].extend([dname, alias]);
                if !target.is_at_or_below(apex) {
                    return response;
                }
                owner = target.to_lowercase();
                continue;
            }
            let exists = self.records.iter().any(|record| record.0.is_at_or_below(&owner));
            response.rcode = if exists { 0 } else { 3 };
            response.sections[1] = self.of(apex, rtype::SOA);
            return response;
        }
        response
    }
}
