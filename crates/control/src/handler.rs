//! What a worker calls for each query: the catalog, the responder, and its counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use auth::{Counters, Responder};
use net::{Context, Handler, Transport};
use sync::Reader;
use zone::CatalogReader;

/// How many counts a responder has.
const COUNTS: usize = 13 + Counters::RCODES;

/// The counts of one worker for others to read: written by it alone, at the end of each batch.
#[repr(align(128))]
pub struct AnswerCounts([AtomicU64; COUNTS]);

impl Default for AnswerCounts {
    fn default() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl AnswerCounts {
    fn write(&self, counters: &Counters) {
        for (to, value) in self.0.iter().zip(values(counters)) {
            to.store(value, Ordering::Relaxed);
        }
    }

    /// The counts.
    pub fn read(&self) -> Counters {
        let mut counts = self.0.iter().map(|count| count.load(Ordering::Relaxed));
        let mut next = || counts.next().unwrap_or(0);
        Counters {
            queries: next(),
            dropped: next(),
            tcp: next(),
            edns: next(),
            dnssec_ok: next(),
            truncated: next(),
            answers: next(),
            no_data: next(),
            name_errors: next(),
            referrals: next(),
            aliases: next(),
            chaos: next(),
            damaged: next(),
            rcodes: std::array::from_fn(|_| next()),
        }
    }
}

/// The counts in the order of the fields.
fn values(counters: &Counters) -> [u64; COUNTS] {
    let c = counters;
    let mut values = [0; COUNTS];
    let plain = [
        c.queries,
        c.dropped,
        c.tcp,
        c.edns,
        c.dnssec_ok,
        c.truncated,
        c.answers,
        c.no_data,
        c.name_errors,
        c.referrals,
        c.aliases,
        c.chaos,
        c.damaged,
    ];
    values[..plain.len()].copy_from_slice(&plain);
    values[plain.len()..].copy_from_slice(&c.rcodes);
    values
}

/// The handler of one worker.
pub struct Answerer {
    zones: CatalogReader,
    identity: Reader<auth::Server>,
    responder: Responder,
    counts: Arc<AnswerCounts>,
}

impl Answerer {
    /// Answers from the zones that `zones` sees, as the server that `identity` says, and shows its counts in `counts`.
    pub fn new(zones: CatalogReader, identity: Reader<auth::Server>, counts: Arc<AnswerCounts>) -> Answerer {
        Answerer { zones, identity, responder: Responder::new(), counts }
    }
}

impl Handler for Answerer {
    #[inline]
    fn begin_batch(&mut self) {
        self.identity.begin();
        self.zones.begin();
    }

    #[inline]
    fn handle(&mut self, query: &[u8], context: &Context, response: &mut [u8]) -> usize {
        let (Some(identity), Some(zones)) = (self.identity.value(), self.zones.view()) else { return 0 };
        let transport = match context.transport {
            Transport::Udp => auth::Transport::Udp,
            Transport::Tcp => auth::Transport::Tcp,
        };
        self.responder.answer(query, &zones, identity, transport, response)
    }

    #[inline]
    fn end_batch(&mut self) {
        self.zones.end();
        self.identity.end();
        self.counts.write(self.responder.counters());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_count_arrives_at_its_place() {
        let mut counters = Counters { queries: 1, truncated: 6, damaged: 13, ..Counters::default() };
        counters.rcodes[0] = 14;
        counters.rcodes[Counters::RCODES - 1] = 99;
        let counts = AnswerCounts::default();
        counts.write(&counters);
        assert_eq!(values(&counts.read()), values(&counters));
        assert_eq!((counts.read().truncated, counts.read().rcodes[0]), (6, 14));
    }
}
