//! An entry as it lies in memory and in dumps.
//!
//! ```text
//! octet 0   words of the entry 16 | octets of the name 8 | kind 3, rank 3, security 2 | labels of the zone 8 | type 16 | subject 3, octets of padding 3
//!       8   stored, milliseconds 48 | extended error 16
//!      16   TTL 32 | octets of the RDATA list 16 | of the signatures 16
//!      24   name | RDATA list | signatures | sets beside | padding to 8 octets
//! ```

use wire::Name;
use wire::rrset::{RdataList, RrsetList};

use super::{Entry, Kind, Rank, Security};
use crate::{Key, Moment, Subject};

/// No extended error: a code that nobody uses.
const NO_EDE: u16 = u16::MAX;

/// Octets of the fixed fields of an entry.
pub(crate) const FIXED_OCTETS: usize = 24;

/// Most octets of a whole entry, name and fixed fields included.
pub(crate) const ENTRY_OCTETS_MAX: usize = crate::ring::ENTRY_WORDS_MAX * 8;

/// The fixed fields of an entry.
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
