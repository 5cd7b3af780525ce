//! The entry point: from the octets of a query to those of its response, or to a question for the resolver; from an outcome to the response.
//!
//! What concerns the message as a whole is decided here, in the order in which `auth` does: faults, operation, EDNS version, cookies, who asks, RD. What is for
//! `auth` alone (signed queries, other operations and classes, transfers) is told apart before anything is written.

mod ahead;
mod find;
mod here;
mod kept;
mod made;
mod read;
mod reply;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::answer::Buffers;
use crate::counters::{Counters, LiveCounters};
use crate::dues::Dues;
use crate::local::Found;
use crate::pace::Paces;
use crate::policy::Policy;
use crate::rendered::Rendered;
use crate::space::NameSpace;
use crate::verdict::Verdict;
use crate::wishes::{Stage, Waiting, Wishes};
use crate::writer::Marks;
use ahead::Ahead;
use cache::{Cache, Moment};
use resolve::outcome::From;
use resolve::{Ask, Time};
use wire::builder::Suffixes;
use wire::cookie::Malformed;
use wire::header;
use wire::iana::{class, ede, opcode, rcode, rtype};
use wire::name::NameRooms;
use wire::query::{PlainQuery, Query};
use wire::refusal::Refusal;
use wire::rrset::RdataListBuf;
use wire::{Address, Name, Places, Transport};

/// Whether a name in lower case is at or below a zone of this server: one that is final, so that no mirror is. Neither allocates nor waits.
pub type IsOfOurs<'a> = &'a dyn Fn(&Name) -> bool;

/// Who asks, and how.
#[derive(Clone, Copy)]
pub struct Client<'c> {
    /// How the query came.
    pub transport: Transport,
    /// Where from; a mapped IPv4 address is as good as the address.
    pub address: &'c Address,
    /// Whether the client was seen to receive there: by a handshake or a token. A good cookie is found by the responder.
    pub is_proved: bool,
    /// Whether the name asked for is of a zone of ours, which leads to names of others.
    pub is_of_ours: bool,
    /// Which names are of zones of ours, which go before what is known of others; `None`: there is no zone here.
    pub ours: Option<IsOfOurs<'c>>,
    /// Which of the queries it is that [`Responder::read_ahead`] was given last; `None`: none of them.
    pub ahead: Option<usize>,
}

/// What became of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// A response of so many octets.
    Octets(usize),
    /// It has to be found out: [`Responder::ask`] is the question, [`Responder::waiting`] who waits for it.
    Miss,
    /// No response must be sent.
    Drop,
    /// The client may not have recursion, or does not want it; nothing was written, so that what stood there may be said. [`Responder::refuse`] says so, unless there is something else to say.
    Refused,
    /// It is signed, of another operation or class, or a transfer; nothing was written.
    Other,
}

/// What became of a client that waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replied {
    /// A response of so many octets; 0 where not even the least of one has room.
    Octets(usize),
    /// It goes on waiting, for what [`Responder::ask`] says now.
    Ask,
}

/// Answers queries; one belongs to each worker.
pub struct Responder {
    places: Places,
    buffers: Buffers,
    /// The name asked for, as the client wrote it.
    question: NameSpace,
    /// What the resolver is to be asked for: the name in lower case, and the type.
    missed: NameSpace,
    missed_type: u16,
    stage: Stage,
    wishes: Wishes,
    /// The cache has nothing of what the resolver is to be asked for.
    is_unknown: bool,
    /// Local data led on from the question to another name.
    is_aliased: bool,
    /// Whether the query has a good cookie.
    is_proved: bool,
    /// Whether the client may recurse.
    is_let_in: bool,
    is_due: bool,
    is_told: bool,
    suffixes: Box<Suffixes>,
    marks: Marks,
    made: RdataListBuf,
    rendered: Rendered,
    ahead: Ahead,
    dues: Dues,
    paces: Paces,
    turn: u32,
    /// For names of clients that wait.
    rooms: NameRooms,
    counters: Arc<LiveCounters>,
}

impl Responder {
    /// A responder that has answered nothing yet. `key`: any random number.
    pub fn new(key: u64) -> Responder {
        Responder {
            places: Places::new(),
            buffers: Buffers::new(),
            question: NameSpace::new(),
            missed: NameSpace::new(),
            missed_type: 0,
            stage: Stage::Asked,
            wishes: Wishes::of(0, 0, 0, None),
            is_unknown: false,
            is_aliased: false,
            is_proved: false,
            is_let_in: false,
            is_due: false,
            is_told: false,
            suffixes: Box::new(Suffixes::new(key)),
            marks: Marks::default(),
            made: RdataListBuf::new(),
            rendered: Rendered::new(),
            ahead: Ahead::default(),
            dues: Dues::new(),
            paces: Paces::new(),
            turn: 0,
            rooms: NameRooms::default(),
            counters: Arc::default(),
        }
    }

    /// What it did so far.
    pub fn counters(&self) -> Counters {
        self.counters.read()
    }

    /// Counts in these words from now on, which others read.
    pub fn count_in(&mut self, counters: Arc<LiveCounters>) {
        self.counters = counters;
    }

    /// Forgets the answers given before. Never needed for them to be right: that is for tests and measurements.
    pub fn forget(&mut self) {
        self.rendered.forget();
    }

    /// Answers one query. `query`: a whole message as received; `room`: where the response goes, 512 octets at least.
    ///
    /// Whatever the octets: no panic, and no allocation unless it is [`Served::Miss`]; work bounded by [`crate::limits`].
    pub fn serve(
        &mut self,
        query: &[u8],
        client: &Client<'_>,
        known: (&Policy, &Cache),
        time: Time,
        room: &mut [u8],
    ) -> Served {
        match PlainQuery::read(query, &mut self.places) {
            Some(plain) => self.serve_plain(query, &plain, client, known, time, room),
            None => match Query::read(query, &mut self.places) {
                None => {
                    self.wishes.qtype = 0;
                    Served::Drop
                }
                Some(read) if is_for_others(&read) => Served::Other,
                Some(read) => self.serve_read(&read, client, known, time, room),
            },
        }
    }

    /// The same of a query that was read as `plain` before.
    #[inline]
    pub fn serve_plain(
        &mut self,
        query: &[u8],
        plain: &PlainQuery,
        client: &Client<'_>,
        known: (&Policy, &Cache),
        time: Time,
        room: &mut [u8],
    ) -> Served {
        self.serve_read(&plain.query(query), client, known, time, room)
    }

    fn serve_read(
        &mut self,
        read: &Query<'_>,
        client: &Client<'_>,
        (policy, cache): (&Policy, &Cache),
        time: Time,
        room: &mut [u8],
    ) -> Served {
        (self.is_due, self.is_told, self.is_aliased, self.stage) = (false, false, false, Stage::Asked);
        self.is_unknown = false;
        let has_cookie = self.read_wishes(read, client, policy, time);
        let (is_let_in, is_unproved) = self.admit(client, policy);
        self.is_let_in = is_let_in;
        if !is_let_in {
            return Served::Refused;
        }
        let refusal = match has_cookie {
            // What has a wrong length is not sent back (RFC 7873 5.2.2).
            Err(Malformed) => Some(Verdict::of(rcode::FORMERR)),
            Ok(has_cookie) => Refusal::of(read, has_cookie)
                .map(|refusal| Verdict { edes: [refusal.ede, None], ..Verdict::of(refusal.rcode) }),
        };
        if let Some(verdict) = refusal {
            self.counters.words().faults.add(1);
            let question = read.question.map(|question| question.qclass);
            return self.say(verdict, question, policy, time.now, room);
        }
        let is_spurious = policy.demands_cookies && has_cookie == Ok(true) && !self.is_proved;
        if is_unproved || is_spurious && !client.transport.is_stream() {
            self.counters.words().unproved.add(1);
            let verdict = match has_cookie {
                // It comes again with the cookie that it gets (RFC 7873 5.2.3), or over TCP.
                Ok(true) => Verdict::of(rcode::BADCOOKIE),
                _ => Verdict { flags: header::TC, ..Verdict::of(rcode::NOERROR) },
            };
            return self.say(verdict, Some(class::IN), policy, time.now, room);
        }
        let served = self.answer((policy, cache, client.ours), client.ahead, time.now, room);
        match served {
            Served::Miss => self.pace(client, policy, time.now, room),
            served => served,
        }
    }

    /// Has the client wait, unless its prefix asks too much.
    fn pace(&mut self, client: &Client<'_>, policy: &Policy, now: Moment, room: &mut [u8]) -> Served {
        if self.paces.may(client.address, self.is_proved, policy.misses_per_second, now) {
            self.counters.words().misses.add(1);
            return Served::Miss;
        }
        self.counters.words().paced.add(1);
        let verdict = match self.is_proved {
            true => Verdict::failure([Some(ede::OTHER), None]),
            false => Verdict { flags: header::TC, ..Verdict::of(rcode::NOERROR) },
        };
        self.say(verdict, Some(class::IN), policy, now, room)
    }

    /// Answers the question that was read: as before, or from local names, or from the cache.
    fn answer(
        &mut self,
        (policy, cache, ours): (&Policy, &Cache, Option<IsOfOurs<'_>>),
        ahead: Option<usize>,
        now: Moment,
        room: &mut [u8],
    ) -> Served {
        let turn = self.next_turn(policy);
        self.missed.set_lower(self.question.name());
        self.missed_type = self.wishes.qtype;
        let reads_cache = self.wishes.flags & header::RD != 0 || policy.answers_without_rd;
        let name = self.missed.name();
        if !reads_cache && policy.local.find(name, self.wishes.qtype).0 == Found::Nothing {
            return Served::Refused;
        }
        self.rendered.check(policy.version);
        let hash = self.ahead.name(ahead).unwrap_or_else(|| cache.name_hash(name));
        debug_assert_eq!(
            hash,
            cache.name_hash(name),
            "queries are answered in the order in which they were read"
        );
        let wanted = Rendered::wanted(hash, &self.wishes);
        if reads_cache && let Some(octets) = self.repeat(&wanted, (policy, cache), (now, turn), room) {
            return Served::Octets(octets);
        }
        self.find(&wanted, (policy, cache, ours), (now, turn), room)
    }

    /// The question that the resolver is asked after [`Served::Miss`] and [`Replied::Ask`]. `client`: who pays for the work.
    pub fn ask(&self, client: u64) -> Ask<'_> {
        Ask {
            name: self.missed.name(),
            rtype: self.missed_type,
            checking_disabled: self.wishes.checking_disabled(),
            from: if self.is_unknown { From::Missed } else { From::Cache },
            client: Some(client),
        }
    }

    /// What has to be asked for anew before it expires, after [`Served::Octets`].
    pub fn due(&self) -> Option<Ask<'_>> {
        let ask = Ask { from: From::Servers, client: None, ..self.ask(0) };
        self.is_due.then_some(ask)
    }

    /// What the query that was just served asked for, as far as it is counted: its type, 0 if it has no question that can be read; whether it has EDNS, and wants DNSSEC records.
    #[inline]
    pub fn asked(&self) -> (u16, bool, bool) {
        (self.wishes.qtype, self.wishes.has_edns, self.wishes.dnssec_ok)
    }

    /// Whether the operator wants to know of the query that was just served: its name is in a local zone that is marked.
    pub fn is_told(&self) -> bool {
        self.is_told
    }

    /// Who waits for the question of [`Responder::ask`], after [`Served::Miss`].
    pub fn waiting(&mut self) -> Waiting {
        Waiting {
            wishes: self.wishes,
            stage: self.stage,
            is_aliased: self.is_aliased,
            name: self.rooms.copy(self.question.name()),
        }
    }

    /// Takes back what was kept of a client that waits no more, for the next one.
    pub fn put_by(&mut self, waiting: Waiting) {
        self.rooms.put(waiting.name);
    }

    /// Whether the client of the query that was just served is known to be where it says.
    pub fn is_proved(&self) -> bool {
        self.is_proved
    }

    /// Which record of sets comes first.
    fn next_turn(&mut self, policy: &Policy) -> u32 {
        if !policy.rotates {
            return 0;
        }
        self.turn = self.turn.wrapping_add(1);
        self.turn
    }
}

/// Whether a query is none for a resolver.
fn is_for_others(read: &Query<'_>) -> bool {
    let question = read.question.map(|question| (question.qclass, question.qtype));
    read.tsig.is_some()
        || header::opcode(read.flags) != opcode::QUERY
        || question
            .is_some_and(|(class, qtype)| class != class::IN || matches!(qtype, rtype::AXFR | rtype::IXFR))
}
