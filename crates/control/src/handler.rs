//! What a worker calls for each query: the catalog, the responder, and its counts.

use std::sync::Arc;
use std::time::Instant;

use auth::rate::Told;
use auth::{Answered, Client, LiveCounters, Responder, Server, Tally};
use net::{Asked, Driver, Queries, Service};
use zone::{CatalogReader, CatalogView};

use crate::identity::IdentityReader;
use crate::mappings;
use crate::requests::Requests;

/// The service of one worker.
pub struct Answerer {
    zones: CatalogReader,
    identity: IdentityReader,
    responder: Responder,
    requests: Requests,
    counts: Arc<LiveCounters>,
    /// The moment that limits count their time from.
    started: Instant,
    /// What [`mappings::begun`] was when nothing that is kept was made of what was lost since.
    lost: u64,
}

/// How often the answers of a batch are made at most, as something that was mapped was lost meanwhile; after the last none is given. When a whole
/// disk fails, a batch finds a pack or two.
const ATTEMPTS_MAX: usize = 8;

/// What a worker shows.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// What it counts.
    pub counts: Arc<LiveCounters>,
    /// What it is asked for.
    pub tally: Arc<Tally>,
    /// Whom it limits.
    pub told: Arc<Told>,
}

impl Answerer {
    /// Answers from the zones that `zones` sees, as the server that `identity` says, and shows what it does in `shown`, going on from
    /// the counts there. `workers`: how many there are, which share the limits. `requests`: what carries out what is no query.
    pub fn new(
        zones: CatalogReader,
        identity: IdentityReader,
        shown: &Shown,
        requests: Requests,
        workers: usize,
    ) -> Answerer {
        let counts = Arc::clone(&shown.counts);
        let (tally, told) = (Arc::clone(&shown.tally), Arc::clone(&shown.told));
        let responder = Responder::counting_from(counts.read(), tally, workers as u32, told);
        Answerer { zones, identity, responder, requests, counts, started: Instant::now(), lost: 0 }
    }
}

impl Service for Answerer {
    /// Workers have nothing to tell each other yet.
    type Message = std::convert::Infallible;

    #[inline]
    fn queries(&mut self, queries: &mut Queries<'_>, driver: &mut Driver<'_, Self::Message>) {
        self.identity.begin();
        self.zones.begin();
        if let (Some(identity), Some(zones)) = (self.identity.value(), self.zones.view()) {
            let now = queries.now().wall;
            let is_limited = identity.access.limits().is_some();
            if is_limited {
                self.responder.set_time(queries.now().instant.saturating_duration_since(self.started));
            }
            while let Some(Asked { query, context, room }) = queries.next_query() {
                let (transport, is_proved) = (context.transport, context.is_proved);
                let client = Client { transport, address: &context.client, is_proved, now };
                let answered = match is_limited {
                    false => self.responder.serve(query, &zones, identity, &client, room),
                    true => self.responder.serve_limited(query, &zones, identity, &client, room),
                };
                match (answered, &mut self.responder) {
                    (Answered::Octets(octets) | Answered::Elsewhere(octets), _) => queries.answer(octets),
                    (Answered::Request, responder) => {
                        if let Some(item) = queries.current() {
                            self.requests.carry_out(item, (&zones, identity), &client, responder, driver);
                        }
                    }
                }
            }
            if mappings::begun() != self.lost {
                let seen = (&zones, identity);
                self.lost = answer_again(&mut self.responder, &self.requests, queries, seen, now, driver);
            }
            if is_limited {
                self.responder.show_limited();
            }
        }
        self.zones.end();
        self.identity.end();
        self.counts.write(self.responder.counters());
    }
}

/// Something that was mapped was lost while answers were made, or before that: they may say so much as that a name does not exist, and so may those that
/// are kept. All are forgotten, and the answers made again, this once without limits of rates, or none is given and clients ask again. Returns what [`mappings::begun`] was when nothing that is
/// kept was made of what was lost since.
#[cold]
#[inline(never)]
fn answer_again(
    responder: &mut Responder,
    requests: &Requests,
    queries: &mut Queries<'_>,
    (zones, identity): (&CatalogView<'_>, &Server),
    now: u64,
    driver: &mut Driver<'_, std::convert::Infallible>,
) -> u64 {
    for _ in 0..ATTEMPTS_MAX {
        responder.forget();
        queries.rewind();
        let Some(lost) = mappings::settled() else { break };
        while let Some(item) = queries.next() {
            let (transport, is_proved) = (item.context.transport, item.context.is_proved);
            let client = Client { transport, address: &item.context.client, is_proved, now };
            match responder.serve(item.query, zones, identity, &client, item.room) {
                Answered::Octets(octets) | Answered::Elsewhere(octets) => item.answer(octets),
                Answered::Request => requests.carry_out(item, (zones, identity), &client, responder, driver),
            }
        }
        if mappings::begun() == lost {
            return lost;
        }
    }
    responder.forget();
    queries.rewind();
    // None that there will be: the next batch looks again.
    u64::MAX
}
