//! The product's resolver as a world takes it: cache, resolver and responder of one worker, joined as `control::recursion` joins them over sockets.

use std::net::SocketAddr;

use cache::dump::{Dump, Situation};
use cache::{Cache, Flush, Moment, Servers};
use recursive::policy::{Clients, Policy};
use recursive::rebinding::Rebinding;
use recursive::waiting::{Fate, OUTAGE_MS_MAX, Room, Waiters, Who};
use recursive::{Client, Replied, Responder, Served};
use resolve::settings::{Configured, ConfiguredKind, Endpoint, Protection};
use resolve::{Ask, NotSent, Outcome, Received, Resolver, Settings, StreamSecurity, Time, Waiter, World};
use sim::records::address_of;
use sim::tested::{ClientQuery, Closed, Outside, Path, Setup, StreamEvent, StreamId, Tested, Ticket, Unsent};
use sim::time::{MILLISECOND, Micros, SECOND, micros_of};
use validate::Anchors;
use wire::iana::ede;
use wire::{Address, Name, NameBuf};

/// Clients that may wait: as many as a worker of `control` lets wait at most.
const PLACES: usize = 32_768;
/// Where milliseconds begin: not at zero, which would be before anything was asked.
const FIRST_MS: u64 = 1_000_000;

/// A worker.
pub struct Product {
    cache: Cache,
    resolver: Resolver,
    settings: Settings,
    policy: Policy,
    answers: Responder,
    /// Whether what is asked for often is asked anew before it expires.
    prefetches: bool,
    waiters: Waiters<Seat>,
    /// When the last event was.
    now: Moment,
    later: Vec<Later>,
    /// Datagrams that have no way: told after the event that asked for them, as they leave then.
    unsent: Vec<NotSent>,
    room: Vec<u8>,
}

/// Where an answer goes, and who pays for it.
struct Seat {
    ticket: Ticket,
    client: u64,
}

struct Later {
    name: NameBuf,
    rtype: u16,
    checking_disabled: bool,
    from: resolve::outcome::From,
    client: Option<u64>,
    waiter: Option<Waiter>,
}

impl Later {
    fn of(ask: &Ask<'_>, waiter: Option<Waiter>) -> Later {
        let Ask { name, rtype, checking_disabled, from, client } = *ask;
        Later { name: name.to_owned(), rtype, checking_disabled, from, client, waiter }
    }
}

impl Product {
    /// One with the settings of a scenario.
    pub fn boxed(setup: &Setup) -> Result<Box<dyn Tested>, String> {
        let hints = setup.hints.list.iter().filter_map(|one| address_of(one.rtype, &one.rdata)).collect();
        let mut settings =
            Settings { hints, is_validating: !setup.anchors.is_empty(), ..Settings::default() };
        let mut anchors = Anchors::new();
        setup.anchors.iter().for_each(|rdata| anchors.add_ds(Name::root(), rdata));
        settings.anchors = anchors;
        let mut rebinding = None;
        let mut of_cache = cache::Settings::default();
        let mut prefetches = true;
        for line in &setup.settings {
            match line.split_whitespace().collect::<Vec<_>>()[..] {
                ["serve-stale", "yes"] => {
                    settings.stale_after_ms = Some(resolve::limits::STALE_AFTER_MS);
                    of_cache.limits.stale_seconds = 86_400;
                }
                ["cache-octets", octets] => {
                    of_cache.octets = octets.parse().map_err(|_| format!("{octets}?"))?;
                }
                ["stub-zone", zone, server] => {
                    settings.zones.push(configured(zone, server, ConfiguredKind::Stub)?);
                }
                ["forward-zone", zone, server] => {
                    let kind = ConfiguredKind::Forward { is_first: false };
                    settings.zones.push(configured(zone, server, kind)?);
                }
                ["prefetch", "no"] => prefetches = false,
                ["rebinding", "yes"] => rebinding = Some(Rebinding::usual()),
                ["nsec3-iterations", most] => {
                    settings.policy.nsec3_iterations_max = most.parse().map_err(|_| format!("{most}?"))?;
                }
                _ => return Err(format!("no setting {line}")),
            }
        }
        let points: Vec<NameBuf> = settings.zones.iter().map(|zone| zone.name.clone()).collect();
        let points = recursive::names::Names::new(&points);
        let policy = Policy { clients: Clients::All, rotates: false, points, rebinding, ..Policy::default() };
        let cache = Cache::with(&of_cache, [1, 2, 3]);
        if let Some(stored) = &setup.stored {
            take_in(&cache, stored, &situation(setup.time))?;
        }
        Ok(Box::new(Product {
            cache,
            resolver: Resolver::new(settings.clone(), 5),
            settings,
            policy,
            answers: Responder::new(4),
            prefetches,
            waiters: Waiters::new(PLACES),
            now: Moment(FIRST_MS),
            later: Vec::new(),
            unsent: Vec::new(),
            room: vec![0; usize::from(u16::MAX)],
        }))
    }

    /// Does something with the resolver, then all that it leads to.
    fn event(&mut self, outside: &mut dyn Outside, act: impl FnOnce(&mut Resolver, &mut dyn World)) {
        let time = time_of(outside);
        self.now = time.now;
        self.act(time, outside, act);
        loop {
            while let Some(later) = self.later.pop() {
                let Later { name, rtype, checking_disabled, from, client, waiter } = later;
                let ask = Ask { name: &name, rtype, checking_disabled, from, client };
                let mut is_refused = false;
                self.act(time, outside, |resolver, world| {
                    is_refused = resolver.ask(&ask, waiter, world).is_err()
                });
                if is_refused
                    && let Some(taken) = waiter.and_then(|waiter| self.waiters.take(waiter, time.now))
                {
                    let octets = self.answers.give_up(&taken.waiting, &self.policy, time.now, &mut self.room);
                    outside.reply(taken.ticket.ticket, &self.room[..octets]);
                }
            }
            let Some(unsent) = self.unsent.pop() else { return };
            self.act(time, outside, |resolver, world| resolver.unsent(&unsent, world));
        }
    }

    fn act(
        &mut self,
        time: Time,
        outside: &mut dyn Outside,
        act: impl FnOnce(&mut Resolver, &mut dyn World),
    ) {
        let mut done = Vec::new();
        let (cache, policy, unsent) = (&self.cache, &self.policy, &mut self.unsent);
        act(&mut self.resolver, &mut Around { time, outside, cache, policy, unsent, done: &mut done });
        self.finish(done, time, outside);
    }

    fn finish(&mut self, done: Vec<(Waiter, Outcome)>, time: Time, outside: &mut dyn Outside) {
        for (waiter, outcome) in done {
            let Some(mut taken) = self.waiters.take(waiter, time.now) else { continue };
            let known = (&self.policy, &self.cache);
            let octets = match taken.fate {
                Fate::Late => continue,
                Fate::Truncate => {
                    self.answers.truncate(&taken.waiting, &self.policy, time.now, &mut self.room)
                }
                Fate::Reply => {
                    match self.answers.reply(&mut taken.waiting, &outcome, known, time, &mut self.room) {
                        Replied::Octets(octets) => octets,
                        Replied::Ask => {
                            let client = taken.ticket.client;
                            let waiter = self.waiters.put_back(taken);
                            self.later.push(Later::of(&self.answers.ask(client), Some(waiter)));
                            continue;
                        }
                    }
                }
            };
            self.waiters.replied(&taken, octets, time.now);
            outside.reply(taken.ticket.ticket, &self.room[..octets]);
        }
    }

    /// Answers those who have waited for as long as may be.
    fn expire(&mut self, outside: &mut dyn Outside) {
        let now = time_of(outside).now;
        let is_out = self.resolver.is_network_out(Moment(now.0 - OUTAGE_MS_MAX));
        let why = if is_out { ede::NETWORK_ERROR } else { ede::NO_REACHABLE_AUTHORITY };
        while let Some(waiter) = self.waiters.overdue(now, is_out) {
            let Some(taken) = self.waiters.take(waiter, now) else { return };
            self.resolver.abandon(waiter);
            let known = (&self.policy, &self.cache);
            let octets = self.answers.unanswered(&taken.waiting, why, known, now, &mut self.room);
            outside.reply(taken.ticket.ticket, &self.room[..octets]);
        }
    }
}

impl Tested for Product {
    fn query(&mut self, query: &ClientQuery<'_>, outside: &mut dyn Outside) {
        let time = time_of(outside);
        let address = Address::from(query.from);
        let is_proved = query.transport.is_stream();
        let client = Client {
            transport: query.transport,
            address: &address,
            is_proved,
            is_of_ours: false,
            ours: None,
            ahead: None,
        };
        let known = (&self.policy, &self.cache);
        match self.answers.serve(query.octets, &client, known, time, &mut self.room) {
            Served::Octets(octets) => {
                outside.reply(query.ticket, &self.room[..octets]);
                if let Some(ask) = self.answers.due().filter(|_| self.prefetches) {
                    self.later.push(Later::of(&ask, None));
                }
            }
            Served::Refused => {
                let octets = self.answers.refuse(&self.policy, time.now, &mut self.room);
                outside.reply(query.ticket, &self.room[..octets]);
            }
            Served::Miss => {
                let client = u64::from(query.from.port());
                let who = Who { address: &address, is_proved: self.answers.is_proved() };
                let waiting = self.answers.waiting();
                let comer = self.waiters.comer(&who, waiting);
                match self.waiters.make_room(&comer) {
                    Room::Joined => return,
                    Room::Free => {}
                    Room::Evicted(gone) => self.resolver.abandon(gone.waiter),
                }
                let seat = Seat { ticket: query.ticket, client };
                let waiter = self.waiters.insert(comer, seat, time.now);
                self.later.push(Later::of(&self.answers.ask(client), Some(waiter)));
            }
            Served::Drop | Served::Other => {}
        }
        self.event(outside, |_, _| ());
    }

    fn datagram(&mut self, path: Path, from: SocketAddr, octets: &[u8], outside: &mut dyn Outside) {
        let received = Received { path: resolve::Path(path.0), from, octets, is_cut: false };
        self.event(outside, |resolver, world| resolver.datagram(&received, world));
    }

    fn stream(&mut self, stream: StreamId, event: StreamEvent<'_>, outside: &mut dyn Outside) {
        let event = match event {
            StreamEvent::Connected => resolve::StreamEvent::Connected,
            StreamEvent::Message(octets) => resolve::StreamEvent::Message(octets),
            StreamEvent::Closed(why) => resolve::StreamEvent::Closed(match why {
                Closed::Ended => resolve::Closed::Ended,
                Closed::Broken => resolve::Closed::Broken,
                Closed::TimedOut => resolve::Closed::TimedOut,
                Closed::Unreachable => resolve::Closed::Unreachable,
            }),
        };
        self.event(outside, |resolver, world| resolver.stream(resolve::StreamId(stream.0), event, world));
    }

    fn tick(&mut self, outside: &mut dyn Outside) {
        self.event(outside, |resolver, world| resolver.tick(world));
        self.expire(outside);
    }

    fn deadline(&self) -> Option<Micros> {
        let deadlines = [self.resolver.deadline(), self.waiters.deadline(self.now)];
        deadlines.into_iter().flatten().min().map(|at| at.0.saturating_sub(FIRST_MS) * MILLISECOND)
    }

    fn command(&mut self, words: &str, outside: &mut dyn Outside) -> Result<String, String> {
        let now = time_of(outside).now;
        let name = |text: &str| text.parse::<NameBuf>().map_err(|error| format!("{text}: {error}"));
        let flush = match words.split_whitespace().collect::<Vec<_>>()[..] {
            ["cache", "flush", "all"] => Flush::All,
            ["cache", "flush", text] => Flush::Name(name(text)?),
            ["cache", "flush-tree", text] => Flush::Tree(name(text)?),
            ["negative-anchor", "add", zone, seconds] => {
                let until = time_of(outside).wall + micros_of(seconds)? / SECOND;
                self.settings.anchors.set_negative(&name(zone)?, Some(until));
                self.resolver.configure(self.settings.clone());
                Flush::Tree(name(zone)?)
            }
            _ => return Err(format!("no command {words}")),
        };
        let forgotten = self.cache.flush(&flush, now);
        self.resolver.forget_standings();
        Ok(forgotten.to_string())
    }

    fn store(&mut self, time: sim::time::Time) -> Option<Vec<u8>> {
        let mut stored = Vec::new();
        self.cache.write_dump(&mut stored, &situation(time), &[]).ok().map(|_| stored)
    }

    fn counter(&self, name: &str) -> Option<u64> {
        self.resolver.counters().each().find(|(known, ..)| *known == name).map(|(.., value)| value)
    }

    fn open_count(&self) -> usize {
        let [tasks, questions, _, budgets, inquiries] = self.resolver.held();
        tasks + questions + budgets + inquiries + self.waiters.counts().waiting as usize
    }
}

/// When a cache is written or read: no settings change over a restart here.
fn situation(time: sim::time::Time) -> Situation {
    Situation { now: Moment(FIRST_MS + time.now / MILLISECOND), wall: time.wall }
}

/// Takes in what was written, as `control::recursion::kept` does.
fn take_in(cache: &Cache, stored: &[u8], situation: &Situation) -> Result<(), String> {
    let dump = Dump::open(Box::new(stored.to_vec()), situation).map_err(|error| format!("{error:?}"))?;
    cache.restore(dump);
    while !cache.take_in(situation.now).is_done {}
    Ok(())
}

fn configured(zone: &str, server: &str, kind: ConfiguredKind) -> Result<Configured, String> {
    let address = server.parse().map_err(|_| format!("{server} is no address"))?;
    let endpoint = Endpoint { address: SocketAddr::new(address, 53), security: Protection::Plain };
    let name = zone.parse().map_err(|error| format!("{zone}: {error}"))?;
    Ok(Configured { name, kind, servers: vec![endpoint] })
}

/// Of paths that nothing left by.
const NEVER_SENT: u64 = 1 << 63;

/// The world of the resolver during an event.
struct Around<'a> {
    time: Time,
    outside: &'a mut dyn Outside,
    cache: &'a Cache,
    policy: &'a Policy,
    unsent: &'a mut Vec<NotSent>,
    done: &'a mut Vec<(Waiter, Outcome)>,
}

fn time_of(outside: &dyn Outside) -> Time {
    let time = outside.time();
    Time { now: Moment(FIRST_MS + time.now / MILLISECOND), wall: time.wall }
}

fn unsent(why: Unsent) -> resolve::Unsent {
    match why {
        Unsent::Unreachable => resolve::Unsent::Unreachable,
        Unsent::Gone => resolve::Unsent::Gone,
    }
}

impl World for Around<'_> {
    fn time(&self) -> Time {
        self.time
    }

    fn random(&mut self) -> u64 {
        self.outside.random()
    }

    fn cache(&self) -> &Cache {
        self.cache
    }

    fn servers(&self) -> &Servers {
        self.cache.servers()
    }

    fn send(
        &mut self,
        to: SocketAddr,
        octets: &[u8],
        _has_cookie: bool,
    ) -> Result<resolve::Path, resolve::Unsent> {
        match self.outside.send(to, octets) {
            Ok(path) => Ok(resolve::Path(path.0)),
            Err(why) => {
                let path = resolve::Path(NEVER_SENT | self.unsent.len() as u64);
                let id = u16::from_be_bytes([octets[0], octets[1]]);
                self.unsent.push(NotSent { path, to, id, why: unsent(why) });
                Ok(path)
            }
        }
    }

    fn settle(&mut self, path: resolve::Path) {
        if path.0 & NEVER_SENT == 0 {
            self.outside.settle(Path(path.0));
        }
    }

    fn connect(
        &mut self,
        to: SocketAddr,
        _security: StreamSecurity<'_>,
    ) -> Result<resolve::StreamId, resolve::Unsent> {
        self.outside.connect(to).map(|stream| resolve::StreamId(stream.0)).map_err(unsent)
    }

    fn write(&mut self, stream: resolve::StreamId, octets: &[u8]) -> Result<(), resolve::Unsent> {
        self.outside.write(StreamId(stream.0), octets).map_err(unsent)
    }

    fn close(&mut self, stream: resolve::StreamId) {
        self.outside.close(StreamId(stream.0));
    }

    fn authoritative(&mut self, _query: &[u8], _response: &mut Vec<u8>) -> resolve::Held {
        resolve::Held::Nothing
    }

    fn keeps_inside(&self, name: &Name) -> bool {
        self.policy.local.keeps_inside(name)
    }

    fn done(&mut self, waiter: Waiter, outcome: &Outcome) {
        self.done.push((waiter, outcome.clone()));
    }
}
