//! The scenario files of the recursive server (`tests/scenario/resolver`), with all of it that is no socket: cache, resolver, validation, and what clients get.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::path::Path as FilePath;

use cache::{Cache, Moment};
use recursive::policy::{Clients, Policy};
use recursive::{Client, Replied, Responder, Served, Waiting};
use resolve::{
    Ask, Closed, Configured, ConfiguredKind, Endpoint, From, Outcome, Path, Protection, Received, Resolver,
    Settings, StreamEvent, StreamId, StreamSecurity, Time, Unsent, Waiter, World,
};
use sim::scenario::{files, run_all};
use sim::tested::{self, ClientQuery, Outside, Setup, Tested, Ticket};
use sim::time::Micros;
use wire::{Address, Name, NameBuf};

/// What moments count from.
const FIRST_MS: u64 = 1_000_000;

struct Whole {
    cache: Cache,
    policy: Policy,
    responder: Responder,
    resolver: Resolver,
    settings: Settings,
    waiting: HashMap<Waiter, (Ticket, Waiting)>,
    next: u64,
    later: Vec<Later>,
    /// What was done in the event, with its outcome.
    done: Vec<(Waiter, Outcome)>,
}

struct Later {
    name: NameBuf,
    rtype: u16,
    checking_disabled: bool,
    from: From,
    client: Option<u64>,
    waiter: Option<Waiter>,
}

impl Later {
    fn of(ask: &Ask<'_>, waiter: Option<Waiter>) -> Later {
        let Ask { name, rtype, checking_disabled, from, client } = *ask;
        Later { name: name.to_owned(), rtype, checking_disabled, from, client, waiter }
    }
}

struct Inside<'a> {
    outside: &'a mut dyn Outside,
    cache: &'a Cache,
    done: &'a mut Vec<(Waiter, Outcome)>,
}

fn time_of(outside: &dyn Outside) -> Time {
    let time = outside.time();
    Time { now: Moment(FIRST_MS + time.now / 1000), wall: time.wall }
}

fn unsent(why: tested::Unsent) -> Unsent {
    match why {
        tested::Unsent::Unreachable => Unsent::Unreachable,
        tested::Unsent::Gone => Unsent::Gone,
    }
}

impl World for Inside<'_> {
    fn time(&self) -> Time {
        time_of(self.outside)
    }
    fn random(&mut self) -> u64 {
        self.outside.random()
    }
    fn cache(&self) -> &Cache {
        self.cache
    }
    fn servers(&self) -> &cache::Servers {
        self.cache.servers()
    }
    fn send(&mut self, to: SocketAddr, octets: &[u8]) -> Result<Path, Unsent> {
        self.outside.send(to, octets).map(|path| Path(path.0)).map_err(unsent)
    }
    fn settle(&mut self, path: Path) {
        self.outside.settle(tested::Path(path.0));
    }
    fn connect(&mut self, to: SocketAddr, _: StreamSecurity<'_>) -> Result<StreamId, Unsent> {
        self.outside.connect(to).map(|stream| StreamId(stream.0)).map_err(unsent)
    }
    fn write(&mut self, stream: StreamId, octets: &[u8]) -> Result<(), Unsent> {
        self.outside.write(tested::StreamId(stream.0), octets).map_err(unsent)
    }
    fn close(&mut self, stream: StreamId) {
        self.outside.close(tested::StreamId(stream.0));
    }
    fn authoritative(&mut self, _: &[u8], _: &mut Vec<u8>) -> bool {
        false
    }
    fn done(&mut self, waiter: Waiter, outcome: &Outcome) {
        self.done.push((waiter, outcome.clone()));
    }
}

impl Whole {
    fn boxed(setup: &Setup) -> Result<Box<dyn Tested>, String> {
        let addresses = setup.hints.list.iter().filter_map(|record| match record.rtype {
            wire::iana::rtype::A => <[u8; 4]>::try_from(&*record.rdata).ok().map(IpAddr::from),
            wire::iana::rtype::AAAA => <[u8; 16]>::try_from(&*record.rdata).ok().map(IpAddr::from),
            _ => None,
        });
        let mut settings = Settings { hints: addresses.collect(), ..Settings::default() };
        settings.is_validating = !setup.anchors.is_empty();
        settings.anchors = validate::Anchors::new();
        setup.anchors.iter().for_each(|ds| settings.anchors.add_ds(Name::root(), ds));
        for line in &setup.settings {
            set(line, &mut settings)?;
        }
        let stale_seconds = if settings.serves_stale { 86_400 } else { 0 };
        let limits = cache::Limits { stale_seconds, ..cache::Limits::default() };
        let cache = Cache::with(&cache::Settings { octets: 8 << 20, limits }, [1, 2, 3]);
        let points: Vec<NameBuf> = settings.zones.iter().map(|zone| zone.name.clone()).collect();
        let points = recursive::names::Names::new(&points);
        let policy = Policy { clients: Clients::All, points, ..Policy::default() };
        Ok(Box::new(Whole {
            cache,
            policy,
            responder: Responder::new(1),
            resolver: Resolver::new(settings.clone(), 1),
            settings,
            waiting: HashMap::new(),
            next: 0,
            later: Vec::new(),
            done: Vec::new(),
        }))
    }

    fn drive(&mut self, outside: &mut dyn Outside, event: impl FnOnce(&mut Resolver, &mut Inside<'_>)) {
        let Whole { cache, resolver, done, .. } = self;
        event(resolver, &mut Inside { outside, cache, done });
        self.end(outside);
    }

    /// What the event has led to.
    fn end(&mut self, outside: &mut dyn Outside) {
        let mut room = vec![0; 65_535];
        loop {
            let time = time_of(outside);
            if let Some((waiter, outcome)) = self.done.pop() {
                let Some((ticket, mut waiting)) = self.waiting.remove(&waiter) else { continue };
                let known = (&self.policy, &self.cache);
                match self.responder.reply(&mut waiting, &outcome, known, time, &mut room) {
                    Replied::Octets(octets) => outside.reply(ticket, &room[..octets]),
                    Replied::Ask => {
                        self.later.push(Later::of(&self.responder.ask(1), Some(waiter)));
                        self.waiting.insert(waiter, (ticket, waiting));
                    }
                }
            } else if let Some(later) = self.later.pop() {
                let Later { name, rtype, checking_disabled, from, client, waiter } = &later;
                let (rtype, checking_disabled, from, client) = (*rtype, *checking_disabled, *from, *client);
                let ask = Ask { name, rtype, checking_disabled, from, client };
                let Whole { cache, resolver, done, .. } = self;
                let refused = resolver.ask(&ask, *waiter, &mut Inside { outside, cache, done }).is_err();
                if refused
                    && let Some((ticket, waiting)) = waiter.and_then(|waiter| self.waiting.remove(&waiter))
                {
                    let octets = self.responder.give_up(&waiting, &self.policy, time.now, &mut room);
                    outside.reply(ticket, &room[..octets]);
                }
            } else {
                return;
            }
        }
    }
}

/// A setting as scenario files say it.
fn set(line: &str, settings: &mut Settings) -> Result<(), String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        ["serve-stale", yes] => settings.serves_stale = yes != "no",
        ["prefetch", _] => {}
        [kind @ ("stub-zone" | "forward-zone"), zone, ref servers @ ..] => {
            let addresses = servers.iter().map(|word| word.parse::<IpAddr>().map_err(|_| line.to_owned()));
            let addresses: Vec<IpAddr> = addresses.collect::<Result<_, _>>()?;
            let servers = addresses.into_iter().map(|address| Endpoint {
                address: SocketAddr::new(address, 53),
                security: Protection::Plain,
            });
            let kind = match kind {
                "stub-zone" => ConfiguredKind::Stub,
                _ => ConfiguredKind::Forward { is_first: false },
            };
            let name = NameBuf::from_text(zone).map_err(|_| line.to_owned())?;
            settings.zones.push(Configured { name, kind, servers: servers.collect() });
        }
        _ => return Err(format!("no setting {line}")),
    }
    Ok(())
}

impl Tested for Whole {
    fn query(&mut self, query: &ClientQuery<'_>, outside: &mut dyn Outside) {
        let address = Address::from(query.from);
        let client = Client { transport: query.transport, address: &address, is_proved: false };
        let mut room = vec![0; 65_535];
        let known = (&self.policy, &self.cache);
        let time = time_of(outside);
        match self.responder.serve(query.octets, &client, known, time, &mut room) {
            Served::Octets(octets) => {
                outside.reply(query.ticket, &room[..octets]);
                if let Some(ask) = self.responder.due() {
                    self.later.push(Later::of(&ask, None));
                }
            }
            Served::Miss => {
                self.next += 1;
                let waiter = Waiter(self.next);
                self.later.push(Later::of(&self.responder.ask(1), Some(waiter)));
                self.waiting.insert(waiter, (query.ticket, self.responder.waiting()));
            }
            Served::Refused => {
                let octets = self.responder.refuse(&self.policy, time.now, &mut room);
                outside.reply(query.ticket, &room[..octets]);
            }
            Served::Drop | Served::Other => {}
        }
        self.end(outside);
    }

    fn datagram(&mut self, path: tested::Path, from: SocketAddr, octets: &[u8], outside: &mut dyn Outside) {
        let received = Received { path: Path(path.0), from, octets, is_cut: false };
        self.drive(outside, |resolver, world| resolver.datagram(&received, world));
    }

    fn stream(
        &mut self,
        stream: tested::StreamId,
        event: tested::StreamEvent<'_>,
        outside: &mut dyn Outside,
    ) {
        let event = match event {
            tested::StreamEvent::Connected => StreamEvent::Connected,
            tested::StreamEvent::Message(octets) => StreamEvent::Message(octets),
            tested::StreamEvent::Closed(why) => StreamEvent::Closed(match why {
                tested::Closed::Ended => Closed::Ended,
                tested::Closed::Broken => Closed::Broken,
                tested::Closed::TimedOut => Closed::TimedOut,
                tested::Closed::Unreachable => Closed::Unreachable,
            }),
        };
        self.drive(outside, |resolver, world| resolver.stream(StreamId(stream.0), event, world));
    }

    fn tick(&mut self, outside: &mut dyn Outside) {
        self.drive(outside, |resolver, world| resolver.tick(world));
    }

    fn deadline(&self) -> Option<Micros> {
        self.resolver.deadline().map(|moment| moment.0.saturating_sub(FIRST_MS) * 1000)
    }

    fn command(&mut self, words: &str, outside: &mut dyn Outside) -> Result<String, String> {
        let time = time_of(outside);
        let name = |text: &str| NameBuf::from_text(text).map_err(|_| text.to_owned());
        let words: Vec<&str> = words.split_whitespace().collect();
        match words[..] {
            ["cache", "flush", text] => _ = self.cache.flush(&cache::Flush::Name(name(text)?), time.now),
            ["cache", "flush-tree", text] => _ = self.cache.flush(&cache::Flush::Tree(name(text)?), time.now),
            ["negative-anchor", "add", text, span] => {
                let seconds = sim::time::micros_of(span)? / 1_000_000;
                self.settings.anchors.set_negative(&name(text)?, Some(time.wall + seconds));
                self.resolver.configure(self.settings.clone());
                self.cache.flush(&cache::Flush::Tree(name(text)?), time.now);
            }
            _ => return Err(format!("no command {words:?}")),
        }
        self.resolver.forget_standings();
        Ok(String::new())
    }

    fn store(&mut self) -> Option<Vec<u8>> {
        None
    }

    fn open_count(&self) -> usize {
        self.resolver.held().iter().sum::<usize>() + self.waiting.len()
    }
}

#[test]
fn scenarios() {
    let folder = FilePath::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/scenario/resolver");
    let part = std::env::var("ZONDA_SCENARIO").unwrap_or_default();
    let report = run_all(&files(&folder, &part), &Whole::boxed);
    let stories = if part.is_empty() { 0 } else { 3 };
    println!("{}", report.text(stories));
    let failed: Vec<_> = report.failed.iter().map(|(name, _)| name).collect();
    assert!(report.is_good(), "{} failed", failed.len());
}
