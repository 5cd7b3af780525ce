//! The recursive half of a worker: queries in, replies out, the resolver driven in between.

use std::sync::Arc;

use cache::Moment;
use net::{Arrivals, Closed, Context, Driver, Item, TimerId};
use recursive::{Client, Served};
use resolve::{Ask, Path, Received, Resolver, StreamEvent, StreamId, Time, Waiter};
use wire::NameBuf;
use zone::CatalogView;

use super::own::OwnZones;
use super::replies::Replies;
use super::terms::Terms;
use super::world::{Outside, closed};
use super::{Recursion, SWEPT_PER_TICK};

/// What workers tell each other: nothing yet.
pub enum Message {}

/// Key of the timer of the resolver; clients' keys are others, but these are no timers.
const TICK: u64 = 0;

/// See the module.
pub(crate) struct Recursor {
    shared: Arc<Recursion>,
    terms: Arc<Terms>,
    resolver: Resolver,
    replies: Replies,
    own: OwnZones,
    /// The timer that is set, and for when.
    timer: Option<(TimerId, Moment)>,
    is_configured: bool,
}

/// A question to be asked when nothing else is being done.
pub(super) struct Later {
    pub name: NameBuf,
    pub rtype: u16,
    pub checking_disabled: bool,
    pub from: resolve::From,
    pub client: Option<u64>,
    pub waiter: Option<Waiter>,
}

impl Later {
    pub(super) fn of(ask: &Ask<'_>, waiter: Option<Waiter>) -> Later {
        let Ask { name, rtype, checking_disabled, from, client } = *ask;
        Later { name: name.to_owned(), rtype, checking_disabled, from, client, waiter }
    }
}

impl Recursor {
    pub(crate) fn new(shared: &Arc<Recursion>, random: u64) -> Recursor {
        let terms = shared.current_terms();
        Recursor {
            shared: Arc::clone(shared),
            resolver: Resolver::new(terms.resolve.clone()),
            replies: Replies::new(random),
            own: OwnZones::default(),
            terms,
            timer: None,
            is_configured: false,
        }
    }

    /// Begins an event: takes over what settings say by now. Returns its time.
    #[inline]
    pub(crate) fn begin(&mut self, now: net::Now, driver: &mut Driver<'_, Message>) -> Time {
        let newer = self.shared.terms_after(self.terms.version);
        if newer.is_some() || !self.is_configured {
            self.configure(newer, driver);
        }
        self.shared.time(now)
    }

    #[cold]
    fn configure(&mut self, newer: Option<Arc<Terms>>, driver: &mut Driver<'_, Message>) {
        if let Some(terms) = newer {
            self.terms = terms;
            self.resolver.configure(self.terms.resolve.clone());
        }
        self.is_configured = true;
        driver.upstream().configure(Arc::clone(&self.terms.upstream));
    }

    /// Answers a query from what is known; what was asked last is what the other methods speak of.
    #[inline]
    pub(crate) fn serve(&mut self, query: &[u8], context: &Context, time: Time, room: &mut [u8]) -> Served {
        let client =
            Client { transport: context.transport, address: &context.client, is_proved: context.is_proved };
        let known = (&self.terms.policy, &self.shared.cache);
        let served = self.replies.answers.serve(query, &client, known, time, room);
        if let Some(ask) = self.replies.answers.due() {
            self.replies.later.push(Later::of(&ask, None));
        }
        served
    }

    /// Says REFUSED to the query that was just served so.
    pub(crate) fn refuse(&mut self, time: Time, room: &mut [u8]) -> usize {
        self.replies.answers.refuse(&self.terms.policy, time.now, room)
    }

    /// Has the query that was just served as a miss wait for what is found out.
    pub(crate) fn wait(&mut self, mut item: Item<'_>, time: Time, driver: &mut Driver<'_, Message>) {
        let client = super::replies::client_number(driver.prefix_of(item.context.client.ip()));
        let waiter = self.replies.next_waiter();
        let is_proved = self.replies.answers.is_proved();
        match item.later(driver, waiter.0, is_proved) {
            Ok(ticket) => self.replies.wait(ticket, waiter, client, time),
            // As many wait as may: the client comes again.
            Err(_) => self.replies.counters.turned_away += 1,
        }
    }

    /// Ends an event: asks what is left to be asked, and sees to the next tick.
    pub(crate) fn end(&mut self, zones: &CatalogView<'_>, time: Time, driver: &mut Driver<'_, Message>) {
        self.ask_later(zones, time, driver);
        let Some(deadline) = self.resolver.deadline() else { return };
        if self.timer.is_some_and(|(_, at)| at <= deadline) {
            return;
        }
        if let Some((timer, _)) = self.timer.take() {
            driver.cancel(timer);
        }
        let at = self.shared.instant(deadline);
        self.timer = driver.set_timer(at, TICK).map(|timer| (timer, deadline));
    }

    fn ask_later(&mut self, zones: &CatalogView<'_>, time: Time, driver: &mut Driver<'_, Message>) {
        while let Some(later) = self.replies.later.pop() {
            let Later { name, rtype, checking_disabled, from, client, waiter } = &later;
            let (rtype, checking_disabled, from, client) = (*rtype, *checking_disabled, *from, *client);
            let ask = Ask { name, rtype, checking_disabled, from, client };
            let (resolver, mut world) = self.parts(zones, time, driver);
            if resolver.ask(&ask, *waiter, &mut world).is_err()
                && let Some(waiter) = waiter
            {
                self.replies.give_up(*waiter, &self.terms.policy, time, driver);
            }
        }
    }

    /// Datagrams came from servers.
    pub(crate) fn arrivals(
        &mut self,
        arrivals: &Arrivals,
        zones: &CatalogView<'_>,
        time: Time,
        driver: &mut Driver<'_, Message>,
    ) {
        for arrival in arrivals.iter() {
            let received = Received {
                path: Path(arrival.path.bits()),
                from: arrival.sender,
                octets: arrival.octets,
                // What was put together from fragments may be forged from the second on.
                is_cut: arrival.is_cut || arrival.is_reassembled,
            };
            let (resolver, mut world) = self.parts(zones, time, driver);
            resolver.datagram(&received, &mut world);
        }
    }

    /// Something happened to a stream to a server.
    pub(crate) fn stream(
        &mut self,
        (stream, event): (net::StreamId, StreamHappened<'_>),
        zones: &CatalogView<'_>,
        time: Time,
        driver: &mut Driver<'_, Message>,
    ) {
        let event = match event {
            StreamHappened::Connected => StreamEvent::Connected,
            StreamHappened::Message(octets) => StreamEvent::Message(octets),
            StreamHappened::Closed(why) => StreamEvent::Closed(closed(why)),
        };
        let (resolver, mut world) = self.parts(zones, time, driver);
        resolver.stream(StreamId(stream.bits()), event, &mut world);
    }

    /// The timer fired.
    pub(crate) fn tick(&mut self, zones: &CatalogView<'_>, time: Time, driver: &mut Driver<'_, Message>) {
        self.timer = None;
        let (resolver, mut world) = self.parts(zones, time, driver);
        resolver.tick(&mut world);
        self.shared.cache.sweep(SWEPT_PER_TICK);
    }

    /// Clients are gone.
    pub(crate) fn gone(&mut self, keys: &[u64]) {
        for key in keys {
            self.replies.gone(Waiter(*key));
            self.resolver.abandon(Waiter(*key));
        }
    }

    /// Sends what an event before had no room for.
    pub(crate) fn again(&mut self, driver: &mut Driver<'_, Message>) {
        self.replies.send_left(driver);
    }

    /// Something that is mapped was lost.
    pub(crate) fn forget(&mut self) {
        self.own.forget();
    }

    /// The resolver, and the world that it is in during an event.
    fn parts<'p, 'd>(
        &'p mut self,
        zones: &'p CatalogView<'p>,
        time: Time,
        driver: &'p mut Driver<'d, Message>,
    ) -> (&'p mut Resolver, Outside<'p, 'd>) {
        let Recursor { shared, terms, resolver, replies, own, .. } = self;
        (resolver, Outside { time, shared, terms, driver, zones, own, replies })
    }
}

/// What happened to a stream to a server.
pub(crate) enum StreamHappened<'a> {
    Connected,
    Message(&'a [u8]),
    Closed(Closed),
}
