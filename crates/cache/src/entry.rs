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
//! | `NameError` | existence | none | SOA, and what proves it |
//! | `Failure` | failure | none | none: it could not be found out (RFC 9520); EDE says why |
//! | `Cut` | cut | NS RRset of the delegation | its glue: A and AAAA RRsets, never answered to anybody |

use wire::rrset::{RdataList, RrsetList};

use crate::Moment;

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
        let order = [Security::Bogus, Security::Unchecked, Security::Insecure, Security::Secure];
        let place = |security| order.iter().position(|one| *one == security).unwrap_or(0);
        order[place(self).min(place(other))]
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
        let weight = |entry: &Entry<'_>| (stands(entry), entry.security == Security::Secure, entry.rank);
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

/// Octets of the fixed fields.
const FIXED_OCTETS: usize = 28;

/// Where a reader's copy of an entry lies; made to be used again.
#[derive(Default)]
pub struct Copied {
    pub(crate) octets: Vec<u8>,
}

impl Copied {
    /// Room for entries.
    pub fn new() -> Copied {
        Copied::default()
    }
}

/// Appends the octets of an entry: what [`read`] reads.
pub(crate) fn write(entry: &Entry<'_>, to: &mut Vec<u8>) {
    to.extend([entry.kind as u8, entry.rank as u8, entry.security as u8, entry.zone_labels]);
    // Codes are below 49,152 (RFC 8914 5.2), of which some are for private use above.
    to.extend(entry.ede.unwrap_or(NO_EDE).to_le_bytes());
    to.extend([0; 2]);
    to.extend(entry.stored.0.to_le_bytes());
    to.extend(entry.ttl.to_le_bytes());
    to.extend((entry.rdatas.octets().len() as u32).to_le_bytes());
    to.extend((entry.signatures.octets().len() as u32).to_le_bytes());
    to.extend(entry.rdatas.octets());
    to.extend(entry.signatures.octets());
    to.extend(entry.beside.octets());
}

/// Reads the octets of an entry; `None` for others.
pub(crate) fn read(octets: &[u8]) -> Option<Entry<'_>> {
    let (fixed, rest) = octets.split_first_chunk::<FIXED_OCTETS>()?;
    let word = |at: usize| u32::from_le_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
    let kind = [Kind::Data, Kind::NoData, Kind::NameError, Kind::Failure, Kind::Cut];
    let rank = [Rank::Additional, Rank::Referral, Rank::Answer, Rank::Authority, Rank::Authoritative];
    let security = [Security::Unchecked, Security::Insecure, Security::Secure, Security::Bogus];
    let (rdatas, rest) = rest.split_at_checked(word(20) as usize)?;
    let (signatures, beside) = rest.split_at_checked(word(24) as usize)?;
    Some(Entry {
        kind: *kind.get(usize::from(fixed[0]).wrapping_sub(1))?,
        rank: *rank.get(usize::from(fixed[1]).wrapping_sub(1))?,
        security: *security.get(usize::from(fixed[2]))?,
        zone_labels: fixed[3],
        ede: Some(u16::from_le_bytes([fixed[4], fixed[5]])).filter(|ede| *ede != NO_EDE),
        stored: Moment(u64::from(word(8)) | u64::from(word(12)) << 32),
        ttl: word(16),
        rdatas: RdataList::from_octets(rdatas)?,
        signatures: RdataList::from_octets(signatures)?,
        beside: RrsetList::trusted(beside),
    })
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
            stored: Moment(0x0001_0203_0405_0607),
            ttl: 86_400,
            zone_labels: 3,
            rdatas: list.list(),
            signatures: RdataList::EMPTY,
            beside: RrsetList::EMPTY,
        };
        let mut octets = Vec::new();
        write(&entry, &mut octets);
        assert_eq!(read(&octets), Some(entry));
        assert_eq!(read(&octets[..octets.len() - 1]), None);
        octets[0] = 0;
        assert_eq!(read(&octets), None);
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
