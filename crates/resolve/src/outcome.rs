//! What is asked of a resolver, and what it comes to.

use cache::Security;
use wire::Name;
use wire::rrset::RrsetListBuf;

/// A question, of class IN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask<'a> {
    /// In lower case.
    pub name: &'a Name,
    /// No meta type but ANY.
    pub rtype: u16,
    /// Whether the answer may be bogus (CD): a task of its own, as its outcome is another.
    pub checking_disabled: bool,
    /// Who pays: budgets of clients are counted under it.
    pub client: u64,
}

/// Who waits for an outcome: the caller's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Waiter(pub u64);

/// What a question came to. Kept answers are in the cache too, but not all: some may not be kept, or have gone already.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// NOERROR, NXDOMAIN, or SERVFAIL where it could not be found out.
    pub rcode: u16,
    /// Of the whole: the least of what its parts are.
    pub security: Option<Security>,
    /// Why, as an extended error (RFC 8914); 0 where there is nothing to say.
    pub ede: u16,
    /// The chain of aliases from the name asked for on, and the data where there are some.
    pub answer: RrsetListBuf,
    /// SOA of a denial; NSEC and NSEC3 RRsets of what is denied or was made from a wildcard.
    pub authority: RrsetListBuf,
    /// Whether it was given although it had expired (RFC 8767).
    pub is_stale: bool,
}
