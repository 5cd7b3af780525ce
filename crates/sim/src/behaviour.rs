//! What a server does beside what its zones say: small values, each a line of a scenario file.
//!
//! ```text
//! ACTION [words] [for NAME | below NAME] [type TYPE] [over udp|tcp] [from S] [until S] [after N] [times N] [share P%] [with do|edns|no-edns|case]
//! answer [www.example. 300 A 192.0.2.66] below example. over udp times 3
//! ```
//!
//! [`read`] has the words. An action either takes the place of the answer (`Drop`, `Rcode`, ...), or changes the answer that the
//! zones gave, or says how it is sent: `server` applies them in the order in which they stand. Records are in brackets; `QNAME` in
//! them is the name that was asked for.

pub(crate) mod change;
pub(crate) mod read;

pub(crate) use change::{InPlace, change, in_place};

use crate::reply::Reply;
use crate::{Micros, Random};
use std::collections::HashMap;
use std::net::IpAddr;
use wire::header;
use wire::render::Section;
use wire::{Name, NameBuf, Transport};

/// What a server does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// No answer.
    Drop,
    /// So many milliseconds later, any of the range.
    Delay(u64, u64),
    /// This RCODE and nothing else.
    Rcode(u16),
    /// A referral to the root, as servers give that know nothing of a zone.
    Upward,
    /// A referral to a zone by servers with or without address.
    Refer(NameBuf, Vec<(NameBuf, Option<IpAddr>)>),
    /// How OPT is treated.
    NoEdns(NoEdns),
    /// TC and nothing else, over UDP.
    Truncate,
    /// TC and nothing else above so many octets, over UDP.
    Limit(usize),
    /// Answers above so many octets are lost: a path without fragments.
    LosesAbove(usize),
    /// Each datagram is sent again after so many milliseconds.
    Twice(u64),
    /// What is wrong with streams.
    Stream(StreamFault),
    /// Answers come from this address.
    Sender(IpAddr),
    /// Answers come from this port.
    Port(u16),
    /// This part of the answer is not the query's.
    Wrong(Part),
    /// The answer has no question.
    NoQuestion,
    /// The question is answered in lower case.
    LowerCase,
    /// So many messages of an off-path attacker come before the answer, with a record as text, from who knows so much of the query.
    Forge(u32, String, Knowing),
    /// So many datagrams of such an attacker that are no messages, or break off somewhere (TuDoor).
    Garbage(u32, Knowing),
    /// A record, as text, is added to a section.
    Add(Section, String),
    /// These records alone are the answer.
    Instead(Vec<String>),
    /// Records of this type are left out.
    Strip(u16),
    /// The last octet of RDATA of this type is another.
    Tamper(u16),
    /// All TTLs are this.
    Ttl(u32),
    /// These flags are set.
    Set(u16),
    /// These flags are not set.
    Clear(u16),
    /// Any name is an alias of another one without end.
    AliasChain,
    /// Any name is an alias of a new one, of so many labels, each of them new (CAMP).
    AliasMaze(u32),
    /// Any name is an alias in a circle of two.
    AliasLoop,
    /// Referrals to names one label deeper each.
    Referrals,
    /// A referral to so many name servers below a victim, without addresses (NXNSAttack, CVE-2020-12662).
    NameServers(u32, NameBuf),
    /// So many records of the type asked for.
    Records(u32),
    /// So many signatures in place of each, the right one last (KeyTrap, CVE-2023-50387).
    Signatures(u32),
    /// Cookies are made (RFC 7873); or also demanded.
    Cookies(bool),
}

/// How a server without EDNS treats OPT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoEdns {
    /// By an RCODE, without OPT.
    Rcode(u16),
    /// By no answer.
    Drop,
    /// By BADVERS, with OPT.
    Badvers,
    /// As if there was none: an answer without OPT and without DNSSEC records.
    Ignore,
    /// By sending all options back.
    Echo,
}

/// What is wrong with streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamFault {
    /// They are refused.
    Refuse,
    /// They never open.
    Drop,
    /// They close when a query has come.
    Close,
    /// They close inside of the answer.
    Cut,
    /// So many milliseconds go by between two octets.
    Slow(u64),
    /// Every other answer is held back such that the next one comes first.
    Reorder,
}

/// A part of an answer that must be the query's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The ID.
    Id,
    /// The name.
    Name,
    /// The type.
    Type,
    /// QR: it is a query.
    Qr,
}

/// What an attacker knows of a query, beside who is asked what and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Knowing {
    /// Its ID.
    pub id: bool,
    /// The port that it came from.
    pub port: bool,
    /// The case of its letters.
    pub case: bool,
}

/// When an action applies: when all of this holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct When {
    /// To this name.
    pub name: Option<NameBuf>,
    /// To names at or below this one.
    pub below: Option<NameBuf>,
    /// To this type.
    pub qtype: Option<u16>,
    /// To queries that came so.
    pub is_stream: Option<bool>,
    /// From then on.
    pub from: Option<Micros>,
    /// Before then.
    pub until: Option<Micros>,
    /// Not to the first so many queries that all else holds for.
    pub after: u32,
    /// To so many queries.
    pub times: Option<u32>,
    /// To so many of a million, at random.
    pub share: Option<u32>,
    /// To queries that have this.
    pub with: Option<Having>,
}

/// What a query can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Having {
    /// The DO bit.
    Do,
    /// OPT.
    Edns,
    /// No OPT.
    NoEdns,
    /// Letters in both cases (0x20).
    Case,
}

/// An action and when it applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behaviour {
    /// What is done.
    pub action: Action,
    /// When.
    pub when: When,
    /// For how many queries all held but `after` and `times`.
    met: u32,
    /// The same by the two labels next to the root, for what goes deeper with each query of one name.
    met_below: HashMap<Vec<u8>, u32>,
}

impl Behaviour {
    /// An action for each query.
    pub fn always(action: Action) -> Behaviour {
        Behaviour { action, when: When::default(), met: 0, met_below: HashMap::new() }
    }

    /// An action for some.
    pub fn when(action: Action, when: When) -> Behaviour {
        Behaviour { action, when, met: 0, met_below: HashMap::new() }
    }

    /// Whether it applies to a query; counts those for which it does.
    pub(crate) fn applies(
        &mut self,
        query: &Reply,
        transport: Transport,
        now: Micros,
        random: &mut Random,
    ) -> bool {
        let when = &self.when;
        let Some(asked) = &query.question else { return false };
        let holds = when.name.as_ref().is_none_or(|name| name.eq_ignore_case(&asked.qname))
            && when.below.as_ref().is_none_or(|name| asked.qname.is_at_or_below(name))
            && when.qtype.is_none_or(|qtype| qtype == asked.qtype)
            && when.is_stream.is_none_or(|is_stream| is_stream == transport.is_stream())
            && when.from.is_none_or(|from| now >= from)
            && when.until.is_none_or(|until| now < until)
            && when.with.is_none_or(|with| with.is_had_by(query))
            && when.share.is_none_or(|share| random.below(1_000_000) < u64::from(share));
        if !holds {
            return false;
        }
        self.met += 1;
        if self.action == Action::Referrals {
            *self.met_below.entry(top(&asked.qname)).or_insert(0) += 1;
        }
        self.met > when.after && when.times.is_none_or(|times| self.met - when.after <= times)
    }

    /// Whether it applies to all queries at this time: for connections, which come before queries.
    pub(crate) fn is_in_force(&self, now: Micros) -> bool {
        self.when.from.is_none_or(|from| now >= from) && self.when.until.is_none_or(|until| now < until)
    }

    /// For how many queries it applied; where it counts names for themselves, those of this one.
    pub(crate) fn count(&self, qname: &Name) -> u32 {
        match self.action {
            Action::Referrals => self.met_below.get(&top(qname)).copied().unwrap_or(0),
            _ => self.met,
        }
    }
}

/// The two labels of a name next to the root, in lower case.
fn top(name: &Name) -> Vec<u8> {
    let above = name.label_count().saturating_sub(2);
    let top = (0..above).fold(name, |name, _| name.parent().unwrap_or(Name::root()));
    top.octets().to_ascii_lowercase()
}

impl Having {
    fn is_had_by(self, query: &Reply) -> bool {
        match self {
            Having::Do => query.opt.as_ref().is_some_and(|opt| opt.dnssec_ok),
            Having::Edns => query.opt.is_some(),
            Having::NoEdns => query.opt.is_none(),
            Having::Case => {
                let name = query.question.as_ref().map(|asked| asked.qname.octets());
                name.is_some_and(|octets| octets.iter().any(u8::is_ascii_uppercase))
            }
        }
    }
}

/// The flag with this name in scenario files.
pub(crate) fn flag(name: &str) -> Option<u16> {
    Some(match name {
        "aa" => header::AA,
        "tc" => header::TC,
        "rd" => header::RD,
        "ra" => header::RA,
        "ad" => header::AD,
        "cd" => header::CD,
        _ => return None,
    })
}
