//! RRsets outside of messages: what resolvers keep, validators check and answers are made of.
//!
//! The records of a set stand one after the other, names in them uncompressed, in the order in which they came:
//!
//! ```text
//! RdataList   2 octets length, RDATA | 2 octets length, RDATA | ...
//! Rrset       owner, type, TTL, the RdataList of its records, the RdataList of the RRSIGs that cover it; class IN
//! RrsetList   owner, 2 octets type, 4 TTL, 4 length, RdataList, 4 length, RdataList of RRSIGs | owner, ...
//! ```
//!
//! All only borrow; [`RrsetBuf`], [`RdataListBuf`] and [`RrsetListBuf`] own their octets, and can be filled again and again.

use crate::Name;
use crate::name::NameBuf;

/// RDATA of several records; see the module.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct RdataList<'a> {
    octets: &'a [u8],
}

impl<'a> RdataList<'a> {
    /// No records.
    pub const EMPTY: RdataList<'static> = RdataList { octets: &[] };

    /// Checks that `octets` are a list.
    pub fn from_octets(octets: &'a [u8]) -> Option<RdataList<'a>> {
        let mut rest = octets;
        while let Some((length, after)) = rest.split_first_chunk::<2>() {
            rest = after.get(usize::from(u16::from_be_bytes(*length))..)?;
        }
        rest.is_empty().then_some(RdataList { octets })
    }

    /// The octets: what [`RdataList::from_octets`] takes.
    pub fn octets(&self) -> &'a [u8] {
        self.octets
    }

    /// A copy, in one piece of memory of its size.
    pub fn to_buf(&self) -> RdataListBuf {
        RdataListBuf { octets: self.octets.to_vec() }
    }

    /// Whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.octets.is_empty()
    }

    /// How many records; walks along them.
    pub fn count(&self) -> usize {
        self.iter().count()
    }

    /// The RDATA of each.
    pub fn iter(&self) -> RdataIter<'a> {
        RdataIter { rest: self.octets }
    }
}

impl<'a> IntoIterator for RdataList<'a> {
    type Item = &'a [u8];
    type IntoIter = RdataIter<'a>;
    fn into_iter(self) -> RdataIter<'a> {
        self.iter()
    }
}

impl std::fmt::Debug for RdataList<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(*self).finish()
    }
}

/// Iterator over the RDATA of a list.
#[derive(Clone, Debug)]
pub struct RdataIter<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for RdataIter<'a> {
    type Item = &'a [u8];
    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let (length, after) = self.rest.split_first_chunk::<2>()?;
        let (rdata, rest) = after.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
        self.rest = rest;
        Some(rdata)
    }
}

/// An owned [`RdataList`].
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct RdataListBuf {
    octets: Vec<u8>,
}

impl RdataListBuf {
    /// A list of no records.
    pub fn new() -> RdataListBuf {
        RdataListBuf::default()
    }

    /// The list.
    pub fn list(&self) -> RdataList<'_> {
        RdataList { octets: &self.octets }
    }

    /// Appends a record. RDATA longer than RDLENGTH can say is left out, which no message can hold.
    pub fn push(&mut self, rdata: &[u8]) {
        if let Ok(length) = u16::try_from(rdata.len()) {
            self.octets.extend_from_slice(&length.to_be_bytes());
            self.octets.extend_from_slice(rdata);
        }
    }

    /// Takes all records out.
    pub fn clear(&mut self) {
        self.octets.clear();
    }
}

impl std::fmt::Debug for RdataListBuf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.list().fmt(f)
    }
}

impl<'r> FromIterator<&'r [u8]> for RdataListBuf {
    fn from_iter<I: IntoIterator<Item = &'r [u8]>>(rdatas: I) -> RdataListBuf {
        let mut list = RdataListBuf::new();
        rdatas.into_iter().for_each(|rdata| list.push(rdata));
        list
    }
}

/// Records of one owner and type, of class IN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rrset<'a> {
    /// Whose they are, in the case in which the name came.
    pub owner: &'a Name,
    /// Their type; never RRSIG, unless these themselves were asked for.
    pub rtype: u16,
    /// Seconds; the smallest of those that the records and signatures came with (RFC 2181 5.2).
    pub ttl: u32,
    /// Their RDATA.
    pub rdatas: RdataList<'a>,
    /// The RDATA of the RRSIG records that cover them (RFC 4035 2.2).
    pub signatures: RdataList<'a>,
}

impl Rrset<'_> {
    /// An owned copy.
    pub fn to_buf(&self) -> RrsetBuf {
        RrsetBuf {
            owner: self.owner.to_owned(),
            rtype: self.rtype,
            ttl: self.ttl,
            rdatas: self.rdatas.into_iter().collect(),
            signatures: self.signatures.into_iter().collect(),
        }
    }
}

/// An owned [`Rrset`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RrsetBuf {
    /// See [`Rrset::owner`].
    pub owner: NameBuf,
    /// See [`Rrset::rtype`].
    pub rtype: u16,
    /// See [`Rrset::ttl`].
    pub ttl: u32,
    /// See [`Rrset::rdatas`].
    pub rdatas: RdataListBuf,
    /// See [`Rrset::signatures`].
    pub signatures: RdataListBuf,
}

impl RrsetBuf {
    /// The set.
    pub fn rrset(&self) -> Rrset<'_> {
        Rrset {
            owner: &self.owner,
            rtype: self.rtype,
            ttl: self.ttl,
            rdatas: self.rdatas.list(),
            signatures: self.signatures.list(),
        }
    }
}

/// Several RRsets; see the module.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct RrsetList<'a> {
    octets: &'a [u8],
}

impl<'a> RrsetList<'a> {
    /// No sets.
    pub const EMPTY: RrsetList<'static> = RrsetList { octets: &[] };

    /// Checks that `octets` are a list.
    pub fn from_octets(octets: &'a [u8]) -> Option<RrsetList<'a>> {
        let mut rest = octets;
        while !rest.is_empty() {
            let (set, after) = split_set(rest)?;
            RdataList::from_octets(set.rdatas.octets)?;
            RdataList::from_octets(set.signatures.octets)?;
            rest = after;
        }
        Some(RrsetList { octets })
    }

    /// Takes octets that were a list when they were written. Others give wrong sets, or none, never a panic.
    pub fn trusted(octets: &'a [u8]) -> RrsetList<'a> {
        RrsetList { octets }
    }

    /// The octets: what [`RrsetList::from_octets`] takes.
    pub fn octets(&self) -> &'a [u8] {
        self.octets
    }

    /// Whether there are no sets.
    pub fn is_empty(&self) -> bool {
        self.octets.is_empty()
    }

    /// The sets in their order.
    pub fn iter(&self) -> RrsetIter<'a> {
        RrsetIter { rest: self.octets }
    }
}

impl<'a> IntoIterator for RrsetList<'a> {
    type Item = Rrset<'a>;
    type IntoIter = RrsetIter<'a>;
    fn into_iter(self) -> RrsetIter<'a> {
        self.iter()
    }
}

impl std::fmt::Debug for RrsetList<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(*self).finish()
    }
}

/// Iterator over the sets of a list.
#[derive(Clone, Debug)]
pub struct RrsetIter<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for RrsetIter<'a> {
    type Item = Rrset<'a>;
    #[inline]
    fn next(&mut self) -> Option<Rrset<'a>> {
        let (set, rest) = split_set(self.rest)?;
        self.rest = rest;
        Some(set)
    }
}

/// The set at the begin of `octets`, its lists not looked into, and what follows.
fn split_set(octets: &[u8]) -> Option<(Rrset<'_>, &[u8])> {
    fn split_list(octets: &[u8]) -> Option<(RdataList<'_>, &[u8])> {
        let (length, after) = octets.split_first_chunk::<4>()?;
        let (list, rest) = after.split_at_checked(u32::from_be_bytes(*length) as usize)?;
        Some((RdataList { octets: list }, rest))
    }
    let (owner, rest) = Name::split_from(octets).ok()?;
    let (&[a, b, ttl @ ..], rest) = rest.split_first_chunk::<6>()?;
    let (rdatas, rest) = split_list(rest)?;
    let (signatures, rest) = split_list(rest)?;
    let (rtype, ttl) = (u16::from_be_bytes([a, b]), u32::from_be_bytes(ttl));
    Some((Rrset { owner, rtype, ttl, rdatas, signatures }, rest))
}

/// An owned [`RrsetList`].
#[derive(Clone, PartialEq, Eq, Default)]
pub struct RrsetListBuf {
    octets: Vec<u8>,
}

impl RrsetListBuf {
    /// A list of no sets.
    pub fn new() -> RrsetListBuf {
        RrsetListBuf::default()
    }

    /// The list.
    pub fn list(&self) -> RrsetList<'_> {
        RrsetList { octets: &self.octets }
    }

    /// Appends a set.
    pub fn push(&mut self, set: &Rrset<'_>) {
        let octets = &mut self.octets;
        octets.extend_from_slice(set.owner.octets());
        octets.extend_from_slice(&set.rtype.to_be_bytes());
        octets.extend_from_slice(&set.ttl.to_be_bytes());
        for list in [set.rdatas, set.signatures] {
            octets.extend_from_slice(&(list.octets.len() as u32).to_be_bytes());
            octets.extend_from_slice(list.octets);
        }
    }

    /// Makes the TTLs of the first sets, in their order, no longer than these.
    pub fn cap_ttls(&mut self, most: impl IntoIterator<Item = u32>) {
        let mut at = 0;
        for most in most {
            let Some((set, rest)) = split_set(&self.octets[at..]) else { return };
            let (place, ttl) = (at + set.owner.octets().len() + 2, set.ttl.min(most));
            at = self.octets.len() - rest.len();
            self.octets[place..place + 4].copy_from_slice(&ttl.to_be_bytes());
        }
    }

    /// Takes all sets out.
    pub fn clear(&mut self) {
        self.octets.clear();
    }

    /// Octets of memory that it holds, in use or not.
    pub fn room_octets(&self) -> usize {
        self.octets.capacity()
    }
}

impl std::fmt::Debug for RrsetListBuf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.list().fmt(f)
    }
}

impl<'r> FromIterator<Rrset<'r>> for RrsetListBuf {
    fn from_iter<I: IntoIterator<Item = Rrset<'r>>>(sets: I) -> RrsetListBuf {
        let mut list = RrsetListBuf::new();
        sets.into_iter().for_each(|set| list.push(&set));
        list
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        let list: RdataListBuf = [&b"ab"[..], b"", b"c"].into_iter().collect();
        assert_eq!(list.list().octets(), b"\0\x02ab\0\0\0\x01c");
        let again = RdataList::from_octets(list.list().octets()).unwrap();
        assert_eq!((again.count(), again.iter().last()), (3, Some(&b"c"[..])));
        assert_eq!(again, list.list());
        for end in [1, 2, 3, 5, 7, 8] {
            assert_eq!(RdataList::from_octets(&again.octets()[..end]), None, "{end}");
        }
        assert!(RdataList::EMPTY.is_empty() && RdataList::from_octets(b"") == Some(RdataList::EMPTY));
        let mut long = RdataListBuf::new();
        long.push(&[0; 65_536]);
        assert!(long.list().is_empty());
    }

    #[test]
    fn sets() {
        let owner = NameBuf::from_text("Www.example.").unwrap();
        let rdatas: RdataListBuf = [&b"\x7f\0\0\x01"[..]].into_iter().collect();
        let set =
            Rrset { owner: &owner, rtype: 1, ttl: 3600, rdatas: rdatas.list(), signatures: RdataList::EMPTY };
        assert_eq!(set.to_buf().rrset(), set);
        let empty = Rrset { owner: Name::root(), rdatas: RdataList::EMPTY, ..set };
        let list: RrsetListBuf = [set, empty, set].into_iter().collect();
        let octets = list.list().octets();
        let again = RrsetList::from_octets(octets).unwrap();
        assert_eq!(again.iter().collect::<Vec<_>>(), [set, empty, set]);
        let ends: Vec<_> =
            (1..octets.len()).filter(|end| RrsetList::from_octets(&octets[..*end]).is_some()).collect();
        assert_eq!(ends.len(), 2, "after the first and after the second set");
        assert_eq!(RrsetList::trusted(&octets[..octets.len() - 1]).iter().count(), 2);
        let mut capped = list.clone();
        capped.cap_ttls([4_000, 60]);
        let ttls: Vec<_> = capped.list().iter().map(|set| set.ttl).collect();
        assert_eq!(ttls, [3600, 60, 3600]);
        assert!(
            capped
                .list()
                .iter()
                .zip([set, empty, set])
                .all(|(one, other)| one == Rrset { ttl: one.ttl, ..other })
        );
        capped.cap_ttls([0; 9]);
        assert!(capped.list().iter().all(|set| set.ttl == 0));
    }
}
