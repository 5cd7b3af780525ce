//! A model server: our own authoritative side between behaviours.
//!
//! ```text
//! query -> [in the place of an answer] -> zones -> [changes] -> limit -> what is sent, when, from where
//! ```

use crate::behaviour::{self, Action, Behaviour, StreamFault};
use crate::records::Records;
use crate::reply::Reply;
use crate::time::{MILLISECOND, Micros};
use crate::{Random, behaviour::change};
use auth::{Answered, Client, Responder, Server};
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use wire::header::{self, HEADER_OCTETS};
use wire::iana::{edns_option, rcode};
use wire::{Name, Transport};
use zone::{Catalog, Pack, PackBuilder, TextStamp};

/// Round trip to a server of which nothing else is said.
pub const ROUND_TRIP: Micros = 10 * MILLISECOND;
/// The port that servers listen at.
pub const DNS_PORT: u16 = 53;

/// What a server was asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Queries over UDP.
    pub datagrams: u64,
    /// Queries over streams.
    pub stream_queries: u64,
    /// Streams opened, or tried to.
    pub streams: u64,
    /// Octets of all queries.
    pub octets_in: u64,
    /// Octets of all answers.
    pub octets_out: u64,
}

impl Counts {
    /// All queries.
    pub fn queries(&self) -> u64 {
        self.datagrams + self.stream_queries
    }
}

/// What a server sends to a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    /// After the query has come.
    pub after: Micros,
    /// Who it says that it is from.
    pub from: SocketAddr,
    /// The message.
    pub octets: Vec<u8>,
    /// Whether it goes to where the query came from; a forger that does not know the port guesses one.
    pub is_aimed: bool,
    /// Whether an attacker sends it.
    pub is_forged: bool,
}

/// A name server.
pub struct ModelServer {
    /// For people and scenario files.
    pub name: String,
    /// Where it is.
    pub addresses: Vec<IpAddr>,
    /// From a resolver's message to the answer, if the server takes no time.
    pub round_trip: Micros,
    /// In the order in which they apply.
    pub behaviours: Vec<Behaviour>,
    /// What it was asked.
    pub counts: Counts,
    zones: Vec<Rc<Records>>,
    /// Made of the zones when it is asked.
    served: Option<Served>,
    own: Server,
}

struct Served {
    catalog: Catalog,
    responder: Responder,
}

impl ModelServer {
    /// A server without zones.
    pub fn new(name: &str, addresses: Vec<IpAddr>) -> ModelServer {
        ModelServer {
            name: name.to_owned(),
            addresses,
            round_trip: ROUND_TRIP,
            behaviours: Vec::new(),
            counts: Counts::default(),
            zones: Vec::new(),
            served: None,
            own: Server::default(),
        }
    }

    /// The zones that it has.
    pub fn zones(&self) -> &[Rc<Records>] {
        &self.zones
    }

    /// Gives it a zone, in place of one of the same name.
    pub fn put_zone(&mut self, zone: Rc<Records>) {
        self.remove_zone(&zone.apex);
        self.zones.push(zone);
    }

    /// Takes a zone from it.
    pub fn remove_zone(&mut self, apex: &Name) {
        self.zones.retain(|zone| !zone.apex.eq_ignore_case(apex));
        self.served = None;
    }

    /// The deepest of its zones at or above `name`.
    pub fn zone_of(&self, name: &Name) -> Option<&Records> {
        let above = self.zones.iter().filter(|zone| name.is_at_or_below(&zone.apex));
        above.max_by_key(|zone| zone.apex.label_count()).map(|zone| &**zone)
    }

    /// What happens to a stream that is opened now.
    pub(crate) fn stream_fault(&self, now: Micros) -> Option<StreamFault> {
        self.behaviours.iter().filter(|one| one.is_in_force(now)).find_map(|one| match one.action {
            Action::Stream(fault) => Some(fault),
            _ => None,
        })
    }

    /// Answers a query that came to `at`. Nothing that is wrong with a query stops it: what cannot be read is answered as our own server does.
    pub(crate) fn answer(
        &mut self,
        octets: &[u8],
        transport: Transport,
        at: SocketAddr,
        now: Micros,
        random: &mut Random,
    ) -> Vec<Sent> {
        match transport.is_stream() {
            true => self.counts.stream_queries += 1,
            false => self.counts.datagrams += 1,
        }
        self.counts.octets_in += octets.len() as u64;
        let sent = match Reply::read(octets) {
            Ok(query) => self.answer_query(&query, transport, at, now, random),
            Err(_) => {
                let octets = self.ask_zones(octets, transport).unwrap_or_default();
                vec![Sent { after: 0, from: at, octets, is_aimed: true, is_forged: false }]
            }
        };
        let own = sent.iter().filter(|one| !one.is_forged);
        self.counts.octets_out += own.map(|one| one.octets.len() as u64).sum::<u64>();
        sent
    }

    fn answer_query(
        &mut self,
        query: &Reply,
        transport: Transport,
        at: SocketAddr,
        now: Micros,
        random: &mut Random,
    ) -> Vec<Sent> {
        let mut all = std::mem::take(&mut self.behaviours);
        let in_force: Vec<usize> =
            (0..all.len()).filter(|&number| all[number].applies(query, transport, now, random)).collect();
        let qname = query.question.as_ref().map_or_else(wire::NameBuf::root, |asked| asked.qname.clone());
        let in_force: Vec<(&Action, u32)> =
            in_force.iter().map(|&number| (&all[number].action, all[number].count(&qname))).collect();
        let sent = self.act(&in_force, query, transport, at, random);
        self.behaviours = std::mem::take(&mut all);
        sent
    }

    fn act(
        &mut self,
        in_force: &[(&Action, u32)],
        query: &Reply,
        transport: Transport,
        at: SocketAddr,
        random: &mut Random,
    ) -> Vec<Sent> {
        let mut sent = Vec::new();
        for (action, _) in in_force {
            // Nobody off the path can write into a stream.
            if transport.is_stream() {
                continue;
            }
            if let Action::Forge(count, text, knowing) = action {
                sent.extend((0..*count).filter_map(|_| forged(text, *knowing, query, at, random)));
            }
            if let Action::Garbage(count, knowing) = action {
                sent.extend((0..*count).map(|number| garbage(number, *knowing, query, at, random)));
            }
        }
        let Some(mut reply) = self.first_reply(in_force, query, transport, at, random) else { return sent };
        in_force.iter().for_each(|(action, _)| behaviour::change(action, query, &mut reply));
        let (mut from, mut after) = (at, 0);
        let (mut limit, mut lost_above, mut again) = (usize::from(u16::MAX), usize::MAX, None);
        for (action, _) in in_force {
            match action {
                Action::Sender(address) => from.set_ip(*address),
                Action::Port(port) => from.set_port(*port),
                Action::Delay(least, most) => {
                    after += (least + random.below(most.saturating_sub(*least) + 1)) * MILLISECOND;
                }
                Action::LosesAbove(octets) if !transport.is_stream() => lost_above = *octets,
                Action::Twice(later) if !transport.is_stream() => again = Some(later * MILLISECOND),
                Action::Limit(octets) if !transport.is_stream() => limit = limit.min(*octets),
                _ => {}
            }
        }
        if !transport.is_stream() {
            let offered = query.opt.as_ref().map_or(512, |opt| usize::from(opt.payload_octets).max(512));
            limit = limit.min(offered);
        }
        let octets = reply.octets_within(limit);
        if octets.len() <= lost_above {
            let first = Sent { after, from, octets, is_aimed: true, is_forged: false };
            sent.extend(again.map(|later| Sent { after: after + later, ..first.clone() }));
            sent.push(first);
        }
        sent
    }

    /// The answer before it is changed; `None` where nothing is answered.
    fn first_reply(
        &mut self,
        in_force: &[(&Action, u32)],
        query: &Reply,
        transport: Transport,
        at: SocketAddr,
        random: &mut Random,
    ) -> Option<Reply> {
        use behaviour::InPlace;
        let qname =
            query.question.as_ref().map(|asked| asked.qname.clone()).unwrap_or_else(wire::NameBuf::root);
        let apex = self.zone_of(&qname).map_or_else(wire::NameBuf::root, |zone| zone.apex.clone());
        let mut query = query.clone();
        let mut cookie = None;
        for (action, count) in in_force {
            if let Action::Cookies(is_required) = action {
                let had = change_cookie(&query);
                if *is_required && !transport.is_stream() && had.as_ref().is_none_or(|(_, is_good)| !is_good)
                {
                    let mut reply = Reply::to(&query, rcode::BADCOOKIE);
                    let Some((client, _)) = had else {
                        reply.rcode = rcode::NOERROR;
                        reply.flags |= header::TC;
                        return Some(reply);
                    };
                    let opt = reply.opt.get_or_insert_default();
                    opt.push(edns_option::COOKIE, &change::made_cookie(&client));
                    return Some(reply);
                }
                cookie = had.map(|(client, _)| change::made_cookie(&client));
            }
            match behaviour::in_place(action, &mut query, transport, &apex, (*count, at.ip()), random) {
                InPlace::Zones => {}
                InPlace::Nothing => return None,
                InPlace::Reply(reply) => return Some(reply),
            }
        }
        let octets = self.ask_zones(&query.octets(), Transport::Tcp)?;
        let mut reply = Reply::read(&octets).expect("our own side writes what can be read");
        if let (Some(cookie), Some(opt)) = (cookie, &mut reply.opt) {
            opt.push(edns_option::COOKIE, &cookie);
        }
        Some(reply)
    }

    /// What our own authoritative side answers, without limit.
    fn ask_zones(&mut self, query: &[u8], transport: Transport) -> Option<Vec<u8>> {
        let served = self.served.get_or_insert_with(|| Served::of(&self.zones));
        let mut response = vec![0; usize::from(u16::MAX)];
        let (responder, own) = (&mut served.responder, &self.own);
        let answered = served
            .catalog
            .reader()
            .with(|view| responder.serve(query, view, own, &Client::unknown(transport), &mut response));
        let Answered::Octets(octets) = answered else { return None };
        response.truncate(octets);
        (octets > 0).then_some(response)
    }
}

impl Served {
    fn of(zones: &[Rc<Records>]) -> Served {
        let mut builder = PackBuilder::new(1);
        for zone in zones {
            let contents = zone.contents().expect("records of the zone");
            if let Err(problems) = builder.add_zone(&contents, TextStamp::default()) {
                panic!("{} cannot be served: {problems:?}", zone.apex);
            }
        }
        let catalog = Catalog::new(1);
        let backing = builder.finish().expect("an index with room");
        auth::inspect::serve(&catalog, Pack::open(backing).expect("a sound pack"));
        Served { catalog, responder: Responder::new() }
    }
}

use behaviour::Knowing;
use change::cookie_of as change_cookie;

/// A message of an off-path attacker.
fn forged(
    text: &str,
    knowing: Knowing,
    query: &Reply,
    from: SocketAddr,
    random: &mut Random,
) -> Option<Sent> {
    let asked = query.question.as_ref()?;
    let mut reply = Reply::to(query, rcode::NOERROR);
    reply.flags |= header::AA;
    if !knowing.id {
        reply.id = random.next_u64() as u16;
    }
    if !knowing.case {
        let question = reply.question.as_mut()?;
        question.qname = question.qname.to_lowercase();
    }
    reply.sections[0].push(change::record_for(text, &asked.qname)?);
    // One port of 64,512, if it does not know which.
    let is_aimed = knowing.port || random.below(64_512) == 0;
    Some(Sent { after: 0, from, octets: reply.octets(), is_aimed, is_forged: true })
}

/// A datagram of an off-path attacker that nobody can read to its end: what it is goes by its number.
fn garbage(number: u32, knowing: Knowing, query: &Reply, from: SocketAddr, random: &mut Random) -> Sent {
    let mut reply = Reply::to(query, rcode::NOERROR);
    if !knowing.id {
        reply.id = random.next_u64() as u16;
    }
    let mut octets = reply.octets();
    let question = HEADER_OCTETS + query.question.as_ref().map_or(0, |asked| asked.qname.octets().len() + 4);
    match number % 6 {
        // A part of a header; a header alone.
        0 => octets.truncate(5),
        1 => octets.truncate(HEADER_OCTETS),
        // The question breaks off.
        2 => octets.truncate(HEADER_OCTETS + 3),
        // 65,535 records in each section, and none there.
        3 => {
            octets.truncate(question);
            octets[6..HEADER_OCTETS].fill(0xff);
        }
        // A name that points at itself.
        4 => {
            octets.truncate(HEADER_OCTETS);
            octets.extend([0xc0, HEADER_OCTETS as u8, 0, 1, 0, 1]);
        }
        // The query, sent back.
        _ => octets[2] &= 0x7f,
    }
    let is_aimed = knowing.port || random.below(64_512) == 0;
    Sent { after: 0, from, octets, is_aimed, is_forged: true }
}
