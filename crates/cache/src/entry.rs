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
//! | `Failure` | failure | none | none: it could not be found out (RFC 9520); EDE says why. `Unchecked`: for want of a network, time or room, which is a reason to give what has expired, and none to fail |
//! | `Cut` | cut | NS RRset of the delegation | its glue: A and AAAA RRsets, never answered to anybody |

use wire::rrset::{RdataList, RrsetList};

use crate::Moment;

mod octets;

pub(crate) use octets::{FIXED_OCTETS, Fixed, is_of, key_of, read, write};

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

impl<'a> Entry<'a> {
    /// An RRset as an authoritative answer gives it, of the root, neither signed nor proved. What is otherwise says whoever makes it: `Entry { security, ..Entry::data(..) }`.
    pub fn data(rdatas: RdataList<'a>, stored: Moment, ttl: u32) -> Entry<'a> {
        Entry {
            kind: Kind::Data,
            rank: Rank::Authoritative,
            security: Security::Insecure,
            ede: None,
            stored,
            ttl,
            zone_labels: 0,
            rdatas,
            signatures: RdataList::EMPTY,
            beside: RrsetList::EMPTY,
        }
    }
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
    /// The slot in its shard.
    pub(crate) slot: u32,
    /// Where its shard is found.
    pub(crate) position: u16,
    /// What it says of that entry, and never will of another.
    pub(crate) word: u64,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
