//! What a responder did, counted where others read it at any time. Each worker has its own words, which it alone changes; readers add them up.

use wire::iana::rcode;

sync::counters! {
    /// What is counted.
    pub(crate) live Words;
    /// Counts since the responder was made, or since the worker began whose words it counts in.
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
}

/// The counts of one responder.
#[derive(Debug, Default)]
pub struct LiveCounters(Words);

impl LiveCounters {
    /// Reads all counters.
    pub fn read(&self) -> Counters {
        let words = self.0.read();
        // What is given again as octets is counted once there: most queries are that.
        Counters { hits: words.hits + words.rendered, ..words }
    }

    /// What the responder writes: `hits` are those that were not given again as octets.
    #[inline(always)]
    pub(crate) fn words(&self) -> &Words {
        &self.0
    }
}

impl Words {
    /// Counts a response with this response code.
    #[inline(always)]
    pub(crate) fn response(&self, rcode: u16) {
        self.rcodes[usize::from(rcode).min(Counters::RCODES - 1)].add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_again_is_a_hit() {
        let counters = LiveCounters::default();
        counters.words().hits.add(2);
        counters.words().rendered.add(5);
        counters.words().response(2);
        counters.words().response(4_000);
        let read = counters.read();
        assert_eq!(
            (read.hits, read.rendered, read.rcodes[2], read.rcodes[Counters::RCODES - 1]),
            (7, 5, 1, 1)
        );
    }
}
