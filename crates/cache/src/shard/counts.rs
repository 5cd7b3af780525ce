//! What is counted of a shard.
//!
//! Whoever has the lock of a shard's writers stores these words, one after the other; anybody reads them at any time, without the lock, perhaps while an entry is counted in some of
//! them and not yet in others.

sync::counters! {
    /// The counts of one shard.
    pub(crate) live LiveCounts;
    /// What writers count. All but `entries` and `octets` only grow.
    pub values Counts;

    /// Entries that are kept now.
    entries,
    /// Octets of those in the rings.
    octets,
    /// Entries that were put, those that replaced others among them.
    puts,
    /// Of these, taken in from a dump.
    restored,
    /// Came from another part of the cache, as it is divided otherwise.
    taken,
    /// Refused: what is kept is believed more, or was flushed since they were asked for, or they may not be kept.
    refused,
    /// Of those that left for room: had never been read since they came.
    evicted_unread,
    /// Had been read before, not lately.
    evicted,
    /// Left as both buckets of their name were full.
    evicted_index,
    /// Were there no longer of use when their turn came.
    expired,
    /// Reads that found nothing as what was there was written over each time that they looked.
    overtaken,
    /// Moved to the main ring, or appended to it again.
    kept_on,
}

impl Counts {
    /// The same of what is there no more.
    pub(crate) fn past(self) -> Counts {
        Counts { entries: 0, octets: 0, ..self }
    }
}
