//! What a worker calls for each query: the catalog, the responder, and its counts.

use std::sync::Arc;

use auth::{Client, LiveCounters, Responder};
use net::{Driver, Queries, Service};
use zone::CatalogReader;

use crate::identity::IdentityReader;

/// The service of one worker.
pub struct Answerer {
    zones: CatalogReader,
    identity: IdentityReader,
    responder: Responder,
    counts: Arc<LiveCounters>,
}

impl Answerer {
    /// Answers from the zones that `zones` sees, as the server that `identity` says, and shows its counts in `counts`, going on from
    /// those there.
    pub fn new(zones: CatalogReader, identity: IdentityReader, counts: Arc<LiveCounters>) -> Answerer {
        Answerer { zones, identity, responder: Responder::counting_from(counts.read()), counts }
    }
}

impl Service for Answerer {
    /// Workers have nothing to tell each other yet.
    type Message = std::convert::Infallible;

    #[inline]
    fn queries(&mut self, queries: &mut Queries<'_>, _: &mut Driver<'_, Self::Message>) {
        self.identity.begin();
        self.zones.begin();
        if let (Some(identity), Some(zones)) = (self.identity.value(), self.zones.view()) {
            let now = queries.now().wall as u32;
            while let Some(item) = queries.next() {
                let context = item.context;
                let (transport, is_proved) = (context.transport, context.is_proved);
                let client = Client { transport, address: &context.client, is_proved, now };
                let octets = self.responder.answer(item.query, &zones, identity, &client, item.room);
                item.answer(octets);
            }
        }
        self.zones.end();
        self.identity.end();
        self.counts.write(self.responder.counters());
    }
}
