//! RRsets of asks as drafts take them, and what is said of them.

use api::frame::{Set, What};
use change::alteration::{self, Altered};

/// Of a zone that there is not, or not for this key.
pub(crate) const NO_ZONE: &str = "no such zone";

/// An RRset of an ask.
pub(crate) fn altered(set: Set<'_>) -> Altered<'_> {
    let what = match set.what {
        What::Replace => alteration::What::Replace,
        What::Delete => alteration::What::Delete,
        What::Extend => alteration::What::Extend,
        What::Prune => alteration::What::Prune,
    };
    let rdatas = set.rdatas.iter().collect();
    Altered { owner: set.owner, rtype: set.rtype, what, ttl: set.ttl, rdatas }
}
