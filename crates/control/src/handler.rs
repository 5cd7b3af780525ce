//! What a worker calls for each query: the catalog, the responder, and its counts.

use std::sync::Arc;
use std::time::Instant;

use auth::rate::Told;
use auth::{Answered, Client, LiveCounters, Responder, Server, Tally};
use net::{Arrivals, Asked, Closed, Context, Driver, NotSent, Queries, Service, StreamId};
use recursive::Served;
use wire::header::{CD, HEADER_OCTETS, RA};
use wire::iana::rcode;
use zone::{CatalogReader, CatalogView};

use crate::identity::IdentityReader;
use crate::mappings;
use crate::recursion::{Message, Recursion, Recursor, StreamHappened};
use crate::requests::Requests;

/// The service of one worker.
pub struct Answerer {
    zones: CatalogReader,
    identity: IdentityReader,
    responder: Responder,
    requests: Requests,
    /// What answers about names of others, if anything does.
    recursor: Option<Recursor>,
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
    /// the counts there. `workers`: which it is and how many there are, which share the limits. `requests`: what carries out what is no query; `recursion`: what there is for
    /// names of others.
    pub(crate) fn new(
        zones: CatalogReader,
        identity: IdentityReader,
        shown: &Shown,
        requests: Requests,
        recursion: Option<&Arc<Recursion>>,
        (worker, workers): (usize, usize),
    ) -> Answerer {
        let counts = Arc::clone(&shown.counts);
        let (tally, told) = (Arc::clone(&shown.tally), Arc::clone(&shown.told));
        let responder = Responder::counting_from(counts.read(), tally, workers as u32, told);
        let recursor = recursion.map(|recursion| Recursor::new(recursion, worker, crate::system::random()));
        Answerer { zones, identity, responder, requests, recursor, counts, started: Instant::now(), lost: 0 }
    }

    /// Has the resolver see an event that is none of a client's query, in a batch of the catalog.
    fn recurse(
        &mut self,
        driver: &mut Driver<'_, Message>,
        act: impl FnOnce(&mut Recursor, &CatalogView<'_>, resolve::Time, &mut Driver<'_, Message>),
    ) {
        let Some(recursor) = &mut self.recursor else { return };
        self.zones.begin();
        if let Some(zones) = self.zones.view() {
            let time = recursor.begin(driver.now(), driver);
            act(recursor, &zones, time, driver);
            recursor.end(&zones, time, driver);
        }
        self.zones.end();
    }
}

impl Service for Answerer {
    type Message = Message;

    fn started(&mut self, driver: &mut Driver<'_, Message>) {
        self.recurse(driver, |recursor, _, _, driver| recursor.started(driver));
    }

    fn arrivals(&mut self, arrivals: &Arrivals, driver: &mut Driver<'_, Message>) {
        self.recurse(driver, |recursor, zones, time, driver| {
            recursor.arrivals(arrivals, zones, time, driver)
        });
    }

    fn unsent(&mut self, unsent: &[NotSent], driver: &mut Driver<'_, Message>) {
        self.recurse(driver, |recursor, zones, time, driver| recursor.unsent(unsent, zones, time, driver));
    }

    fn connected(&mut self, stream: StreamId, driver: &mut Driver<'_, Message>) {
        let event = (stream, StreamHappened::Connected);
        self.recurse(driver, |recursor, zones, time, driver| recursor.stream(event, zones, time, driver));
    }

    fn message(&mut self, stream: StreamId, octets: &[u8], driver: &mut Driver<'_, Message>) {
        let event = (stream, StreamHappened::Message(octets));
        self.recurse(driver, |recursor, zones, time, driver| recursor.stream(event, zones, time, driver));
    }

    fn closed(&mut self, stream: StreamId, why: Closed, driver: &mut Driver<'_, Message>) {
        let event = (stream, StreamHappened::Closed(why));
        self.recurse(driver, |recursor, zones, time, driver| recursor.stream(event, zones, time, driver));
    }

    fn timer(&mut self, _key: u64, driver: &mut Driver<'_, Message>) {
        self.recurse(driver, Recursor::tick);
    }

    fn messages(&mut self, messages: &mut Vec<Message>, driver: &mut Driver<'_, Message>) {
        self.recurse(driver, |recursor, _, time, driver| recursor.handed(messages, time, driver));
    }

    fn woken(&mut self, driver: &mut Driver<'_, Message>) {
        self.recurse(driver, Recursor::run_errands);
    }

    fn again(&mut self, driver: &mut Driver<'_, Message>) {
        if let Some(recursor) = &mut self.recursor {
            recursor.again(driver);
        }
    }

    #[inline]
    fn queries(&mut self, queries: &mut Queries<'_>, driver: &mut Driver<'_, Message>) {
        self.identity.begin();
        self.zones.begin();
        if let (Some(identity), Some(zones), Some(recursor)) =
            (self.identity.value(), self.zones.view(), &mut self.recursor)
        {
            let is_limited = identity.access.limits().is_some();
            if is_limited {
                self.responder.set_time(queries.now().instant.saturating_duration_since(self.started));
            }
            let (responder, requests) = (&mut self.responder, &self.requests);
            Answering { responder, requests, recursor, is_limited }.answer(
                queries,
                (&zones, identity),
                driver,
            );
            let lost = mappings::begun();
            if lost != self.lost {
                // They may say so much as that a name does not exist: none is given, and clients ask again.
                recursor.forget();
                self.responder.forget();
                queries.rewind();
                self.lost = lost;
            }
            if is_limited {
                self.responder.show_limited();
            }
        } else if let (Some(identity), Some(zones)) = (self.identity.value(), self.zones.view()) {
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

/// Answers a batch, with a resolver for names of others.
struct Answering<'a> {
    responder: &'a mut Responder,
    requests: &'a Requests,
    recursor: &'a mut Recursor,
    /// Answers of zones of ours are held against the limits of rates, as is what is said to those who may not recurse.
    is_limited: bool,
}

impl Answering<'_> {
    fn answer(
        &mut self,
        queries: &mut Queries<'_>,
        (zones, identity): (&CatalogView<'_>, &Server),
        driver: &mut Driver<'_, Message>,
    ) {
        let now = queries.now();
        let time = self.recursor.begin(now, driver);
        self.recursor.read_ahead(queries);
        let has_zones = !zones.is_empty();
        let mut numbers = 0..;
        while let Some(Asked { query, context, room }) = queries.next_query() {
            let number = numbers.next().unwrap_or_default();
            let client = Client {
                transport: context.transport,
                address: &context.client,
                is_proved: context.is_proved,
                now: now.wall,
            };
            // What zones of ours have to say goes before.
            let own = match has_zones {
                true => self.serve(query, zones, identity, &client, room),
                false => Answered::Elsewhere(0),
            };
            let plain = if has_zones { self.responder.elsewhere() } else { None };
            // An alias or a referral of ours leads there, and not that it is nobody's here.
            let is_of_ours = matches!(own, Answered::Elsewhere(octets) if octets >= HEADER_OCTETS)
                && u16::from(room[3] & 15) != rcode::REFUSED;
            let answered = match own {
                Answered::Elsewhere(own) => {
                    let asked = (query, plain, is_of_ours);
                    let served = self.recursor.serve(asked, number, zones, context, time, room);
                    if !has_zones && served != Served::Other {
                        let (qtype, has_edns, dnssec_ok) = self.recursor.asked();
                        self.responder.count_passed_by(qtype, has_edns, dnssec_ok);
                    }
                    match served {
                        Served::Octets(octets) => Answered::Octets(octets),
                        Served::Drop => Answered::Octets(0),
                        // Nothing was written over it.
                        Served::Refused if own >= HEADER_OCTETS => {
                            self.responder.count_given(room);
                            let answered = match self.is_limited {
                                true => self.responder.limit(query, own, identity, &client, room),
                                false => Answered::Octets(own),
                            };
                            self.offer(answered, query, context, room)
                        }
                        Served::Refused => Answered::Octets(self.recursor.refuse(time, room)),
                        Served::Other => {
                            let answered = self.serve(query, zones, identity, &client, room);
                            self.offer(answered, query, context, room)
                        }
                        Served::Miss => {
                            if let Some(item) = queries.current() {
                                self.recursor.wait(item, time, driver);
                            }
                            continue;
                        }
                    }
                }
                answered => self.offer(answered, query, context, room),
            };
            match answered {
                Answered::Octets(octets) | Answered::Elsewhere(octets) => queries.answer(octets),
                Answered::Request => {
                    if let Some(item) = queries.current() {
                        self.requests.carry_out(item, (zones, identity), &client, self.responder, driver);
                    }
                }
            }
        }
        self.recursor.end(zones, time, driver);
    }

    /// Says in an answer of our zones that recursion is there, for clients who may have it (RA, RFC 1035 4.1.1: whether it was used or not), and CD of
    /// the query again, as a recursive server does (RFC 4035 3.2.2).
    #[inline]
    fn offer(&mut self, answered: Answered, query: &[u8], context: &Context, room: &mut [u8]) -> Answered {
        let is_signed = self.responder.take_signed();
        if let Answered::Octets(octets) = answered
            && octets >= HEADER_OCTETS
            && !is_signed
            && self.recursor.is_for(context)
        {
            let [high, low] = RA.to_be_bytes();
            let checking = query.get(3).copied().unwrap_or(0) & CD as u8;
            (room[2], room[3]) = (room[2] | high, room[3] | low | checking);
        }
        answered
    }

    fn serve(
        &mut self,
        query: &[u8],
        zones: &CatalogView<'_>,
        identity: &Server,
        client: &Client<'_>,
        room: &mut [u8],
    ) -> Answered {
        match self.is_limited {
            false => self.responder.serve(query, zones, identity, client, room),
            true => self.responder.serve_limited(query, zones, identity, client, room),
        }
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
    driver: &mut Driver<'_, Message>,
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
