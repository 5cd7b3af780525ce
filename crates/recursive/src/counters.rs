//! What a responder did, counted. Each worker has its own; readers add them up.

use wire::iana::rcode;

sync::counters! {
    /// The counts of one responder for others to read: shown by its owner from time to time.
    pub live LiveCounters;
    /// Counts since the responder was made.
    pub values Counters;

    /// Answers from what is kept.
    hits,
    /// Of these, answers given again as octets.
    rendered,
    /// Questions for the resolver.
    misses,
    /// Questions that were not asked, as their prefix had asked too many.
    paced,
    /// Answers from local names.
    local,
    /// Queries that got no answer because local names say so.
    dropped,
    /// Clients that may not have recursion, or did not want it.
    refused,
    /// Clients that were told to come again to prove their address.
    unproved,
    /// Queries with a fault, or for a type that nothing has.
    faults,
    /// Answers that something could not be found out, or is bogus.
    failures,
    /// Clients that were told that servers keep silent, or got what had expired, as they had waited for as long as may be.
    unanswered,
    /// The same for want of a network.
    without_network,
    /// Answers that had expired.
    stale,
    /// Answers cut for their length.
    truncated,
    /// Answers whose parts are all proved.
    secure,
    /// Addresses made by DNS64.
    dns64,
    /// Answers that private addresses were kept back from.
    filtered,
    /// Queries for names whose local zone is marked.
    told,
    /// Responses by response code, those from 24 on in the last.
    rcodes: [Counters::RCODES],
}

impl Counters {
    /// How many response codes are told apart: all that are assigned.
    pub const RCODES: usize = rcode::BADCOOKIE as usize + 2;

    /// Counts a response with this response code.
    #[inline(always)]
    pub(crate) fn response(&mut self, rcode: u16) {
        self.rcodes[usize::from(rcode).min(Counters::RCODES - 1)] += 1;
    }
}
