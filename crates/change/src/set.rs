//! An RRset while it is changed: records in canonical order, so that one is found, added and removed by a binary search.

use wire::iana::rtype;
use wire::rdata;

/// Which RRset of a name: its type, and of RRSIG the type that is covered, as signatures of each type are handled by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SetId {
    pub(crate) rtype: u16,
    pub(crate) covered: u16,
}

impl SetId {
    /// Of a type that is not RRSIG.
    pub(crate) fn of(rtype: u16) -> SetId {
        SetId { rtype, covered: 0 }
    }

    /// Of the signatures that cover a type.
    pub(crate) fn signatures(covered: u16) -> SetId {
        SetId { rtype: rtype::RRSIG, covered }
    }

    /// Where a record belongs.
    pub(crate) fn of_record(rtype: u16, rdata: &[u8]) -> SetId {
        match rdata.first_chunk() {
            Some(covered) if rtype == rtype::RRSIG => SetId::signatures(u16::from_be_bytes(*covered)),
            _ => SetId::of(rtype),
        }
    }
}

/// RDATA in canonical form (RFC 4034 6.2), and as it was written where that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rdata {
    folded: Box<[u8]>,
    written: Option<Box<[u8]>>,
}

impl Rdata {
    pub(crate) fn new(rtype: u16, written: &[u8]) -> Rdata {
        let mut folded = Box::<[u8]>::from(written);
        if rdata::has_folded_names(rtype) {
            rdata::fold(rtype, &mut folded);
        }
        let written = (*folded != *written).then(|| written.into());
        Rdata { folded, written }
    }

    /// Octets of memory, roughly.
    pub(crate) fn octets(&self) -> usize {
        size_of::<Rdata>() + self.folded.len() + self.written.as_ref().map_or(0, |written| written.len())
    }

    /// What it is compared by.
    pub(crate) fn folded(&self) -> &[u8] {
        &self.folded
    }

    /// The letters of who wrote it first.
    pub(crate) fn written(&self) -> &[u8] {
        self.written.as_deref().unwrap_or(&self.folded)
    }
}

/// The records of an RRset; none: it does not exist.
#[derive(Clone, Debug, Default)]
pub(crate) struct Set {
    /// The TTL, if there are records.
    pub(crate) ttl: u32,
    /// In canonical order, without duplicates.
    pub(crate) records: Vec<Rdata>,
}

impl Set {
    /// The set of these records, in any order.
    pub(crate) fn of(rtype: u16, ttl: u32, rdatas: impl IntoIterator<Item = Vec<u8>>) -> Set {
        let mut records: Vec<_> = rdatas.into_iter().map(|rdata| Rdata::new(rtype, &rdata)).collect();
        records.sort_by(|a, b| a.folded.cmp(&b.folded));
        records.dedup_by(|a, b| a.folded == b.folded);
        Set { ttl, records }
    }

    /// Where the record is, or where it would be.
    pub(crate) fn find(&self, rdata: &Rdata) -> Result<usize, usize> {
        self.records.binary_search_by(|record| record.folded.cmp(&rdata.folded))
    }
}

/// Whether records of the type may take the place of others: of other types no set is searched for such.
pub(crate) fn is_replacing(rtype: u16) -> bool {
    matches!(rtype, rtype::SOA | rtype::CNAME | rtype::DNAME | rtype::NSEC)
        || matches!(rtype, rtype::WKS | rtype::NSEC3 | rtype::NSEC3PARAM)
}

/// Whether a new record takes the place of another of the same owner and type: of types that are alone at their name (RFC 2136 1.1.5, RFC
/// 6672 2.4, RFC 4034 4), and of those whose first fields say what they are about.
pub(crate) fn replaces(rtype: u16, new: &[u8], old: &[u8]) -> bool {
    match rtype {
        rtype::SOA | rtype::CNAME | rtype::DNAME | rtype::NSEC => true,
        // Address and protocol.
        rtype::WKS => new.get(..5) == old.get(..5),
        rtype::NSEC3 | rtype::NSEC3PARAM => match (chain_of(new), chain_of(old)) {
            (Some(new), Some(old)) => new == old,
            _ => false,
        },
        _ => false,
    }
}

/// Algorithm, iterations and salt (RFC 5155 3.2, 4.2): which chain a record belongs to.
fn chain_of(rdata: &[u8]) -> Option<(u8, &[u8])> {
    let salt_octets = usize::from(*rdata.get(4)?);
    Some((*rdata.first()?, rdata.get(2..5 + salt_octets)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_stay_and_do_not_count() {
        let a = Rdata::new(rtype::NS, b"\x01A\0");
        let b = Rdata::new(rtype::NS, b"\x01a\0");
        assert_eq!((a.folded(), a.written()), (b.folded(), &b"\x01A\0"[..]));
        assert_eq!(b.written(), b"\x01a\0");
        let set = Set::of(rtype::TXT, 1, [b"\x01b".to_vec(), b"\x01A".to_vec(), b"\x01b".to_vec()]);
        assert_eq!(set.records.len(), 2);
        assert_eq!(set.find(&Rdata::new(rtype::TXT, b"\x01b")), Ok(1));
        assert_eq!(set.find(&Rdata::new(rtype::TXT, b"\x01a")), Err(1));
    }

    #[test]
    fn what_takes_the_place_of_what() {
        for (rtype, new, old, expected) in [
            (rtype::CNAME, &b"\x01a\0"[..], &b"\x01b\0"[..], true),
            (rtype::A, &[1; 4], &[2; 4], false),
            (rtype::WKS, b"\x01\x01\x01\x01\x06\xff", b"\x01\x01\x01\x01\x06", true),
            (rtype::WKS, b"\x01\x01\x01\x01\x06\xff", b"\x01\x01\x01\x01\x11", false),
            (rtype::NSEC3, b"\x01\x00\0\0\x01s\x01a", b"\x01\x01\0\0\x01s\x01b", true),
            (rtype::NSEC3, b"\x01\x00\0\0\x01s\x01a", b"\x01\x00\0\0\x01t\x01b", false),
            (rtype::NSEC3, b"\x01", b"\x01", false),
        ] {
            assert_eq!(replaces(rtype, new, old), expected, "{rtype} {new:?} {old:?}");
            assert!(is_replacing(rtype) || !expected);
        }
    }
}
