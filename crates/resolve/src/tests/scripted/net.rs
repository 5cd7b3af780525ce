//! Servers, and what the resolver acts on.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;

use cache::{Cache, Moment, Secret, Servers};
use wire::iana::rtype;
use wire::{Name, NameBuf};

use super::WALL;
use super::records::{Question, Response};
use super::zone::Zone;
use crate::outcome::{Outcome, Waiter};
use crate::world::{Held, NotSent, Path, StreamId, StreamSecurity, Time, Unsent, World};

/// What a server says, or `None` for silence.
pub type Behaviour = Box<dyn FnMut(&Question, Response) -> Option<Response>>;

/// A server: its zones, and what it does with what it would say.
pub struct Server {
    pub(super) zones: Vec<Zone>,
    pub(super) behaviour: Behaviour,
    pub has_tcp: bool,
    pub delay_ms: u64,
    pub seen: Vec<Question>,
}

impl Server {
    fn answer(&mut self, octets: &[u8], is_stream: bool, at: u64) -> Option<(Vec<u8>, u64)> {
        let question = Question::read(octets, is_stream, at);
        self.seen.push(question.clone());
        let of = |zone: &&Zone| question.name.is_at_or_below(zone.apex.as_ref().unwrap());
        let zone = self.zones.iter().filter(of).max_by_key(|zone| zone.apex.as_ref().unwrap().label_count());
        let answer = |zone: &Zone| zone.signed(zone.answer(&question));
        let mut response = zone.map_or_else(|| Response::rcode(5), answer);
        if question.rtype == rtype::DS && response.rcode == 0 {
            let above = self.zones.iter().filter(of).min_by_key(|z| z.apex.as_ref().unwrap().label_count());
            response = above.map_or(response, answer);
        }
        let response = (self.behaviour)(&question, response)?;
        Some((response.octets(&question), self.delay_ms + response.later_ms))
    }
}

/// What is on its way to the resolver.
#[derive(Debug)]
pub enum Happening {
    Datagram(Path, SocketAddr, Vec<u8>),
    Unsent(NotSent),
    Stream(StreamId, Option<Vec<u8>>, bool),
}

/// What the resolver acts on.
pub struct Net {
    pub now: u64,
    pub cache: Cache,
    pub qualities: Servers,
    pub servers: HashMap<SocketAddr, Server>,
    pub(super) queue: BTreeMap<(u64, u64), Happening>,
    number: u64,
    random: u64,
    pub(super) streams: HashMap<StreamId, SocketAddr>,
    pub done: Vec<(Waiter, Outcome)>,
    pub is_unreachable: bool,
    /// Whether that is told only after the event, as of datagrams that leave together.
    pub tells_late: bool,
    /// Everything that is sent is lost.
    pub is_silent: bool,
    pub own: Option<Zone>,
    /// A mirror of this process, if there is one.
    pub mirror: Option<Zone>,
    /// Names at and below this are asked of nobody.
    pub inside: Option<NameBuf>,
    pub sent: u64,
    /// Of those, questions whose answer a cookie proves.
    pub with_cookie: u64,
    pub connected: u64,
    pub open_paths: i64,
    pub tls: Vec<String>,
    pub(super) last_path: Option<Path>,
}

impl Net {
    /// Without servers.
    pub(super) fn new() -> Net {
        Net {
            now: 1_000_000,
            cache: stale_for_a_day(),
            qualities: Servers::new(1 << 20, Secret::new([1, 2, 3])),
            servers: HashMap::new(),
            queue: BTreeMap::new(),
            number: 0,
            random: 4711,
            streams: HashMap::new(),
            done: Vec::new(),
            is_unreachable: false,
            tells_late: true,
            is_silent: false,
            own: None,
            mirror: None,
            inside: None,
            sent: 0,
            with_cookie: 0,
            connected: 0,
            open_paths: 0,
            tls: Vec::new(),
            last_path: None,
        }
    }

    pub(super) fn put(&mut self, delay: u64, happening: Happening) {
        self.number += 1;
        self.queue.insert((self.now + delay, self.number), happening);
    }
}

impl World for Net {
    fn time(&self) -> Time {
        Time { now: Moment(self.now), wall: WALL + self.now / 1000 }
    }

    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn cache(&self) -> &Cache {
        &self.cache
    }

    fn servers(&self) -> &Servers {
        &self.qualities
    }

    fn send(&mut self, to: SocketAddr, octets: &[u8], has_cookie: bool) -> Result<Path, Unsent> {
        if self.is_unreachable && !self.tells_late {
            return Err(Unsent::Unreachable);
        }
        if self.is_unreachable {
            self.open_paths += 1;
            let (path, id) = (Path(self.random()), u16::from_be_bytes([octets[0], octets[1]]));
            self.put(0, Happening::Unsent(NotSent { path, to, id, why: Unsent::Unreachable }));
            return Ok(path);
        }
        self.sent += 1;
        self.with_cookie += u64::from(has_cookie);
        self.open_paths += 1;
        let path = Path(self.random());
        self.last_path = Some(path);
        let now = self.now;
        if self.is_silent {
            return Ok(path);
        }
        if let Some((answer, delay)) =
            self.servers.get_mut(&to).and_then(|server| server.answer(octets, false, now))
        {
            self.put(delay, Happening::Datagram(path, to, answer));
        }
        Ok(path)
    }

    fn settle(&mut self, _: Path) {
        self.open_paths -= 1;
    }

    fn connect(&mut self, to: SocketAddr, security: StreamSecurity<'_>) -> Result<StreamId, Unsent> {
        if self.is_unreachable {
            return Err(Unsent::Unreachable);
        }
        self.connected += 1;
        self.tls.push(format!("{security:?}"));
        let stream = StreamId(self.random());
        self.streams.insert(stream, to);
        let has_tcp = self.servers.get(&to).is_some_and(|server| server.has_tcp);
        self.put(1, Happening::Stream(stream, None, has_tcp));
        Ok(stream)
    }

    fn write(&mut self, stream: StreamId, octets: &[u8]) -> Result<(), Unsent> {
        let Some(to) = self.streams.get(&stream).copied() else { return Err(Unsent::Gone) };
        let now = self.now;
        let server = self.servers.get_mut(&to).filter(|server| server.has_tcp);
        if let Some((answer, delay)) = server.and_then(|server| server.answer(octets, true, now)) {
            self.put(2 * delay, Happening::Stream(stream, Some(answer), true));
        }
        Ok(())
    }

    fn close(&mut self, stream: StreamId) {
        self.streams.remove(&stream);
    }

    fn keeps_inside(&self, name: &Name) -> bool {
        self.inside.as_ref().is_some_and(|inside| name.is_at_or_below(inside))
    }

    fn authoritative(&mut self, query: &[u8], response: &mut Vec<u8>) -> Held {
        let question = Question::read(query, false, self.now);
        let is_in = |zone: &&Zone| question.name.is_at_or_below(zone.apex.as_ref().unwrap());
        if let Some(zone) = self.own.as_ref().filter(is_in) {
            response.extend(zone.answer(&question).octets(&question));
            return Held::Ours;
        }
        if let Some(zone) = self.mirror.as_ref().filter(is_in) {
            response.extend(zone.signed(zone.answer(&question)).octets(&question));
            return Held::Mirror { labels: zone.apex.as_ref().unwrap().label_count() };
        }
        Held::Nothing
    }

    fn done(&mut self, waiter: Waiter, outcome: &Outcome) {
        self.done.push((waiter, outcome.clone()));
    }
}

/// A cache that gives what has expired for a day, as that of a server does.
fn stale_for_a_day() -> Cache {
    let cache = Cache::new();
    cache.set_limits(&cache::Limits { stale_seconds: 86_400, ..cache.limits() });
    cache
}
