//! Virtual time and the network: what happens next, to whom.
//!
//! ```text
//! queue of (time, number) -> happening        resolver's deadline
//!            `------------- the earlier -------------'
//!                              v
//!             at a server: it answers, its answers go into the queue
//!             at the resolver: an event, with this world for what it does
//! ```
//!
//! What is equal in time happens in the order in which it was put in. Every use of random numbers has a stream of its own.

mod client;
mod rules;
mod streams;

pub use client::{Answer, Question};
pub use rules::{MARK, Rules};

use crate::internet::Internet;
use crate::reply::Reply;
use crate::server::ROUND_TRIP;
use crate::tested::{ClientQuery, Closed, Outside, Path, StreamEvent, StreamId, Tested, Ticket, Unsent};
use crate::time::{Micros, SECOND, Time};
use crate::transcript::Transcript;
use crate::{BEGIN_UNIX_SECONDS, Random};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::net::SocketAddr;
use streams::Stream;
use wire::Transport;

/// Events for each query of a client, beside as many at the begin: ten times what a hard one takes.
pub const EVENTS_EACH_MAX: u64 = 10_000;
/// Events at one moment; more is a circle.
pub const EVENTS_AT_ONCE_MAX: u64 = 100_000;

/// Why a world does not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// [`EVENTS_EACH_MAX`] events happened for each query.
    TooMany,
    /// [`EVENTS_AT_ONCE_MAX`] events happened, and no time went by.
    Circle,
}

/// What happens at a time.
enum Happening {
    Query { ticket: Ticket },
    AtServer { path: Path, to: SocketAddr, octets: Vec<u8> },
    AtResolver { path: Path, from: SocketAddr, octets: Vec<u8>, is_forged: bool },
    Opened { stream: StreamId },
    StreamAtServer { stream: StreamId, octets: Vec<u8> },
    StreamMessage { stream: StreamId, octets: Vec<u8> },
    StreamClosed { stream: StreamId, why: Closed },
    StreamIdle { stream: StreamId, since: Micros },
}

struct Entry {
    at: Micros,
    number: u64,
    happening: Happening,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Entry {}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// What a resolver did, in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Datagrams that it sent.
    pub datagrams: u64,
    /// Streams that it opened.
    pub streams: u64,
    /// Messages that it sent over streams.
    pub stream_messages: u64,
    /// Octets of all of them.
    pub octets: u64,
    /// Datagrams that came, forged ones too.
    pub arrivals: u64,
    /// Forged datagrams that came: right port, whatever the rest.
    pub forged_arrivals: u64,
    /// Paths that it has not settled.
    pub open_paths: u64,
}

/// A model Internet with a clock, clients, and the resolver under test.
pub struct World {
    /// The servers.
    pub internet: Internet,
    /// What happened.
    pub transcript: Transcript,
    /// Seconds that the machine's clock is ahead of the true one.
    pub clock_ahead: i64,
    /// What the resolver did.
    pub totals: Totals,
    now: Micros,
    queue: BinaryHeap<Reverse<Entry>>,
    put_in: u64,
    events: u64,
    events_now: u64,
    of_resolver: Random,
    of_servers: Random,
    of_clients: Random,
    paths: u64,
    streams: HashMap<StreamId, Stream>,
    stream_count: u64,
    questions: BTreeMap<Ticket, client::Waiting>,
    asked: u64,
    /// What is always wrong, whatever a scenario expects.
    pub rules: Rules,
}

impl World {
    /// A world at its begin.
    pub fn new(internet: Internet, seed: u64) -> World {
        World {
            internet,
            transcript: Transcript::default(),
            clock_ahead: 0,
            totals: Totals::default(),
            now: 0,
            queue: BinaryHeap::new(),
            put_in: 0,
            events: 0,
            events_now: 0,
            of_resolver: Random::part(seed, 1),
            of_servers: Random::part(seed, 2),
            of_clients: Random::part(seed, 3),
            paths: 0,
            streams: HashMap::new(),
            stream_count: 0,
            questions: BTreeMap::new(),
            asked: 0,
            rules: Rules::default(),
        }
    }

    /// The time.
    pub fn now(&self) -> Micros {
        self.now
    }

    /// Has all happen that happens before `until`, which is the time then.
    pub fn run_until(&mut self, tested: &mut dyn Tested, until: Micros) -> Result<(), Stuck> {
        loop {
            let next = self.queue.peek().map(|Reverse(entry)| entry.at);
            let deadline = tested.deadline().map(|at| at.max(self.now));
            let is_tick = deadline.is_some_and(|at| next.is_none_or(|next| at < next));
            let Some(at) = (if is_tick { deadline } else { next }).filter(|&at| at <= until) else {
                self.advance(until.max(self.now));
                return Ok(());
            };
            self.advance(at);
            self.events += 1;
            self.events_now += 1;
            if self.events_now > EVENTS_AT_ONCE_MAX {
                return Err(Stuck::Circle);
            }
            if self.events > EVENTS_EACH_MAX * (self.asked + 1) {
                return Err(Stuck::TooMany);
            }
            if is_tick {
                tested.tick(self);
            } else if let Some(Reverse(entry)) = self.queue.pop() {
                self.happen(entry.happening, tested);
            }
        }
    }

    fn advance(&mut self, to: Micros) {
        if to > self.now {
            self.now = to;
            self.events_now = 0;
        }
    }

    fn put(&mut self, after: Micros, happening: Happening) {
        self.put_in += 1;
        self.queue.push(Reverse(Entry { at: self.now + after, number: self.put_in, happening }));
    }

    fn happen(&mut self, happening: Happening, tested: &mut dyn Tested) {
        match happening {
            Happening::Query { ticket } => {
                let Some(waiting) = self.questions.get(&ticket) else { return };
                let (octets, from, transport) = (waiting.octets.clone(), waiting.from, waiting.transport);
                self.say_message(&format!("client {from} asks"), &octets);
                tested.query(&ClientQuery { ticket, from, transport, octets: &octets }, self);
            }
            Happening::AtServer { path, to, octets } => self.datagram_at_server(path, to, &octets),
            Happening::AtResolver { path, from, octets, is_forged } => {
                self.totals.arrivals += 1;
                self.totals.forged_arrivals += u64::from(is_forged);
                let who = if is_forged { "forger as " } else { "" };
                self.say_message(
                    &format!("  <- {who}{} {}", self.internet.name_of(from.ip()), from.ip()),
                    &octets,
                );
                tested.datagram(path, from, &octets, self);
            }
            Happening::Opened { stream } => self.opened(stream, tested),
            Happening::StreamAtServer { stream, octets } => self.query_at_server(stream, &octets),
            Happening::StreamMessage { stream, octets } => {
                let Some(to) = self.streams.get(&stream).map(|open| open.to) else { return };
                self.say_message(&format!("  <- {} tcp", self.internet.name_of(to.ip())), &octets);
                tested.stream(stream, StreamEvent::Message(&octets), self);
            }
            Happening::StreamClosed { stream, why } => self.closed(stream, why, tested),
            Happening::StreamIdle { stream, since } => self.idle(stream, since, tested),
        }
    }

    fn datagram_at_server(&mut self, path: Path, to: SocketAddr, octets: &[u8]) {
        let now = self.now;
        let Some(server) = self.internet.at(to.ip()) else { return };
        let half = server.round_trip / 2;
        for sent in server.answer(octets, Transport::Udp, to, now, &mut self.of_servers) {
            if sent.is_aimed {
                let (from, octets, is_forged) = (sent.from, sent.octets, sent.is_forged);
                self.put(half + sent.after, Happening::AtResolver { path, from, octets, is_forged });
            }
        }
    }

    /// Half of the round trip to an address.
    fn half_to(&mut self, to: SocketAddr) -> Micros {
        self.internet.at(to.ip()).map_or(ROUND_TRIP, |server| server.round_trip) / 2
    }

    fn say_message(&mut self, who: &str, octets: &[u8]) {
        self.transcript.say(self.now, || match Reply::read(octets) {
            Ok(message) => format!("{who}: {}", message.line()),
            Err(error) => format!("{who}: {} octets, {error}", octets.len()),
        });
    }
}

impl Outside for World {
    fn time(&self) -> Time {
        let wall = i64::from(BEGIN_UNIX_SECONDS) + (self.now / SECOND) as i64 + self.clock_ahead;
        Time { now: self.now, wall: wall.max(0) as u64 }
    }

    fn random(&mut self) -> u64 {
        self.of_resolver.next_u64()
    }

    fn send(&mut self, to: SocketAddr, octets: &[u8]) -> Result<Path, Unsent> {
        if !self.internet.is_reachable(to.ip()) {
            self.transcript.say(self.now, || format!("  -> {}: no way there", to.ip()));
            return Err(Unsent::Unreachable);
        }
        self.totals.datagrams += 1;
        self.totals.octets += octets.len() as u64;
        self.totals.open_paths += 1;
        self.paths += 1;
        let path = Path(self.paths);
        self.say_message(&format!("  -> {} {}", self.internet.name_of(to.ip()), to.ip()), octets);
        self.rules.sent(path, to, octets);
        if !self.internet.is_cut_off {
            let half = self.half_to(to);
            self.put(half, Happening::AtServer { path, to, octets: octets.to_vec() });
        }
        Ok(path)
    }

    fn settle(&mut self, path: Path) {
        self.totals.open_paths = self.totals.open_paths.saturating_sub(1);
        self.rules.settled(path);
    }

    fn connect(&mut self, to: SocketAddr) -> Result<StreamId, Unsent> {
        self.open_stream(to)
    }

    fn write(&mut self, stream: StreamId, octets: &[u8]) -> Result<(), Unsent> {
        self.write_stream(stream, octets)
    }

    fn close(&mut self, stream: StreamId) {
        self.streams.remove(&stream);
    }

    fn reply(&mut self, ticket: Ticket, octets: &[u8]) {
        self.say_message("client gets", octets);
        if let Some(waiting) = self.questions.get_mut(&ticket) {
            self.rules.answered(waiting.answers.len(), self.now - waiting.asked_at, octets);
            waiting.answers.push(Answer { at: self.now, octets: octets.to_vec() });
        }
    }
}
