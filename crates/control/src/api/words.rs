//! RRsets of asks as drafts take them, and what is said of them.

use api::frame::{Set, What};
use change::alteration::{self, Altered};

/// Of a zone that there is not, or not for this key.
pub(crate) const NO_ZONE: &str = "no such zone";

/// Of a zone of a store among others: its database would have all of them at once, and nobody would serve them so.
pub(crate) const STORE_ALONE: &str = "this zone is of a store: it is changed by itself";

/// Of one whose database could not be asked in time, or had another version each time.
pub(crate) const STORE_BUSY: &str = "the zone's database has not taken it in time: it is being opened, has much to do, or somebody holds the zone or changes it";

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
