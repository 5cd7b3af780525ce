//! One transfer from a primary: the question, and the messages of the response (RFC 5936 2, RFC 1995 4, RFC 8945 5.3.1).
//!
//! ```text
//! Question::write -> octets to send, MAC
//! Incoming: octets of each message, times -> more | what came of it | fault and place
//!               `-> records of a whole zone, one by one -> Sink
//! ```
//!
//! What is decided about responses, and why, is in `docs/design/secondary.md` 1. No octets of a primary lead to a panic, to more memory
//! than [`Limits`] say, or to anything that is acted on before it is confirmed.

mod differences;
mod fault;
#[doc(hidden)]
pub mod fuzz;
mod head;
mod limits;
mod question;
mod sink;
mod spool;

pub use fault::{Fault, Limit, Place, Remedy, Stop, Unreachable};
pub use limits::{Limits, WINDOW};
pub use question::{Kind, Question, Sent};
pub use sink::{Builder, Sink};
pub use spool::{Memory, NoStorage, Runs, Spool};

use crate::serial::is_newer;
use differences::Differences;
use limits::Meter;
use wire::Name;
use wire::iana::{class, rtype};
use wire::message::Record;
use wire::name::NAME_OCTETS_MAX;
use wire::render::Section;
use wire::tsig::{self, Key, Mac};
use zone::Change;

/// The numbers of an SOA record (RFC 1035 3.3.13), times in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Soa {
    /// The serial.
    pub serial: u32,
    /// How often it is to be checked.
    pub refresh: u32,
    /// How soon again after a check in vain.
    pub retry: u32,
    /// How old the zone may become.
    pub expire: u32,
}

impl Soa {
    /// Of uncompressed RDATA; `None` where that is too short.
    pub fn read(rdata: &[u8]) -> Option<Soa> {
        let numbers = rdata.get(rdata.len().checked_sub(20)?..)?;
        let number = |at: usize| wire::header::u32_at(numbers, at);
        Some(Soa { serial: number(0), refresh: number(4), retry: number(8), expire: number(12) })
    }
}

/// When something happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Milliseconds of a clock that only goes forwards.
    pub millis: u64,
    /// Seconds since 1970, for signatures.
    pub unix: u64,
}

/// What came of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The primary has our serial.
    Current,
    /// The primary has an older one.
    Behind,
    /// The primary has a newer one, or more to say than a datagram holds: ask over TCP.
    Newer,
    /// Differences that lead from our serial to the primary's, one after the other.
    Changes(Vec<Change>),
    /// All of the zone went to the sink.
    Whole,
}

/// How much there was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages.
    pub messages: u32,
    /// Records in answer sections.
    pub records: u64,
    /// Those of them that are not of the zone, which were left out.
    pub out_of_zone: u64,
    /// Octets.
    pub octets: u64,
}

/// A transfer that came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// What came of it.
    pub outcome: Outcome,
    /// The primary's SOA record; none where a datagram was cut before it.
    pub soa: Option<Soa>,
    /// The EXPIRE option (RFC 7314), in seconds.
    pub expire: Option<u32>,
    /// How much there was.
    pub counts: Counts,
    /// Whether nothing more follows: the connection can be used again.
    pub is_over: bool,
}

/// What follows a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// There are more.
    More,
    /// That was the last.
    Done(Done),
}

/// Where a transfer is.
enum State {
    /// Before the first record.
    First,
    /// After the SOA record: what follows says which form the response has.
    Second,
    /// In all of the zone.
    Whole,
    /// In differences.
    Differences(Differences),
    /// The last record is behind.
    End(Outcome),
    /// Nothing more is taken, after the end or after a fault.
    Over,
}

/// The first SOA record, with which the transfer ends too.
struct First {
    soa: Soa,
    ttl: u32,
    rdata: Box<[u8]>,
}

impl First {
    /// Whether this is the same record: the letters of its names may differ, as compression may have changed them.
    fn is(&self, rdata: &[u8]) -> bool {
        let split = |rdata: &[u8]| rdata.len().checked_sub(20);
        match (split(&self.rdata), split(rdata)) {
            (Some(a), Some(b)) => {
                self.rdata[..a].eq_ignore_ascii_case(&rdata[..b]) && self.rdata[a..] == rdata[b..]
            }
            _ => false,
        }
    }

    /// Gives it to a sink: it was kept until it was known what it begins.
    fn give(&self, zone: &Name, sink: &mut impl Sink) -> Result<(), Fault> {
        sink.record(zone, false, rtype::SOA, self.ttl, &self.rdata)
    }
}

/// Messages without records that may follow each other. No RFC forbids one; but nsd 4.6 sends them without end where an RRset does not
/// fit the messages that it makes.
const EMPTY_IN_A_ROW_MAX: u32 = 8;
/// Octets that RDATA can have.
const RDATA_OCTETS_MAX: usize = u16::MAX as usize;

/// Buffers of a transfer.
struct Room {
    rdata: [u8; RDATA_OCTETS_MAX],
    owner: [u8; NAME_OCTETS_MAX],
    /// The owner of the record before, and its octets.
    before: [u8; NAME_OCTETS_MAX],
    before_octets: usize,
    /// Whether that was of the zone.
    before_in_zone: bool,
}

/// A transfer; see the module.
pub struct Incoming<'k> {
    question: Question,
    tsig: Option<tsig::Incoming<'k>>,
    meter: Meter,
    state: State,
    first: Option<First>,
    expire: Option<u32>,
    counts: Counts,
    /// Where the present record stands.
    octet: u16,
    empty_in_a_row: u32,
    is_over: bool,
    room: Box<Room>,
}

impl<'k> Incoming<'k> {
    /// Begins when the question is sent. `signed`: the key that signed it, and its MAC.
    pub fn new(
        question: Question,
        signed: Option<(&'k Key, &Mac)>,
        limits: Limits,
        now: u64,
    ) -> Incoming<'k> {
        Incoming {
            question,
            tsig: signed.map(|(key, mac)| tsig::Incoming::new(key, mac)),
            meter: Meter::new(limits, now),
            state: State::First,
            first: None,
            expire: None,
            counts: Counts::default(),
            octet: 0,
            empty_in_a_row: 0,
            is_over: false,
            room: Box::new(Room {
                rdata: [0; RDATA_OCTETS_MAX],
                owner: [0; NAME_OCTETS_MAX],
                before: [0; NAME_OCTETS_MAX],
                before_octets: 0,
                before_in_zone: false,
            }),
        }
    }

    /// Octets came, of a message that need not be complete.
    pub fn received(&mut self, octets: usize, now: u64) -> Result<(), Stop> {
        self.meter.received(octets, now).map_err(|fault| self.stop(fault))
    }

    /// Whether it has taken too long. Asked at [`Incoming::deadline`] at the latest.
    pub fn check(&mut self, now: u64) -> Result<(), Stop> {
        self.meter.check(now).map_err(|fault| self.stop(fault))
    }

    /// Until when the next octets must have come, in milliseconds.
    pub fn deadline(&self) -> u64 {
        self.meter.deadline()
    }

    /// How much there was so far.
    pub fn counts(&self) -> Counts {
        Counts { octets: self.meter.octets(), ..self.counts }
    }

    /// The connection ended, or could not be made: says why there is no result.
    pub fn ended(&mut self, fault: Fault) -> Stop {
        self.stop(fault)
    }

    /// Takes the next message. After a fault, or the end, nothing more is taken.
    pub fn message(&mut self, octets: &[u8], at: Times, sink: &mut impl Sink) -> Result<Step, Stop> {
        self.counts.messages = self.counts.messages.saturating_add(1);
        self.octet = 0;
        self.take(octets, at, sink).map_err(|fault| self.stop(fault))
    }

    fn stop(&mut self, fault: Fault) -> Stop {
        self.state = State::Over;
        Stop { fault, place: Place { message: self.counts.messages, octet: self.octet } }
    }

    fn take(&mut self, octets: &[u8], at: Times, sink: &mut impl Sink) -> Result<Step, Fault> {
        self.meter.message(at.millis)?;
        if matches!(self.state, State::Over) {
            return Err(Fault::AfterEnd);
        }
        if self.is_cut(octets)? {
            return Ok(Step::Done(self.finish(Outcome::Newer)));
        }
        let message = self.head(octets, at)?;
        let mut records = message.records().map_err(Fault::Message)?;
        let mut upper_rcode = 0;
        for record in records.by_ref() {
            let record = record.map_err(Fault::Message)?;
            self.octet = record.view.owner as u16;
            match record.section {
                Section::Answer => self.record(&record, sink)?,
                Section::Additional if record.view.rtype == rtype::OPT => {
                    upper_rcode = self.options(octets, &record.view);
                }
                _ => {}
            }
        }
        if records.at() != octets.len() {
            self.octet = records.at() as u16;
            return Err(Fault::TrailingOctets);
        }
        self.octet = 0;
        if upper_rcode != 0 {
            return Err(Fault::Rcode(upper_rcode));
        }
        match message.counts()[0] {
            0 => self.empty()?,
            _ => self.empty_in_a_row = 0,
        }
        self.after_message()
    }

    /// A message without records.
    fn empty(&mut self) -> Result<(), Fault> {
        self.empty_in_a_row += 1;
        match (&self.state, self.question.kind) {
            (_, Kind::Soa) => Err(Fault::NoSoa),
            (State::First, _) => Err(Fault::Empty),
            _ if self.empty_in_a_row > EMPTY_IN_A_ROW_MAX => Err(Fault::Empty),
            _ => Ok(()),
        }
    }

    /// What a message means that is read to its end.
    fn after_message(&mut self) -> Result<Step, Fault> {
        let state = std::mem::replace(&mut self.state, State::Over);
        self.is_over = matches!(state, State::Second | State::End(_));
        let outcome = match (state, self.compare()) {
            // What a primary that has nothing newer sends beside its SOA record is of no use.
            (_, Some(outcome @ (Outcome::Current | Outcome::Behind))) => outcome,
            (State::End(outcome), _) | (State::Second, Some(outcome)) => outcome,
            (state, _) => {
                self.state = state;
                if self.question.is_udp {
                    // Differences that end with the datagram, and not with the SOA record.
                    return Err(Fault::Truncated);
                }
                return Ok(Step::More);
            }
        };
        if let Some(tsig) = &self.tsig {
            tsig.end().map_err(|fault| Fault::Tsig(fault, 0))?;
        }
        Ok(Step::Done(self.finish(outcome)))
    }

    /// What an SOA record means that stands alone in the first message; `None` where more must follow.
    fn compare(&self) -> Option<Outcome> {
        let theirs = self.first.as_ref()?.soa.serial;
        let is_probe = self.question.kind == Kind::Soa;
        match self.question.ours {
            Some(ours) if ours == theirs => Some(Outcome::Current),
            Some(ours) if !is_newer(theirs, ours) => Some(Outcome::Behind),
            _ if is_probe || self.question.is_udp => Some(Outcome::Newer),
            _ => None,
        }
    }

    fn finish(&mut self, outcome: Outcome) -> Done {
        self.state = State::Over;
        let soa = self.first.as_ref().map(|first| first.soa);
        Done { outcome, soa, expire: self.expire, counts: self.counts(), is_over: self.is_over }
    }

    /// Takes the next record of the answer section.
    fn record(&mut self, record: &Record<'_, '_>, sink: &mut impl Sink) -> Result<(), Fault> {
        self.counts.records += 1;
        if self.counts.records > self.meter.limits().records {
            return Err(Fault::Limit(Limit::Records));
        }
        if record.view.class != class::IN {
            return Err(Fault::Class(record.view.class));
        }
        let rtype = record.view.rtype;
        let Room { rdata, owner, before, before_octets, before_in_zone } = &mut *self.room;
        let owner = record.owner_name(owner).map_err(Fault::Message)?;
        let rdata = record.rdata_uncompressed(rdata).map_err(Fault::Message)?;
        let zone = self.question.zone();
        let same_owner = owner.octets() == &before[..*before_octets];
        if !same_owner {
            before[..owner.octets().len()].copy_from_slice(owner.octets());
            *before_octets = owner.octets().len();
            *before_in_zone = owner.is_at_or_below(zone);
        }
        if !*before_in_zone {
            self.counts.out_of_zone += 1;
            return if matches!(self.state, State::First) { Err(Fault::NoSoa) } else { Ok(()) };
        }
        if rtype == 0 {
            return Err(Fault::Rdata(rtype, zonefile::rdata::Fault::MetaType));
        }
        zonefile::rdata::check(rtype, rdata).map_err(|fault| Fault::Rdata(rtype, fault))?;
        let taken = Taken { owner, same_owner, rtype, ttl: record.view.ttl, rdata };
        if rtype != rtype::SOA {
            let begin = (self.first.as_ref(), &self.question);
            return other(&mut self.state, begin, &taken, sink);
        }
        if !owner.eq_ignore_case(zone) {
            return Err(Fault::SoaOwner);
        }
        let soa = Soa::read(rdata).ok_or(Fault::NoSoa)?;
        match &self.first {
            None => {
                self.first = Some(First { soa, ttl: record.view.ttl, rdata: rdata.into() });
                self.state = State::Second;
                Ok(())
            }
            Some(first) => {
                let limit = self.meter.limits().difference_octets;
                next_soa(&mut self.state, (first, &self.question), (soa, limit), &taken, sink)
            }
        }
    }
}

/// A record that is of the zone and of the form of its type.
struct Taken<'r> {
    owner: &'r Name,
    same_owner: bool,
    rtype: u16,
    ttl: u32,
    rdata: &'r [u8],
}

impl Taken<'_> {
    fn give(&self, sink: &mut impl Sink) -> Result<(), Fault> {
        sink.record(self.owner, self.same_owner, self.rtype, self.ttl, self.rdata)
    }
}

/// A record that is no SOA record.
fn other(
    state: &mut State,
    (first, question): (Option<&First>, &Question),
    taken: &Taken<'_>,
    sink: &mut impl Sink,
) -> Result<(), Fault> {
    match (&mut *state, first) {
        (State::First, _) | (_, None) => Err(Fault::NoSoa),
        // Beside the SOA record, a signature of it may be in the answer to a probe.
        (State::Second, _) if question.kind == Kind::Soa => Ok(()),
        (State::Second, Some(first)) => {
            first.give(question.zone(), sink)?;
            *state = State::Whole;
            Taken { same_owner: false, ..*taken }.give(sink)
        }
        (State::Whole, _) => taken.give(sink),
        (State::Differences(differences), _) => {
            differences.push(taken.owner, taken.rtype, taken.ttl, taken.rdata)
        }
        (State::End(_) | State::Over, _) => Err(Fault::AfterEnd),
    }
}

/// An SOA record of the zone after the first.
fn next_soa(
    state: &mut State,
    (first, question): (&First, &Question),
    (soa, limit): (Soa, usize),
    taken: &Taken<'_>,
    sink: &mut impl Sink,
) -> Result<(), Fault> {
    let is_first = first.is(taken.rdata);
    let other = Fault::OtherSoa { found: soa.serial, first: first.soa.serial };
    *state = match std::mem::replace(state, State::Over) {
        State::Second if question.kind == Kind::Soa => return Err(Fault::AfterEnd),
        State::Second if is_first => {
            first.give(question.zone(), sink)?;
            State::End(Outcome::Whole)
        }
        State::Second => match (question.kind, question.ours) {
            (Kind::Ixfr, Some(ours)) if ours == soa.serial => {
                State::Differences(Differences::new(ours, taken.owner, taken.ttl, taken.rdata, limit))
            }
            (Kind::Ixfr, Some(ours)) => return Err(Fault::Chain { found: soa.serial, expected: ours }),
            _ => return Err(other),
        },
        State::Whole if is_first => State::End(Outcome::Whole),
        State::Whole => return Err(other),
        State::Differences(mut differences) => {
            if is_first && differences.may_end(first.soa.serial) {
                State::End(Outcome::Changes(differences.finish()?))
            } else {
                differences.soa(soa.serial, first.soa.serial, taken.owner, taken.ttl, taken.rdata)?;
                State::Differences(differences)
            }
        }
        State::First | State::End(_) | State::Over => return Err(Fault::AfterEnd),
    };
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
