//! The recursive half of a worker: queries in, replies out, the resolver driven in between.

use std::sync::Arc;

use cache::Moment;
use net::{Address, Arrivals, Closed, Context, Driver, Item, NotSent, Queries, Ticket, TimerId};
use recursive::policy::{Asker, Decision};
use recursive::waiting::{Comer, OUTAGE_MS_MAX, Who};
use recursive::{Client, IsOfOurs, Served, Waiting};
use resolve::{Ask, Path, Received, Resolver, StreamEvent, StreamId, Time, Waiter};
use wire::Name;
use wire::iana::rtype;
use wire::name::{NameRoom, NameRooms};
use wire::query::PlainQuery;
use zone::CatalogView;

use super::Recursion;
use super::desk::{self, Desk, Errand};
use super::explained::Explaining;
use super::own::{self, OwnZones};
use super::owner::client_number;
use super::replies::{Replies, Seat};
use super::terms::Terms;
use super::world::{Outside, closed, not_sent};

/// What workers tell each other: that a client of one waits for a name that is another's to find out.
pub struct Message(Box<Handed>);

/// A client that waits, handed to the worker that finds things out of its name.
struct Handed {
    ticket: Ticket,
    waiting: Waiting,
    address: Address,
    is_proved: bool,
    question: Later,
}

/// Key of the only timer, and of all tickets.
const KEY: u64 = 0;

/// A batch is read ahead if one in so many queries of the one before came here. Reading ahead costs each query a sixth of what it spares those that come here, where names are many.
const AHEAD_PART: usize = 6;

/// The resolver of a worker with its clients, its world and the terms that it goes by.
pub(crate) struct Recursor {
    shared: Arc<Recursion>,
    terms: Arc<Terms>,
    resolver: Resolver,
    replies: Replies,
    own: OwnZones,
    /// The timer that is set, and for when.
    timer: Option<(TimerId, Moment)>,
    desk: Arc<Desk>,
    explaining: Explaining,
    is_configured: bool,
    /// Whether it was this worker's to say that there is no network, of the outage of now.
    has_told_outage: bool,
    /// Queries of this batch, and how many of them came here.
    batch: (usize, usize),
    /// Whether this batch was read ahead.
    has_read: bool,
}

/// A question to be asked when nothing else is being done.
pub(super) struct Later {
    pub name: NameRoom,
    pub rtype: u16,
    pub checking_disabled: bool,
    pub from: resolve::From,
    pub client: Option<u64>,
    pub waiter: Option<Waiter>,
}

impl Later {
    pub(super) fn of(ask: &Ask<'_>, waiter: Option<Waiter>, rooms: &mut NameRooms) -> Later {
        let Ask { name, rtype, checking_disabled, from, client } = *ask;
        Later { name: rooms.copy(name), rtype, checking_disabled, from, client, waiter }
    }
}

impl Recursor {
    pub(crate) fn new(shared: &Arc<Recursion>, worker: usize, random: u64) -> Recursor {
        let terms = shared.current_terms();
        let mut resolver = Resolver::new(terms.resolve.clone(), random.rotate_left(32));
        resolver.work_in(Arc::clone(&shared.areas));
        let words = shared.words_of(worker);
        resolver.count_in(words.resolver);
        let mut replies = Replies::new(random, shared.places);
        replies.answers.count_in(words.answers);
        replies.waiters.count_in(words.waiting);
        Recursor {
            shared: Arc::clone(shared),
            resolver,
            replies,
            own: OwnZones::default(),
            terms,
            timer: None,
            desk: shared.new_desk(worker),
            explaining: Explaining::default(),
            is_configured: false,
            has_told_outage: false,
            batch: (0, 0),
            has_read: false,
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
            let is_same = self.terms.premises == terms.premises;
            self.terms = terms;
            if !is_same {
                self.resolver.forget_standings();
            }
            self.resolver.configure(self.terms.resolve.clone());
        }
        if !self.is_configured {
            self.desk.open(driver.waker());
            self.is_configured = true;
        }
        self.replies.logs_failures = self.terms.logs_failures;
        driver.upstream().configure(Arc::clone(&self.terms.upstream));
    }

    /// The worker begins. Errands reach it from here on ([`Recursor::begin`] has said how); one of all asks the root for its servers, before anybody needs them (RFC 9609 3).
    pub(crate) fn started(&mut self, driver: &mut Driver<'_, Message>) {
        let is_forwarded = |zone: &resolve::settings::Configured| zone.name.is_root();
        if driver.worker() > 0 || self.terms.resolve.zones.iter().any(is_forwarded) {
            return;
        }
        let ask = Ask {
            name: Name::root(),
            rtype: rtype::NS,
            // As tasks do that need it: a question for the same joins.
            checking_disabled: true,
            from: resolve::From::Cache,
            client: None,
        };
        self.replies.later.push(Later::of(&ask, None, &mut self.replies.rooms));
    }

    /// Reads ahead what queries of a batch will ask of the cache: not where zones of ours answered nearly all of the batch before.
    pub(crate) fn read_ahead(&mut self, queries: &Queries<'_>) {
        let (before, served) = std::mem::replace(&mut self.batch, (queries.len(), 0));
        self.has_read = served * AHEAD_PART >= before;
        if self.has_read {
            let octets = (0..queries.len()).map(|index| queries.query(index));
            self.replies.answers.read_ahead(octets, &self.terms.cache);
        }
    }

    /// Answers a query from what is known, as it was read, if it was; what was asked last is what the other methods speak of. `is_of_ours`: a zone of ours, of `zones`, has begun the answer;
    /// `number`: which of its batch it is.
    #[inline]
    pub(crate) fn serve(
        &mut self,
        (query, plain, is_of_ours): (&[u8], Option<&PlainQuery>, bool),
        number: usize,
        zones: &CatalogView<'_>,
        context: &Context,
        time: Time,
        room: &mut [u8],
    ) -> Served {
        let Context { transport, is_proved, .. } = *context;
        let names = |name: &Name| own::is_of_ours(zones, name);
        let ours = (!zones.is_empty()).then_some(&names as IsOfOurs<'_>);
        let ahead = self.has_read.then_some(number);
        self.batch.1 += 1;
        let client = Client { transport, address: &context.client, is_proved, is_of_ours, ours, ahead };
        let known = (&self.terms.policy, &*self.terms.cache);
        let answers = &mut self.replies.answers;
        let served = match plain {
            Some(plain) => answers.serve_plain(query, plain, &client, known, time, room),
            None => answers.serve(query, &client, known, time, room),
        };
        if self.terms.prefetches
            && let Some(ask) = self.replies.answers.due()
        {
            self.replies.later.push(Later::of(&ask, None, &mut self.replies.rooms));
        }
        if self.replies.answers.is_told() {
            let asked = self.replies.answers.waiting();
            self.replies.said.asked((asked.name(), asked.qtype()), context.client.ip(), time.now);
        }
        served
    }

    /// What the query that was just served asked for: see [`recursive::Responder::asked`].
    #[inline]
    pub(crate) fn asked(&self) -> (u16, bool, bool) {
        self.replies.answers.asked()
    }

    /// Whether a client may have recursion, perhaps once it has proved its address.
    pub(crate) fn is_for(&self, context: &Context) -> bool {
        let Context { client, transport, is_proved, .. } = *context;
        let asker = Asker { address: client.ip(), transport, is_proved: is_proved || transport.is_stream() };
        self.terms.policy.clients.decide(&asker) != Decision::Denied
    }

    /// Says REFUSED to the query that was just served so.
    pub(crate) fn refuse(&mut self, time: Time, room: &mut [u8]) -> usize {
        self.replies.answers.refuse(&self.terms.policy, time.now, room)
    }

    /// Has the query that was just served as a miss wait for what is found out: here, or at the worker that the name belongs to.
    pub(crate) fn wait(&mut self, mut item: Item<'_>, time: Time, driver: &mut Driver<'_, Message>) {
        let (waiting, is_proved) = (self.replies.answers.waiting(), self.replies.answers.is_proved());
        let address = item.context.client;
        let client = client_number(driver.prefix_of(address.ip()));
        let question = Later::of(&self.replies.answers.ask(client), None, &mut self.replies.rooms);
        let owner = self.shared.owner_of(&question.name, driver.workers());
        if owner == driver.worker() {
            let comer = self.replies.waiters.comer(&Who { address: &address, is_proved }, waiting);
            if self.replies.make_room(&comer, driver)
                && let Ok(ticket) = item.later(driver, KEY, is_proved)
            {
                self.seat((ticket, false), comer, question, time);
            }
            return;
        }
        // As many wait as may: the client comes again.
        let Ok(ticket) = item.later(driver, KEY, is_proved) else { return };
        // It may be known by then.
        let question = Later { from: resolve::From::Cache, ..question };
        let handed = Box::new(Handed { ticket, waiting, address, is_proved, question });
        if let Err(Message(handed)) = driver.tell(owner, Message(handed)) {
            self.take_in(*handed, false, time, driver);
        }
    }

    /// Other workers hand over clients that wait.
    pub(crate) fn handed(
        &mut self,
        messages: &mut Vec<Message>,
        time: Time,
        driver: &mut Driver<'_, Message>,
    ) {
        for Message(handed) in messages.drain(..) {
            self.take_in(*handed, true, time, driver);
        }
    }

    /// Has a client wait here that was handed over, or was to be.
    fn take_in(&mut self, handed: Handed, is_foreign: bool, time: Time, driver: &mut Driver<'_, Message>) {
        let Handed { ticket, waiting, address, is_proved, question } = handed;
        let comer = self.replies.waiters.comer(&Who { address: &address, is_proved }, waiting);
        match self.replies.make_room(&comer, driver) {
            true => self.seat((ticket, is_foreign), comer, question, time),
            false => driver.discard(ticket),
        }
    }

    /// Has a client wait here, and its question asked when the event is over.
    fn seat(&mut self, (ticket, is_foreign): (Ticket, bool), comer: Comer, mut question: Later, time: Time) {
        let seat = Seat { ticket, is_foreign, client: question.client.unwrap_or(0) };
        question.waiter = Some(self.replies.waiters.insert(comer, seat, time.now));
        self.replies.later.push(question);
    }

    /// Ends an event: asks what is left to be asked, and sees to the next tick.
    pub(crate) fn end(&mut self, zones: &CatalogView<'_>, time: Time, driver: &mut Driver<'_, Message>) {
        self.ask_later(zones, time, driver);
        if self.resolver.has_ebbed() {
            self.shared.ebb.ebbed();
        }
        while let Some(told) = self.resolver.told() {
            self.explaining.tell(told);
        }
        let deadlines = [self.resolver.deadline(), self.replies.waiters.deadline(time.now)];
        let Some(deadline) = deadlines.into_iter().flatten().min() else { return };
        if self.timer.is_some_and(|(_, at)| at <= deadline) {
            return;
        }
        if let Some((timer, _)) = self.timer.take() {
            driver.cancel(timer);
        }
        let at = self.shared.instant(deadline);
        self.timer = driver.set_timer(at, KEY).map(|timer| (timer, deadline));
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
            self.replies.rooms.put(later.name);
        }
        while let Some(waiter) = self.replies.abandoned.pop() {
            self.resolver.abandon(waiter);
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
        self.watch_network(time.now);
    }

    /// Datagrams that were to leave at the end of an event did not.
    pub(crate) fn unsent(
        &mut self,
        unsent: &[NotSent],
        zones: &CatalogView<'_>,
        time: Time,
        driver: &mut Driver<'_, Message>,
    ) {
        for unsent in unsent {
            let (resolver, mut world) = self.parts(zones, time, driver);
            resolver.unsent(&not_sent(unsent), &mut world);
        }
        self.watch_network(time.now);
    }

    /// Has the operator told when the network goes, and when it is back.
    fn watch_network(&mut self, now: Moment) {
        self.shared.outage.watch(self.resolver.outage(), now, &mut self.has_told_outage);
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
        // Who got something by that waits no more.
        let is_out = self.resolver.is_network_out(Moment(time.now.0.saturating_sub(OUTAGE_MS_MAX)));
        let known = (&self.terms.policy, &*self.terms.cache);
        self.replies.expire(is_out, known, time.now, driver);
        self.watch_network(time.now);
    }

    /// Does what operators want to know.
    pub(crate) fn run_errands(
        &mut self,
        zones: &CatalogView<'_>,
        time: Time,
        driver: &mut Driver<'_, Message>,
    ) {
        for errand in self.desk.take() {
            let Errand::Explain(wanted) = errand else {
                desk::run(&errand, &mut self.resolver, &mut self.replies, time.now);
                continue;
            };
            let number = self.explaining.next();
            let (resolver, mut world) = self.parts(zones, time, driver);
            if resolver.explain(&wanted.ask(), number, &mut world).is_ok() {
                self.explaining.keep(number, wanted);
            }
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
        let Recursor { terms, resolver, replies, own, .. } = self;
        (resolver, Outside { time, terms, driver, zones, own, replies })
    }
}

/// What happened to a stream to a server.
pub(crate) enum StreamHappened<'a> {
    Connected,
    Message(&'a [u8]),
    Closed(Closed),
}
