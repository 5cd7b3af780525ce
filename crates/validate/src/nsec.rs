//! What one NSEC record shows about one name (RFC 4034 4, RFC 6840 4.1).
//!
//! ```text
//! canonical order ----------------------------------------------------------------------->
//!   owner (exists, types)      name: absent, or an empty non-terminal      next (exists)
//!                              when next is below it
//! ```
//!
//! The record's signature is the caller's matter: nothing here is worth more than that.

use dnssec::TypeBitmap;
use wire::iana::rtype;
use wire::{Name, Rrset, SortKey};

use crate::denial::Shown;

/// An NSEC record of a zone.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    owner: &'a Name,
    next: &'a Name,
    types: TypeBitmap<'a>,
}

impl<'a> Record<'a> {
    /// Reads the record of `rrset` as one of the zone `apex`.
    ///
    /// None where it is not one record of the form of RFC 4034 4.1, where owner or next owner are outside of the zone, where the last record does
    /// not point at the apex, or where an owner below the apex has SOA: that is the child's apex, whose records are not this zone's.
    pub fn read(apex: &Name, rrset: &Rrset<'a>) -> Option<Record<'a>> {
        let mut rdatas = rrset.rdatas.iter();
        let nsec = dnssec::nsec::Nsec::parse(rdatas.next()?)?;
        let record = Record { owner: rrset.owner, next: nsec.next, types: nsec.types };
        let is_of_zone = rrset.rtype == rtype::NSEC
            && rdatas.next().is_none()
            && record.owner.is_at_or_below(apex)
            && record.next.is_at_or_below(apex)
            && record.types.contains(rtype::SOA) == record.owner.eq_ignore_case(apex);
        let is_last = || SortKey::of(record.next).octets() <= SortKey::of(record.owner).octets();
        (is_of_zone && (record.next.eq_ignore_case(apex) || !is_last())).then_some(record)
    }

    /// The types at the owner.
    pub fn types(&self) -> TypeBitmap<'a> {
        self.types
    }

    /// Whether the owner is a zone cut, seen from above.
    pub fn is_delegation(&self) -> bool {
        is_delegation(&self.types)
    }

    /// What the record shows about `name`, a name of the zone; `key` is its sort key. None where it shows nothing.
    pub fn shows(&self, name: &Name, key: &SortKey) -> Option<Shown<'a>> {
        if self.owner.eq_ignore_case(name) {
            return Some(Shown::Types(self.types));
        }
        // Below a zone cut, and below a DNAME, other rules say what there is.
        if name.is_at_or_below(self.owner) && (self.is_delegation() || self.types.contains(rtype::DNAME)) {
            return None;
        }
        let (owner, next) = (SortKey::of(self.owner), SortKey::of(self.next));
        if !dnssec::nsec::covers(owner.octets(), next.octets(), key.octets()) {
            return None;
        }
        if self.next.is_at_or_below(name) {
            return Some(Shown::EmptyNonTerminal);
        }
        let encloser_labels = shared_labels(key, &owner).max(shared_labels(key, &next));
        Some(Shown::Absent { encloser_labels, is_opt_out: false })
    }
}

/// Whether types are those of a zone cut, seen from above: NS without SOA.
pub(crate) fn is_delegation(types: &TypeBitmap<'_>) -> bool {
    types.contains(rtype::NS) && !types.contains(rtype::SOA)
}

/// Labels of the deepest name that two names are at or below.
fn shared_labels(a: &SortKey, b: &SortKey) -> usize {
    let most = a.label_count().min(b.label_count());
    (1..=most).take_while(|&labels| a.ancestor(labels) == b.ancestor(labels)).count()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use dnssec::bitmap::write_types;
    use wire::NameBuf;
    use wire::rrset::{RdataListBuf, RrsetBuf};

    fn name(text: &str) -> NameBuf {
        NameBuf::from_text(text).unwrap()
    }

    fn nsec(owner: &str, next: &str, types: &[u16]) -> RrsetBuf {
        let mut rdata = name(next).octets().to_vec();
        write_types(types.iter().copied().chain([rtype::RRSIG, rtype::NSEC]), &mut rdata);
        RrsetBuf {
            owner: name(owner),
            rtype: rtype::NSEC,
            ttl: 60,
            rdatas: [&rdata[..]].into_iter().collect(),
            signatures: RdataListBuf::new(),
        }
    }

    /// What a record of example. shows: `types`, `empty`, the labels of the closest encloser, or nothing.
    #[track_caller]
    fn check(record: &RrsetBuf, asked: &str, expected: &str) {
        let rrset = record.rrset();
        let shown = Record::read(&name("example."), &rrset)
            .expect("of the zone")
            .shows(&name(asked), &SortKey::of(&name(asked)));
        let shown = match shown {
            None => "".to_owned(),
            Some(Shown::Types(_)) => "types".to_owned(),
            Some(Shown::EmptyNonTerminal) => "empty".to_owned(),
            Some(Shown::Absent { encloser_labels, .. }) => encloser_labels.to_string(),
        };
        assert_eq!(shown, expected, "{asked}");
    }

    #[test]
    fn names_between() {
        let record = nsec("b.example.", "x.e.example.", &[rtype::A]);
        check(&record, "B.example.", "types");
        check(&record, "a.example.", "");
        check(&record, "c.example.", "1");
        check(&record, "y.c.example.", "1");
        check(&record, "a.b.example.", "2");
        check(&record, "e.example.", "empty");
        check(&record, "a.e.example.", "2");
        check(&record, "x.e.example.", "");
        check(&record, "f.example.", "");
    }

    #[test]
    fn last_record() {
        let record = nsec("x.example.", "example.", &[rtype::A]);
        check(&record, "y.example.", "1");
        check(&record, "a.x.example.", "2");
        check(&record, "example.", "");
        check(&record, "w.example.", "");
        let only = nsec("example.", "example.", &[rtype::SOA, rtype::NS]);
        check(&only, "a.example.", "1");
        check(&only, "example.", "types");
    }

    /// RFC 6840 4.1: nothing is denied below a zone cut or a DNAME.
    #[test]
    fn records_of_cuts_deny_nothing_below() {
        for types in [&[rtype::NS][..], &[rtype::NS, rtype::DS], &[rtype::DNAME]] {
            let record = nsec("b.example.", "d.example.", types);
            check(&record, "a.b.example.", "");
            check(&record, "c.example.", "1");
        }
        let apex = nsec("example.", "b.example.", &[rtype::NS, rtype::SOA]);
        check(&apex, "a.example.", "1");
    }

    #[test]
    fn records_that_are_not_of_the_zone() {
        let is_read = |record: RrsetBuf| Record::read(&name("example."), &record.rrset()).is_some();
        assert!(is_read(nsec("b.example.", "c.example.", &[])));
        assert!(!is_read(nsec("b.example.", "c.", &[])), "next outside of the zone");
        assert!(!is_read(nsec("b.example.", "com.", &[])));
        assert!(!is_read(nsec("b.", "example.", &[])), "owner outside of the zone");
        assert!(!is_read(nsec("b.example.", "a.example.", &[])), "the last points at the apex");
        assert!(!is_read(nsec("b.example.", "c.example.", &[rtype::NS, rtype::SOA])), "the child's apex");
        assert!(!is_read(nsec("example.", "c.example.", &[rtype::NS])), "an apex has SOA");
        let mut two = nsec("b.example.", "c.example.", &[]);
        let more = nsec("b.example.", "d.example.", &[]);
        two.rdatas.push(more.rdatas.list().iter().next().unwrap());
        assert!(!is_read(two));
    }
}
