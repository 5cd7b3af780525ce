//! A scripted Internet: zones in a few lines of text, servers that answer from them, and what each does wrong as a closure.
//!
//! Small on purpose: it judges the resolver by other code than the product's own authoritative side, which crate `sim` uses.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr};

use cache::{Cache, Moment, Secret, Servers};
use wire::iana::{class, rtype};
use wire::{Message, Name, NameBuf, Places};

use crate::outcome::{Ask, From, Outcome, Waiter};
use crate::resolver::{Refused, Resolver};
use crate::settings::Settings;
use crate::world::{
    Closed, Held, Path, Received, StreamEvent, StreamId, StreamSecurity, Time, Unsent, World,
};

/// When the scene begins, in seconds since 1970.
pub const WALL: u64 = 1_785_000_000;

/// A name from text.
pub fn name(text: &str) -> NameBuf {
    NameBuf::from_text(text).unwrap()
}

/// A record: owner, type, TTL, RDATA.
#[derive(Clone, Debug)]
pub struct Record(pub NameBuf, pub u16, pub u32, pub Vec<u8>);

impl Record {
    /// From `owner TTL TYPE data`.
    pub fn from_text(line: &str) -> Record {
        let mut words = line.split_whitespace();
        let owner = name(words.next().unwrap());
        let ttl = words.next().unwrap().parse().unwrap();
        let kind = rtype::from_text(words.next().unwrap().as_bytes()).unwrap();
        let rest: Vec<&str> = words.collect();
        let rdata = match kind {
            rtype::A => rest[0].parse::<std::net::Ipv4Addr>().unwrap().octets().to_vec(),
            rtype::AAAA => rest[0].parse::<std::net::Ipv6Addr>().unwrap().octets().to_vec(),
            rtype::NS | rtype::CNAME | rtype::DNAME | rtype::PTR => name(rest[0]).octets().to_vec(),
            rtype::SOA => {
                let numbers = [1u32, 2, 3, 4, 60].map(u32::to_be_bytes).concat();
                [b"\0\0".as_slice(), &numbers].concat()
            }
            rtype::TXT => [&[rest[0].len() as u8], rest[0].as_bytes()].concat(),
            _ => panic!("{line}"),
        };
        Record(owner, kind, ttl, rdata)
    }

    fn write(&self, to: &mut Vec<u8>) {
        to.extend(self.0.octets());
        to.extend(self.1.to_be_bytes());
        to.extend(class::IN.to_be_bytes());
        to.extend(self.2.to_be_bytes());
        to.extend((self.3.len() as u16).to_be_bytes());
        to.extend(&self.3);
    }
}

/// A question as a server gets it.
#[derive(Clone, Debug)]
pub struct Question {
    pub id: u16,
    pub flags: u16,
    pub name: NameBuf,
    pub rtype: u16,
    pub has_edns: bool,
    pub cookie: Option<Vec<u8>>,
    pub is_stream: bool,
    pub at: u64,
}

impl Question {
    pub fn read(octets: &[u8], is_stream: bool, at: u64) -> Question {
        let message = Message::read(octets).unwrap();
        let question = message.question(&mut Places::new()).unwrap().unwrap();
        let (name, _) = Name::split_from(&octets[12..]).unwrap();
        let opt = octets[question.end..].windows(2).position(|pair| pair == [0, 10]);
        let cookie = opt.map(|at| {
            let length = usize::from(octets[question.end + at + 3]);
            octets[question.end + at + 4..][..length].to_vec()
        });
        Question {
            id: message.id(),
            flags: message.flags(),
            name: name.to_owned(),
            rtype: question.qtype,
            has_edns: message.counts()[2] > 0,
            cookie: cookie.filter(|_| message.counts()[2] > 0),
            is_stream,
            at,
        }
    }
}

/// A response, section by section.
#[derive(Clone, Debug, Default)]
pub struct Response {
    pub rcode: u16,
    pub is_authoritative: bool,
    pub is_truncated: bool,
    pub has_recursion: bool,
    pub sections: [Vec<Record>; 3],
    /// `None`: no OPT record.
    pub edns: Option<()>,
    pub cookie: Option<Vec<u8>>,
    pub wrong_id: bool,
    pub name: Option<NameBuf>,
    /// Milliseconds beyond the usual delay.
    pub later_ms: u64,
}

impl Response {
    pub fn rcode(rcode: u16) -> Response {
        Response { rcode, edns: Some(()), ..Response::default() }
    }

    pub fn octets(&self, question: &Question) -> Vec<u8> {
        let mut flags = 0x8000 | (self.rcode & 15);
        flags |= if self.is_authoritative { 0x0400 } else { 0 };
        flags |= if self.is_truncated { 0x0200 } else { 0 };
        flags |= if self.has_recursion { 0x0080 } else { 0 };
        let counts: Vec<u16> = self.sections.iter().map(|section| section.len() as u16).collect();
        let has_edns = self.edns.is_some() && question.has_edns;
        let id = question.id ^ u16::from(self.wrong_id);
        let mut to = Vec::new();
        for word in [id, flags, 1, counts[0], counts[1], counts[2] + u16::from(has_edns)] {
            to.extend(word.to_be_bytes());
        }
        to.extend(self.name.as_ref().unwrap_or(&question.name).octets());
        to.extend(question.rtype.to_be_bytes());
        to.extend(class::IN.to_be_bytes());
        self.sections.iter().flatten().for_each(|record| record.write(&mut to));
        if has_edns {
            to.extend([0, 0, 41, 4, 208, (self.rcode >> 4) as u8, 0, 0, 0]);
            match &self.cookie {
                Some(cookie) => {
                    to.extend((cookie.len() as u16 + 4).to_be_bytes());
                    to.extend([0, 10]);
                    to.extend((cookie.len() as u16).to_be_bytes());
                    to.extend(cookie);
                }
                None => to.extend([0, 0]),
            }
        }
        to
    }
}

/// What a server says, or `None` for silence.
pub type Behaviour = Box<dyn FnMut(&Question, Response) -> Option<Response>>;

/// A zone as its records.
#[derive(Clone, Default)]
pub struct Zone {
    apex: Option<NameBuf>,
    records: Vec<Record>,
}

impl Zone {
    pub fn from_text(apex: &str, text: &str) -> Zone {
        let mut records: Vec<_> =
            text.lines().map(str::trim).filter(|line| !line.is_empty()).map(Record::from_text).collect();
        records.push(Record::from_text(&format!("{apex} 300 SOA")));
        Zone { apex: Some(name(apex)), records }
    }

    /// Of records that are made elsewhere: signed ones.
    pub fn new(apex: &Name, records: Vec<Record>) -> Zone {
        Zone { apex: Some(apex.to_owned()), records }
    }

    /// With an octet of the RDATA of an RRset changed, as nobody has signed it.
    pub fn forged(mut self, owner: &str, kind: u16) -> Zone {
        let owner = name(owner);
        let of_set = |record: &&mut Record| record.0.eq_ignore_case(&owner) && record.1 == kind;
        for record in self.records.iter_mut().filter(of_set) {
            *record.3.last_mut().unwrap() ^= 1;
        }
        self
    }

    /// With the signatures of what it has, as those want it who ask with DO.
    fn signed(&self, mut response: Response) -> Response {
        for section in &mut response.sections[..2] {
            let mut sets: Vec<(NameBuf, u16)> = section.iter().map(|r| (r.0.to_lowercase(), r.1)).collect();
            sets.dedup();
            for (owner, covered) in sets {
                let of_set = |record: &Record| record.3[..2] == covered.to_be_bytes();
                section.extend(self.of(&owner, rtype::RRSIG).into_iter().filter(of_set));
            }
        }
        response
    }

    fn of(&self, owner: &Name, kind: u16) -> Vec<Record> {
        self.records.iter().filter(|r| r.0.eq_ignore_case(owner) && r.1 == kind).cloned().collect()
    }

    fn answer(&self, question: &Question) -> Response {
        let apex = self.apex.as_ref().unwrap();
        let mut response = Response { is_authoritative: true, ..Response::rcode(0) };
        let mut owner = question.name.to_lowercase();
        for _ in 0..8 {
            let mut at: &Name = &owner;
            let mut cut = None;
            while !at.eq_ignore_case(apex) {
                let is_ds = question.rtype == rtype::DS && at.eq_ignore_case(&owner);
                if !is_ds && !self.of(at, rtype::NS).is_empty() {
                    cut = Some(at.to_owned());
                }
                at = at.parent().unwrap();
            }
            if let Some(cut) = cut {
                response.is_authoritative = !response.sections[0].is_empty();
                response.sections[1] = self.of(&cut, rtype::NS);
                let proof = [self.of(&cut, rtype::DS), self.of(&cut, rtype::NSEC)];
                response.sections[1]
                    .extend(proof.into_iter().find(|set| !set.is_empty()).unwrap_or_default());
                for server in response.sections[1].clone() {
                    let target = Name::trusted(&server.3).to_owned();
                    response.sections[2].extend(self.of(&target, rtype::A));
                    response.sections[2].extend(self.of(&target, rtype::AAAA));
                }
                return response;
            }
            let found = self.of(&owner, question.rtype);
            if !found.is_empty() {
                response.sections[0].extend(found);
                return response;
            }
            let alias = self.of(&owner, rtype::CNAME);
            if let Some(record) = alias.first() {
                response.sections[0].extend(alias.clone());
                let target = Name::trusted(&record.3).to_lowercase();
                if !target.is_at_or_below(apex) {
                    return response;
                }
                owner = target;
                continue;
            }
            let dname = self
                .records
                .iter()
                .find(|r| r.1 == rtype::DNAME && owner.is_at_or_below(&r.0) && !owner.eq_ignore_case(&r.0));
            if let Some(dname) = dname.cloned() {
                let target = crate::lookup::substituted(&owner, &dname.0, Name::trusted(&dname.3)).unwrap();
                let alias = Record(owner.clone(), rtype::CNAME, dname.2, target.octets().to_vec());
                response.sections[0].extend([dname, alias]);
                if !target.is_at_or_below(apex) {
                    return response;
                }
                owner = target.to_lowercase();
                continue;
            }
            let exists = self.records.iter().any(|record| record.0.is_at_or_below(&owner));
            response.rcode = if exists { 0 } else { 3 };
            response.sections[1] = self.of(apex, rtype::SOA);
            return response;
        }
        response
    }
}

/// A server: its zones, and what it does with what it would say.
pub struct Server {
    zones: Vec<Zone>,
    behaviour: Behaviour,
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

#[derive(Debug)]
enum Happening {
    Datagram(Path, SocketAddr, Vec<u8>),
    Stream(StreamId, Option<Vec<u8>>, bool),
}

/// What the resolver acts on.
pub struct Net {
    pub now: u64,
    pub cache: Cache,
    pub qualities: Servers,
    pub servers: HashMap<SocketAddr, Server>,
    queue: BTreeMap<(u64, u64), Happening>,
    number: u64,
    random: u64,
    streams: HashMap<StreamId, SocketAddr>,
    pub done: Vec<(Waiter, Outcome)>,
    pub is_unreachable: bool,
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
    last_path: Option<Path>,
}

impl Net {
    fn put(&mut self, delay: u64, happening: Happening) {
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
        if self.is_unreachable {
            return Err(Unsent::Unreachable);
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

/// The resolver and its world.
pub struct Scene {
    pub net: Net,
    pub resolver: Resolver,
    waiters: u64,
}

/// An address of the scene: `192.0.2.N`, or `2001:db8::N` above 255.
pub fn address(number: u16) -> SocketAddr {
    match u8::try_from(number) {
        Ok(number) => SocketAddr::from(([192, 0, 9, number], 53)),
        Err(_) => SocketAddr::from(([0x2001, 0x1db8, 0, 0, 0, 0, 0, number], 53)),
    }
}

impl Scene {
    /// A root at `address(1)`, and no validation.
    pub fn new(root: &str) -> Scene {
        Scene::with(root, |_| ())
    }

    pub fn with(root: &str, change: impl FnOnce(&mut Settings)) -> Scene {
        let mut settings =
            Settings { hints: vec![address(1).ip()], is_validating: false, ..Settings::default() };
        settings.not_servers.clear();
        change(&mut settings);
        let net = Net {
            now: 1_000_000,
            cache: Cache::new(),
            qualities: Servers::new(1 << 20, Secret::new([1, 2, 3])),
            servers: HashMap::new(),
            queue: BTreeMap::new(),
            number: 0,
            random: 4711,
            streams: HashMap::new(),
            done: Vec::new(),
            is_unreachable: false,
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
        };
        let mut scene = Scene { net, resolver: Resolver::new(settings, 1), waiters: 0 };
        let root = format!(". 518400 NS a.root.\na.root. 518400 A {}\n{root}", address(1).ip());
        scene.serve(1, &[(".", &root)]);
        scene
    }

    /// A server at an address, with zones.
    pub fn serve(&mut self, number: u16, zones: &[(&str, &str)]) {
        self.serve_so(number, zones, |_, response| Some(response));
    }

    /// A server with zones that are made elsewhere, of which what it would say is changed.
    pub fn serve_zones(
        &mut self,
        number: u16,
        zones: Vec<Zone>,
        behaviour: impl FnMut(&Question, Response) -> Option<Response> + 'static,
    ) {
        let server =
            Server { zones, behaviour: Box::new(behaviour), has_tcp: true, delay_ms: 10, seen: Vec::new() };
        self.net.servers.insert(address(number), server);
    }

    /// The same, of which what it would say is changed.
    pub fn serve_so(
        &mut self,
        number: u16,
        zones: &[(&str, &str)],
        behaviour: impl FnMut(&Question, Response) -> Option<Response> + 'static,
    ) {
        let zones = zones.iter().map(|(apex, text)| Zone::from_text(apex, text)).collect();
        self.serve_zones(number, zones, behaviour);
    }

    pub fn server(&mut self, number: u16) -> &mut Server {
        self.net.servers.get_mut(&address(number)).unwrap()
    }

    /// Questions that a server got.
    pub fn seen(&self, number: u16) -> usize {
        self.net.servers[&address(number)].seen.len()
    }

    /// Asks; the answer is among those that are done, at once or later.
    pub fn ask(&mut self, text: &str, kind: u16) -> Result<Waiter, Refused> {
        self.ask_as(text, kind, From::Cache, 1)
    }

    pub fn ask_as(&mut self, text: &str, kind: u16, from: From, client: u64) -> Result<Waiter, Refused> {
        self.waiters += 1;
        let waiter = Waiter(self.waiters);
        let name = name(text).to_lowercase();
        let ask = Ask { name: &name, rtype: kind, checking_disabled: false, from, client: Some(client) };
        self.resolver.ask(&ask, Some(waiter), &mut self.net)?;
        Ok(waiter)
    }

    /// What happens next, and when; `false`: nothing will.
    pub fn step(&mut self, until: u64) -> bool {
        let next = self.net.queue.keys().next().map(|key| key.0);
        let due = self.resolver.deadline().map(|moment| moment.0);
        let Some(at) = [next, due].into_iter().flatten().min().filter(|at| *at <= until) else {
            return false;
        };
        self.net.now = self.net.now.max(at);
        if next.is_some_and(|next| next <= at) {
            let (_, happening) = self.net.queue.pop_first().unwrap();
            self.happen(happening);
        } else {
            self.resolver.tick(&mut self.net);
        }
        true
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Datagram(path, from, octets) => {
                let received = Received { path, from, octets: &octets, is_cut: false };
                self.resolver.datagram(&received, &mut self.net);
            }
            Happening::Stream(stream, _, false) => {
                if self.net.streams.remove(&stream).is_some() {
                    self.resolver.stream(stream, StreamEvent::Closed(Closed::Broken), &mut self.net);
                }
            }
            Happening::Stream(stream, None, true) => {
                self.resolver.stream(stream, StreamEvent::Connected, &mut self.net);
            }
            Happening::Stream(stream, Some(octets), true) => {
                if self.net.streams.contains_key(&stream) {
                    self.resolver.stream(stream, StreamEvent::Message(&octets), &mut self.net);
                }
            }
        }
    }

    /// The way that the newest datagram went.
    pub fn last_path(&self) -> Path {
        self.net.last_path.unwrap()
    }

    /// A datagram from anybody.
    pub fn forge(&mut self, path: Path, from: SocketAddr, octets: Vec<u8>) {
        self.net.put(1, Happening::Datagram(path, from, octets));
    }

    /// Lets so many milliseconds pass.
    pub fn pass(&mut self, ms: u64) {
        let until = self.net.now + ms;
        for _ in 0..1_000_000 {
            if !self.step(until) {
                self.net.now = until;
                return;
            }
        }
        panic!("it goes round in circles");
    }

    /// Asks and waits for the answer. Nothing is left open after.
    pub fn resolve(&mut self, text: &str, kind: u16) -> Outcome {
        let waiter = self.ask(text, kind).unwrap();
        self.outcome(waiter)
    }

    /// Waits for an answer.
    pub fn outcome(&mut self, waiter: Waiter) -> Outcome {
        let until = self.net.now + 40_000;
        for _ in 0..1_000_000 {
            if let Some(at) = self.net.done.iter().position(|(done, _)| *done == waiter) {
                return self.net.done.remove(at).1;
            }
            assert!(self.step(until), "no answer: {:?}", self.resolver.requests().collect::<Vec<_>>());
        }
        panic!("it goes round in circles");
    }

    /// All is over, and nothing is held.
    pub fn check_nothing_held(&mut self) {
        self.pass(60_000);
        assert_eq!(self.resolver.held(), [0; 5]);
        assert_eq!((self.net.open_paths, self.resolver.deadline()), (0, None));
    }
}

/// The answer as `owner TYPE data` lines, addresses only as text.
pub fn lines(outcome: &Outcome) -> Vec<String> {
    let sets = outcome.answer.list().iter();
    sets.flat_map(|set| {
        set.rdatas.iter().map(move |rdata| {
            let text = match set.rtype {
                rtype::A => IpAddr::from(<[u8; 4]>::try_from(rdata).unwrap()).to_string(),
                rtype::CNAME | rtype::NS | rtype::DNAME => Name::from_wire(rdata).unwrap().to_string(),
                _ => String::new(),
            };
            format!("{} {} {text}", set.owner, rtype::Text(set.rtype))
        })
    })
    .collect()
}

/// A response that somebody makes up who does not know the ID.
pub fn forged(name: &Name, id: u16) -> Vec<u8> {
    let question = Question {
        id,
        flags: 0,
        name: name.to_owned(),
        rtype: rtype::A,
        has_edns: false,
        cookie: None,
        is_stream: false,
        at: 0,
    };
    let record = Record(name.to_owned(), rtype::A, 86_400, vec![6, 6, 6, 6]);
    Response { sections: [vec![record], vec![], vec![]], is_authoritative: true, ..Response::default() }
        .octets(&question)
}
