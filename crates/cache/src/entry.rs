//! What is known of a [`Key`](crate::Key), and for how long.
//!
//! ```text
//! Entry   kind, rank, security, EDE | stored, TTL | labels of the zone | records with signatures | sets beside them
//! ```
//!
//! | kind | subject | records | beside |
//! |---|---|---|---|
//! | `Data` | RRset, unchecked | the RRset | of one made from a wildcard: what proves that nothing is nearer (RFC 4035 5.3.4) |
//! | `NoData` | RRset, unchecked | none | SOA, and what proves it |
//! | `NameError` | existence; RRset or unchecked, for that type alone | none | SOA, and what proves it |
//! | `Failure` | failure | none | none: it could not be found out (RFC 9520); EDE says why |
//! | `Cut` | cut | NS RRset of the delegation | its glue: A and AAAA RRsets, never answered to anybody |

use wire::Name;
use wire::rrset::{RdataList, RrsetList};

use crate::{Key, Moment, Subject};

/// What an entry says. See the module for the fields of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// There is this RRset.
    Data = 1,
    /// The name has none of the type.
    NoData = 2,
    /// There is no such name.
    NameError = 3,
    /// It could not be found out.
    Failure = 4,
    /// A zone is delegated to these servers.
    Cut = 5,
}

/// How much data is believed (RFC 2181 5.4.1), the least first. What has less never replaces what has more and is not expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Rank {
    /// Additional data, and glue.
    Additional = 1,
    /// The authority section of a referral.
    Referral = 2,
    /// An answer without AA: of a forwarder.
    Answer = 3,
    /// The authority section of an authoritative answer.
    Authority = 4,
    /// An authoritative answer.
    Authoritative = 5,
}

/// What validation found (RFC 4033 5). Of a cut: whether what is below is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Security {
    /// Not looked at: asked with CD.
    Unchecked = 0,
    /// Proved to be unsigned, or below an insecure point; or validation is off, or no anchor is above it (indeterminate, RFC 4033 5).
    Insecure = 1,
    /// Proved by a chain from an anchor.
    Secure = 2,
    /// It should be proved and is not: for clients with CD only.
    Bogus = 3,
}

impl Security {
    /// What a whole is of which one part is this and another `other`: bogus if one is, then unchecked, then insecure.
    #[must_use]
    pub fn worst(self, other: Security) -> Security {
        let place = |security| match security {
            Security::Bogus => 0,
            Security::Unchecked => 1,
            Security::Insecure => 2,
            Security::Secure => 3_u8,
        };
        if place(other) < place(self) { other } else { self }
    }
}

/// What is known; see the module. `stored` is set by who stores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// What it says.
    pub kind: Kind,
    /// How much it is believed.
    pub rank: Rank,
    /// What validation found.
    pub security: Security,
    /// Why it is bogus or a failure, as an extended error (RFC 8914).
    pub ede: Option<u16>,
    /// Since when.
    pub stored: Moment,
    /// For how many seconds from then, after all caps.
    pub ttl: u32,
    /// How many labels the apex of the zone has that it is from, of a cut the parent's.
    pub zone_labels: u8,
    /// RDATA of the records.
    pub rdatas: RdataList<'a>,
    /// RDATA of their RRSIGs.
    pub signatures: RdataList<'a>,
    /// Other sets that belong to it.
    pub beside: RrsetList<'a>,
}

impl Entry<'_> {
    /// Whether this one, while it lasts, is not to be replaced by `other` (RFC 2181 5.4.1): what is proved goes before what is not, then ranks count. What is
    /// not validated, bogus or a failure never stands in the way.
    pub fn is_believed_before(&self, other: &Entry<'_>) -> bool {
        let stands = |entry: &Entry<'_>| {
            entry.kind != Kind::Failure && !matches!(entry.security, Security::Unchecked | Security::Bogus)
        };
        // A denial lies in the authority section of an authoritative answer, and is as good as data in its answer section.
        let rank = |entry: &Entry<'_>| match (entry.kind, entry.rank) {
            (Kind::NoData | Kind::NameError, Rank::Authority) => Rank::Authoritative,
            (_, rank) => rank,
        };
        let weight = |entry: &Entry<'_>| (stands(entry), entry.security == Security::Secure, rank(entry));
        stands(self) && weight(self) > weight(other)
    }

    /// Seconds that are left at `now`, rounded up, so that what has just been stored has its whole TTL; `None` once it has expired.
    pub fn ttl_left(&self, now: Moment) -> Option<u32> {
        let left = u64::from(self.ttl).checked_mul(1000)?.checked_sub(now.ms_since(self.stored))?;
        (left > 0).then_some(left.div_ceil(1000) as u32)
    }

    /// How many seconds ago it expired, 0 while it has not.
    pub fn expired_for(&self, now: Moment) -> u64 {
        now.ms_since(self.stored.plus_seconds(self.ttl)) / 1000
    }
}

/// No extended error: a code that nobody uses.
const NO_EDE: u16 = u16::MAX;

/// Octets of the fixed fields of an entry.
pub(crate) const FIXED_OCTETS: usize = 24;

/// Most octets of a whole entry, name and fixed fields included.
pub(crate) const ENTRY_OCTETS_MAX: usize = crate::ring::ENTRY_WORDS_MAX * 8;

/// Where a reader's copy of an entry lies; made to be used again.
#[derive(Default)]
pub struct Copied {
    pub(crate) octets: Vec<u8>,
    pub(crate) stamp: Option<Stamp>,
}

impl Copied {
    /// Room for entries.
    pub fn new() -> Copied {
        Copied::default()
    }

    /// The stamp of the entry that was copied last; `None` where the last copy found nothing.
    pub fn stamp(&self) -> Option<Stamp> {
        self.stamp
    }
}

/// Which entry it was: what was made of it holds as long as the stamp is current.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// The number of the slot, over all shards.
    pub(crate) slot: u32,
    /// What it says of that entry, and never will of another.
    pub(crate) word: u64,
}

/// The fixed fields of an entry as they lie in memory.
///
/// ```text
/// octet 0   words of the entry 16 | octets of the name 8 | kind 3, rank 3, security 2 | labels of the zone 8 | type 16 | subject 3, octets of padding 3
///       8   stored, milliseconds 48 | extended error 16
///      16   TTL 32 | octets of the RDATA list 16 | of the signatures 16
///      24   name | RDATA list | signatures | sets beside | padding to 8 octets
/// ```
#[derive(Clone, Copy)]
pub(crate) struct Fixed<'a> {
    octets: &'a [u8; FIXED_OCTETS],
}

impl<'a> Fixed<'a> {
    pub(crate) fn of(octets: &'a [u8]) -> Option<(Fixed<'a>, &'a [u8])> {
        let (octets, rest) = octets.split_first_chunk()?;
        Some((Fixed { octets }, rest))
    }

    #[inline(always)]
    fn word(&self, at: usize) -> u64 {
        let (words, _) = self.octets.as_chunks::<8>();
        u64::from_le_bytes(words[at / 8])
    }

    #[inline(always)]
    fn pair(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.octets[at], self.octets[at + 1]])
    }

    fn name_octets(&self) -> usize {
        usize::from(self.octets[2])
    }

    #[inline(always)]
    fn kind(&self) -> Option<Kind> {
        Some(match self.octets[3] & 7 {
            1 => Kind::Data,
            2 => Kind::NoData,
            3 => Kind::NameError,
            4 => Kind::Failure,
            5 => Kind::Cut,
            _ => return None,
        })
    }

    #[inline(always)]
    fn rank(&self) -> Option<Rank> {
        Some(match self.octets[3] >> 3 & 7 {
            1 => Rank::Additional,
            2 => Rank::Referral,
            3 => Rank::Answer,
            4 => Rank::Authority,
            5 => Rank::Authoritative,
            _ => return None,
        })
    }

    #[inline(always)]
    fn security(&self) -> Security {
        match self.octets[3] >> 6 {
            0 => Security::Unchecked,
            1 => Security::Insecure,
            2 => Security::Secure,
            _ => Security::Bogus,
        }
    }

    fn stored(&self) -> Moment {
        Moment(self.word(8) & ((1 << 48) - 1))
    }

    fn ttl(&self) -> u32 {
        self.word(16) as u32
    }

    /// When it expires, or for a time of zero expired.
    pub(crate) fn end(&self) -> Moment {
        self.stored().plus_seconds(self.ttl())
    }

    fn subject(&self) -> Option<Subject> {
        Subject::from_code(self.octets[7] & 7, self.pair(5))
    }

    /// The entry without its lists.
    #[inline(always)]
    pub(crate) fn entry(&self) -> Option<Entry<'static>> {
        Some(Entry {
            kind: self.kind()?,
            rank: self.rank()?,
            security: self.security(),
            zone_labels: self.octets[4],
            ede: Some(self.pair(14)).filter(|ede| *ede != NO_EDE),
            stored: self.stored(),
            ttl: self.ttl(),
            rdatas: RdataList::EMPTY,
            signatures: RdataList::EMPTY,
            beside: RrsetList::EMPTY,
        })
    }

    fn padding(&self) -> usize {
        usize::from(self.octets[7] >> 3 & 7)
    }
}

/// Appends the octets of an entry to `to`, whole words: what [`read`] reads. `false`, and nothing: it is too large.
pub(crate) fn write(key: &Key<'_>, entry: &Entry<'_>, to: &mut Vec<u8>) -> bool {
    let name = key.name.octets();
    let (rdatas, signatures, beside) =
        (entry.rdatas.octets(), entry.signatures.octets(), entry.beside.octets());
    let octets = FIXED_OCTETS + name.len() + rdatas.len() + signatures.len() + beside.len();
    let words = octets.div_ceil(8);
    if words * 8 > ENTRY_OCTETS_MAX {
        return false;
    }
    let (code, rtype) = key.subject.code();
    let security = match entry.security {
        Security::Unchecked => 0,
        Security::Insecure => 1,
        Security::Secure => 2,
        Security::Bogus => 3,
    };
    let padding = words * 8 - octets;
    to.extend((words as u16).to_le_bytes());
    to.extend([
        name.len() as u8,
        entry.kind as u8 | (entry.rank as u8) << 3 | security << 6,
        entry.zone_labels,
    ]);
    to.extend(rtype.to_le_bytes());
    to.push(code | (padding as u8) << 3);
    to.extend(&entry.stored.0.to_le_bytes()[..6]);
    // Codes are below 49,152 (RFC 8914 5.2), of which some are for private use above.
    to.extend(entry.ede.unwrap_or(NO_EDE).to_le_bytes());
    to.extend(entry.ttl.to_le_bytes());
    to.extend((rdatas.len() as u16).to_le_bytes());
    to.extend((signatures.len() as u16).to_le_bytes());
    [name, rdatas, signatures, beside, &[0; 8][..padding]].iter().for_each(|part| to.extend_from_slice(part));
    true
}

/// Reads the octets of an entry, exactly; `None` for others.
#[inline(always)]
pub(crate) fn read(octets: &[u8]) -> Option<Entry<'_>> {
    let (fixed, rest) = Fixed::of(octets)?;
    let rest = rest.get(fixed.name_octets()..)?;
    let (rdatas, rest) = rest.split_at_checked(usize::from(fixed.pair(20)))?;
    let (signatures, rest) = rest.split_at_checked(usize::from(fixed.pair(22)))?;
    let beside = rest.get(..rest.len().checked_sub(fixed.padding())?)?;
    let (rdatas, signatures) = (RdataList::from_octets(rdatas)?, RdataList::from_octets(signatures)?);
    Some(Entry { rdatas, signatures, beside: RrsetList::trusted(beside), ..fixed.entry()? })
}

/// The key in the octets of an entry; `None` for others.
pub(crate) fn key_of(octets: &[u8]) -> Option<Key<'_>> {
    let (fixed, rest) = Fixed::of(octets)?;
    let name = rest.get(..fixed.name_octets())?;
    Some(Key { name: Name::trusted(name), subject: fixed.subject()? })
}

/// Whether octets that begin as an entry are of `key`.
#[inline(always)]
pub(crate) fn is_of(octets: &[u8], key: &Key<'_>) -> bool {
    let Some((fixed, rest)) = Fixed::of(octets) else { return false };
    let (code, rtype) = key.subject.code();
    let name = key.name.octets();
    fixed.octets[7] & 7 == code
        && fixed.pair(5) == rtype
        && fixed.name_octets() == name.len()
        && rest.get(..name.len()).is_some_and(|own| own == name)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use wire::rrset::RdataListBuf;

    #[test]
    fn entries_as_octets() {
        let list: RdataListBuf = [&b"abcd"[..], b"efgh"].into_iter().collect();
        let entry = Entry {
            kind: Kind::Cut,
            rank: Rank::Referral,
            security: Security::Bogus,
            ede: Some(0x1234),
            stored: Moment(0x0203_0405_0607),
            ttl: 86_400,
            zone_labels: 3,
            rdatas: list.list(),
            signatures: RdataList::EMPTY,
            beside: RrsetList::EMPTY,
        };
        let name = wire::name::NameBuf::from_text("example.").unwrap();
        let key = Key::cut(&name);
        let mut octets = Vec::new();
        assert!(write(&key, &entry, &mut octets));
        assert_eq!(octets.len(), 48);
        assert_eq!((read(&octets), key_of(&octets)), (Some(entry), Some(key)));
        assert!(is_of(&octets, &key) && !is_of(&octets, &Key::rrset(&name, 0)));
        assert_eq!(read(&octets[..octets.len() - 8]), None);
        octets[3] = 0;
        assert_eq!(read(&octets), None);
    }

    #[test]
    fn large_entries_are_not_written() {
        let long = vec![0; 10_000];
        let list: RdataListBuf = [&long[..], &long[..6_350]].into_iter().collect();
        let other: RdataListBuf = [&long[..], &long[..6_400]].into_iter().collect();
        let entry = |rdatas| Entry {
            kind: Kind::Data,
            rank: Rank::Answer,
            security: Security::Insecure,
            ede: None,
            stored: Moment(0),
            ttl: 0,
            zone_labels: 0,
            rdatas,
            signatures: RdataList::EMPTY,
            beside: RrsetList::EMPTY,
        };
        let mut octets = Vec::new();
        let key = Key::rrset(Name::root(), 16);
        assert!(write(&key, &entry(list.list()), &mut octets) && read(&octets) == Some(entry(list.list())));
        octets.clear();
        assert!(!write(&key, &entry(other.list()), &mut octets) && octets.is_empty());
    }

    #[test]
    fn the_worst_part_decides() {
        use Security::{Bogus, Insecure, Secure, Unchecked};
        for (first, second, expected) in [
            (Secure, Secure, Secure),
            (Secure, Insecure, Insecure),
            (Unchecked, Insecure, Unchecked),
            (Bogus, Secure, Bogus),
            (Bogus, Unchecked, Bogus),
        ] {
            assert_eq!((first.worst(second), second.worst(first)), (expected, expected));
        }
    }

    #[test]
    fn ages() {
        let list = RdataList::EMPTY;
        let (kind, rank, security) = (Kind::NoData, Rank::Authority, Security::Insecure);
        let entry = Entry {
            kind,
            rank,
            security,
            ede: None,
            stored: Moment(1_000),
            ttl: 10,
            zone_labels: 0,
            rdatas: list,
            signatures: list,
            beside: RrsetList::EMPTY,
        };
        let at = |ms| (entry.ttl_left(Moment(ms)), entry.expired_for(Moment(ms)));
        assert_eq!([at(1_000), at(1_001), at(2_000)], [(Some(10), 0), (Some(10), 0), (Some(9), 0)]);
        assert_eq!([at(10_999), at(11_000), at(13_000)], [(Some(1), 0), (None, 0), (None, 2)]);
    }
}
