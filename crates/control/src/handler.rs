//! What a worker calls for each query: the snapshot, the responder, and its counts.

use std::sync::Arc;

use auth::{LiveCounters, Responder};
use net::{Context, Handler, Transport};
use sync::Reader;
use zone::Catalog;

/// What is published to the workers: all that an answer depends on.
pub struct Served {
    /// The zones.
    pub catalog: Catalog,
    /// What the server says about itself.
    pub facts: auth::Server,
}

/// The handler of one worker.
pub struct Answerer {
    served: Reader<Served>,
    responder: Responder,
    counts: Arc<LiveCounters>,
}

impl Answerer {
    /// Answers from what `served` publishes, and shows its counts in `counts`.
    pub fn new(served: Reader<Served>, counts: Arc<LiveCounters>) -> Answerer {
        Answerer { served, responder: Responder::new(), counts }
    }
}

impl Handler for Answerer {
    #[inline]
    fn begin_batch(&mut self) {
        self.served.begin();
    }

    #[inline]
    fn handle(&mut self, query: &[u8], context: &Context, response: &mut [u8]) -> usize {
        let Some(served) = self.served.value() else { return 0 };
        let transport = match context.transport {
            Transport::Udp => auth::Transport::Udp,
            Transport::Tcp => auth::Transport::Tcp,
        };
        self.responder.answer(query, &served.catalog, &served.facts, transport, response)
    }

    #[inline]
    fn end_batch(&mut self) {
        self.served.end();
        self.counts.write(self.responder.counters());
    }
}
