//! The entry point: from the octets of a query to those of its response, or to a question for the resolver; from an outcome to the response.
//!
//! What concerns the message as a whole is decided here, in the order in which `auth` does: faults, operation, EDNS version, cookies, who asks, RD. What is for
//! `auth` alone (signed queries, other operations and classes, transfers) is told apart before anything is written.

mod here;
mod made;
#[cfg(test)]
mod tests;

use crate::answer::{self, Asked, Buffers, End, Parts};
use crate::counters::Counters;
use crate::outcome;
use crate::policy::{Asker, Clients, Decision, Policy};
use crate::rebinding::Rebinding;
use crate::space::NameSpace;
use crate::verdict::{self, Verdict};
use crate::wishes::{Stage, Waiting, Wishes};
use crate::writer::{Marks, Writer};
use cache::{Cache, Moment, Security};
use here::{LocalEnd, local};
use made::{goes_on_to_a, made_of, without_made};
use resolve::outcome::From;
use resolve::{Ask, Outcome, Time};
use wire::builder::Suffixes;
use wire::cookie::{self, Cookie, Malformed};
use wire::edns::Edns;
use wire::header::{self, HEADER_OCTETS};
use wire::iana::{class, ede, opcode, rcode, rtype};
use wire::query::{PlainQuery, Query};
use wire::refusal::Refusal;
use wire::rrset::RdataListBuf;
use wire::{Address, Name, Places, Transport};

/// Who asks, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client<'c> {
    /// How the query came.
    pub transport: Transport,
    /// Where from; a mapped IPv4 address is as good as the address.
    pub address: &'c Address,
    /// Whether the client was seen to receive there: by a handshake or a token. A good cookie is found by the responder.
    pub is_proved: bool,
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
    /// The client may not have recursion, or does not want it; nothing was written. [`Responder::refuse`] says so, unless there is something else to say.
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
    /// Local data led on from the question to another name.
    is_aliased: bool,
    /// Whether the query has a good cookie.
    is_proved: bool,
    is_due: bool,
    is_told: bool,
    suffixes: Box<Suffixes>,
    marks: Marks,
    made: RdataListBuf,
    turn: u32,
    counters: Counters,
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
            is_aliased: false,
            is_proved: false,
            is_due: false,
            is_told: false,
            suffixes: Box::new(Suffixes::new(key)),
            marks: Marks::default(),
            made: RdataListBuf::new(),
            turn: 0,
            counters: Counters::default(),
        }
    }

    /// What it did so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Answers one query. `query`: a whole message as received; `room`: where the response goes, 512 octets at least.
    ///
    /// Whatever the octets: no panic, and no allocation unless it is [`Served::Miss`]; work bounded by [`crate::limits`].
    pub fn serve(
        &mut self,
        query: &[u8],
        client: &Client<'_>,
        (policy, cache): (&Policy, &Cache),
        time: Time,
        room: &mut [u8],
    ) -> Served {
        (self.is_due, self.is_told, self.is_aliased, self.stage) = (false, false, false, Stage::Asked);
        let (whole, plain);
        let read = match PlainQuery::read(query, &mut self.places) {
            Some(found) => {
                plain = found.query(query);
                &plain
            }
            None => {
                let Some(found) = Query::read(query, &mut self.places) else { return Served::Drop };
                whole = found;
                &whole
            }
        };
        if is_for_others(read) {
            return Served::Other;
        }
        let has_cookie = self.read_wishes(read, client, policy, time);
        let (is_let_in, is_unproved) = self.admit(client, policy);
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
            self.counters.faults += 1;
            let question = read.question.map(|question| question.qclass);
            return self.say(verdict, question, policy, time.now, room);
        }
        let is_spurious = policy.demands_cookies && has_cookie == Ok(true) && !self.is_proved;
        if is_unproved || is_spurious && !client.transport.is_stream() {
            self.counters.unproved += 1;
            let verdict = match has_cookie {
                // It comes again with the cookie that it gets (RFC 7873 5.2.3), or over TCP.
                Ok(true) => Verdict::of(rcode::BADCOOKIE),
                _ => Verdict { flags: header::TC, ..Verdict::of(rcode::NOERROR) },
            };
            return self.say(verdict, Some(class::IN), policy, time.now, room);
        }
        self.answer(policy, cache, time.now, room)
    }

    /// Reads what the client wants: the name and all else. Whether it has a cookie that is answered.
    fn read_wishes(
        &mut self,
        read: &Query<'_>,
        client: &Client<'_>,
        policy: &Policy,
        time: Time,
    ) -> Result<bool, Malformed> {
        let edns = read.edns.as_ref();
        let qtype = read.question.map_or(0, |question| question.qtype);
        self.wishes = Wishes::of(header::u16_at(read.message, 0), read.flags, qtype, edns);
        self.wishes.limit(edns, policy, client.transport);
        if let Some(question) = read.question {
            // What was read as a question is whole: the name, and four octets.
            self.question.set(Name::trusted(&read.message[HEADER_OCTETS..question.end - 4]));
        }
        self.is_proved = client.is_proved || client.transport.is_stream();
        let cookie = self.read_cookie(read.message, edns, client, (policy, time))?;
        self.wishes.wants_dns64 = self.gets_dns64(client, policy);
        Ok(cookie)
    }

    fn read_cookie(
        &mut self,
        message: &[u8],
        edns: Option<&Edns>,
        client: &Client<'_>,
        (policy, time): (&Policy, Time),
    ) -> Result<bool, Malformed> {
        let Some(data) = edns.and_then(|edns| edns.options.cookie(message)) else { return Ok(false) };
        let Some(secrets) = &policy.cookies else { return Ok(false) };
        let cookie = Cookie::read(data)?;
        let mut reply = [0; cookie::COOKIE_OCTETS];
        self.is_proved |= secrets.reply(&cookie, client.address.ip(), time.wall as u32, &mut reply);
        self.wishes.cookie = Some(reply);
        Ok(true)
    }

    /// Whether a client may have recursion, and whether it would have to prove its address for that.
    fn admit(&self, client: &Client<'_>, policy: &Policy) -> (bool, bool) {
        if let Clients::All = policy.clients {
            return (true, false);
        }
        match policy.clients.decide(&self.asker(client)) {
            Decision::Allowed => (true, false),
            Decision::Unproved => (true, true),
            Decision::Denied => (false, false),
        }
    }

    fn asker(&self, client: &Client<'_>) -> Asker {
        Asker { address: client.address.ip(), transport: client.transport, is_proved: self.is_proved }
    }

    /// Whether addresses are made for this client and query: not where it validates for itself (RFC 6147 5.5).
    fn gets_dns64(&self, client: &Client<'_>, policy: &Policy) -> bool {
        let Some(dns64) = &policy.dns64 else { return false };
        let makes_own = self.wishes.dnssec_ok && self.wishes.checking_disabled();
        let is_meant = matches!(self.wishes.qtype, rtype::AAAA | rtype::PTR);
        is_meant && !makes_own && dns64.clients().decide(&self.asker(client)) == Decision::Allowed
    }

    /// Answers the question that was read: from local names, then from the cache.
    fn answer(&mut self, policy: &Policy, cache: &Cache, now: Moment, room: &mut [u8]) -> Served {
        let turn = self.next_turn(policy);
        let Responder { buffers, question, wishes, suffixes, marks, counters, .. } = self;
        buffers.name.set_lower(question.name());
        let tables = (&mut **suffixes, marks);
        let asked_for = (&*wishes, Some((question.name(), class::IN)));
        let Some(mut writer) = Writer::new(room, tables, asked_for, wishes.opt(policy), (now, turn)) else {
            return Served::Drop;
        };
        let start = writer.mark();
        let filter = filter_for(policy, buffers.name.name());
        let local = local(policy, wishes, &mut buffers.name, now, &mut writer);
        (self.is_aliased, self.is_told) = (local.is_aliased, local.is_told);
        counters.told += u64::from(local.is_told);
        let verdict = match local.end {
            Some(LocalEnd::Drop) => {
                counters.dropped += 1;
                return Served::Drop;
            }
            Some(LocalEnd::Verdict(verdict)) => {
                counters.local += 1;
                verdict
            }
            None => {
                let wants_recursion = wishes.flags & header::RD != 0;
                if !wants_recursion && !policy.answers_without_rd {
                    return Served::Refused;
                }
                let asked = Asked { wishes, policy, cache, now, filter, stale: None };
                let mut parts = Parts::new();
                if local.is_aliased {
                    // Local data are not signed.
                    parts.security = Security::Insecure;
                }
                self.missed.set(buffers.name.name());
                match answer::answer(&asked, buffers, &mut parts, &mut writer) {
                    End::Miss(..) if !wants_recursion => return Served::Refused,
                    End::Miss(rtype, stage) => {
                        (self.missed_type, self.stage) = (rtype, stage);
                        counters.misses += 1;
                        return Served::Miss;
                    }
                    End::Answer(verdict) => {
                        self.is_due = parts.is_due;
                        self.missed_type = wishes.qtype;
                        counters.hits += 1;
                        count(counters, &parts);
                        verdict
                    }
                }
            }
        };
        if verdict.has_no_records() {
            writer.back_to(start);
        }
        counters.failures += u64::from(verdict.rcode == rcode::SERVFAIL);
        counters.truncated += u64::from(writer.is_truncated());
        match verdict::finish(verdict, (wishes, true), policy, writer, None) {
            Some(octets) => Served::Octets(octets),
            None => Served::Drop,
        }
    }

    /// Answers a client that waited, with what its question came to.
    pub fn reply(
        &mut self,
        waiting: &mut Waiting,
        outcome: &Outcome,
        (policy, cache): (&Policy, &Cache),
        time: Time,
        room: &mut [u8],
    ) -> Replied {
        if waiting.stage == Stage::Asked
            && let Some(stage) = goes_on_to_a(waiting, outcome, policy)
        {
            self.take_up(waiting, policy, time.now);
            (waiting.stage, self.stage, self.missed_type) = (stage, stage, rtype::A);
            return Replied::Ask;
        }
        let turn = self.next_turn(policy);
        self.question.set(&waiting.name);
        self.wishes = waiting.wishes;
        let Responder { buffers, question, wishes, suffixes, marks, counters, made, .. } = self;
        buffers.name.set_lower(question.name());
        let asked_for = (&*wishes, Some((question.name(), class::IN)));
        let tables = (&mut **suffixes, marks);
        let Some(mut writer) = Writer::new(room, tables, asked_for, wishes.opt(policy), (time.now, turn))
        else {
            return Replied::Octets(0);
        };
        let start = writer.mark();
        let filter = filter_for(policy, buffers.name.name());
        let asked = Asked { wishes, policy, cache, now: time.now, filter, stale: None };
        let mut parts = Parts::new();
        if waiting.is_aliased {
            local(policy, wishes, &mut buffers.name, time.now, &mut writer);
            parts.security = Security::Insecure;
        }
        let verdict = match waiting.stage {
            Stage::Asked => outcome::write(&asked, outcome, &mut parts, &mut writer),
            Stage::Dns64 { ttl, security } => {
                parts.security = parts.security.worst(security);
                made_of(&asked, outcome, ttl, made, &mut parts, &mut writer).unwrap_or_else(|| {
                    let plain = Wishes { wants_dns64: false, ..*asked.wishes };
                    let asked = Asked { wishes: &plain, ..asked };
                    without_made(&asked, outcome, buffers, &mut parts, &mut writer)
                })
            }
        };
        if verdict.has_no_records() {
            writer.back_to(start);
        }
        count(counters, &parts);
        counters.failures += u64::from(verdict.rcode == rcode::SERVFAIL);
        counters.stale += u64::from(outcome.is_stale);
        counters.truncated += u64::from(writer.is_truncated());
        let words = outcome.reason.filter(|_| verdict.edes[0].is_some() && verdict.edes == outcome.edes);
        Replied::Octets(verdict::finish(verdict, (wishes, true), policy, writer, words).unwrap_or(0))
    }

    /// Tells a client that its query came to nothing for want of time or room.
    pub fn give_up(&mut self, waiting: &Waiting, policy: &Policy, now: Moment, room: &mut [u8]) -> usize {
        self.question.set(&waiting.name);
        self.wishes = waiting.wishes;
        match self.say(Verdict::failure([Some(ede::OTHER), None]), Some(class::IN), policy, now, room) {
            Served::Octets(octets) => octets,
            _ => 0,
        }
    }

    /// Tells a client to ask over TCP: a response of its query's size.
    pub fn truncate(&mut self, waiting: &Waiting, policy: &Policy, now: Moment, room: &mut [u8]) -> usize {
        self.question.set(&waiting.name);
        self.wishes = waiting.wishes;
        let verdict = Verdict { flags: header::TC, ..Verdict::of(rcode::NOERROR) };
        match self.say(verdict, Some(class::IN), policy, now, room) {
            Served::Octets(octets) => octets,
            _ => 0,
        }
    }

    /// Says REFUSED to the query that was just served as [`Served::Refused`].
    pub fn refuse(&mut self, policy: &Policy, now: Moment, room: &mut [u8]) -> usize {
        self.counters.refused += 1;
        let wants_recursion = self.wishes.flags & header::RD != 0;
        let why = if wants_recursion { ede::PROHIBITED } else { ede::NOT_AUTHORITATIVE };
        match self.write(Verdict::with_ede(rcode::REFUSED, why), (Some(class::IN), false), policy, now, room)
        {
            Some(octets) => octets,
            None => 0,
        }
    }

    fn say(
        &mut self,
        verdict: Verdict,
        class: Option<u16>,
        policy: &Policy,
        now: Moment,
        room: &mut [u8],
    ) -> Served {
        match self.write(verdict, (class, true), policy, now, room) {
            Some(octets) => Served::Octets(octets),
            None => Served::Drop,
        }
    }

    /// Writes a response without records.
    fn write(
        &mut self,
        verdict: Verdict,
        (class, offers): (Option<u16>, bool),
        policy: &Policy,
        now: Moment,
        room: &mut [u8],
    ) -> Option<usize> {
        let Responder { question, wishes, suffixes, marks, .. } = self;
        let asked_for = (&*wishes, class.map(|class| (question.name(), class)));
        let tables = (&mut **suffixes, marks);
        let writer = Writer::new(room, tables, asked_for, wishes.opt(policy), (now, 0))?;
        verdict::finish(verdict, (wishes, offers), policy, writer, None)
    }

    /// The question that the resolver is asked after [`Served::Miss`] and [`Replied::Ask`]. `client`: who pays for the work.
    pub fn ask(&self, client: u64) -> Ask<'_> {
        Ask {
            name: self.missed.name(),
            rtype: self.missed_type,
            checking_disabled: self.wishes.checking_disabled(),
            from: From::Cache,
            client: Some(client),
        }
    }

    /// What has to be asked for anew before it expires, after [`Served::Octets`].
    pub fn due(&self) -> Option<Ask<'_>> {
        let ask = Ask { from: From::Servers, client: None, ..self.ask(0) };
        self.is_due.then_some(ask)
    }

    /// Whether the operator wants to know of the query that was just served: its name is in a local zone that is marked.
    pub fn is_told(&self) -> bool {
        self.is_told
    }

    /// Who waits for the question of [`Responder::ask`], after [`Served::Miss`].
    pub fn waiting(&self) -> Waiting {
        Waiting {
            wishes: self.wishes,
            stage: self.stage,
            is_aliased: self.is_aliased,
            name: self.question.name().to_owned(),
        }
    }

    /// Whether the client of the query that was just served is known to be where it says.
    pub fn is_proved(&self) -> bool {
        self.is_proved
    }

    /// Takes up again what a client waits for, such that [`Responder::ask`] says it.
    fn take_up(&mut self, waiting: &Waiting, policy: &Policy, now: Moment) {
        self.wishes = waiting.wishes;
        self.missed.set_lower(&waiting.name);
        if waiting.is_aliased {
            let mut scratch = [0; 2048];
            let tables = (&mut *self.suffixes, &mut self.marks);
            let asked_for = (&self.wishes, Some((&*waiting.name, class::IN)));
            if let Some(mut writer) = Writer::new(&mut scratch, tables, asked_for, None, (now, 0)) {
                local(policy, &self.wishes, &mut self.missed, now, &mut writer);
            }
        }
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

/// What is kept back of an answer to a question for this name.
fn filter_for<'p>(policy: &'p Policy, qname: &Name) -> Option<&'p Rebinding> {
    policy.rebinding.as_ref().filter(|filter| filter.concerns(qname) && !policy.points.has(qname))
}

fn count(counters: &mut Counters, parts: &Parts) {
    counters.secure += u64::from(parts.security == Security::Secure);
    counters.dns64 += u64::from(parts.made);
    counters.filtered += u64::from(parts.is_filtered);
    counters.stale += u64::from(parts.is_stale);
}
