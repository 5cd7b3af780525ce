//! What is asked of a resolver, and what it comes to.

use cache::Security;
use wire::Name;
use wire::rrset::RrsetListBuf;

/// A question, of class IN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask<'a> {
    /// In lower case.
    pub name: &'a Name,
    /// No meta type.
    pub rtype: u16,
    /// Whether the answer may be bogus (CD): a task of its own, as its outcome is another.
    pub checking_disabled: bool,
    /// Whether what is kept will do.
    pub from: From,
    /// Who pays: work for one client is counted under it. None where nobody waits, as of what is asked for anew before it expires.
    pub client: Option<u64>,
}

/// Where an answer may come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum From {
    /// The cache, or servers.
    #[default]
    Cache,
    /// Servers, as nothing is kept: the cache was looked through for this just now. It is not looked through once more.
    Missed,
    /// Servers: the data themselves, whatever is kept. What leads to them may be kept.
    Servers,
}

/// Who waits for an outcome: the caller's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Waiter(pub u64);

/// Most extended errors of an outcome: why, and that it is stale.
pub const EDES_MAX: usize = 2;

/// What a question came to. Kept answers are in the cache too, but not all: some may not be kept, or have gone already.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// NOERROR, NXDOMAIN, YXDOMAIN (RFC 6672 2.2), or SERVFAIL where it could not be found out.
    pub rcode: u16,
    /// Whether it says something about the question, and not only that there was too little time, work or room for it: such an outcome is for its waiter
    /// alone, and kept nowhere.
    pub is_fact: bool,
    /// Of the whole: the worst of what its parts are.
    pub security: Option<Security>,
    /// Why, as extended errors (RFC 8914), the most telling first.
    pub edes: [Option<u16>; EDES_MAX],
    /// Why, in words for `explain` and the text of the first.
    pub reason: Option<&'static str>,
    /// The chain of aliases from the name asked for on, and the data where there are some.
    pub answer: RrsetListBuf,
    /// SOA of a denial; NSEC and NSEC3 RRsets of what is denied or was made from a wildcard.
    pub authority: RrsetListBuf,
    /// Whether it was given although it had expired (RFC 8767).
    pub is_stale: bool,
}

impl Outcome {
    /// It could not be found out.
    pub(crate) fn failed() -> Outcome {
        Outcome { rcode: wire::iana::rcode::SERVFAIL, ..Outcome::default() }
    }

    /// There was too little time, work or room.
    pub(crate) fn unfinished() -> Outcome {
        Outcome { edes: [Some(wire::iana::ede::NO_REACHABLE_AUTHORITY), None], ..Outcome::failed() }
    }
}
